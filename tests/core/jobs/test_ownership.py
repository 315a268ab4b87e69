"""Whose result it is: a stale or foreign one never counts, an unproven one is told and not acted on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.core.jobs.artifact import Complete, Kind
from triage.core.jobs.attempt import Attempt
from triage.core.jobs.ownership import Claim, Foreign, Own, Owner, Unproven, owner

FIRST = Attempt(0, 900.0, 1000.0)
SECOND = Attempt(1, 1900.0, 2000.0)
CLAIM = Claim(frozenset({"18", "18_0"}), FIRST, now=5000.0, skew=0.1)
RESTARTED = replace(CLAIM, attempt=SECOND)


def result(value: object, written: float = 1500.0) -> Complete:
    return Complete("/run/metrics.json", Kind.JSON, "d", written, 9, value)


def whose(
    value: object, claim: Claim, written: float = 1500.0, path: str = "/run/metrics.json"
) -> type[Owner]:
    return type(owner(result(value, written), path, claim))


@pytest.mark.parametrize(
    ("value", "claim", "answer"),
    [
        ({"job_id": 18}, CLAIM, Own),
        ({"job_id": "18"}, CLAIM, Own),
        ({"job_id": "18_0"}, CLAIM, Own),
        ({"job_id": 18, "restart": 0}, CLAIM, Own),
        ({"job_id": 18, "restart": 1}, CLAIM, Foreign),
        ({"job_id": 17}, CLAIM, Foreign),
        ({"job_id": 18}, RESTARTED, Unproven),
        ({"job_id": 18, "restart": 1}, RESTARTED, Own),
        ({"job_id": 18, "restart": 0}, RESTARTED, Foreign),
        ({"job_id": 18, "restart": "1"}, RESTARTED, Own),
        ({"job_id": 18, "restart": True}, RESTARTED, Foreign),
        ({"job_id": None, "x": 1}, RESTARTED, Unproven),
        ([1], RESTARTED, Unproven),
    ],
)
def test_what_the_result_says_itself(value: object, claim: Claim, answer: type[Owner]) -> None:
    assert whose(value, claim) is answer


def test_a_result_that_names_the_job_needs_no_clock() -> None:
    assert whose({"job_id": 18}, CLAIM, written=1.0) is Own


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/run/x-18/attempt-1/metrics.json", Own),
        ("/run/x-18/attempt-0/metrics.json", Foreign),
        ("/run/x-18/attempt-10/metrics.json", Unproven),
        ("/run/x-18/attempt-1.json", Unproven),
    ],
)
def test_the_folder_of_an_attempt_speaks(path: str, answer: type[Owner]) -> None:
    claim = replace(RESTARTED, folders=((0, "/run/x-18/attempt-0"), (1, "/run/x-18/attempt-1")))
    assert whose({"a": 1}, claim, path=path) is answer


def test_the_start_marker_is_on_the_results_own_clock() -> None:
    claim = replace(CLAIM, marker=1400.0, skew=None)
    assert whose({"a": 1}, claim, written=1400.5) is Own
    assert whose({"a": 1}, claim, written=1400.0) is Foreign
    assert whose({"a": 1}, replace(claim, attempt=SECOND)) is Unproven


@pytest.mark.parametrize(
    ("written", "skew", "answer"),
    [
        (1500.0, 0.1, Own),
        (1001.0, 0.1, Unproven),
        (999.0, 0.1, Unproven),
        (990.0, 0.1, Foreign),
        (1500.0, 3600.0, Unproven),
        (1500.0, -3600.0, Unproven),
        (1500.0, None, Unproven),
        (8600.0, 0.1, Unproven),
    ],
    ids=[
        "newer",
        "as-old",
        "as-old-before",
        "older",
        "hour-ahead",
        "hour-behind",
        "no-canary",
        "from-the-future",
    ],
)
def test_clocks_decide_only_beyond_their_difference(
    written: float, skew: float | None, answer: type[Owner]
) -> None:
    assert whose({"a": 1}, replace(CLAIM, skew=skew), written=written) is answer


def test_clocks_never_decide_after_a_restart() -> None:
    assert whose({"a": 1}, RESTARTED, written=4000.0) is Unproven


def test_a_checkpoint_says_nothing_itself() -> None:
    found = Complete("/c", Kind.CHECKPOINT, "d", 4000.0, 1, {"iteration": 5, "job_id": 18})
    assert isinstance(owner(found, "/c", RESTARTED), Unproven)
