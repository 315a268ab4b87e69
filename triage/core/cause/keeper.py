"""What is kept of a source's events: the first and the last of everything alike, so that a storm stays small."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from triage.core.cause.clock import dated
from triage.core.events.model import Collective, Event, Exit, Facts, Mark, Message, Progress, Trace, Words
from triage.core.logs.record import Stamp, Tags
from triage.core.rules.engine import Engine, Match
from triage.core.rules.model import FALLBACK, Role

ALIKE = 4
"""Of events that differ only in numbers, this many first ones of a process are kept, and the last."""
STEPS_KEPT = 256
STAMPS_KEPT = 256
KINDS = 20_000
"""Different events of one source that are kept apart."""

_SLURM = re.compile(r"DUE TO |oom_kill event|CANCELLED AT ")
_WARNING = re.compile(r"\b[A-Z]\w*Warning: ")
_MATCHED = (Trace, Message, Exit)
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Kept:
    """An event with the rules that match it, best first."""

    event: Event
    matches: tuple[Match, ...] = ()

    @property
    def deciding(self) -> Match | None:
        """The match that names the event: a cause before a symptom before a fallback, the first link on ties."""
        if not self.matches:
            return None
        last = len(self.event.links) - 1 if isinstance(self.event, Trace) else None
        return min(
            _raised(self.matches, last),
            key=lambda m: (_weight(m), -m.rule.specificity, m.link or 0, m.rule.id),
            default=None,
        )


def _raised(matches: Sequence[Match], last: int | None) -> Sequence[Match]:
    """Without the ends of launched commands that a chain went on from: what it raised then is what was meant."""
    firm = [m for m in matches if m.rule.role is not Role.TEARDOWN or m.link == last]
    return firm if last else matches


def _weight(match: Match) -> int:
    if match.rule.specificity <= FALLBACK:
        return 3
    return {Role.ROOT: 0, Role.DOWNSTREAM: 1, Role.TEARDOWN: 2, Role.ADVICE: 2}[match.rule.role]


@dataclass
class Keeper:
    """The events of one source, bounded."""

    engine: Engine
    tags: set[Tags] = field(default_factory=set)
    """Every different writer seen."""
    stamps: deque[Stamp] = field(default_factory=lambda: deque(maxlen=STAMPS_KEPT))
    """The latest stamps that are not UTC, of whatever lines."""
    _writer: Tags | None = None
    """Of the latest event: most have the same tags as the one before."""
    _first: dict[object, list[Kept]] = field(default_factory=dict)
    _last: dict[object, Kept] = field(default_factory=dict)
    _steps: list[Progress] = field(default_factory=list)

    def add(self, events: Iterable[Event]) -> None:
        for seen in events:
            event = dated(seen)
            self._see(event)
            if isinstance(event, Progress) and event.kind == "iteration":
                self._steps.append(event)
                if len(self._steps) > 2 * STEPS_KEPT:
                    self._steps[: len(self._steps) - STEPS_KEPT] = []
                continue
            matches: Sequence[Match] = ()
            if isinstance(event, _MATCHED):
                matches = self.engine.match(event)
                matches = _believed(event, matches) if matches else matches
                if not matches and isinstance(event, Message):
                    continue
            self._keep(_key(event, matches), Kept(event, tuple(matches)))

    def kept(self) -> list[Kept]:
        """In the order of their place in the source."""
        found = [k for group in self._first.values() for k in group]
        found.extend(self._last.values())
        found.extend(Kept(step) for step in self._steps)
        return sorted(found, key=lambda k: (k.event.span.first, k.event.span.last))

    def _see(self, event: Event) -> None:
        if event.tags is not self._writer and len(self.tags) < 100_000:
            self._writer = event.tags
            self.tags.add(_of_process(event.tags))
        at = event.when.at
        if at is not None and at.seconds is not None and not at.utc:
            self.stamps.append(at)

    def _keep(self, key: object, kept: Kept) -> None:
        group = self._first.get(key)
        if group is None:
            if len(self._first) < KINDS:
                self._first[key] = [kept]
            else:
                self._last[None] = kept
        elif len(group) < ALIKE:
            group.append(kept)
        else:
            self._last[key] = kept


@lru_cache(maxsize=4096)
def _of_process(tags: Tags) -> Tags:
    """Without what changes from line to line."""
    return Tags(tags.rank, tags.local_rank, tags.task, tags.node, None, tags.device, None)


def _believed(event: Event, matches: Sequence[Match]) -> Sequence[Match]:
    """A line that Python's `warnings` module wrote is no failure, whatever its words."""
    if isinstance(event, Message) and _WARNING.search(event.text, 0, 400):
        return [m for m in matches if m.rule.role is Role.ADVICE]
    if isinstance(event, Message) and _SLURM.search(event.text) and not _said_by_slurm(event):
        return [m for m in matches if not m.rule.scheduler]
    return matches


def _said_by_slurm(event: Message) -> bool:
    """Whether Slurm itself printed it: a script that echoes or searches for such words quotes them."""
    return event.dialect == "slurm" or event.text.startswith(("*** JOB ", "*** STEP ", "srun: "))


def _key(event: Event, matches: Sequence[Match]) -> object:
    stream = event.tags.stream_key()
    if isinstance(event, Trace):
        last = event.links[-1] if event.links else None
        name = (last.exception, _DIGITS.sub("#", last.message[:200]), last.frames[-1:]) if last else None
        return (Trace, stream, len(event.links), name, event.style)
    if isinstance(event, Message):
        rules = tuple(m.rule.id for m in matches[:2])
        return (Message, stream, rules, _DIGITS.sub("#", event.text[:160]))
    if isinstance(event, Exit):
        return (Exit, event.by, event.host, event.rank, event.local_rank, event.ranks, event.exitcode, event.victim,
                event.attempt, event.pid)  # fmt: skip
    if isinstance(event, Collective):
        return (
            Collective,
            stream,
            event.what,
            event.group,
            event.group_rank,
            event.seq,
            event.op,
            event.ranks,
        )
    if isinstance(event, Facts):
        return (Facts, event.origin, tuple(sorted(event.values.items())))
    if isinstance(event, Mark):
        return (Mark, event.span.first)
    if isinstance(event, Progress):
        return (Progress, event.kind)
    if isinstance(event, Words):
        return (Words, stream)
    return type(event)
