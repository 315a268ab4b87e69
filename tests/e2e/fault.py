"""A fault of the lab: how a job is broken, and what the right verdict on it is, stated before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from triage.cli.exitcodes import ExitCode

if TYPE_CHECKING:
    from tests.e2e.run import Job

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


def nothing(_: Path) -> None:
    """No preparation."""


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
    prepare: Callable[[Path], None] = nothing
    """What is done to the worktree before."""
    act: Callable[[Job], None] = leave_alone
    """What is done to the job while it runs."""
    artifact: bool = False
    """The job is ended early on its result."""
    seconds: float = 120.0
    """After which the lab gives up."""
