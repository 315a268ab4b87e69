"""Marks of a new attempt inside one stream: torchrun's restarts, Slurm's requeues, a second start.

Run it before the other readers: it looks at the lines that begin a run (`using world size`, an argument dump)
and leaves them to their own reader. Formats: torch/distributed/elastic/agent/server/api.py (`_invoke_run`,
`_rendezvous`), Slurm src/slurmd/slurmstepd/req.c.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import field

from triage.core.events.model import Event, Mark
from triage.core.events.place import place
from triage.core.lazy import lazy
from triage.core.logs.record import Record
from triage.core.values import dataclass

_LIMIT = 2048
_LEFT = lazy(r"Worker group \w{1,20}\. (\d{1,9})/(\d{1,9}) attempts left;\s+will restart worker group")
_RESTART = lazy(r"will restart worker group|\bRestarting worker group")
_COUNT = lazy(r"^\W{0,8}restart_count=(\d{1,9})\s*$")
_REQUEUED = lazy(r"DUE TO JOB REQUEUE \*\*\*")
_PREEMPTED = lazy(r"DUE TO (?:PREEMPTION|NODE FAILURE)")
_SLURM_COUNT = lazy(r"(?<![A-Za-z_])SLURM_RESTART_COUNT\s?[=:]\s?['\"]?(\d{1,6})\b")
_HEADER = lazy(r"^\s*[=#*-]{2,80}\s*attempt\s?[#:]?\s?(\d{1,6})\b.{0,80}?[=#*-]{2,80}\s*$", re.IGNORECASE)
_STARTS = (
    ("world", lazy(r"using world size: \d")),
    ("dump", lazy(r"^\s*-{5,80} (?!end of )[\w ]{0,40}arguments -{5,80}\s*$")),
    ("torchrun", lazy(r"Starting elastic_operator with launch configs")),
)
_SAME_REQUEUE = 64
"""Records within which the lines of a job, its steps and its nodes announce one requeue."""
WORDS = (
    "estart",
    "equeue",
    "REQUEUE",
    "RESTART",
    "DUE TO",
    "ttempt",
    "ATTEMPT",
    "orld size",
    " arguments -",
    "launch configs",
)
"""One of these stands in every line that is read."""


@dataclass(slots=True)
class _State:
    started: set[str] = field(default_factory=set)
    """Beginnings seen in the present attempt; one that comes again begins another."""
    preempted: bool = False
    """Slurm ended the job and may start it again."""
    requeued: int = -_SAME_REQUEUE
    """Number of the record that last announced a requeue."""


def extract_marks(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Event], list[Record]]:
    """Marks in order; only lines that announce nothing but an attempt's number are consumed."""
    events: list[Event] = []
    rest: list[Record] = []
    state = _State()
    for number, record in enumerate(stream):
        if worth is not None and record.offset not in worth:
            rest.append(record)
            continue
        text = record.text[:_LIMIT]
        if not any(word in text for word in WORDS):
            rest.append(record)
            continue
        mark, consumed = _read(record, number, source, state)
        if mark is not None:
            events.append(mark)
        if not consumed:
            rest.append(record)
    return events, rest


def _read(record: Record, index: int, source: int, state: _State) -> tuple[Mark | None, bool]:
    """The mark of a line, and whether the line is nothing else."""
    text = record.text[:_LIMIT]

    def mark(kind: str, number: int | None) -> Mark:
        state.started.clear()
        state.preempted = False
        return Mark(*place(source, record), kind=kind, number=number)

    if (match := _LEFT.search(text)) is not None:
        return mark("restart", int(match[2]) - int(match[1]) + 1), True
    if _RESTART.search(text):
        return mark("restart", None), True
    if (match := _COUNT.match(text)) is not None:
        number = int(match[1])
        return (mark("restart", number) if number else None), True
    if _REQUEUED.search(text):
        again, state.requeued = index - state.requeued < _SAME_REQUEUE, index
        return (None if again else mark("requeue", None)), False
    if _PREEMPTED.search(text):
        state.preempted = True
        return None, False
    if (match := _SLURM_COUNT.search(text)) is not None:
        number = int(match[1])
        return (mark("requeue", number) if number else None), False
    if (match := _HEADER.match(text)) is not None:
        return mark("start", int(match[1])), True
    for name, pattern in _STARTS:
        if pattern.search(text):
            return _start(record, name, source, state), False
    return None, False


def _start(record: Record, name: str, source: int, state: _State) -> Mark | None:
    """A beginning: of another attempt if this one already had it or was preempted."""
    preempted, again = state.preempted, name in state.started
    if preempted or again:
        state.started.clear()
        state.preempted = False
    state.started.add(name)
    if not preempted and not again:
        return None
    return Mark(*place(source, record), kind="requeue" if preempted else "start", number=None)
