"""Marks of a new attempt inside one stream: torchrun's restarts, Slurm's requeues, and each beginning of a program.

Run it before the other readers: it looks at the lines that begin a run (`using world size`, an argument dump)
and leaves them to their own reader. Formats: torch/distributed/elastic/agent/server/api.py (`_invoke_run`,
`_rendezvous`), Slurm src/slurmd/slurmstepd/req.c.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from triage.core.events.model import Event, Mark
from triage.core.events.place import place
from triage.core.lazy import lazy
from triage.core.logs.record import Record

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


def extract_marks(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Event], list[Record]]:
    """Marks in order; only lines that announce nothing but an attempt's number are consumed."""
    events: list[Event] = []
    rest: list[Record] = []
    requeued = -_SAME_REQUEUE
    for number, record in enumerate(stream):
        if worth is not None and record.offset not in worth:
            rest.append(record)
            continue
        text = record.text[:_LIMIT]
        if not any(word in text for word in WORDS):
            rest.append(record)
            continue
        mark, consumed = _read(record, source)
        again = mark is not None and mark.kind == "requeue" and mark.number is None
        if mark is not None and not (again and number - requeued < _SAME_REQUEUE):
            events.append(mark)
        if again:
            requeued = number
        if not consumed:
            rest.append(record)
    return events, rest


def _read(record: Record, source: int) -> tuple[Mark | None, bool]:
    """The mark of a line, and whether the line is nothing else."""
    text = record.text[:_LIMIT]

    def mark(kind: str, number: int | None = None, what: str = "") -> Mark:
        return Mark(*place(source, record), kind=kind, number=number, what=what)

    if (match := _LEFT.search(text)) is not None:
        return mark("restart", int(match[2]) - int(match[1]) + 1), True
    if _RESTART.search(text):
        return mark("restart"), True
    if (match := _COUNT.match(text)) is not None:
        number = int(match[1])
        return (mark("restart", number) if number else None), True
    if _REQUEUED.search(text):
        return mark("requeue"), False
    if _PREEMPTED.search(text):
        return mark("preempted"), False
    if (match := _SLURM_COUNT.search(text)) is not None:
        number = int(match[1])
        return (mark("requeue", number) if number else None), False
    if (match := _HEADER.match(text)) is not None:
        return mark("start", int(match[1])), True
    for name, pattern in _STARTS:
        if pattern.search(text):
            return mark("begin", what=name), False
    return None, False
