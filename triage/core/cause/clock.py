"""One time axis for all streams of a job: stamps without a year get theirs from the others, and intervals compare
with a tolerance for clocks that disagree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from triage.core.events.model import Event, Interval, Message
from triage.core.lazy import lazy
from triage.core.logs.record import Stamp
from triage.core.logs.stamp import parse_stamp
from triage.core.values import dataclass, replace

SKEW = 2.0
"""Seconds by which clocks of two nodes may disagree."""

NEW_YEAR = 31
"""Days before and after a New Year in which stamps without a year are of two years, not of one."""

_CANCELLED = lazy(r"\bCANCELLED AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\b")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between `lo` and `hi` in seconds on the job's axis; infinite where open."""

    lo: float = -math.inf
    hi: float = math.inf

    def before(self, other: Bounds, tolerance: float = SKEW) -> bool:
        """Certainly earlier."""
        return self.hi + tolerance < other.lo

    @property
    def guess(self) -> float:
        """One number to sort by; infinite where nothing is known."""
        if self.lo == self.hi:
            return self.lo
        if math.isfinite(self.hi):
            return self.hi
        return self.lo if math.isfinite(self.lo) else math.inf

    def capped(self, hi: float) -> Bounds:
        """The same, known to be over by `hi`."""
        return Bounds(min(self.lo, hi), min(self.hi, hi))


UNKNOWN = Bounds()


def dated(event: Event) -> Event:
    """The event with the time that Slurm's words give it (`CANCELLED AT 2026-12-01T03:56:44`, local time of the
    node; src/slurmd/slurmstepd/req.c), where the line has no stamp of its own."""
    if not isinstance(event, Message) or event.when.at is not None or "CANCELLED AT" not in event.text:
        return event
    told = _CANCELLED.search(event.text)
    stamp = parse_stamp(told[1]) if told is not None else None
    return event if stamp is None else replace(event, when=Interval(at=stamp))


class Clock:
    """Turns stamps into seconds. Stamps that say they are UTC lie on another axis than local ones: they count where no
    local time with its year is printed at all (`kubectl logs --timestamps`), and are not used beside such."""

    def __init__(self, stamps: Iterable[Stamp]) -> None:
        stamps = [s for s in stamps if s.seconds is not None]
        self.utc = any(s.utc for s in stamps) and all(s.utc or not s.has_year for s in stamps)
        """Whether the axis is UTC."""
        axis = [s for s in stamps if s.seconds is not None and s.utc == self.utc]
        dated = [s.seconds for s in axis if s.seconds is not None and s.has_year and 0 < s.seconds < 4e9]
        years = Counter(datetime.fromtimestamp(seconds, UTC).year for seconds in dated)
        self.year: int | None = max(years, key=lambda y: (years[y], y)) if years else None
        self._known = (min(dated), max(dated)) if dated else None
        days = [s.seconds / 86400 for s in axis if s.seconds is not None and not s.has_year]
        self._turns = bool(days) and min(days) < NEW_YEAR and max(days) > 365 - NEW_YEAR
        """Whether stamps without a year stand on both sides of a New Year."""
        self._latest = (Interval(), UNKNOWN)
        self._dated: tuple[Stamp | None, float] = (None, 0.0)
        """What `bounds` and `seconds` answered last: an event's neighbours often share its time."""

    def seconds(self, stamp: Stamp | None) -> float | None:
        if stamp is None or stamp.seconds is None or stamp.utc != self.utc:
            return None
        if stamp.has_year:
            return stamp.seconds
        if self._dated[0] is not stamp:
            self._dated = (stamp, self._with_year(stamp.seconds))
        return self._dated[1]

    def _with_year(self, seconds: float) -> float:
        if self.year is None:
            return seconds + (365 * 86400 if self._turns and seconds < 183 * 86400 else 0)
        usual = _in_year(seconds, self.year)
        if self._apart(usual) < NEW_YEAR * 86400:
            return usual
        others = (_in_year(seconds, year) for year in (self.year - 1, self.year + 1))
        return min((usual, *others), key=self._apart)

    def _apart(self, seconds: float) -> float:
        """How far from all stamps that print their year."""
        first, last = self._known or (seconds, seconds)
        return max(first - seconds, seconds - last, 0.0)

    def bounds(self, when: Interval) -> Bounds:
        if self._latest[0] is not when:
            self._latest = (when, self._bounds(when))
        return self._latest[1]

    def _bounds(self, when: Interval) -> Bounds:
        if (at := self.seconds(when.at)) is not None and when.at is not None:
            return Bounds(at, at if when.at.resolution < 1 else at + when.at.resolution)
        lo, hi = self.seconds(when.after), self.seconds(when.before)
        if lo is not None and hi is not None and hi < lo:
            hi = None
        return Bounds(-math.inf if lo is None else lo, math.inf if hi is None else hi)

    def shown(self, stamp: Stamp) -> str | None:
        """As ISO 8601 without offset, to the printed precision; without a year where none is known; None for a stamp
        that counts from the epoch, for which the local offset is not known."""
        seconds = self.seconds(stamp)
        if seconds is None or stamp.is_epoch:
            return None
        moment = datetime.fromtimestamp(math.floor(seconds), UTC)
        text = moment.strftime(
            "%Y-%m-%dT%H:%M:%S" if stamp.has_year or self.year is not None else "%m-%dT%H:%M:%S"
        )
        if stamp.resolution >= 1:
            return text
        digits = min(6, max(1, round(-math.log10(stamp.resolution))))
        return f"{text}.{math.floor((seconds % 1) * 10**digits + 0.5) % 10**digits:0{digits}d}"


def _in_year(seconds: float, year: int) -> float:
    """Seconds that were counted from the first of January 1970, in another year."""
    leap = seconds >= 59 * 86400 and _is_leap(year)
    return _start_of(year) + seconds + (86400 if leap else 0)


@lru_cache(maxsize=16)
def _start_of(year: int) -> float:
    return datetime(year, 1, 1, tzinfo=UTC).timestamp()


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
