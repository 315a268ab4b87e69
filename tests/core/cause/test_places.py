"""Byte offsets as `path:line`, counted only where they are shown."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.cause.joblog import Reason
from triage.core.cause.places import Places
from triage.core.cause.verdict import Evidence
from triage.core.events.model import Span

TEXT = b"one\ntwo\nthree\n"


class Counter:
    """Counts lines and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, tuple[int, ...]]] = []

    def __call__(self, source: int, offsets: Sequence[int]) -> list[tuple[str, int]]:
        self.asked.append((source, tuple(offsets)))
        return [("ab"[source] + ".log", TEXT.count(b"\n", 0, offset) + 1) for offset in offsets]


def test_each_file_is_counted_once_in_rising_order() -> None:
    counter = Counter()
    wanted = Places(counter)
    wanted.want([(1, 8), (0, 4), (1, 0), (1, 8)])
    assert sorted(counter.asked) == [(0, (4,)), (1, (0, 8))]
    assert (wanted.of(1, 8), wanted.of(0, 4)) == (("b.log", 3), ("a.log", 2))
    assert len(counter.asked) == 2


def test_the_last_line_is_that_of_the_last_byte_not_of_the_one_behind() -> None:
    evidence = Places(Counter()).evidence(Span(0, 4, 8))
    assert (evidence.path, evidence.first_line, evidence.last_line) == ("a.log", 2, 2)


def test_evidence_that_goes_on_in_the_next_part_of_a_log_is_told_by_its_first_line() -> None:
    evidence = Places(lambda _, offsets: [("a.log.1", 90) if o < 6 else ("a.log", 1) for o in offsets])
    assert evidence.evidence(Span(0, 4, 8)) == Evidence("a.log.1", 90, 90)


def test_an_empty_span_still_has_a_line() -> None:
    evidence = Places(Counter()).evidence(Span(0, 4, 4))
    assert (evidence.first_line, evidence.last_line) == (2, 2)


def test_a_sentence_names_all_its_places() -> None:
    reason = Reason("{0} before {1}, and {0} again", ((0, 0), (1, 8)))
    assert Places(Counter()).say(reason) == "a.log:1 before b.log:3, and a.log:1 again"


def test_braces_of_the_log_itself_stay() -> None:
    assert Places(Counter()).say(Reason("bad {loss} in {1}", ((0, 0),))) == "bad {loss} in {1}"
