"""What is printed is read back, and nothing that is read breaks the reader."""

from __future__ import annotations

import random
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.events.traces import DATA, HEADER, only, read
from triage.core.events.chain import Reader
from triage.core.events.format import format_links, format_trace
from triage.core.events.frames import Lines
from triage.core.events.model import Frame, Link, Span, Trace

WORDS = st.sampled_from(
    ["shape", "of", "tensor", "(4, 8)", "is", "wrong,", "got", "None", "x=3", "'a b'", "[1]", "é", "🙂"]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
MESSAGES = st.lists(
    st.one_of(SENTENCES, SENTENCES.map("  ".__add__), st.just("")), min_size=0, max_size=4
).map(lambda lines: "\n".join(lines).strip())
NAMES = st.sampled_from(
    [
        "ValueError",
        "torch.OutOfMemoryError",
        "a.b.CustomError",
        "KeyError",
        "__main__.f.<locals>.MyError",
        "queue.Empty",
    ]
)
CODE = st.sampled_from(["f(x)", "return self.forward(x)", "raise ValueError(", "with a() as b:", ""])
FRAMES = st.builds(
    Frame,
    st.sampled_from(["/app/train.py", "<frozen importlib._bootstrap>", "C:\\a b\\c.py", "/opt/é.py"]),
    st.integers(1, 99999),
    st.sampled_from(["f", "<module>", "<listcomp>", "h5py.h5o.open", "__init__"]),
    CODE,
)
STACKS = st.lists(st.tuples(FRAMES, st.sampled_from([1, 1, 1, 2, 5])), min_size=1, max_size=6).map(
    lambda runs: tuple(frame for frame, times in runs for _ in range(times))
)
LINKS = st.builds(Link, NAMES, MESSAGES, STACKS)


@st.composite
def chains(draw: st.DrawFn) -> tuple[Link, ...]:
    links = draw(st.lists(LINKS, min_size=1, max_size=4))
    relations = [draw(st.sampled_from(["cause", "context"])) for _ in links[1:]]
    return tuple(
        Link(link.exception, link.message, link.frames, relation=relation)
        for link, relation in zip(links, ["", *relations], strict=True)
    )


@st.composite
def groups(draw: st.DrawFn) -> tuple[Link, ...]:
    members = draw(st.lists(LINKS, min_size=1, max_size=4))
    head = Link("ExceptionGroup", "some (2 sub-exceptions)", draw(STACKS))
    return (head, *(Link(link.exception, link.message, link.frames, relation="group") for link in members))


@st.composite
def quoted(draw: st.DrawFn) -> tuple[Link, ...]:
    first, last = draw(LINKS), draw(LINKS)
    return (
        Link(first.exception, first.message, first.frames, relation="embedded"),
        Link("RuntimeError", "Caught it in DataLoader worker process 0.", last.frames),
    )


@given(st.one_of(chains(), groups(), quoted()))
@settings(max_examples=300, deadline=None)
def test_printed_traceback_is_read_back(links: tuple[Link, ...]) -> None:
    text = format_trace(Trace(Span(0, 0, 0), links=links))
    prefixed = "".join(f"[rank3]: {line}\n" for line in text.splitlines())
    trace = only(prefixed)
    assert trace.links == links
    assert trace.tags.rank == 3
    assert trace.complete


@given(chains())
@settings(max_examples=100, deadline=None)
def test_reading_is_stable(links: tuple[Link, ...]) -> None:
    lines = format_links(links)
    once = Reader(Lines(lines, [None] * len(lines), tagged=True)).chain(0)
    again = format_links(once.links)
    assert again == lines


def test_notes_are_printed_below_the_message() -> None:
    link = Link("ValueError", "a", (Frame("x.py", 1, "f"),), notes=("note one", "note\ntwo"))
    assert format_links([link])[-4:] == ["ValueError: a", "note one", "note", "two"]


ALL = b"\n".join(path.read_bytes() for path in sorted(DATA.glob("*.txt")))


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_random_bytes_never_crash(data: bytes) -> None:
    read(data)


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_splices_of_real_logs_never_crash(seed: int) -> None:
    chance = random.Random(seed)
    parts = []
    for _ in range(chance.randint(2, 12)):
        start = chance.randrange(len(ALL))
        parts.append(ALL[start : start + chance.randrange(2000)])
    traces, rest = read(b"".join(parts))
    assert all(len(link.frames) <= 400 and len(link.message) <= 16 * 1024 for t in traces for link in t.links)
    assert sum(len(record.text) for record in rest) <= sum(map(len, parts))


def seconds(text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


FRAME = '  File "x.py", line 1, in f\n    f()\n'
HOSTILE = {
    "headers": HEADER,
    "headers and frames": HEADER + FRAME,
    "whole": HEADER + FRAME + "ValueError: x\n",
    "woven": HEADER + HEADER + FRAME + "ValueErrorValueError: x\n",
    "embedded": f"ValueError: x:\nOriginal {HEADER}",
    "rank blocks": f"{HEADER.strip()} (RANK 1)\n{FRAME}ValueError: x\n",
    "separators": f"{HEADER}{FRAME}ValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\n",
    "boxes": "╭── Traceback (most recent call last) ──╮\n│ x.py:3 in f │\n",
    "unknown prefix": f'foo> {HEADER}foo>   File "x.py", line 1, in f\n',
    "dumps": 'Current thread 0x1 (most recent call first):\n  File "x.py", line 3 in f\n',
}


def test_time_grows_with_the_input_only() -> None:
    """Four times the input may not cost ten times the time, whatever is repeated."""
    slow = {}
    for name, unit in HOSTILE.items():
        times = 1_000 // unit.count("\n")
        small, large = seconds(unit * times), seconds(unit * times * 4)
        if large > 12 * small + 3.0:
            slow[name] = (small, large)
    assert not slow


def test_two_hundred_thousand_headers() -> None:
    assert seconds(HEADER * 200_000) < 30


def test_recursion_of_a_hundred_thousand_frames() -> None:
    text = HEADER + FRAME * 100_000 + "RecursionError: maximum recursion depth exceeded\n"
    trace = only(text)
    assert len(trace.links[0].frames) == 400
    assert trace.links[0].exception == "RecursionError"
