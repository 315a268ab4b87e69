"""What `triage daemon` and `triage hold` say before they do anything: what is watched, who else does, and typos."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.watch.scripted import START, Cluster, Job, Stage
from triage.cli.background import announce
from triage.cli.main import main
from triage.core.jobs.identity import JobId
from triage.schedulers.slurm.client import Slurm
from triage.store.daemons import Daemon as Other
from triage.store.daemons import beat
from triage.store.database import Database
from triage.store.jobs import NewJob, all_jobs, end_job, remember, set_watched
from triage.watch.daemon import Daemon
from triage.watch.options import Options

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(Cluster(tmp_path, jobs={JobId(18): Job()}), JobId(18))


def announced(stage: Stage, capsys: Capture, *, all_mine: bool) -> list[str]:
    loop = stage.loop()
    announce(Daemon(loop, loop.world, Options(), all_mine), stage.database())
    return capsys.readouterr().err.splitlines()


def test_daemon_says_what_it_watches_and_that_it_is_ready(stage: Stage, capsys: Capture) -> None:
    database = stage.database()
    set_watched(database, remember(database, NewJob(JobId(18), "daemon", stage.cluster.now)), True)
    (line,) = announced(stage, capsys, all_mine=True)
    assert line.startswith("triage: ready: watching 1 job of the store and all of yours in the queue")
    (line,) = announced(stage, capsys, all_mine=False)
    assert "no others; --all-mine" in line


def test_second_daemon_says_that_another_runs(stage: Stage, capsys: Capture) -> None:
    now = stage.cluster.now
    beat(stage.database(), Other("x", "login2", 77, now, now, None))
    assert "another daemon runs on login2, process 77" in announced(stage, capsys, all_mine=True)[0]


def test_daemon_waits_for_a_scheduler_that_is_only_down(stage: Stage, capsys: Capture) -> None:
    stage.cluster.down = True
    assert "ready" in announced(stage, capsys, all_mine=True)[-1]


@pytest.mark.parametrize("words", [["daemon", "run"], ["daemon", "add", "7"], ["hold", "7"]])
def test_without_slurm_it_ends_at_once_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("TRIAGE_STATE", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(words) == 4
    assert all_jobs(Database(str(tmp_path))) == []


def scripted(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Cluster:
    """Behind the commands that ask Slurm about one job."""
    monkeypatch.setenv("TRIAGE_STATE", str(folder))
    cluster = Cluster(folder, jobs={JobId(18): Job()})
    monkeypatch.setattr(Slurm, "status", lambda _, jobs: cluster.status(jobs))
    monkeypatch.setattr(Slurm, "details", lambda _, job: cluster.details(job))
    monkeypatch.setattr(Slurm, "named", lambda _, job: JobId(18, 3) if job == JobId(20) else job)
    return cluster


def test_a_hold_on_an_id_that_was_given_out_again_is_on_the_job_that_has_it_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = scripted(monkeypatch, tmp_path)
    database = Database(str(tmp_path))
    old = remember(database, NewJob(JobId(18), "watch", START - 900, submitted=START - 900))
    end_job(database, old, START - 600, "completed", 0, {})
    assert main(["hold", "18"]) == 0
    now, before = all_jobs(database)
    assert (now.held, now.submitted, before.held) == (True, cluster.jobs[JobId(18)].submitted, False)
    assert main(["hold", "18", "--release"]) == 0
    assert not all_jobs(database)[0].held


@pytest.mark.parametrize("words", [["daemon", "add", "18"], ["hold", "18"]])
def test_a_job_that_has_ended_is_neither_held_nor_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str]
) -> None:
    cluster = scripted(monkeypatch, tmp_path)
    database = Database(str(tmp_path))
    old = remember(database, NewJob(JobId(18), "watch", START, submitted=START - 20))
    end_job(database, old, START + 5, "completed", 0, {})
    cluster.jobs[JobId(18)] = Job("COMPLETED", listed=False)
    assert main(words) == 2
    assert "job 18 has ended" in capsys.readouterr().err


def test_a_hold_by_the_number_that_a_task_knows_itself_by_is_on_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    cluster = scripted(monkeypatch, tmp_path)
    cluster.jobs[JobId(18, 3)] = Job()
    assert main(["hold", "20"]) == 0
    assert "job 18_3 is held" in capsys.readouterr().out
    assert [str(known.job) for known in all_jobs(Database(str(tmp_path)))] == ["18_3"]


@pytest.mark.parametrize("words", [["daemon", "add"], ["hold"]])
def test_a_job_that_nobody_knows_is_a_typo_and_a_known_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str]
) -> None:
    cluster = scripted(monkeypatch, tmp_path)
    assert main([*words, "81"]) == 3
    assert "no job 81" in capsys.readouterr().err
    assert main([*words, "18"]) == 0
    assert [str(job.job) for job in all_jobs(Database(str(tmp_path)))] == ["18"]
    cluster.down = True
    assert main([*words, "19"]) == 0
    assert "it is not known whether there is a job 19" in capsys.readouterr().err
