"""What is kept of a source's events: the first and the last of everything alike, so that a storm stays small."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, TypeGuard

from triage.core.cause.clock import dated
from triage.core.cause.deciding import deciding
from triage.core.events.bare import LONGEST, bare_exception
from triage.core.events.model import (
    Collective,
    Event,
    Exit,
    Facts,
    Manifest,
    Mark,
    Message,
    Progress,
    Trace,
    Words,
)
from triage.core.logs.record import Stamp, Tags
from triage.core.rules.engine import Engine, Match
from triage.core.values import dataclass, field

ALIKE = 4
"""Of events that differ only in numbers, this many first ones of a process are kept, and the last."""
STEPS_KEPT = 256
STAMPS_KEPT = 256
CROWD = 4096
"""Sources of one call beyond which less is weighed of each that is alike others."""
NEAR = 2 << 10
"""Bytes between two lines that say the same in one breath."""
KINDS = 20_000
"""Different events of one source that are kept apart."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Kept:
    """An event, and the match that names it."""

    event: Event
    deciding: Match | None = None


class Holding(Protocol):
    """What is kept of a source that was read: small, for a call may have a hundred thousand of them."""

    @property
    def tags(self) -> tuple[Tags, ...]:
        """Every different writer seen."""

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """The latest stamps, of whatever lines."""

    @property
    def kept(self) -> tuple[Kept, ...]:
        """In the order of their place in the source."""

    @property
    def recent(self) -> tuple[Stamp, ...]:
        """What is weighed of the stamps where there are more than `CROWD` sources."""

    @property
    def brief(self) -> tuple[Kept, ...]:
        """What is weighed of the kept events there."""


