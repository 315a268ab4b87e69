"""Silence before a kill, gaps between steps, and the end of training."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from triage.core.cause.clock import Clock
from triage.core.cause.timeline import Timeline, build_timeline
from triage.core.events.model import Interval, Progress, Span
from triage.core.logs.record import Stamp


def progress(
    place: int, seconds: float | None, iteration: int | None = None, kind: str = "iteration", source: int = 0
) -> Progress:
    when = Interval() if seconds is None else Interval(at=Stamp("", seconds))
    return Progress(Span(source, place, place + 1), when=when, iteration=iteration, kind=kind)


def timeline(events: Iterable[Progress]) -> Timeline:
    return build_timeline(events, Clock([]))


def every(gap: float, count: int = 10) -> list[Progress]:
    return [progress(n, n * gap, n) for n in range(count)]


def test_five_minutes_of_silence_is_no_hang_yet() -> None:
    quick = timeline(every(1.0))
    assert not quick.is_hang(300.0)
    assert quick.is_hang(300.1)


def test_slow_steps_need_ten_gaps_of_silence() -> None:
    slow = timeline(every(60.0))
    assert slow.gap() == 60.0
    assert not slow.is_hang(600.0)
    assert slow.is_hang(600.1)


def test_one_long_pause_does_not_stretch_the_usual_gap() -> None:
    paused = [*every(1.0), progress(100, 5000.0, 100), progress(101, 5001.0, 101)]
    assert timeline(paused).gap() == 1.0


def test_two_files_in_turn_make_no_gap() -> None:
    assert timeline([progress(0, 0.0, 1), progress(0, 70.0, 1, source=1)]).gap() is None


def test_silence_counts_from_the_last_sign_before_the_kill_not_from_one_behind_it() -> None:
    line = timeline([progress(0, 10.0, 1), progress(1, 500.0, 2)])
    assert line.silent_before(400.0) == 390.0
    assert line.silent_before(5.0) is None


def test_without_stamps_silence_is_not_known() -> None:
    assert timeline([progress(0, None, 7)]).silent_before(100.0) is None


def test_the_last_sign_is_the_latest_stamp_not_the_last_line() -> None:
    late, early = progress(0, 100.0, 9), progress(50, 20.0, 3)
    last = timeline([early, late]).last
    assert last is not None
    assert last.progress is late


def test_without_stamps_the_last_sign_is_the_highest_iteration() -> None:
    last = timeline([progress(0, None, 9), progress(1, None, 3)]).last
    assert last is not None
    assert last.progress.iteration == 9


@pytest.mark.parametrize(
    ("kind", "finished"), [("done", True), ("success", True), ("aborted", False), ("saved", False)]
)
def test_only_the_programs_own_word_says_that_training_is_done(kind: str, finished: bool) -> None:
    assert (timeline([progress(0, None, kind=kind)]).finished is not None) is finished


def test_nothing_seen_is_no_sign() -> None:
    empty = timeline([])
    assert (empty.last, empty.finished, empty.gap(), empty.iterations) == (None, None, None, 0)
