"""Signs of life, and what sources other than one show later than a time: asked for each failure, so nothing is walked."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence

from triage.core.events.model import Progress
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of life."""

    progress: Progress
    time: float | None


class Elsewhere:
    """The stamped signs of all sources, by time."""

    def __init__(self, signs: Sequence[Sign]) -> None:
        self._signs = signs
        timed = sorted((s.time, at) for at, s in enumerate(signs) if s.time is not None)
        self._times = [time for time, _ in timed]
        self._last = _last_two(timed, signs)
        self._iterations: list[float] = []
        self._iterations_of: dict[int, list[float]] = defaultdict(list)
        self._latest: dict[str, dict[int, float]] = defaultdict(dict)
        """The latest time of each kind, by source; for other kinds than iterations."""
        for time, at in timed:
            progress = signs[at].progress
            if progress.kind == "iteration":
                self._iterations.append(time)
                self._iterations_of[progress.span.source].append(time)
            else:
                self._latest[progress.kind][progress.span.source] = time
        self._top = {
            kind: sorted(latest.items(), key=lambda item: -item[1])[:2]
            for kind, latest in self._latest.items()
        }

    def shows(self, kinds: Collection[str], time: float, source: int) -> bool:
        """Whether another source shows one of these kinds (not iterations) later."""
        return bool(self._top) and any(
            other != source and latest > time for kind in kinds for other, latest in self._top.get(kind, ())
        )

    def iterations(self, time: float, source: int) -> int:
        """Iterations of other sources that are later."""
        own = self._iterations_of.get(source, [])
        return _later(self._iterations, time) - _later(own, time)

    def last(self, time: float, source: int) -> Sign | None:
        """Of the later signs of other sources the one that stands last."""
        at = bisect_right(self._times, time)
        places = self._last[at] if at < len(self._last) else ()
        return next((self._signs[p] for p in places if self._signs[p].progress.span.source != source), None)


def _later(times: Sequence[float], time: float) -> int:
    return len(times) - bisect_right(times, time)


def _last_two(timed: Sequence[tuple[float, int]], signs: Sequence[Sign]) -> list[tuple[int, ...]]:
    """For each sign, of it and all later ones: the place of the last, and that of the last of another source."""
    found: list[tuple[int, ...]] = []
    two: tuple[int, ...] = ()
    for _, at in reversed(timed):
        best: dict[int, int] = {}
        for place in sorted((at, *two), reverse=True):
            best.setdefault(signs[place].progress.span.source, place)
        new = tuple(best.values())[:2]
        two = two if new == two else new
        found.append(two)
    found.reverse()
    return found
