from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.core.jobs.state import UNKNOWN, Flag, Phase, Reading, State, read_state


@pytest.mark.parametrize("state", list(State))
def test_every_base_state_reads_as_itself_and_has_a_phase(state: State) -> None:
    reading = read_state(state.value)
    assert reading == Reading(state)
    assert isinstance(reading.phase, Phase)


@pytest.mark.parametrize("flag", list(Flag))
def test_every_flag_is_read_alone_and_beside_a_base_state(flag: Flag) -> None:
    assert read_state(flag.value).flags == {flag}
    assert read_state(f"RUNNING,{flag.value}") == Reading(State.RUNNING, frozenset({flag}))


def test_ended_states_are_exactly_the_nine_final_ones() -> None:
    ended = {state for state in State if Reading(state).phase is Phase.ENDED}
    assert ended == set(State) - {State.PENDING, State.RUNNING, State.SUSPENDED, State.UNKNOWN}


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("COMPLETING", Phase.ENDING),
        ("COMPLETED,COMPLETING", Phase.ENDING),
        ("STAGE_OUT", Phase.ENDING),
        ("CONFIGURING", Phase.ACTIVE),
        ("RESIZING", Phase.ACTIVE),
        ("SIGNALING", Phase.ACTIVE),
        ("STOPPED", Phase.ACTIVE),
        ("REQUEUED", Phase.WAITING),
        ("REQUEUE_HOLD", Phase.WAITING),
        ("SPECIAL_EXIT", Phase.WAITING),
        ("REQUEUE_FED", Phase.WAITING),
        ("RESV_DEL_HOLD", Phase.WAITING),
    ],
)
def test_a_flag_that_hides_the_base_state_still_tells_the_phase(text: str, phase: Phase) -> None:
    assert read_state(text).phase is phase


def test_revoked_is_no_end_because_the_job_runs_at_a_sibling() -> None:
    assert read_state("REVOKED").phase is Phase.UNKNOWN
    assert read_state("CANCELLED,REVOKED").phase is Phase.UNKNOWN


def test_cancelled_by_keeps_who_did_it() -> None:
    assert read_state("CANCELLED by 1000") == Reading(State.CANCELLED, cancelled_by=1000)


@pytest.mark.parametrize(
    "text", ["", "?", "OUT_OF_ME+", "COMPLETED FAILED", "completed", "COMPLETED\x1b[0m", "A|B"]
)
def test_what_slurm_never_prints_is_unknown_and_never_success(text: str) -> None:
    assert read_state(text) == UNKNOWN


@given(st.text())
def test_reading_is_total(text: str) -> None:
    reading = read_state(text)
    assert isinstance(reading.phase, Phase)
    assert reading.state is State.UNKNOWN or reading.state.value in text or reading.flags


@pytest.mark.parametrize("text", ["CONFIGURING", "COMPLETING", "PENDING", "SUSPENDED", "REQUEUED", "UNKNOWN"])
def test_only_plain_running_lets_times_and_signals_count(text: str) -> None:
    assert not read_state(text).is_running
    assert read_state("RUNNING").is_running
