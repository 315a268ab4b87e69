"""Whether and how to end a job early: every way through the decision, and that nothing unknown ever acts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from triage.core.jobs.attempt import Attempt
from triage.core.jobs.cancel import (
    GRACEFUL,
    LOST,
    REPEAT,
    Abandon,
    Act,
    Cause,
    Fresh,
    Refuse,
    Situation,
    Stage,
    Wait,
    decide,
)

ATTEMPT = Attempt(0, 900.0, 1000.0)
NEXT = Attempt(1, 1900.0, 2000.0)
REUSED = Attempt(0, 5000.0, 5001.0)
RUNS = Fresh(True, True, ATTEMPT, True)
FENCED = replace(RUNS, requeue=False)
GONE = Fresh(False)
ENDING = Fresh(True)
SURE = Situation(Cause.ARTIFACT, Stage.NONE, ATTEMPT, 100.0, 100.0, RUNS, harmed=())


def step(stage: Stage = Stage.NONE, **more: Any) -> object:
    return decide(replace(SURE, stage=stage, **more))


def test_the_order_of_an_early_end() -> None:
    assert step() is Act.STORE
    assert step(Stage.INTENDED) is Act.FENCE
    assert step(Stage.FENCED, fresh=None) is Act.LOOK
    assert step(Stage.FENCED, fresh=FENCED) is Act.CANCEL
    assert isinstance(step(Stage.SENT, fresh=FENCED), Wait)
    assert isinstance(step(Stage.SENT, fresh=ENDING), Wait)
    assert step(Stage.SENT, fresh=GONE) is Act.FINISH


def test_a_script_that_can_end_itself_is_asked() -> None:
    assert step(Stage.FENCED, fresh=FENCED, graceful=True) is Act.ASK
    assert isinstance(step(Stage.ASKED, fresh=FENCED, graceful=True, now=99.0 + GRACEFUL), Wait)
    assert step(Stage.ASKED, fresh=FENCED, graceful=True, now=100.0 + GRACEFUL) is Act.CANCEL
    assert step(Stage.ASKED, fresh=GONE) is Act.FINISH


@pytest.mark.parametrize(
    "more",
    [
        {"own": False}, {"stopped": True}, {"held": True}, {"rows": 4}, {"brake": "why"}, {"harmed": ("62 (afterok)",)},
    ],
)  # fmt: skip
def test_each_obstacle_refuses_before_and_abandons_behind_the_intent(more: dict[str, Any]) -> None:
    assert isinstance(step(**more), Refuse)
    assert step(Stage.INTENDED, **more) == Abandon(step(**more).why, restore=False)  # type: ignore[attr-defined]
    assert step(Stage.FENCED, fresh=FENCED, **more) == Abandon(step(**more).why, restore=True)  # type: ignore[attr-defined]


@pytest.mark.parametrize("more", [{"harmed": None}, {"leader": False}])
def test_what_is_not_known_or_not_ours_waits(more: dict[str, Any]) -> None:
    for stage in (Stage.NONE, Stage.INTENDED, Stage.FENCED):
        assert isinstance(step(stage, fresh=FENCED, **more), Wait)


@pytest.mark.parametrize("more", [{"holds": False}, {"allowed": False}])
def test_a_reason_that_is_gone_takes_the_intent_and_the_fence_back(more: dict[str, Any]) -> None:
    for stage in (Stage.INTENDED, Stage.FENCED):
        gone = step(stage, fresh=FENCED, **more)
        assert isinstance(gone, Abandon)
        assert gone.restore is (stage is Stage.FENCED)


def test_a_reason_that_is_being_looked_at_holds_the_fence_back() -> None:
    assert isinstance(step(Stage.INTENDED, holds=None), Wait)
    assert isinstance(step(Stage.FENCED, fresh=FENCED, holds=None), Abandon)


@pytest.mark.parametrize("more", [{"holds": False}, {"holds": None}, {"allowed": False}, {"brake": "why"}])
@pytest.mark.parametrize("stage", [Stage.ASKED, Stage.SENT])
def test_nothing_more_is_sent_without_a_reason_that_still_holds(stage: Stage, more: dict[str, Any]) -> None:
    assert isinstance(step(stage, fresh=FENCED, now=100.0 + GRACEFUL, **more), Wait)


def test_dependents_allow_the_graceful_end_only() -> None:
    harmed = {"harmed": ("62 (afterok)",)}
    assert step(Stage.FENCED, fresh=FENCED, graceful=True, **harmed) is Act.ASK
    late = {"fresh": FENCED, "graceful": True, "now": 100.0 + GRACEFUL}
    assert isinstance(step(Stage.ASKED, **late, **harmed), Wait)
    assert isinstance(step(Stage.ASKED, **late, harmed=None), Wait)
    assert step(Stage.ASKED, **late, **harmed, break_dependents=True) is Act.CANCEL
    assert step(Stage.FENCED, fresh=FENCED, break_dependents=True, **harmed) is Act.CANCEL


def test_a_bare_array_is_ended_only_as_a_whole() -> None:
    assert step(rows=4, whole_array=True) is Act.STORE


def test_the_veto_window_is_waited_for() -> None:
    assert isinstance(step(Stage.INTENDED, grace=60.0, now=159.0), Wait)
    assert step(Stage.INTENDED, grace=60.0, now=160.0) is Act.FENCE


@pytest.mark.parametrize("attempt", [NEXT, REUSED, replace(ATTEMPT, submitted=1.0)])
def test_another_attempt_is_never_hit(attempt: Attempt) -> None:
    fresh = Fresh(True, True, attempt, False)
    assert step(Stage.INTENDED, fresh=fresh) == Abandon("another attempt runs now", restore=False)
    assert step(Stage.FENCED, fresh=fresh) == Abandon("another attempt runs now", restore=True)
    for stage in (Stage.ASKED, Stage.SENT):
        assert step(stage, fresh=fresh, now=9999.0) == Abandon("another attempt runs now", restore=False)


def test_a_job_that_does_not_run_is_never_signalled() -> None:
    assert step(Stage.FENCED, fresh=ENDING) == Abandon("the job no longer runs", restore=True)
    assert step(Stage.FENCED, fresh=GONE) == Abandon("the job has left the queue by itself", restore=False)
    assert step(Stage.FENCED, fresh=Fresh(True, True, None, False)) is Act.LOOK


@pytest.mark.parametrize("requeue", [True, None])
def test_without_a_fence_that_holds_nothing_is_sent(requeue: bool | None) -> None:
    fresh = replace(RUNS, requeue=requeue)
    assert step(Stage.FENCED, fresh=fresh) is Act.FENCE
    late = step(Stage.FENCED, fresh=fresh, now=100.0 + REPEAT)
    assert late == Abandon("Slurm did not switch requeueing off", restore=True)


def test_scancel_is_repeated_only_on_the_same_attempt_in_a_fresh_answer() -> None:
    late = 100.0 + REPEAT
    assert step(Stage.SENT, fresh=FENCED, now=late) is Act.CANCEL
    assert step(Stage.SENT, fresh=None, now=late) is Act.LOOK
    assert step(Stage.SENT, fresh=Fresh(True, True, None), now=late) is Act.LOOK
    for brake in ({"held": True}, {"stopped": True}, {"leader": False}, {"fresh": RUNS}):
        assert isinstance(step(Stage.SENT, **{"fresh": FENCED, "now": late, **brake}), Wait)


@pytest.mark.parametrize("stage", [Stage.ASKED, Stage.SENT])
@pytest.mark.parametrize(
    "more", [{"held": True}, {"stopped": True}, {"allowed": False}, {"holds": False}, {"fresh": RUNS}]
)
def test_what_was_sent_in_vain_and_is_not_wanted_any_more_leaves_no_fence(
    stage: Stage, more: dict[str, Any]
) -> None:
    late = {"fresh": FENCED, "now": 100.0 + LOST, **more}
    assert step(stage, **late) == Abandon("what was sent did not end it", restore=True)
    assert isinstance(step(stage, **late, leader=False), Wait)


def test_no_situation_acts_without_proof() -> None:
    """Every combination: an act on the job has the fence, a fresh answer with the same attempt, and no obstacle."""
    freshes = (None, RUNS, FENCED, GONE, ENDING, Fresh(True, True, NEXT, False), Fresh(True, True, None, False), Fresh(True, True, REUSED, False))  # fmt: skip
    flags = list(itertools.product((True, False), repeat=6))
    for stage, fresh, harmed, (own, held, stopped, leader, graceful, late) in itertools.product(
        Stage, freshes, ((), ("1 (afterok)",), None), flags
    ):
        s = replace(SURE, stage=stage, fresh=fresh, harmed=harmed, own=own, held=held, stopped=stopped, leader=leader,
                    graceful=graceful, now=100.0 + (GRACEFUL if late else 0))  # fmt: skip
        action = decide(s)
        if action in (Act.ASK, Act.CANCEL):
            assert stage in (Stage.FENCED, Stage.ASKED, Stage.SENT)
            assert fresh is not None
            assert fresh.running
            assert fresh.attempt == ATTEMPT
            assert leader
            assert not held
            assert not stopped
            assert fresh.requeue is False
        if action is Act.CANCEL and stage is not Stage.SENT:
            assert harmed == ()
        if action in (Act.STORE, Act.FENCE):
            assert own
