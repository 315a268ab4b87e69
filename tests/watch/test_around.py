"""What a cancel would touch beside the job: nothing that could not be read makes it look smaller than it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.watch.scripted import Cluster, Job
from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId
from triage.core.jobs.witness import JobStatus
from triage.schedulers.interface import Details
from triage.watch.around import Around, look_around, names_of

ARRAY = JobId(18)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, jobs={ARRAY: Job(), JobId(18, 1): Job(), JobId(18, 2): Job()})


def told(cluster: Cluster, job: JobId = ARRAY, **more: object) -> Details:
    found = cluster.details(job)
    assert found is not None
    return replace(found, array=18, **more)  # type: ignore[arg-type]


def rows(monkeypatch: pytest.MonkeyPatch, *jobs: JobId) -> None:
    monkeypatch.setattr(Cluster, "status", lambda *_: dict.fromkeys((ARRAY, *jobs), JobStatus()))


def test_an_array_stands_for_the_rows_of_the_queue(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    rows(monkeypatch, JobId(18, 1), JobId(18, 2), JobId(19, 1))
    assert look_around(cluster, ARRAY, told(cluster)) == Around((), 2)


def test_a_row_that_could_not_be_read_makes_an_array_no_single_job(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(monkeypatch, JobId(18, 1))
    assert look_around(cluster, ARRAY, told(cluster, numbers=(18, 19, 20))) == Around((), 3)
    rows(monkeypatch)
    assert look_around(cluster, ARRAY, told(cluster)) is None


def test_a_task_is_one_row_whatever_else_the_array_has(cluster: Cluster) -> None:
    task = JobId(18, 1)
    assert look_around(cluster, task, told(cluster, task)) == Around((), 1)


def test_what_waits_for_any_task_by_its_raw_number_waits_for_the_whole(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(monkeypatch, JobId(18, 1), JobId(18, 2))
    cluster.dependents = (Waiting("62", "afterok:20(unfulfilled)"),)
    around = look_around(cluster, ARRAY, told(cluster, numbers=(18, 20)))
    assert around is not None
    assert around.harmed == ("62 (afterok)",)
    cluster.dependents = None
    around = look_around(cluster, ARRAY, told(cluster))
    assert around is not None
    assert around.harmed is None


def test_a_job_is_held_by_its_raw_numbers_and_a_task_not_by_the_bare_number_of_another(
    cluster: Cluster,
) -> None:
    whole = names_of(ARRAY, told(cluster, numbers=(18, 20)))
    assert set(whole) == {ARRAY, JobId(20)}
    task = names_of(JobId(18, 1, cluster="west"), told(cluster, JobId(18, 1), raw=20))
    assert task == [JobId(18, 1, cluster="west"), JobId(20, cluster="west")]
