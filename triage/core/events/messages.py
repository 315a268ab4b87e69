"""Lines outside any traceback: what belongs together becomes one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.core.events.model import Event, Exit, Message, Span, Trace, Words
from triage.core.events.place import at
from triage.core.lazy import lazy
from triage.core.logs.record import Record

LONGEST = 12
"""Continuation lines of one message."""
FARTHEST = 2 << 10
"""Bytes between a message's first line and its last continuation."""
NEAR = 2 << 10
"""Bytes before a report of a failure in which last words are looked for."""

LABELS = frozenset({"srun", "pdsh", "place", "bracket", "mpirun", "rank", "ray"})
"""Dialects that say who wrote a line, and nothing of what it is."""

_STACK = lazy(r"frame #\d|Exception raised from ")
_SENTENCE = lazy(r"[A-Za-z\"'\[(].*[A-Za-z]{2,}.* .*[A-Za-z]{2,}")
_NO_WORDS = lazy(r"Warning\b|warnings\.warn|\|.*\||[{}=]{2,}|\d+%|^\s|\.{4,}|^>|^-{3,}|^\[")


def messages_of(records: Sequence[Record], source: int) -> Iterator[Message]:
    """Messages of one stream: an error of torch's C++ side goes on over lines that carry no prefix of their own
    (`ncclRemoteError: ...`, `Last error:`, `  what():  ...`)."""
    at = 0
    while at < len(records):
        group = [records[at]]
        at += 1
        if _goes_on(group[0]):
            while at < len(records) and len(group) <= LONGEST and _continues(records[at], group):
                group.append(records[at])
                at += 1
        if any(record.text for record in group):
            yield message_of(group, source)


def message_of(group: Sequence[Record], source: int) -> Message:
    """One message from its lines, the first of which says who and when."""
    first = group[0]
    return Message(
        span=Span(source, first.offset, group[-1].end),
        tags=first.tags,
        when=at(first.stamp),
        text=(first.text if len(group) == 1 else "\n".join([record.text for record in group])).rstrip(),
        level=first.level,
        dialect=first.dialect,
        origin=first.origin,
    )


def _goes_on(record: Record) -> bool:
    if record.dialect == "glog":
        return record.level in ("E", "F")
    return record.text.startswith(("terminate called after", "NVRM: The NVIDIA GPU "))


def _continues(record: Record, group: Sequence[Record]) -> bool:
    return (
        (record.dialect == "" or _same_writer(record, group[0]))
        and record.stamp is None
        and record.text != ""
        and record.offset - group[-1].end <= 2
        and record.end - group[0].offset <= FARTHEST
        and not _STACK.match(record.text)
    )


def _same_writer(record: Record, first: Record) -> bool:
    """Both carry a label that says who wrote them, and it is the same."""
    return record.dialect in LABELS and record.tags.stream_key() == first.tags.stream_key()


def last_words(events: Sequence[Event]) -> list[Words]:
    """The plain line right before each traceback or exit report, where it reads like a sentence."""
    plain = {
        e.span.last: e
        for e in events
        if isinstance(e, Message) and not e.level and (not e.dialect or e.dialect in LABELS)
    }
    found: dict[int, Words] = {}
    for event in events:
        if not isinstance(event, Trace | Exit):
            continue
        before = next((plain[event.span.first - n] for n in (1, 2) if event.span.first - n in plain), None)
        if before is None or event.span.first - before.span.first > NEAR:
            continue
        if (
            len(before.text) < 300
            and _SENTENCE.match(before.text)
            and not _STACK.match(before.text)
            and not _NO_WORDS.search(before.text)
        ):
            found[before.span.first] = Words(before.span, before.tags, before.when, before.text)
    return list(found.values())
