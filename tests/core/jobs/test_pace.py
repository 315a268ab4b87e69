"""Intervals between questions: bounded, longer with age, shorter near the end, gentle on a site in trouble."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.core.jobs.pace import LONGEST, SHORTEST, Pace, interval

SECONDS = st.floats(0, 1e9)


@given(SECONDS, st.none() | SECONDS, st.integers(0, 1000), SECONDS, st.booleans(), st.floats(0, 1))
def test_always_between_the_bounds(age: float, left: float | None, failures: int, cost: float, acting: bool, chance: float) -> None:  # fmt: skip
    assert SHORTEST <= interval(Pace(age, left, failures, cost, acting), chance) <= LONGEST


def test_it_grows_with_age_and_shrinks_near_the_end() -> None:
    assert interval(Pace(0), 0.5) == SHORTEST
    assert interval(Pace(1000), 0.5) == 20.0
    assert interval(Pace(1e6), 0.5) == LONGEST
    assert interval(Pace(1e6, left=60), 0.5) == 5.0


def test_failures_and_slow_answers_back_off() -> None:
    assert interval(Pace(0, failures=3), 0.5) == 16.0
    assert interval(Pace(0, failures=99), 0.5) == LONGEST
    assert interval(Pace(0, cost=1.0), 0.5) == 20.0
    assert interval(Pace(1e6, acting=True), 0.5) == SHORTEST


def test_chance_spreads_watchers() -> None:
    assert interval(Pace(1000), 0.0) == 16.0
    assert round(interval(Pace(1000), 1.0), 6) == 24.0
