from __future__ import annotations

from triage.core.jobs.identity import JobId
from triage.core.jobs.submission import (
    Accepted,
    Began,
    Done,
    GiveUp,
    Look,
    Looked,
    Lost,
    NotSent,
    Policy,
    Refused,
    Step,
    Submit,
    Tried,
    decide,
)

POLICY = Policy(message_timeout=10, patience=100, most_tries=5, latest_look=300, pause=5)
JOB = JobId(7)


def test_nothing_tried_is_submitted() -> None:
    assert decide([], POLICY) == Submit()


def test_an_accepted_job_is_done_whatever_follows() -> None:
    assert decide([Began(0, 60), Tried(1, Accepted(JOB))], POLICY) == Done(JOB)


def test_a_refusal_is_final() -> None:
    action = decide([Began(0, 60), Tried(1, Refused("change it"))], POLICY)
    assert action == GiveUp("change it", refused=True)


def test_a_connect_failure_is_tried_again_without_a_look() -> None:
    assert decide([Began(0, 60), Tried(1, NotSent("down"))], POLICY) == Submit()


def test_patience_and_tries_end() -> None:
    late: list[Step] = [Began(0, 60), Tried(1, NotSent("down")), Began(99, 60), Tried(101, NotSent("down"))]
    assert decide(late, POLICY) == GiveUp("down")
    many: list[Step] = [step for at in range(5) for step in (Began(at, 60), Tried(at, NotSent("down")))]
    assert decide(many, POLICY) == GiveUp("down")


def test_a_lost_answer_is_looked_for_before_anything_else() -> None:
    assert decide([Began(0, 60), Tried(20, Lost("timeout"))], POLICY) == Look(20)


def test_one_empty_look_is_not_enough_to_submit_again() -> None:
    steps: list[Step] = [Began(0, 60), Tried(20, Lost("timeout")), Looked(20)]
    assert decide(steps, POLICY) == Look(40)
    assert decide([*steps, Looked(39)], POLICY) == Look(44)
    assert decide([*steps, Looked(40)], POLICY) == Submit()


def test_an_incomplete_look_does_not_count_and_is_not_repeated_at_once() -> None:
    steps: list[Step] = [Began(0, 60), Tried(20, Lost("timeout")), Looked(20, whole=False)]
    assert decide(steps, POLICY) == Look(25)
    assert decide([*steps, Looked(25), Looked(45, whole=False)], POLICY) == Look(50)


def test_a_job_that_appears_late_is_found_and_not_doubled() -> None:
    steps: list[Step] = [Began(0, 60), Tried(20, Lost("timeout")), Looked(20), Looked(40, (JOB,))]
    assert decide(steps, POLICY) == Done(JOB)


def test_a_request_whose_sender_was_killed_may_still_be_on_its_way() -> None:
    steps: list[Step] = [Began(0, 60)]
    assert decide(steps, POLICY) == Look(0)
    assert decide([*steps, Looked(5)], POLICY) == Look(60)
    assert decide([*steps, Looked(5), Looked(60)], POLICY) == Look(80)
    assert decide([*steps, Looked(5), Looked(60), Looked(80)], POLICY) == Submit()


def test_nobody_who_can_be_asked_ends_in_doubt_and_not_in_a_second_job() -> None:
    steps: list[Step] = [Began(0, 60), Tried(20, Lost("timeout"))]
    steps += [Looked(at, whole=False) for at in range(20, 330, 5)]
    action = decide(steps, POLICY)
    assert isinstance(action, GiveUp)
    assert action.uncertain


def test_late_complete_look_asks_for_the_second_one() -> None:
    steps: list[Step] = [Began(0, 60), Tried(20, Lost("timeout"))]
    steps += [Looked(at, whole=False) for at in range(20, 330, 5)]
    assert decide([*steps, Looked(5000)], POLICY) == Look(5020)
    assert decide([*steps, Looked(5000), Looked(5020)], POLICY) == Submit()


def test_success_without_an_id_is_looked_for_and_never_repeated() -> None:
    steps: list[Step] = [Began(0, 60), Tried(1, Lost("no id", again=False)), Looked(1), Looked(30)]
    action = decide(steps, POLICY)
    assert isinstance(action, GiveUp)
    assert action.refused
    assert not action.uncertain
    assert "--test-only" in action.sentence


def test_answers_that_are_lost_again_and_again_end_with_what_the_scheduler_says() -> None:
    steps: list[Step] = [Began(0, 60), Tried(1, Lost("disk full")), Looked(2), Looked(22)]
    assert decide(steps, POLICY) == Submit()
    steps += [Began(110, 60), Tried(111, Lost("disk full"))]
    assert isinstance(decide(steps, POLICY), Look)
    action = decide([*steps, Looked(112), Looked(132)], POLICY)
    assert isinstance(action, GiveUp)
    assert action.sentence.startswith("disk full; ")
    assert not action.uncertain


def test_two_jobs_with_one_token_are_both_told() -> None:
    found = decide([Began(0, 60), Tried(1, Lost("x")), Looked(1, (JOB, JobId(9)))], POLICY)
    assert found == Done(JOB, (JobId(9),))
