"""One axis for stamps with and without a year, and intervals that disagree by a skew."""

from __future__ import annotations

import math

import pytest

from triage.core.cause.clock import SKEW, UNKNOWN, Bounds, Clock, dated
from triage.core.events.model import Interval, Message, Span
from triage.core.logs.record import Stamp
from triage.core.logs.stamp import parse_stamp


def stamp(text: str) -> Stamp:
    found = parse_stamp(text)
    assert found is not None
    return found


def glog(days: float, resolution: float = 1e-6) -> Stamp:
    """A stamp without a year, so many days after the first of January."""
    return Stamp("E", days * 86400.0, has_year=False, resolution=resolution)


def test_an_interval_is_before_another_only_beyond_the_skew() -> None:
    early = Bounds(0.0, 10.0)
    assert not early.before(Bounds(10.0 + SKEW, 20.0))
    assert early.before(Bounds(10.001 + SKEW, 20.0))
    assert early.before(Bounds(10.5, 20.0), tolerance=0.0)


def test_nothing_is_before_or_after_the_unknown() -> None:
    assert not UNKNOWN.before(Bounds(0.0, 1.0))
    assert not Bounds(0.0, 1.0).before(UNKNOWN)
    assert not Bounds(0.0).before(Bounds(100.0, 101.0))


@pytest.mark.parametrize(
    ("bounds", "guess"),
    [
        (Bounds(5.0, 5.0), 5.0),
        (Bounds(1.0, 9.0), 9.0),
        (Bounds(hi=9.0), 9.0),
        (Bounds(1.0), 1.0),
        (UNKNOWN, math.inf),
    ],
)
def test_the_guess_is_the_latest_moment_that_is_known(bounds: Bounds, guess: float) -> None:
    assert bounds.guess == guess


def test_capping_never_turns_an_interval_round() -> None:
    assert Bounds(5.0, 9.0).capped(3.0) == Bounds(3.0, 3.0)
    assert Bounds(1.0).capped(3.0) == Bounds(1.0, 3.0)


def test_a_stamp_without_a_year_gets_that_of_the_others() -> None:
    clock = Clock([stamp("2026-12-01 10:00:00"), stamp("2026-12-01 10:00:09"), stamp("2019-01-01 00:00:00")])
    assert clock.seconds(glog(334 + 10 / 24)) == clock.seconds(stamp("2026-12-01 10:00:00"))


def test_over_new_year_each_stamp_without_a_year_gets_the_one_that_fits() -> None:
    clock = Clock([stamp("2025-12-31 23:50:00"), stamp("2025-12-31 23:59:00"), stamp("2026-01-01 00:10:00")])
    before, after = glog(364 + 23.95 / 24), glog(0.1 / 24)
    assert clock.shown(before) == "2025-12-31T23:57:00.000000"
    assert clock.shown(after) == "2026-01-01T00:06:00.000000"
    assert clock.bounds(Interval(at=before)).before(clock.bounds(Interval(at=after)))


def test_over_new_year_stamps_without_any_year_are_in_order() -> None:
    before, after = glog(364 + 23.9 / 24), glog(0.1 / 24)
    clock = Clock([after, before])
    assert clock.bounds(Interval(at=before)).before(clock.bounds(Interval(at=after)))
    assert clock.shown(after) == "01-01T00:06:00.000000"


def test_a_leap_day_moves_only_the_days_behind_it() -> None:
    clock = Clock([stamp("2024-03-01 00:00:00")])
    assert clock.seconds(glog(59)) == clock.seconds(stamp("2024-03-01 00:00:00"))
    assert clock.seconds(glog(58)) == clock.seconds(stamp("2024-02-28 00:00:00"))


def test_stamps_without_any_year_still_compare_with_each_other() -> None:
    clock = Clock([glog(1), glog(2)])
    first, second = clock.bounds(Interval(at=glog(1))), clock.bounds(Interval(at=glog(2)))
    assert first.before(second)
    assert clock.shown(glog(1)) == "01-02T00:00:00.000000"


def test_utc_is_the_axis_where_no_local_time_is_printed() -> None:
    first, second = stamp("2026-12-01T10:00:00Z"), stamp("2026-12-01T10:00:09Z")
    clock = Clock([first, second])
    assert clock.bounds(Interval(at=first)).before(clock.bounds(Interval(at=second)))
    assert clock.shown(first) == "2026-12-01T10:00:00"
    assert clock.seconds(glog(1)) is None


def test_a_bare_number_of_seconds_shows_no_calendar() -> None:
    epoch = stamp("1764583200")
    clock = Clock([epoch])
    assert clock.seconds(epoch) == 1764583200.0
    assert clock.shown(epoch) is None


def test_utc_is_another_axis_beside_local_times_and_orders_nothing() -> None:
    utc = stamp("2026-12-01T10:00:00Z")
    assert utc.utc
    clock = Clock([utc, stamp("2026-12-01 12:00:00")])
    assert clock.seconds(utc) is None
    assert clock.bounds(Interval(at=utc)) == UNKNOWN
    assert clock.shown(utc) is None


def test_a_whole_second_lasts_a_second() -> None:
    whole = stamp("2026-12-01 10:00:00")
    bounds = Clock([whole]).bounds(Interval(at=whole))
    assert bounds.hi - bounds.lo == 1.0


def test_neighbours_that_contradict_give_no_upper_bound() -> None:
    early, late = stamp("2026-12-01 10:00:00"), stamp("2026-12-01 11:00:00")
    bounds = Clock([early, late]).bounds(Interval(after=late, before=early))
    assert math.isinf(bounds.hi)
    assert math.isfinite(bounds.lo)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("2026-12-01 10:03:07.123456", "2026-12-01T10:03:07.123456"),
        ("2026-12-01 10:03:07,123", "2026-12-01T10:03:07.123"),
        ("2026-12-01 10:03:07", "2026-12-01T10:03:07"),
    ],
)
def test_time_is_shown_as_precisely_as_it_was_printed(printed: str, shown: str) -> None:
    assert Clock([stamp(printed)]).shown(stamp(printed)) == shown


def test_slurms_own_words_carry_their_time() -> None:
    told = dated(
        Message(
            Span(0, 0, 9), text="*** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE TO TIME LIMIT ***"
        )
    )
    assert told.when.at is not None
    assert told.when.at.seconds == stamp("2026-12-01 10:00:00").seconds


def test_a_lines_own_stamp_is_better_than_its_words() -> None:
    own = Interval(at=stamp("2026-12-01 10:00:00.500"))
    event = Message(Span(0, 0, 9), when=own, text="*** STEP 1.0 ON n1 CANCELLED AT 2026-12-01T10:00:00 ***")
    assert dated(event).when == own


@pytest.mark.parametrize("text", ["*** CANCELLED AT soon ***", "CANCELLED AT 2026-99-99T10:00:00 ***", ""])
def test_words_that_are_no_time_date_nothing(text: str) -> None:
    event = Message(Span(0, 0, 9), text=text)
    assert dated(event) is event
