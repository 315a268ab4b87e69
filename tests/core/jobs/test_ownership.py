"""Whose result it is: a stale or foreign one never counts, an unproven one is told and not acted on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.core.jobs.artifact import Complete, Kind, Line, Seen
from triage.core.jobs.attempt import Attempt
from triage.core.jobs.handshake import Started
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
        ({"job_id": 18, "restart": 1, "restarts": 0}, RESTARTED, Foreign),
        ({"job_id": None, "x": 1}, RESTARTED, Unproven),
        ([1], RESTARTED, Unproven),
    ],
)
def test_what_the_result_says_itself(value: object, claim: Claim, answer: type[Owner]) -> None:
    assert whose(value, claim, 2500.0) is answer


def test_a_result_that_names_the_job_needs_no_clock() -> None:
    assert whose({"job_id": 18}, replace(CLAIM, skew=None)) is Own


@pytest.mark.parametrize(
    ("skew", "written", "answer"),
    [
        (0.0, 997.0, Foreign),
        (0.0, 999.0, Own),
        (60.0, 997.0, Foreign),
        (-60.0, 997.0, Own),
        (-60.0, 937.0, Foreign),
        (None, 997.0, Unproven),
        (None, 999.0, Own),
    ],
)
@pytest.mark.parametrize(
    ("value", "path"),
    [({"job_id": 18, "restart": 0}, "/run/m.json"), ({"a": 1}, "/run/x-18/attempt-0/m.json")],
    ids=["names-the-job", "in-its-folder"],
)
def test_a_result_older_than_the_attempt_is_never_its_own_for_ids_are_given_out_again(
    skew: float | None, written: float, answer: type[Owner], value: object, path: str
) -> None:
    claim = replace(CLAIM, skew=skew, folders=((0, "/run/x-18/attempt-0"),))
    assert whose(value, claim, written, path) is answer


def test_the_first_attempts_result_in_the_seconds_folder_is_too_old() -> None:
    claim = replace(RESTARTED, folders=((1, "/run/x-18/attempt-1"),))
    assert whose({"a": 1}, claim, 1500.0, "/run/x-18/attempt-1/m.json") is Foreign


@pytest.mark.parametrize(
    "value",
    [
        {"job_id": 18, "slurm_job_id": 17},
        {"job_id": 18, "env": {"SLURM_JOB_ID": "17"}},
        {"history": [{"job_id": 18}, {"job_id": 17}]},
        [{"job_id": 17}],
        [{"job_id": 18}, {"env": {"job_id": 17}}],
        {"job_id": 18, "SLURM_ARRAY_JOB_ID": 17},
        {"job_id": True},
    ],
)
@pytest.mark.parametrize("path", ["/run/m.json", "/run/x-18/attempt-0/m.json"])
def test_a_foreign_id_anywhere_near_outranks_all_else(value: object, path: str) -> None:
    assert whose(value, replace(CLAIM, folders=((0, "/run/x-18/attempt-0"),)), path=path) is Foreign


def test_an_id_below_the_top_proves_nothing() -> None:
    assert whose({"env": {"job_id": 18, "restart": 1}}, RESTARTED, written=2500.0) is Unproven


@pytest.mark.parametrize("started", [Started(17, 0), Started(18, 1)], ids=["job", "attempt"])
def test_below_the_marker_of_another_job_or_attempt_it_is_foreign(started: Started) -> None:
    assert whose({"job_id": 18}, replace(CLAIM, above=(started,))) is Foreign
    assert whose({"job_id": 18}, replace(CLAIM, above=(Started(18, 0), started))) is Foreign
    assert whose({"job_id": 18}, replace(CLAIM, above=(Started(18, 0),))) is Own


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/run/x-17/attempt-0/m.json", Foreign),
        ("/run/x-17/attempt-0/x-18/attempt-0/m.json", Own),
        ("/run/x-18/attempt-0/x-17/attempt-0/deep/er/m.json", Foreign),
        ("/run/x-17/m.json", Own),
    ],
)
def test_a_rendered_folder_of_another_job_is_foreign_without_a_marker_too(
    path: str, answer: type[Owner]
) -> None:
    assert whose({"job_id": 18}, CLAIM, path=path) is answer


def test_a_link_out_of_another_jobs_folder_is_foreign_too() -> None:
    linked = replace(result({"job_id": 18}), path="/run/x-17/attempt-0/m.json")
    assert type(owner(linked, "/scratch/m.json", CLAIM)) is Foreign


TASK = replace(CLAIM, ids=frozenset({"18_3", "21"}), array=("18", "3"), is_singular=False)
NAMESAKE = replace(TASK, ids=frozenset({"18_3", "18"}))


@pytest.mark.parametrize("claim", [TASK, NAMESAKE], ids=["task", "task-with-the-arrays-number"])
@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"job_id": 18}, Unproven),
        ({"SLURM_ARRAY_JOB_ID": "18"}, Unproven),
        ({"job_id": "18_3"}, Own),
        ({"job_id": 18, "SLURM_ARRAY_TASK_ID": 3}, Own),
        ({"job_id": 18, "SLURM_ARRAY_TASK_ID": 4}, Foreign),
        ({"job_id": "18_4"}, Foreign),
        ({"a": 1}, Unproven),
    ],
)
def test_what_names_only_the_array_is_no_proof_for_one_task(
    claim: Claim, value: object, answer: type[Owner]
) -> None:
    assert whose(value, claim) is answer


def test_a_path_that_only_one_task_has_is_told_by_the_clocks() -> None:
    assert whose({"a": 1}, replace(TASK, is_singular=True)) is Own
    assert whose({"job_id": 21}, TASK) is Own


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/run/x-18/attempt-1/metrics.json", Own),
        ("/run/x-18/attempt-0/metrics.json", Foreign),
        ("/run/x-18/attempt-10/metrics.json", Foreign),
        ("/run/x-18/attempt-1.json", Unproven),
    ],
)
def test_the_folder_of_an_attempt_speaks(path: str, answer: type[Owner]) -> None:
    claim = replace(RESTARTED, folders=((0, "/run/x-18/attempt-0"), (1, "/run/x-18/attempt-1")))
    assert whose({"a": 1}, claim, 2500.0, path) is answer


def test_the_start_marker_is_on_the_results_own_clock() -> None:
    claim = replace(CLAIM, marker=1400.0, skew=-3600.0)
    assert whose({"a": 1}, claim, written=1400.5) is Own
    assert whose({"a": 1}, claim, written=1400.0) is Foreign
    assert whose({"a": 1}, replace(claim, attempt=SECOND), written=2500.0) is Unproven


def test_a_marker_proves_nothing_of_a_result_from_the_future_or_of_an_unknown_clock() -> None:
    claim = replace(CLAIM, marker=1400.0)
    assert whose({"a": 1}, claim, written=5003.0) is Unproven
    assert whose({"a": 1}, replace(claim, skew=None)) is Unproven


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


def lines(at: int, *, is_last: bool, seen: tuple[int, float] | None, value: object = None) -> Complete:
    first = Seen(seen[0], int(seen[1] * 1e9)) if seen is not None else None
    value = {"a": 1} if value is None else value
    return replace(result(value), kind=Kind.LINES, line=Line(at, is_last, first))


@pytest.mark.parametrize("marker", [None, 1001.0], ids=["clocks", "marker"])
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (lines(10, is_last=False, seen=(20, 500.0)), Foreign),
        (lines(10, is_last=True, seen=(20, 500.0)), Foreign),
        (lines(10, is_last=False, seen=(20, 500.0), value={"job_id": 18}), Foreign),
        (lines(20, is_last=False, seen=(20, 500.0)), Own),
        (lines(10, is_last=False, seen=None), Own),
        (lines(10, is_last=True, seen=(20, 1400.0)), Own),
        (lines(10, is_last=False, seen=(20, 1400.0)), Unproven),
        (lines(10, is_last=False, seen=(20, 1400.0), value={"job_id": 18}), Own),
    ],
    ids=[
        "old-line-and-half-a-new-one",
        "old-line-of-a-touched-file",
        "old-line-of-the-same-id",
        "line-beyond-the-first-look",
        "file-after-the-first-look",
        "late-watcher",
        "late-watcher-and-half-a-line",
        "late-watcher-and-a-named-job",
    ],
)
def test_of_json_lines_the_deciding_line_itself_must_be_of_this_attempt(
    line: Complete, answer: type[Owner], marker: float | None
) -> None:
    assert type(owner(line, line.path, replace(CLAIM, marker=marker))) is answer


@pytest.mark.parametrize(
    ("said", "cluster", "foreign"), [("east", "west", True), ("west", "west", False), ("east", None, False)]
)
def test_the_same_number_on_another_cluster_is_another_job(
    said: str, cluster: str | None, foreign: bool
) -> None:
    value = {"job_id": 18, "restart": 0, "SLURM_CLUSTER_NAME": said}
    assert (whose(value, replace(CLAIM, cluster=cluster), 2500.0) is Foreign) is foreign
