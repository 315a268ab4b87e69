"""Where an event stands: the span, tags and time that its first and last record give it."""

from __future__ import annotations

from functools import lru_cache

from triage.core.events.model import Interval, Span
from triage.core.logs.record import Record, Stamp, Tags

UNTIMED = Interval()


def at(stamp: Stamp | None) -> Interval:
    """A line's own time."""
    return UNTIMED if stamp is None else _at(stamp)


@lru_cache(maxsize=1024)
def _at(stamp: Stamp) -> Interval:
    """One shared value: a line gives several events, and ranks print the same stamps."""
    return Interval(at=stamp)


def place(source: int, first: Record, last: Record | None = None) -> tuple[Span, Tags, Interval]:
    """The leading fields of an event that begins at `first` and ends with `last` (the same record by default)."""
    end = (last or first).end
    return Span(source, first.offset, max(end, first.end)), first.tags, at(first.stamp)
