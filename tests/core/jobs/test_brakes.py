"""What holds back cancels for a hang or a failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from triage.core.jobs.brakes import LONGEST_GAP, Quiet, Stall, brake
from triage.core.jobs.state import State

FREE = Stall(State.RUNNING, 700.0, 600.0, True, (), 1, 1)


def test_a_job_alone_that_is_quiet_for_long_has_no_brake() -> None:
    assert brake(FREE) is None


@pytest.mark.parametrize("state", [state for state in State if state is not State.RUNNING])
def test_only_a_running_job_can_stall(state: State) -> None:
    assert brake(replace(FREE, state=state)) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"quiet": 599.0}, {"storage_answers": False}, {"restarts_left": True}, {"recent": (1.0, 599.0)},
        {"stalled": 2, "watched": 9}, {"stalled": 3, "watched": 3},
    ],
)  # fmt: skip
def test_each_brake_holds_alone(change: dict[str, Any]) -> None:
    assert brake(replace(FREE, **change)) is not None


@pytest.mark.parametrize(
    "change", [{"recent": (1.0, 601.0)}, {"stalled": 2, "watched": 10}, {"stalled": 2, "watched": 2}]
)
def test_each_brake_ends_somewhere(change: dict[str, Any]) -> None:
    assert brake(replace(FREE, **change)) is None


def test_silence_counts_only_while_it_means_something() -> None:
    quiet = Quiet().after(0, alive=True, counts=True)
    for now, counts in ((60, True), (120, False), (180, False), (240, True)):
        quiet = quiet.after(now, alive=False, counts=counts)
    assert quiet.seconds == 120
    assert quiet.after(250, alive=True, counts=True).seconds == 0


def test_a_clock_that_jumps_is_no_silence() -> None:
    quiet = Quiet().after(0, alive=True, counts=True).after(86400, alive=False, counts=True)
    assert quiet.seconds == LONGEST_GAP
    assert quiet.after(5, alive=False, counts=True).seconds == LONGEST_GAP
