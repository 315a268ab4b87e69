"""Where an event stands: the span, tags and time that its first and last record give it."""

from __future__ import annotations

from triage.core.events.model import Interval, Span
from triage.core.logs.record import Record, Tags

UNTIMED = Interval()


def place(source: int, first: Record, last: Record | None = None) -> tuple[Span, Tags, Interval]:
    """The leading fields of an event that begins at `first` and ends with `last` (the same record by default)."""
    end = (last or first).end
    when = Interval(at=first.stamp) if first.stamp is not None else UNTIMED
    return Span(source, first.offset, max(end, first.end)), first.tags, when
