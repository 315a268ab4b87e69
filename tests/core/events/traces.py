"""Traces read from text the way the engine reads them."""

from __future__ import annotations

from pathlib import Path

from triage.core.events.model import Frame, Link, Trace
from triage.core.events.traceback import extract_traces
from triage.core.logs.demux import streams
from triage.core.logs.line import decode_lines
from triage.core.logs.record import Record
from triage.core.logs.records import to_records

DATA = Path(__file__).parent / "data"
HEADER = "Traceback (most recent call last):\n"


def read(data: str | bytes) -> tuple[list[Trace], list[Record]]:
    """Traces of all streams of a log, and the records left."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    traces: list[Trace] = []
    rest: list[Record] = []
    for stream in streams(to_records(decode_lines(raw, 0))):
        found, left = extract_traces(stream, 0)
        traces += found
        rest += left
    return traces, rest


def only(data: str | bytes) -> Trace:
    traces, _ = read(data)
    assert len(traces) == 1, [link.exception for trace in traces for link in trace.links]
    return traces[0]


def inner(link: Link) -> Frame:
    """The innermost frame."""
    return link.frames[-1]


def names(trace: Trace) -> list[tuple[str, str | None]]:
    return [(link.relation, link.exception) for link in trace.links]


def left_texts(rest: list[Record]) -> list[str]:
    return [record.text for record in rest if record.text.strip()]
