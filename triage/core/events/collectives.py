"""Lines of ProcessGroupNCCL, NCCL, gloo and the store become `Collective` events.

Wordings: torch 1.10 to 2.13, `torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, `TraceUtils.h`,
`ProcessGroupWrapper.cpp`, `ProcessGroupGloo.cpp`, `TCPStore.cpp`; `torch/distributed/flight_recorder`; gloo's
`transport/tcp`; NCCL's `misc/socket.cc`, `transport/net_ib.cc`, `init.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from triage.core.events import collective_peers as peers
from triage.core.events import collective_reports as reports
from triage.core.events.collective_line import LIMIT, Draft, integer, number, work_fields
from triage.core.events.model import Collective, Event
from triage.core.lazy import lazy
from triage.core.logs.record import Record
from triage.core.values import replace

MAX_EVENTS = 20_000
"""Of one stream; a hang prints a few per rank, so what is beyond repeats it."""

_FAILED_WORK = lazy(
    r"(?:Timeout at NCCL work: |by watchdog at work: |by watchdog at work sequence id: )(-?[0-9]{1,19})"
)
_ENQUEUED = lazy(r"[Ll]ast enqueued (?:[A-Z]{2,8} )?work: (-?[0-9]{1,19})")
_COMPLETED = lazy(r"[Ll]ast completed (?:[A-Z]{2,8} )?work: (-?[0-9]{1,19})")
_RAN = lazy(r"ran for ([0-9]{1,19}) milliseconds")
_ASYNC = lazy(r"raised the following async exception: (.{0,300})")
_THREAD_ENDED = lazy(r"watchdog thread terminated with exception: (.{0,300})")
_DUMP_FROM = lazy(r"from {1,3}(?:this local rank|rank ([0-9]{1,9})|another rank)")
_STUCK = lazy(r"watchdog got stuck for ([0-9]{1,9}) seconds|Heartbeat monitor timed out")
_OPTIONS = lazy(r"initialization options: ?size: ([0-9]{1,9}), global rank: ([0-9]{1,9})")

MAX_LINES = 200
"""Of an exception's message."""

Parse = Callable[[Draft], Iterator[Collective]]


def _work(draft: Draft) -> Iterator[Collective]:
    text = draft.text
    fields = work_fields(text)
    if "caught collective operation timeout" in text or "timed out in blocking wait" in text:
        yield draft.event("timeout", **fields, ran_ms=integer(_RAN, text))
    elif found := _ASYNC.search(text):
        yield draft.event("error", **fields, reason=found[1].strip())


def _enqueued(draft: Draft) -> Iterator[Collective]:
    text = draft.text
    pair = {"last_enqueued": integer(_ENQUEUED, text), "last_completed": integer(_COMPLETED, text)}
    if "Received a " in text:
        found = _DUMP_FROM.search(text)
        ranks = (int(found[1]),) if found and found[1] else ()
        yield draft.event(
            "dump", **pair, ranks=ranks, reason="local" if "this local rank" in text else "remote"
        )
    else:
        yield draft.event("enqueued", **pair, seq=integer(_FAILED_WORK, text))


def _first_to_dump(draft: Draft) -> Iterator[Collective]:
    yield draft.event("dump", reason="first")


def _ended(draft: Draft) -> Iterator[Collective]:
    found = _THREAD_ENDED.search(draft.text)
    if found and "caught collective operation timeout" not in found[1]:
        yield draft.event("aborted", reason=found[1].strip())


def _heartbeat(draft: Draft) -> Iterator[Collective]:
    if found := _STUCK.search(draft.text):
        yield draft.event("heartbeat", ran_ms=number(found[1], 1000))


def _options(draft: Draft) -> Iterator[Collective]:
    if found := _OPTIONS.search(draft.text):
        yield draft.event("member", size=int(found[1]), ranks=(int(found[2]),))


TABLE: tuple[tuple[str, Parse], ...] = (
    ("WorkNCCL(", _work),
    ("ast enqueued ", _enqueued),
    ("First PG on this rank to signal dumping", _first_to_dump),
    ("watchdog thread terminated", _ended),
    ("watchdog got stuck for", _heartbeat),
    ("Heartbeat monitor timed out", _heartbeat),
    ("initialization options:", _options),
    *peers.TABLE,
    *reports.TABLE,
)
"""A text that holds the literal is given to the function; a line may give several events."""


WORDS = (*(literal for literal, _ in TABLE), *reports.WORDS)
"""One of these stands in every line that is read, but for those with a group's name and those inside a report."""


def extract_collectives(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Collective], list[Record]]:
    """The events of one demuxed stream, in order, and the records unchanged: rules match these lines too.

    Tracebacks need not be taken out before: an exception's message counts like a logged line."""
    events: list[Collective] = []
    known: set[tuple[object, ...]] = set()
    report = reports.Report()
    for record in stream:
        if worth is not None and record.offset not in worth and not report.open and not _names_group(record):
            continue
        for event in _events_of(record, source, report):
            key = _identity(event)
            if key not in known and len(events) < MAX_EVENTS:
                known.add(key)
                events.append(event)
    events.extend(report.finish())
    return events, list(stream)


def collectives_in(text: str, event: Event) -> list[Collective]:
    """What the message of a traceback says of collectives and peers, placed where `event` stands."""
    first, last = event.span.first, event.span.last
    lines = text[: LIMIT * 4].split("\n")
    records = [Record(first, last, line, event.tags, event.when.at) for line in lines[:MAX_LINES]]
    found, _ = extract_collectives(records, event.span.source)
    return [replace(e, when=event.when) for e in found]


def _events_of(record: Record, source: int, report: reports.Report) -> Iterator[Collective]:
    draft = Draft(record, record.text[:LIMIT], source)
    text = draft.text
    matched = False
    for literal, parse in TABLE:
        if literal in text:
            for event in parse(draft):
                matched = True
                yield (
                    replace(event, group=report.group)
                    if event.what == "desync" and not event.group
                    else event
                )
    if not matched and record.tags.rank is not None and draft.group:
        yield draft.event("member", ranks=(record.tags.rank,))
    yield from report.feed(draft)


def _names_group(record: Record) -> bool:
    return "[PG " in record.raw or "[PG " in record.text


def _identity(event: Collective) -> tuple[object, ...]:
    """Two events with equal ones say the same: torch prints a timeout up to three times."""
    return (
        event.what, event.group, event.group_rank, event.op, event.seq, event.last_enqueued, event.last_completed,
        event.ran_ms, event.numel_in, event.ranks, event.size, event.members, event.peer, event.shape, event.other, event.reason,
        event.tags.rank, event.tags.node, event.tags.pid,
    )  # fmt: skip
