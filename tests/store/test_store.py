"""The store: what is remembered survives, is written once, and troubles are sentences."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from triage.core.jobs.attempt import Attempt
from triage.core.jobs.cancel import Cause, Stage
from triage.core.jobs.identity import JobId
from triage.errors import StoreError
from triage.store.actions import actions_of, intend, reach
from triage.store.database import KILL_SWITCH, NAME, Database
from triage.store.jobs import (
    NewJob,
    all_jobs,
    end_job,
    find_job,
    forget,
    get_job,
    is_held,
    remember,
    set_held,
    set_watched,
    verdict_of,
)
from triage.store.leases import LENGTH, acquire, holder_of, release
from triage.store.schema import MIGRATIONS

JOB = JobId(18, task=3, cluster="west")
ATTEMPT = Attempt(0, 900.0, 1000.0)


@pytest.fixture(params=[False, True], ids=["local", "network"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return Database(str(tmp_path / "state"), request.param)


def new(job: JobId = JOB, **more: object) -> NewJob:
    return NewJob(job, "watch", 1000.0, **more)  # type: ignore[arg-type]


def test_a_job_is_remembered_once_and_gains_what_is_learned(database: Database) -> None:
    number = remember(database, new(token="t", options={"when": "a > 1"}))
    assert remember(database, new(name="train", submitted=900.0, options={"any": True})) == number
    known = find_job(database, JOB)
    assert known is not None
    assert (known.token, known.name, known.submitted) == ("t", "train", 900.0)
    assert known.options == {"when": "a > 1", "any": True}
    assert find_job(database, JobId(18, task=3)) is None


def test_an_id_given_out_again_is_another_job(database: Database) -> None:
    first = remember(database, new(submitted=900.0))
    end_job(database, first, 2000.0, "completed", 0, {})
    assert remember(database, new(submitted=900.0)) == first
    second = remember(database, new(submitted=3000.0))
    assert second != first
    assert find_job(database, JOB) == get_job(database, second)


def test_an_id_given_out_again_while_nobody_watched_is_another_job_and_stays_held(database: Database) -> None:
    first = remember(database, new(submitted=900.0, options={"artifacts": ["m.json"]}))
    set_watched(database, first, True)
    set_held(database, first, True)
    assert remember(database, new(submitted=1200.0)) == first
    second = remember(database, new(submitted=9000.0))
    old, known = get_job(database, first), get_job(database, second)
    assert (old.outcome, old.watched) == ("unknown", False)
    assert old.ended is not None
    assert old.ended < 9000.0
    assert (known.held, known.options) == (True, {})


def test_the_submit_of_this_machines_clock_may_be_far_off(database: Database) -> None:
    first = remember(database, replace(new(submitted=900.0), origin="submit"))
    assert remember(database, new(submitted=4500.0)) == first


def test_a_job_of_another_scheduler_with_the_same_id_goes_on(database: Database) -> None:
    local = remember(database, new(submitted=900.0, scheduler="local"))
    assert remember(database, new(submitted=9000.0, scheduler="slurm")) != local
    assert get_job(database, local).ended is None


def test_a_verdict_is_written_once(database: Database) -> None:
    number = remember(database, new())
    set_watched(database, number, True)
    assert end_job(database, number, 2000.0, "failed", 10, {"category": "oom"})
    assert not end_job(database, number, 3000.0, "completed", 0, {"category": "none"})
    assert verdict_of(database, number) == {"category": "oom"}
    known = get_job(database, number)
    assert (known.ended, known.outcome, known.exit_code, known.watched) == (2000.0, "failed", 10, False)
    assert all_jobs(database, watched=True) == []


def test_an_attempt_has_one_decision_however_often_it_is_made(database: Database) -> None:
    number = remember(database, new())
    first = intend(
        database,
        number,
        ATTEMPT,
        Cause.ARTIFACT,
        1500.0,
        "it is there",
        {"sha256": "x"},
        gpus=8,
        planned_end=9100.0,
    )
    again = intend(database, number, ATTEMPT, Cause.HANG, 1600.0, "silent", {})
    assert again == first
    dry = intend(database, number, ATTEMPT, Cause.ARTIFACT, 1500.0, "would", {}, dry=True)
    assert dry.number != first.number
    fenced = reach(database, first, Stage.FENCED, 1501.0, requeue=True)
    assert fenced is not None
    sent = reach(database, fenced, Stage.SENT, 1502.0)
    assert sent is not None
    assert (sent.requeue, sent.saved) == (True, None)
    done = reach(database, sent, Stage.DONE, 1510.0, ended=1900.0)
    assert done is not None
    assert done.saved == 16.0
    assert [action.stage for action in actions_of(database, number)] == [Stage.DONE, Stage.INTENDED]


def test_a_step_on_an_action_that_another_watcher_has_moved_on_is_not_taken(database: Database) -> None:
    number = remember(database, new())
    mine = intend(database, number, ATTEMPT, Cause.ARTIFACT, 1500.0, "it is there", {})
    theirs = reach(database, mine, Stage.ABANDONED, 1501.0)
    assert theirs is not None
    assert reach(database, mine, Stage.FENCED, 1502.0) is None
    assert [action.stage for action in actions_of(database, number)] == [Stage.ABANDONED]
    forget(database, number)
    assert reach(database, theirs, Stage.DONE, 1503.0) is None


def test_an_abandoned_decision_leaves_room_for_another(database: Database) -> None:
    number = remember(database, new())
    first = intend(database, number, ATTEMPT, Cause.HANG, 1500.0, "silent", {})
    reach(database, first, Stage.ABANDONED, 1501.0, why="it goes on")
    second = intend(database, number, ATTEMPT, Cause.ARTIFACT, 1600.0, "it is there", {})
    assert (second.number != first.number, second.cause) == (True, Cause.ARTIFACT)


def test_one_lease_per_job_until_it_is_over_or_its_holder_is_gone(database: Database) -> None:
    job = remember(database, new())
    assert acquire(database, job, "a:1", "a", 1000.0)
    assert not acquire(database, job, "b:1", "b", 1000.0 + LENGTH)
    assert acquire(database, job, "a:1", "a", 1030.0)
    assert not acquire(database, job, "b:1", "b", 1080.0)
    assert acquire(database, job, "b:1", "b", 1080.0, dead="a:1")
    assert holder_of(database, job) == ("b:1", "b")
    release(database, job, "a:1")
    assert not acquire(database, job, "c:1", "c", 1081.0)
    assert acquire(database, job, "c:1", "c", 1081.0 + LENGTH)


def test_a_lease_from_the_future_is_a_clock_that_was_set_back(database: Database) -> None:
    job = remember(database, new())
    acquire(database, job, "a:1", "a", 1_000_000.0)
    assert acquire(database, job, "b:1", "b", 1000.0)


def test_holds_and_forgetting(database: Database) -> None:
    job = remember(database, new())
    set_held(database, job, True)
    assert is_held(database, job)
    forget(database, job)
    assert (is_held(database, job), all_jobs(database)) == (False, [])


def test_the_kill_switch_is_a_file(database: Database) -> None:
    assert not database.stopped
    (Path(database.folder) / KILL_SWITCH).touch()
    assert database.stopped


def _fail(database: Database, statement: str, error: Exception) -> None:
    with database.transaction() as db:
        db.execute(statement)
        raise error


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    with pytest.raises(RuntimeError):
        _fail(database, "INSERT INTO jobs (job, added, origin) VALUES ('1', 1, 'watch')", RuntimeError())
    assert all_jobs(database) == []


def test_every_migration_leads_from_the_one_before(tmp_path: Path) -> None:
    for version in range(len(MIGRATIONS)):
        folder = tmp_path / str(version)
        folder.mkdir()
        raw = sqlite3.connect(folder / NAME)
        for script in MIGRATIONS[:version]:
            raw.executescript(script)
        raw.execute(f"PRAGMA user_version = {version}")
        raw.commit()
        raw.close()
        assert remember(Database(str(folder)), new()) == 1


def test_a_store_of_a_newer_triage_is_left_alone(tmp_path: Path) -> None:
    Database(str(tmp_path)).close()
    raw = sqlite3.connect(tmp_path / NAME)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(StoreError, match="newer triage"):
        Database(str(tmp_path))


def test_a_damaged_database_says_what_to_do_and_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"damaged.*move it away"):
        Database(str(tmp_path))
    assert (tmp_path / NAME).read_bytes() == b"no database at all" * 100


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="TRIAGE_STATE"):
        Database(str(tmp_path / "file" / "state"))


@pytest.mark.parametrize(
    ("said", "told"),
    [("database or disk is full", "disk is full"), ("attempt to write a readonly database", "permissions")],
)
def test_a_full_or_read_only_disk_is_told_and_nothing_is_lost(
    database: Database, said: str, told: str
) -> None:
    job = remember(database, new())
    with pytest.raises(StoreError, match=told):
        _fail(database, "DELETE FROM jobs", sqlite3.OperationalError(said))
    assert get_job(database, job).job == JOB


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys\nfrom triage.store.database import Database\nfrom triage.store.jobs import *\n"
        "from triage.core.jobs.identity import JobId\nfrom triage.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ndb = Database(sys.argv[1])\n"
        "remember(db, NewJob(JobId(1), 'watch', 1.0))\nresource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    for n in range(2, 5000): remember(db, NewJob(JobId(n), 'watch', 1.0, name='x' * 1000))\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, env=os.environ)  # fmt: skip
    assert "triage.sqlite: the d" in done.stdout, done.stderr
    assert find_job(Database(str(tmp_path)), JobId(1)) is not None


def test_many_writers_lose_nothing(database: Database) -> None:
    """Each with a connection of its own, as processes have."""

    def write(worker: int) -> None:
        own = Database(database.folder, database.network)
        for number in range(10):
            remember(own, new(JobId(worker * 100 + number)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(all_jobs(database)) == 40
