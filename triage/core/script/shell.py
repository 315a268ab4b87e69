"""A small evaluator of bash: what a script would run, with what words and environment. Nothing is executed.

Of a branch that cannot be decided both sides are followed, and a variable that they leave different is not known
behind it. A loop over known words is followed turn by turn; of any other one the body is followed until it changes
nothing that was known.
"""

from __future__ import annotations

from triage.core.script.allocation import Allocation
from triage.core.script.command import Command
from triage.core.script.flow import Flow
from triage.core.script.holes import Holes, clean
from triage.core.script.limits import SCRIPT, Budget, Exhausted
from triage.core.script.parse import parse
from triage.core.script.run import simple
from triage.core.script.state import State
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came out of a script."""

    commands: tuple[Command, ...]
    state: State
    """At its end."""
    holes: Holes
    exhausted: bool = False
    """A limit was reached: behind it nothing was evaluated."""


def evaluate(text: str, job: Allocation, *, batch: bool = True) -> Evaluated:
    """Evaluates a script of a job with that allocation. `batch` is false for one that runs once per task."""
    flow = Flow(simple, Budget(), job, batch=batch)
    state = State()
    exhausted = len(text) > SCRIPT
    try:
        flow.block(parse(clean(text[:SCRIPT])), state)
    except Exhausted:
        exhausted = True
    return Evaluated(tuple(flow.commands), state, flow.holes, exhausted)
