"""What all checks of a script look at, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.allocation import Allocation
from triage.core.script.command import Command
from triage.core.script.decisions import Decisions
from triage.core.script.directives import Directives
from triage.core.script.facts import Facts
from triage.core.script.holes import Holes
from triage.core.script.launches import Run
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that is known of a script without running it."""

    directives: Directives
    allocation: Allocation
    commands: tuple[Command, ...]
    """In the order in which they would run, without those inside `$( )`."""
    runs: tuple[Run, ...]
    holes: Holes
    decisions: Decisions = Decisions()
    truncated: bool = False
    """A limit was reached: something behind it was not read."""
    submitted: tuple[Script, ...] = ()
    """Scripts that this one writes and submits."""
    made: frozenset[str] = frozenset()
    """Folders that the submitting script makes before."""
    uncalled: Script | None = None
    """The same, read as if it got no arguments, where it asks for them."""
    supposed: bool = False
    """It is that one."""
    sure: bool = True
    """False where it is not known whether it is submitted."""

    @property
    def sole(self) -> Run | None:
        """The run, where the script has only one."""
        return self.runs[0] if len(self.runs) == 1 else None

    def text(self, name: str) -> str | None:
        """A directive's value."""
        return self.directives.text(name)


ScriptCheck = Callable[[Script, Facts], Iterator[Finding]]
RunCheck = Callable[[Script, Run, Facts], Iterator[Finding]]


def severity(script: Script, run: Run) -> Severity:
    """How sure a mistake of a run is, if the run is reached. Of several at once each may have a part of the job."""
    return Severity.ERROR if script.sole is run or not run.command.background else Severity.WARNING


def several_nodes(run: Run) -> bool:
    """Whether one launch certainly spans several nodes: one srun over them."""
    return run.in_step and run.step.nodes is not None and run.step.nodes > 1


def shown(text: str, limit: int = 80) -> str:
    """A value of the script for a message."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


LOCALHOST = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "[::1]"})
