"""What is read: one stream of bytes with what its path says."""

from __future__ import annotations

from dataclasses import field
from typing import BinaryIO

from triage.core.cause.verdict import Skipped
from triage.core.logs.source import Source
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Input:
    """One file (or standard input) that is read as a log."""

    source: Source
    open: str
    """Path to open; `-` for standard input."""
    size: int
    """Bytes on disk when it was collected; no more are ever read."""
    held: BinaryIO | None = field(default=None, compare=False)
    """Standard input's copy in an unnamed temporary file: line numbers need a second pass."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Everything the arguments name, each file in exactly one of the lists."""

    inputs: tuple[Input, ...]
    """Sorted by shown path."""
    skipped: tuple[Skipped, ...] = ()
    records: tuple[Input, ...] = ()
    """`triage-JOBID.json`, which `triage watch` leaves beside the logs."""
