"""Logs in the light of the scheduler's record and the watcher's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.cause.logs import cancelled, log, oom, steps, verdict
from triage.core.cause.record import Record, read_record, with_record, without_logs
from triage.core.cause.verdict import Verdict
from triage.core.jobs.state import State


def record(state: State, **more: Any) -> Record:
    return Record("18", state, {"job_id": "18", "state": state.value, "exit_code": 1, "signal": 0}, **more)


def seen(*logs: Any, state: State, **more: Any) -> Verdict:
    return with_record(verdict(*logs), record(state, **more))


HEALTHY = log("slurm-18.out", steps(1, 5))


@pytest.mark.parametrize(
    ("state", "category"),
    [
        (State.OUT_OF_MEMORY, "host-oom"),
        (State.NODE_FAIL, "hardware"),
        (State.BOOT_FAIL, "hardware"),
        (State.PREEMPTED, "preempted"),
        (State.TIMEOUT, "timeout"),
        (State.DEADLINE, "timeout"),
        (State.CANCELLED, "cancelled"),
        (State.FAILED, "unknown"),
        (State.COMPLETED, "none"),
        (State.RUNNING, "none"),
        (State.UNKNOWN, "none"),
    ],
)
def test_a_cause_that_only_the_scheduler_knows(state: State, category: str) -> None:
    found = seen(HEALTHY, state=state)
    assert found.category == category
    assert found.failed == (category != "none")
    assert found.ended == (state not in (State.RUNNING, State.UNKNOWN))


@pytest.mark.parametrize("state", [State.FAILED, State.NODE_FAIL, State.TIMEOUT, State.CANCELLED])
def test_a_cause_that_the_logs_show_stands(state: State) -> None:
    found = seen(log("slurm-18.out", oom()), state=state)
    assert found.category == "oom"
    assert found.slurm is not None
    assert found.slurm["state"] == state.value


def test_a_job_that_lasts_is_told_as_such_and_a_failure_in_its_logs_stands() -> None:
    running = seen(HEALTHY, state=State.RUNNING)
    assert running.summary == "the job is running, and no failure is seen in its logs"
    assert not running.ended
    assert without_logs(record(State.PENDING)).summary.startswith("the job waits in the queue, and no log")
    assert seen(log("0.log", oom()), state=State.RUNNING).category == "oom"


def test_a_step_that_failed_makes_no_failure_of_a_completed_job() -> None:
    found = seen(log("slurm-18.out", oom()), state=State.COMPLETED)
    assert (found.failed, found.root, found.ended) == (False, None, True)
    assert any("the logs alone" in reason for reason in found.reasons)


def test_an_early_end_is_no_failure_whatever_the_processes_wrote() -> None:
    torn_down = log("slurm-18.out", steps(1, 5), cancelled(9))
    for state in (State.CANCELLED, State.COMPLETED, State.UNKNOWN):
        found = seen(torn_down, state=state, early="its result is complete")
        assert (found.category, found.failed) == ("none", False)
    assert seen(torn_down, state=State.CANCELLED).category == "cancelled"


def test_a_real_failure_before_the_act_stays_one() -> None:
    assert (
        seen(log("slurm-18.out", oom()), state=State.FAILED, early="its result is complete").category == "oom"
    )


def test_a_log_that_could_not_be_opened_is_the_launchers() -> None:
    assert without_logs(record(State.FAILED, log_failed=True)).category == "launcher"
    assert without_logs(record(State.RUNNING)).ended is False


@pytest.mark.parametrize(
    ("stage", "cause", "dry", "counts"),
    [
        ("sent", "artifact", False, True),
        ("asked", "artifact", False, True),
        ("done", "artifact", False, True),
        ("intended", "artifact", False, False),
        ("abandoned", "artifact", False, False),
        ("done", "failure", False, False),
        ("done", "artifact", True, False),
    ],
)
def test_only_an_act_that_was_sent_for_a_result_counts(
    stage: str, cause: str, dry: bool, counts: bool
) -> None:
    early = {"stage": stage, "cause": cause, "dry_run": dry, "why": "it is there"}
    found = read_record({"job": "18", "slurm": {"state": "CANCELLED"}, "early": early})
    assert (found.early is not None) == counts
    assert found.state is State.CANCELLED


@pytest.mark.parametrize("plain", [{}, {"slurm": 3}, {"slurm": {"state": 7}}, {"early": []}, {"job": None}])
def test_a_record_of_another_form_says_nothing(plain: dict[str, Any]) -> None:
    found = read_record(plain)
    assert (found.state, found.early) == (State.UNKNOWN, None)
