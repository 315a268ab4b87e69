"""What numbers explain of a value, found out from examples."""

from __future__ import annotations

import pytest

from triage.core.events.model import Interval, Message, Span
from triage.core.logs.record import Stamp, Tags
from triage.core.logs.stamp import parse_stamp
from triage.core.recipe import Unexplained, recipe

NUMBERS = [("12", "23", "34"), ("10:40:05", "21:51:16", "08:02:27")]
SOURCES = (5, 1_000_003, 2_000_006)


def stamp(clock: str) -> Stamp:
    found = parse_stamp(f"2026-12-01 {clock}")
    assert found is not None
    return found


def event(source: int, rank: str, clock: str) -> Message:
    tags, when = Tags(rank=int(rank)), Interval(at=stamp(clock))
    return Message(Span(source, 40, 90), tags, when, f"[Rank {rank}] timed out after 600 ms", "E")


def test_texts_integers_and_stamps_follow_from_the_numbers() -> None:
    examples = [event(*one) for one in zip(SOURCES, *NUMBERS, strict=True)]
    made = recipe(examples, SOURCES, NUMBERS)
    assert made(7, "99", "11:11:11") == event(7, "99", "11:11:11")


def test_what_does_not_depend_on_the_numbers_is_one_value() -> None:
    values = {"lm loss": 2.5}
    made = recipe([(source, values) for source in SOURCES], SOURCES, NUMBERS)
    assert made(1, "1", "00:00:00")[1] is made(2, "2", "00:00:00")[1] is values


def test_what_is_said_twice_is_made_once() -> None:
    examples = [(Tags(rank=int(rank)), Tags(rank=int(rank))) for rank in NUMBERS[0]]
    first, second = recipe(examples, SOURCES, NUMBERS)(1, "7", "00:00:00")
    assert first == Tags(rank=7)
    assert first is second


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param([1, 2, 3], id="integers that are none of the numbers"),
        pytest.param(["a 1", "a 2", "a 3"], id="texts with other numbers"),
        pytest.param(["rank 12", "node 23", "rank 34"], id="other words"),
        pytest.param([(1,), (1, 2), (1,)], id="another length"),
        pytest.param([1.5, 2.5, 3.5], id="floats"),
        pytest.param([{"a": 1}, {"b": 1}, {"a": 1}], id="other keys"),
        pytest.param([12, "23", 34], id="other types"),
        pytest.param([24, 46, 68], id="twice the number"),
    ],
)
def test_anything_else_is_not_explained(examples: list[object]) -> None:
    with pytest.raises(Unexplained):
        recipe(examples, SOURCES, NUMBERS)


def test_without_numbers_only_what_is_equal_is_explained() -> None:
    assert recipe(["a", "a", "a"], SOURCES, [])(1) == "a"
    with pytest.raises(Unexplained):
        recipe(["a", "b", "a"], SOURCES, [])
