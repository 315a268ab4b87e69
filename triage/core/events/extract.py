"""From a batch of regions of one source to its events: the order in which the extractors get to see the records."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence

from triage.core.events import (
    arguments,
    attempts,
    collectives,
    elastic,
    exits,
    hosts,
    identity,
    progress,
    traceback,
)
from triage.core.events.arguments import artifact_sizes, extract_facts
from triage.core.events.attempts import extract_marks
from triage.core.events.collectives import extract_collectives
from triage.core.events.elastic import extract_elastic
from triage.core.events.exits import extract_exits
from triage.core.events.hosts import extract_hosts
from triage.core.events.identity import extract_identity
from triage.core.events.messages import last_words, message_of, messages_of
from triage.core.events.model import Event, Facts, Interval, Message, Progress, Span, Trace
from triage.core.events.progress import extract_progress
from triage.core.events.traceback import extract_traces
from triage.core.events.worth import Worth
from triage.core.logs.anchors import ANCHORS, HEADER
from triage.core.logs.demux import streams
from triage.core.logs.line import decode_lines
from triage.core.logs.record import Record, Stamp
from triage.core.logs.records import to_records
from triage.core.logs.regions import AFTER_FRAME, AROUND_TRACEBACK, HEAD, Region
from triage.core.values import replace

_WORTH = Worth(
    {
        "attempts": attempts.WORDS,
        "arguments": arguments.WORDS,
        "hosts": hosts.WORDS,
        "identity": identity.WORDS,
        "traceback": traceback.WORDS,
        "elastic": elastic.WORDS,
        "exits": exits.WORDS,
        "progress": progress.WORDS,
        "collectives": collectives.WORDS,
    }
)


def events_of(index: int, regions: Iterable[Region]) -> list[Event]:
    """All events of the regions, ordered by offset; `Message` events are every record that nothing else took."""
    lines = [line for region in regions for line in decode_lines(region.data, region.offset)]
    records = to_records(lines)
    found: list[Event] = []
    worth = _WORTH.of(records)
    for stream in streams(records):
        found.extend(_stream_events(stream, index, worth))
    stamps = _Stamps(records)
    found.extend(last_words(found))
    timed = [_at(event, stamps.around(event)) for event in found]
    timed.sort(key=lambda e: (e.span.first, e.span.last))
    return timed


def error_file_event(index: int, text: str) -> Trace | None:
    """The traceback in torchrun's `error.json`."""
    from triage.core.events.embedded import trace_from_error_file

    return trace_from_error_file(text, index, len(text.encode()))


def cut_error_file_event(index: int, text: str, size: int, regions: Iterable[Region]) -> Trace | None:
    """What an `error.json` of `size` bytes says of which only the beginning and some regions were kept."""
    from triage.core.events.embedded import trace_from_cut_error_file

    seen = (region.data.decode("utf-8", "replace") for region in regions)
    return trace_from_cut_error_file(text, index, size, seen)


def artifact_event(index: int, text: str) -> Facts | None:
    """The sizes that a metrics JSON states, complete or torn off in the middle."""
    values = artifact_sizes(text)
    return Facts(span=Span(index, 0, len(text)), values=values, origin="environment") if values else None


def _stream_events(stream: Sequence[Record], index: int, worth: Mapping[str, Collection[int]]) -> list[Event]:
    marks, rest = extract_marks(stream, index, worth["attempts"])
    facts, rest = extract_facts(rest, index, worth["arguments"])
    facts += extract_hosts(stream, index, worth["hosts"])
    facts += extract_identity(stream, index, worth["identity"])
    found: list[Event] = [*marks, *(event for event in facts if _counts(event, stream))]
    traces, rest = extract_traces(rest, index, worth["traceback"])
    found.extend(traces)
    for extract, reader in (
        (extract_elastic, "elastic"),
        (extract_exits, "exits"),
        (extract_progress, "progress"),
    ):
        events, rest = extract(rest, index, worth[reader])
        found.extend(events)
    found.extend(_also_messages(found, stream, index))
    collectives, _ = extract_collectives(stream, index, worth["collectives"])
    found.extend(collectives)
    found.extend(messages_of(rest, index))
    return found


def _also_messages(events: Sequence[Event], stream: Sequence[Record], index: int) -> list[Message]:
    """Lines that show progress and may be a failure's own words too (`[exiting program after receiving SIGTERM.]`)."""
    exiting = {e.span.first for e in events if isinstance(e, Progress) and e.kind == "exiting"}
    return [message_of([r], index) for r in stream if r.offset in exiting] if exiting else []


def _counts(event: Event, stream: Sequence[Record]) -> bool:
    """Sizes stated outside the head of a stream count only on lines that an anchor finds, so that how much of
    a stream was read does not change them."""
    if event.span.first < HEAD or (isinstance(event, Facts) and event.origin == "arguments"):
        return True
    at = bisect_left(stream, event.span.first, key=lambda r: r.offset)
    while at < len(stream) and stream[at].offset < event.span.last:
        if any(a in stream[at].raw or a in stream[at].text for a in ANCHORS):
            return True
        at += 1
    return False


def _at(event: Event, when: Interval) -> Event:
    """The event, its time bounded. Messages are most of all events, and cheaper to make anew than by `replace`."""
    if event.when is when:
        return event
    if type(event) is Message:
        return Message(event.span, event.tags, when, event.text, event.level, event.dialect, event.origin)
    return replace(event, when=when)


class _Stamps:
    """The stamped records of a batch, to bound what carries no time itself. What stands before a traceback is part of
    any excerpt that has its header; without it, it may be missing."""

    def __init__(self, records: Sequence[Record]) -> None:
        stamped = [r for r in records if r.stamp is not None and r.stamp.seconds is not None]
        self._before = _At(stamped)
        self._after = _At([r for r in stamped if r.dialect != "megatron"])
        """Block-buffered standard output comes late, with old stamps: it bounds nothing from above."""
        self._headed = {r.offset for r in records if HEADER in r.raw}

    def around(self, event: Event) -> Interval:
        if event.when.at is not None and event.when.at.seconds is not None:
            return event.when if event.when.after is event.when.before is None else Interval(at=event.when.at)
        headless = isinstance(event, Trace) and event.span.first not in self._headed
        low = event.span.first if headless else event.span.first - AROUND_TRACEBACK
        after = self._before.last(event.span.first, low)
        before = self._after.first(event.span.last, event.span.last + AFTER_FRAME)
        return Interval(after=after, before=before)


class _At:
    """Stamps by the offset of their records."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._offsets = [r.offset for r in records]
        self._stamps = [r.stamp for r in records]

    def last(self, end: int, low: int) -> Stamp | None:
        at = bisect_left(self._offsets, end) - 1
        return self._stamps[at] if at >= 0 and self._offsets[at] >= low else None

    def first(self, start: int, high: int) -> Stamp | None:
        at = bisect_left(self._offsets, start)
        return self._stamps[at] if at < len(self._offsets) and self._offsets[at] <= high else None