@dataclass(frozen=True, slots=True)
class Held:
    """All of it as it is."""

    tags: tuple[Tags, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    kept: tuple[Kept, ...] = ()

    @property
    def recent(self) -> tuple[Stamp, ...]:
        return self.stamps

    @property
    def brief(self) -> tuple[Kept, ...]:
        return self.kept


NOTHING = Held()


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that is left of a source when it was read."""

    size: int
    passed_over: int
    holding: Holding


@dataclass(slots=True)
class Keeper:
    """The events of one source, bounded."""

    engine: Engine
    tags: dict[Tags, None] = field(default_factory=dict)
    """In the order of their first lines."""
    stamps: list[Stamp] = field(default_factory=list)
    _writer: Tags | None = None
    """Of the latest event: most have the same tags as the one before."""
    _first: dict[object, list[Kept]] = field(default_factory=dict)
    _last: dict[object, Kept] = field(default_factory=dict)
    _steps: list[Progress] = field(default_factory=list)
    _lines: deque[Message] = field(default_factory=lambda: deque(maxlen=LONGEST))
    """The latest lines, with nothing else behind them."""
    _named: int = -1
    """Where the latest line stands that a rule knows."""

    def copy(self) -> Keeper:
        """The same state, independent of this one; events are values and are shared."""
        first = {key: list(group) for key, group in self._first.items()}
        return Keeper(
            self.engine,
            dict(self.tags),
            list(self.stamps),
            self._writer,
            first,
            dict(self._last),
            list(self._steps),
            self._lines.copy(),
            self._named,
        )

    def add(self, events: Iterable[Event]) -> None:
        for seen in events:
            event = dated(seen)
            self._see(event)
            if _is_iteration(event):
                self._speak(event)
                self._steps.append(event)
                if len(self._steps) > 2 * STEPS_KEPT:
                    self._steps[: len(self._steps) - STEPS_KEPT] = []
                continue
            match = deciding(self.engine, event)
            if isinstance(event, Message):
                self._lines.append(event)
                if match is None:
                    continue
                self._named = event.span.first
            else:
                self._speak(event)
            self._keep(_key(event, match), Kept(event, match))

    def end(self) -> None:
        """The source ends here."""
        self._speak(None)

    def _speak(self, event: Event | None) -> None:
        """What the lines before an event, or before the end, say by where they stand."""
        if not self._lines or (event is not None and event.span.first <= self._lines[-1].span.first):
            return
        if event is None or isinstance(event, Exit):
            raised = bare_exception(tuple(self._lines), event)
            match = deciding(self.engine, raised) if raised is not None else None
            if raised is not None and match is not None and raised.span.first > self._named:
                self._keep(_key(raised, match), Kept(raised, match))
        self._lines.clear()

    def holding(self) -> Holding:
        """What is kept so far."""
        return Held(tuple(self.tags), tuple(self.stamps[-STAMPS_KEPT:]), tuple(self.kept()))

    def kept(self) -> Sequence[Kept]:
        """In the order of their place in the source."""
        found = [k for group in self._first.values() for k in group]
        found.extend(self._last.values())
        found.extend(Kept(step) for step in self._steps)
        return sorted(found, key=lambda k: (k.event.span.first, k.event.span.last))

    def _see(self, event: Event) -> None:
        if event.tags is not self._writer and len(self.tags) < 100_000:
            self._writer = event.tags
            self.tags[_of_process(event.tags)] = None
        at = event.when.at
        if at is not None and at.seconds is not None:
            self.stamps.append(at)
            if len(self.stamps) > 2 * STAMPS_KEPT:
                self.stamps[: len(self.stamps) - STAMPS_KEPT] = []

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


def is_crowd(sources: int) -> bool:
    """Whether so many sources of one call are weighed in brief."""
    return sources > CROWD


def in_brief(kept: Sequence[Kept]) -> tuple[Kept, ...]:
    """Without what says again what its process has just said, and of iterations in a row the last two."""
    found: list[Kept] = []
    steps = 0
    for one in reversed(kept):
        steps = steps + 1 if _is_iteration(one.event) else 0
        if steps <= 2:
            found.append(one)
    found.reverse()
    said: dict[object, tuple[object, int]] = {}
    return tuple([one for one in found if not _is_said_again(one, said)])


def _is_said_again(one: Kept, said: dict[object, tuple[object, int]]) -> bool:
    """Whether the same is said right before it, by the same process or by one of which a later line has no label;
    `said` holds who said it last, and where that ends."""
    event, span = one.event, one.event.span
    words: object = None
    if isinstance(event, Message) and one.deciding is not None:
        words = one.deciding.rule.id
    elif isinstance(event, Collective):
        words = (event.what, event.seq, event.op, event.group_rank, event.ranks, event.peer)
    if words is None:
        return False
    writer, end = said.get(words, (None, -NEAR))
    own = event.tags.stream_key()
    said[words] = (own if own != _NOBODY else writer, span.last)
    return span.first - end < NEAR and own in (writer, _NOBODY)


_NOBODY = Tags().stream_key()


def _is_iteration(event: Event) -> TypeGuard[Progress]:
    return isinstance(event, Progress) and event.kind == "iteration"


@lru_cache(maxsize=4096)
def _of_process(tags: Tags) -> Tags:
    """Without what changes from line to line."""
    return Tags(tags.rank, tags.local_rank, tags.task, tags.node, None, tags.device, None)


def _key(event: Event, match: Match | None) -> object:
    stream = event.tags.stream_key()
    if isinstance(event, Trace):
        last = event.links[-1] if event.links else None
        name = (last.exception, _DIGITS.sub("#", last.message[:200]), last.frames[-1:]) if last else None
        return (Trace, stream, len(event.links), name, event.style)
    if isinstance(event, Message):
        rule = match.rule.id if match else ""
        return (Message, stream, rule, _DIGITS.sub("#", event.text[:160]))
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
    if isinstance(event, Manifest):
        return Manifest
    if isinstance(event, Facts):
        return (Facts, event.origin, tuple(sorted(event.values.items())))
    if isinstance(event, Mark):
        return (Mark, event.span.first)
    if isinstance(event, Progress):
        return (Progress, event.kind)
    if isinstance(event, Words):
        return (Words, stream)
    return type(event)
