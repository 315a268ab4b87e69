"""What all checks of a script look at, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.allocation import Allocation
from triage.core.script.command import Command
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
    truncated: bool = False
    """A limit was reached: something behind it was not read."""

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
    """How sure a mistake of a run is: an error only of the one run that is certainly reached."""
    return Severity.ERROR if run.command.certain and script.sole is run else Severity.WARNING


def several_nodes(run: Run) -> bool:
    """Whether one launch certainly spans several nodes: one srun over them."""
    return run.in_step and run.step.nodes is not None and run.step.nodes > 1


def shown(text: str, limit: int = 80) -> str:
    """A value of the script for a message."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


LOCALHOST = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "[::1]"})
