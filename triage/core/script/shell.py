"""A small evaluator of bash: what a script would run, with what words and environment. Nothing is executed.

Of a branch that cannot be decided both sides are followed, and a variable that they leave different is not known
behind it. A loop whose turns are known is followed turn by turn; of any other one the body is followed until it changes
nothing that was known.
"""

from __future__ import annotations

from triage.core.script.allocation import Allocation
from triage.core.script.command import Command
from triage.core.script.decisions import Decisions
from triage.core.script.flow import Flow
from triage.core.script.holes import Holes, clean
from triage.core.script.limits import SCRIPT, Budget, Exhausted
from triage.core.script.parse import parse
from triage.core.script.run import simple
from triage.core.script.state import State
from triage.core.script.submissions import Submission
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came out of a script."""

    commands: tuple[Command, ...]
    state: State
    """At its end."""
    holes: Holes
    decisions: Decisions = Decisions()
    submissions: tuple[Submission, ...] = ()
    exhausted: bool = False
    """A limit was reached: behind it nothing was evaluated."""


def evaluate(
    text: str, job: Allocation, *, batch: bool = True, arguments: tuple[str, ...] | None = None
) -> Evaluated:
    """Evaluates a script of a job with that allocation. `batch` is false for one that runs once per task; `arguments`
    are not known where they are `None`."""
    flow = Flow(simple, Budget(), Holes(), job, batch=batch)
    state = State(arguments=arguments)
    return _evaluate(flow, clean(text[:SCRIPT]), state, exhausted=len(text) > SCRIPT)


def evaluate_submitted(submission: Submission, job: Allocation, holes: Holes, budget: Budget) -> Evaluated:
    """The same of a script that another one submits."""
    state = State(directory=submission.directory)
    for name, item in submission.environment.items():
        if item.text is None:
            state.unset(name)
        else:
            state.assign(name, item.text, item.line)
            state.exported.add(name)
    flow = Flow(simple, budget, holes, job, batch=True)
    return _evaluate(flow, submission.text, state, submission.first_line)


def _evaluate(
    flow: Flow, text: str, state: State, first_line: int = 1, *, exhausted: bool = False
) -> Evaluated:
    try:
        flow.block(parse(text, first_line), state)
    except (Exhausted, RecursionError):
        exhausted = True
    decisions = Decisions(tuple(flow.arms), tuple(flow.exits))
    return Evaluated(tuple(flow.commands), state, flow.holes, decisions, tuple(flow.submissions), exhausted)
