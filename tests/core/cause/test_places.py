"""Byte offsets as `path:line`, counted only where they are shown."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.cause.joblog import Reason
from triage.core.cause.places import Places
from triage.core.events.model import Span
from triage.core.logs.source import Source

TEXT = b"one\ntwo\nthree\n"


class Counter:
    """Counts lines and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, tuple[int, ...]]] = []

    def __call__(self, source: int, offsets: Sequence[int]) -> list[int]:
        self.asked.append((source, tuple(offsets)))
        return [TEXT.count(b"\n", 0, offset) + 1 for offset in offsets]


def places(counter: Counter) -> Places:
    return Places([Source("a.log"), Source("b.log")], counter)


def test_each_file_is_counted_once_in_rising_order() -> None:
    counter = Counter()
    wanted = places(counter)
    wanted.want([(1, 8), (0, 4), (1, 0), (1, 8)])
    assert sorted(counter.asked) == [(0, (4,)), (1, (0, 8))]
    assert (wanted.number(1, 8), wanted.number(0, 4)) == (3, 2)
    assert len(counter.asked) == 2


def test_the_last_line_is_that_of_the_last_byte_not_of_the_one_behind() -> None:
    evidence = places(Counter()).evidence(Span(0, 4, 8))
    assert (evidence.path, evidence.first_line, evidence.last_line) == ("a.log", 2, 2)


def test_an_empty_span_still_has_a_line() -> None:
    evidence = places(Counter()).evidence(Span(0, 4, 4))
    assert (evidence.first_line, evidence.last_line) == (2, 2)


def test_a_sentence_names_all_its_places() -> None:
    reason = Reason("{0} before {1}, and {0} again", ((0, 0), (1, 8)))
    assert places(Counter()).say(reason) == "a.log:1 before b.log:3, and a.log:1 again"


def test_braces_of_the_log_itself_stay() -> None:
    assert places(Counter()).say(Reason("bad {loss} in {1}", ((0, 0),))) == "bad {loss} in {1}"
