"""How the run went by its progress lines: how far it came, when it was last seen alive, whether it had finished."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from triage.core.cause.clock import Clock
from triage.core.cause.signs import Elsewhere, Sign
from triage.core.events.model import Event, Progress
from triage.core.values import dataclass

FINISHED = frozenset({"done", "success"})
SILENCE = 300.0
"""Seconds without progress below which nothing is called a hang."""
SILENT_GAPS = 10.0


@dataclass(frozen=True)
class Timeline:
    """Without slots: what is asked for each failure is computed once."""

    signs: tuple[Sign, ...]
    """In the order of each source's lines."""

    @cached_property
    def elsewhere(self) -> Elsewhere:
        return Elsewhere(self.signs)

    @cached_property
    def last(self) -> Sign | None:
        """The latest stamped one, else the one with the highest iteration."""
        best: Sign | None = None
        for sign in self.signs:
            if best is None or _lateness(sign) > _lateness(best):
                best = sign
        return best

    @cached_property
    def finished(self) -> Sign | None:
        return next((s for s in reversed(self.signs) if s.progress.kind in FINISHED), None)

    @cached_property
    def iterations(self) -> int:
        """How many different iterations were seen."""
        return len({s.progress.iteration for s in self.signs} - {None})

    def gap(self) -> float | None:
        """Median seconds between stamped iteration lines of one source."""
        return self._gap

    @cached_property
    def _gap(self) -> float | None:
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
        return _median(gaps) if gaps else None

    def silent_before(self, time: float) -> float | None:
        """Seconds between the last stamped sign of life and `time`; None where no sign is stamped."""
        at = bisect_right(self._times, time)
        return time - self._times[at - 1] if at else None

    @cached_property
    def _times(self) -> list[float]:
        return sorted(s.time for s in self.signs if s.time is not None)

    def is_hang(self, silence: float) -> bool:
        """Silence longer than the longer of five minutes and ten times the usual gap."""
        return silence > max(SILENCE, SILENT_GAPS * (self.gap() or 0.0))

    def after(self, source: int, offset: int) -> list[Sign]:
        """Signs that the same source shows behind an offset."""
        signs = self._of_source.get(source, [])
        return signs[bisect_left(signs, offset, key=lambda s: s.progress.span.first) :]

    @cached_property
    def _of_source(self) -> dict[int, list[Sign]]:
        found: dict[int, list[Sign]] = defaultdict(list)
        for sign in self.signs:
            found[sign.progress.span.source].append(sign)
        return found


def _median(values: list[float]) -> float:
    """As `statistics.median`, whose module takes longer to import than a small folder to read."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _lateness(sign: Sign) -> tuple[bool, float, int]:
    time = sign.time if sign.time is not None else -math.inf
    return (sign.time is not None, time, sign.progress.iteration or 0)


def build_timeline(events: Iterable[Event], clock: Clock) -> Timeline:
    found: Sequence[Progress] = sorted(
        (e for e in events if isinstance(e, Progress)), key=lambda p: (p.span.source, p.span.first)
    )
    return Timeline(tuple(Sign(p, clock.seconds(p.when.at)) for p in found))
