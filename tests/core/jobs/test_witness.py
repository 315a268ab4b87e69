"""Witnesses that lag, disagree or say nothing. The polls are recorded, second by second, on Slurm 22.05."""

from __future__ import annotations

import itertools
import re
from datetime import datetime
from pathlib import Path

import pytest

from triage.core.jobs.attempt import Attempt, Succession, attempt_of, succession
from triage.core.jobs.state import Phase, Reading, State, read_state
from triage.core.jobs.witness import (
    Exit,
    JobStatus,
    Program,
    Sighting,
    Witness,
    merge,
    whole_job,
    whole_sighting,
)

POLLS = Path(__file__).resolve().parents[3] / "fixtures" / "slurm" / "22.05" / "polls"


def squeue(
    text: str | None, *, at: float = 10, answered: bool = True, submitted: float | None = 1
) -> Witness:
    rows = () if text is None else (Sighting(read_state(text), submitted=submitted, started=2),)
    return Witness(Program.SQUEUE, at, rows, answered)


def sacct(*texts: str, at: float = 11, answered: bool = True, placeholder: bool = False) -> Witness:
    rows = tuple(
        Sighting(
            read_state(text),
            submitted=1 + index,
            started=2,
            ended=9,
            exit=Exit(0, 0),
            placeholder=placeholder,
        )
        for index, text in enumerate(texts)
    )
    return Witness(Program.SACCT, at, rows, answered)


def test_absent_everywhere_is_unknown_and_not_known() -> None:
    status = merge([squeue(None), sacct()])
    assert (status.state, status.phase, status.released, status.known) == (
        State.UNKNOWN,
        Phase.UNKNOWN,
        False,
        False,
    )


def test_no_witness_at_all_is_unknown() -> None:
    assert merge([]).phase is Phase.UNKNOWN


def test_squeue_outranks_an_sacct_that_already_says_cancelled() -> None:
    status = merge([squeue("COMPLETING"), sacct("CANCELLED by 0")])
    assert (status.state, status.phase, status.released) == (State.CANCELLED, Phase.ENDING, False)


def test_left_the_queue_and_sacct_still_says_running_is_unknown() -> None:
    status = merge([squeue(None), sacct("RUNNING")])
    assert (status.state, status.known, status.released) == (State.UNKNOWN, True, False)


def test_placeholder_row_is_no_evidence() -> None:
    status = merge([squeue(None), sacct("PENDING", placeholder=True)])
    assert (status.state, status.known) == (State.UNKNOWN, True)


def test_last_row_requeued_without_a_queue_entry_is_unknown() -> None:
    assert merge([squeue(None), sacct("REQUEUED")]).phase is Phase.UNKNOWN


def test_the_last_incarnation_counts_and_not_the_last_line() -> None:
    rows = sacct("FAILED", "COMPLETED")
    backwards = Witness(Program.SACCT, 11, rows.sightings[::-1])
    assert merge([squeue(None), rows]).state is State.COMPLETED
    assert merge([squeue(None), backwards]).state is State.COMPLETED


def test_a_failed_squeue_is_not_an_absence() -> None:
    silent = squeue(None, answered=False)
    status = merge([silent, sacct("COMPLETED")])
    assert (status.state, status.released) == (State.COMPLETED, False)
    for requeues in ("PREEMPTED", "NODE_FAIL", "REQUEUED", "RUNNING", "PENDING"):
        assert merge([silent, sacct(requeues)]).phase is Phase.UNKNOWN, requeues


def test_a_later_answer_of_the_controller_outranks_an_earlier_one() -> None:
    early = squeue("RUNNING", at=5)
    assert merge([early, squeue(None, at=10), sacct("COMPLETED")]).state is State.COMPLETED
    assert merge([squeue(None, at=5), squeue("RUNNING", at=10), sacct("COMPLETED")]).state is State.RUNNING


