"""What is read: one stream of bytes with what its path says."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from triage.core.cause.verdict import Skipped
from triage.core.logs.source import Source
from triage.core.values import dataclass, field, replace

if TYPE_CHECKING:
    from triage.core.cause.record import Record
    from triage.files.excerpt import Excerpt


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
    excerpt: Excerpt | None = field(default=None, compare=False)
    """What a bundle holds of it; then nothing is opened."""
    rest: tuple[Input, ...] = ()
    """The later parts of a log that was cut into several files."""

    @property
    def files(self) -> tuple[Input, ...]:
        """Each file that holds a part of it, the oldest first."""
        return (replace(self, rest=()), *self.rest) if self.rest else (self,)

    @property
    def total(self) -> int:
        """Bytes on disk of all parts."""
        return self.size + sum(part.size for part in self.rest)


@dataclass(frozen=True, slots=True)
class Bundled:
    """What a bundle tells beside its logs."""

    record: Record | None
    job: str | None
    """The job it was made of, where the logs hold several."""
    attempt: int | None


@dataclass(frozen=True, slots=True)
class Collected:
    """Everything the arguments name, each file in exactly one of the lists."""

    inputs: tuple[Input, ...]
    """Sorted by shown path."""
    skipped: tuple[Skipped, ...] = ()
    records: tuple[Input, ...] = ()
    """`triage-JOBID.json`, which `triage watch` leaves beside the logs."""
    bundled: Bundled | None = None
    """Set where all of it comes from a bundle."""


def clean(path: str) -> str:
    """A path that is no valid UTF-8 as text that every output can carry."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
