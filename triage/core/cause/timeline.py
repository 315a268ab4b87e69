"""How the run went by its progress lines: how far it came, when it was last seen alive, whether it had finished."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from triage.core.cause.clock import Clock
from triage.core.events.model import Event, Progress

FINISHED = frozenset({"done", "success"})
SILENCE = 300.0
"""Seconds without progress below which nothing is called a hang."""
SILENT_GAPS = 10.0


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of life."""

    progress: Progress
    time: float | None


@dataclass(frozen=True, slots=True)
class Timeline:
    signs: tuple[Sign, ...]
    """In the order of each source's lines."""

    @property
    def last(self) -> Sign | None:
        """The latest stamped one, else the one with the highest iteration."""
        best: Sign | None = None
        for sign in self.signs:
            if best is None or _lateness(sign) > _lateness(best):
                best = sign
        return best

    @property
    def finished(self) -> Sign | None:
        return next((s for s in reversed(self.signs) if s.progress.kind in FINISHED), None)

    @property
    def iterations(self) -> int:
        return sum(s.progress.iteration is not None for s in self.signs)

    def gap(self) -> float | None:
        """Median seconds between stamped iteration lines of one source."""
        gaps: list[float] = []
        previous: Sign | None = None
        for sign in self.signs:
            if sign.time is None or sign.progress.iteration is None:
                continue
            if (
                previous is not None
                and previous.progress.span.source == sign.progress.span.source
                and previous.time is not None
                and sign.time > previous.time
            ):
                gaps.append(sign.time - previous.time)
            previous = sign
        return median(gaps) if gaps else None

    def silent_before(self, time: float) -> float | None:
        """Seconds between the last stamped sign of life and `time`; None where no sign is stamped."""
        times = [s.time for s in self.signs if s.time is not None and s.time <= time]
        return time - max(times) if times else None

    def is_hang(self, silence: float) -> bool:
        """Silence longer than the longer of five minutes and ten times the usual gap."""
        return silence > max(SILENCE, SILENT_GAPS * (self.gap() or 0.0))

    def after(self, source: int, offset: int) -> list[Sign]:
        """Signs that the same source shows behind an offset."""
        return [s for s in self.signs if s.progress.span.source == source and s.progress.span.first >= offset]

    def later_than(self, time: float) -> list[Sign]:
        return [s for s in self.signs if s.time is not None and s.time > time]


def _lateness(sign: Sign) -> tuple[bool, float, int]:
    time = sign.time if sign.time is not None else -math.inf
    return (sign.time is not None, time, sign.progress.iteration or 0)


def build_timeline(events: Iterable[Event], clock: Clock) -> Timeline:
    found: Sequence[Progress] = sorted(
        (e for e in events if isinstance(e, Progress)), key=lambda p: (p.span.source, p.span.first)
    )
    return Timeline(tuple(Sign(p, clock.seconds(p.when.at)) for p in found))