def test_order_of_witnesses_changes_nothing() -> None:
    three = [squeue("RUNNING", at=5), squeue(None, at=9), sacct("FAILED")]
    assert len({merge(list(order)) for order in itertools.permutations(three)}) == 1


def test_an_end_told_by_scontrol_holds_when_squeue_has_dropped_the_job() -> None:
    told = Witness(
        Program.SCONTROL, 5, (Sighting(read_state("FAILED"), submitted=1, exit=Exit(7, 0), restarts=0),)
    )
    status = merge([told, squeue(None, at=9), sacct(answered=False)])
    assert (status.state, status.exit, status.released) == (State.FAILED, Exit(7, 0), True)


def test_start_time_of_a_pending_job_is_an_estimate_and_is_not_told() -> None:
    assert merge([squeue("PENDING")]).started is None
    assert merge([squeue("RUNNING")]).started == 2


def test_an_old_end_of_a_reused_id_does_not_colour_a_completing_job() -> None:
    status = merge([squeue("COMPLETING", submitted=500), sacct("COMPLETED")])
    assert status.state is State.UNKNOWN
    assert status.phase is Phase.ENDING


def test_no_log_because_the_folder_is_missing_is_recognised_by_0_53() -> None:
    assert JobStatus(exit=Exit(0, 53)).output_failed
    assert not JobStatus(exit=Exit(53, 0)).output_failed


def test_an_array_has_ended_only_when_every_task_has() -> None:
    done, failed, runs = (
        JobStatus(Reading(state), released=True) for state in (State.COMPLETED, State.FAILED, State.RUNNING)
    )
    assert whole_job([done, runs, failed]).state is State.RUNNING
    assert whole_job([done, failed, done]).state is State.FAILED
    assert whole_job([done, done]).state is State.COMPLETED
    assert whole_job([]).phase is Phase.UNKNOWN


def recorded(name: str) -> list[JobStatus]:
    """The merged status of each poll of a recording."""
    text = (POLLS / f"{name}.txt").read_text()
    polls = re.split(r"^## t=(\d+) squeue\n", text, flags=re.M)[1:]
    found = []
    for number, body in zip(polls[::2], polls[1::2], strict=True):
        queue, _, account = re.split(r"^## sacct -D", body, flags=re.M)[0].partition(f"## t={number} sacct\n")
        in_queue = tuple(_queue_row(line) for line in queue.splitlines() if line)
        rows = [line.split("|") for line in account.splitlines() if line]
        accounts = tuple(_account_row(row) for row in rows if "." not in row[0])
        found.append(merge([Witness(Program.SQUEUE, 1, in_queue), Witness(Program.SACCT, 2, accounts)]))
    return found


def _queue_row(line: str) -> Sighting:
    columns = line.split("|")
    return Sighting(read_state(columns[3]), columns[4])


def _account_row(row: list[str]) -> Sighting:
    times = [datetime.fromisoformat(text).timestamp() if text[:1] == "2" else None for text in row[5:7]]
    code, signal = row[2].split(":")
    unassigned = row[7] == "None assigned"
    return Sighting(
        read_state(row[1]),
        None,
        None,
        times[0],
        times[1],
        None,
        Exit(int(code), int(signal)),
        placeholder=unassigned,
    )


@pytest.mark.parametrize(
    ("name", "last", "code"),
    [
        ("completed", State.COMPLETED, Exit(0, 0)),
        ("exit7", State.FAILED, Exit(7, 0)),
        ("segv", State.FAILED, Exit(11, 0)),  # sacct takes 128 off: the script exited with 139
        ("cancelled", State.CANCELLED, Exit(0, 0)),
    ],
)
def test_recorded_job_is_never_called_ended_before_it_is(name: str, last: State, code: Exit) -> None:
    statuses = recorded(name)
    phases = [status.phase for status in statuses]
    first_end = phases.index(Phase.ENDED)
    assert all(
        phase in (Phase.WAITING, Phase.ACTIVE, Phase.ENDING, Phase.UNKNOWN) for phase in phases[:first_end]
    )
    assert set(phases[first_end:]) == {Phase.ENDED}
    assert (statuses[-1].state, statuses[-1].exit) == (last, code)


