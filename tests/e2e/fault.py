"""A fault of the lab: how a job is broken, and what the right verdict on it is, stated before it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from triage.cli.exitcodes import ExitCode

if TYPE_CHECKING:
    from tests.e2e.run import Job

TWIN, MEGATRON = "twin.py", "pretrain_gpt.py"
"""The trainers: torch alone, and megatron-core."""
CODES = {"none": ExitCode.OK, "unknown": ExitCode.UNKNOWN, "cancelled": ExitCode.CANCELLED}
"""What `triage submit --watch` exits with, where it is not `EXPLAINED`."""


@dataclass(frozen=True, slots=True)
class Right:
    """The right verdict."""

    category: str
    rank: int | None = None
    """The one rank to blame; `None` where no single one is."""
    also: tuple[str, ...] = ()
    """Categories that the taxonomy allows as well."""
    outcome: str | None = None
    """How the watcher says that it ended, where the category does not tell."""
    step: int | None = None
    """The training must have come so far in its last attempt: nothing may end it earlier."""

    @property
    def categories(self) -> tuple[str, ...]:
        return (self.category, *self.also)

    def exit(self, category: str) -> int:
        """What goes with one of the categories."""
        return int(CODES.get(category, ExitCode.EXPLAINED))


@dataclass(frozen=True, slots=True)
class Shape:
    """The job's size and limits."""

    nodes: int = 1
    processes: int = 2
    """On each node."""
    time: str = "10:00"
    partition: str | None = None
    options: tuple[str, ...] = ()


class Unavailable(Exception):
    """This machine cannot make the fault; the message says why."""


def as_it_is(_: Path) -> AbstractContextManager[None]:
    """The worktree stays as it is."""
    return contextlib.nullcontext()


def leave_alone(_: Job) -> None:
    """Nothing is done to the job from outside."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One job to run."""

    name: str
    right: Right
    flags: str = ""
    """The trainer's."""
    shape: Shape = field(default_factory=Shape)
    values: Mapping[str, str] = field(default_factory=dict)
    """Further keys of triage.toml, as TOML."""
    around: Callable[[Path], AbstractContextManager[None]] = as_it_is
    """What is done to the worktree before, and undone afterwards. Raises `Unavailable`."""
    act: Callable[[Job], None] = leave_alone
    """What is done to the job while it runs."""
    artifact: bool = False
    """The job is ended early on its result."""
    trainer: str = TWIN
    """What runs in the full lab; CI runs the twin."""
    fast: bool = False
    """It is run in CI."""
    alone: bool = False
    """It disturbs what else the cluster runs."""
    seconds: float = 180.0
    """After which the lab gives up."""