def test_recorded_preemption_is_waiting_again_and_never_an_end() -> None:
    phases = [status.phase for status in recorded("preempt")]
    assert phases[0] is Phase.ACTIVE
    assert set(phases[1:]) == {Phase.WAITING}


def test_attempt_is_read_only_while_running_and_with_restarts() -> None:
    running = JobStatus(Reading(State.RUNNING), submitted=1, started=2, restarts=0)
    assert attempt_of(running) == Attempt(0, 1, 2)
    assert attempt_of(JobStatus(Reading(State.PENDING), submitted=1, started=2, restarts=0)) is None
    assert attempt_of(JobStatus(Reading(State.RUNNING), submitted=1, started=2)) is None


def test_a_new_submit_time_without_a_restart_is_another_job() -> None:
    first = Attempt(0, 100, 110)
    assert succession(first, first) is Succession.SAME
    assert succession(first, Attempt(1, 200, 210)) is Succession.REQUEUED
    assert succession(first, Attempt(0, 200, 210)) is Succession.REUSED
    assert succession(Attempt(2, 100, 110), Attempt(0, 200, 210)) is Succession.REUSED


def test_an_answer_from_before_is_neither_a_requeue_nor_another_job() -> None:
    assert succession(Attempt(1, 200, 210), Attempt(0, 100, 110)) is Succession.EARLIER
    assert succession(Attempt(2, 200, 210), Attempt(1, 200, 210)) is Succession.EARLIER


def part(
    state: str, restarts: int | None = 0, submitted: float = 100.0, started: float | None = 200.0
) -> Sighting:
    return Sighting(read_state(state), None, submitted, started, None, restarts)


@pytest.mark.parametrize(
    ("states", "running"),
    [
        (["RUNNING", "RUNNING"], True),
        (["RUNNING", "PENDING"], True),
        (["COMPLETED", "RUNNING"], True),
        (["RUNNING", "COMPLETING"], False),
        (["RUNNING", "SUSPENDED"], False),
        (["RUNNING", "RUNNING,CONFIGURING"], False),
        (["PENDING", "PENDING"], False),
        (["COMPLETED", "COMPLETED"], False),
    ],
    ids=str,
)
def test_an_array_runs_while_each_task_runs_or_never_began_or_has_ended(
    states: list[str], running: bool
) -> None:
    parts = [part(state) for state in states]
    for order in (parts, parts[::-1]):
        assert whole_sighting(order).reading.is_running is running


def test_a_task_that_waits_for_its_next_attempt_keeps_an_array_from_being_acted_on() -> None:
    whole = whole_sighting([part("RUNNING"), part("PENDING", restarts=1)])
    assert not whole.reading.is_running


def test_a_requeue_of_any_task_is_another_attempt_of_the_array() -> None:
    before = whole_sighting([part("RUNNING", 1, 150.0), part("RUNNING")])
    after = whole_sighting([part("RUNNING", 1, 150.0), part("RUNNING", 1, 170.0)])
    assert (before.restarts, after.restarts) == (1, 2)
    assert whole_sighting([part("RUNNING", None), part("RUNNING")]).restarts is None


def test_components_that_start_together_share_their_count_of_restarts() -> None:
    parts = [part("RUNNING", 1, 150.0), part("RUNNING", 1, 150.0)]
    assert whole_sighting(parts, together=True).restarts == 1


def test_an_array_started_when_its_first_task_did_whatever_starts_later() -> None:
    parts = [part("RUNNING", started=300.0), part("COMPLETED", started=200.0), part("PENDING", started=90.0)]
    assert whole_sighting(parts).started == 200.0
