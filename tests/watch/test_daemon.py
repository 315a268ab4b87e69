"""The daemon on a scripted cluster: jobs come and go, it is killed and goes on, and nothing is done twice."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.watch.scripted import Cluster, Job, Stage
from triage.core.jobs.cancel import Stage as Reached
from triage.core.jobs.identity import JobId
from triage.errors import StoreError, UsageError
from triage.store.actions import actions_of
from triage.store.daemons import living
from triage.store.jobs import (
    KnownJob,
    NewJob,
    all_jobs,
    end_job,
    find_job,
    forget,
    remember,
    set_watched,
    verdict_of,
)
from triage.watch.daemon import Daemon
from triage.watch.events import Event
from triage.watch.http import Server, answer
from triage.watch.notify import MOST, Limit, Notifier
from triage.watch.options import Options
from triage.watch.snapshot import Snapshot
from triage.watch.systemd import notify

JOB = JobId(18)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    cluster = Cluster(tmp_path, jobs={JOB: Job()})
    cluster.output(JOB).write_text("hello\n")
    return Stage(cluster, JOB)


def daemon(stage: Stage, **more: object) -> Daemon:
    loop = stage.loop()
    loop.drop(stage.job)
    return Daemon(loop, loop.world, stage.options, **more)  # type: ignore[arg-type]


def add(stage: Stage, job: JobId, options: Options | None = None) -> int:
    database = stage.database()
    number = remember(
        database, NewJob(job, "daemon", stage.cluster.now, options=(options or Options()).as_json())
    )
    set_watched(database, number, True)
    return number


def turns(one: Daemon, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    end = one.world.clock() + seconds
    while one.world.clock() < end and not until():
        one.loop.rest(min(one.turn(), 2.0))


def test_added_jobs_are_watched_and_forgotten_ones_are_not(stage: Stage) -> None:
    one = daemon(stage)
    turns(one, 5)
    assert one.loop.watchers == {}
    number = add(stage, JOB)
    turns(one, 5)
    assert list(one.snapshot().jobs) == ["18"]
    assert [d.pid > 0 for d in living(stage.database(), stage.cluster.now)] == [True]
    forget(stage.database(), number)
    turns(one, 5)
    assert one.loop.watchers == {}
    assert stage.cluster.acts == []


def test_a_job_that_ended_is_in_the_store_and_no_longer_watched(stage: Stage) -> None:
    number = add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    stage.cluster.jobs[JOB] = Job("COMPLETED", listed=False)
    turns(one, 120)
    assert one.ended == {"completed": 1}
    assert verdict_of(stage.database(), number) is not None
    assert all_jobs(stage.database(), watched=True) == []


def test_a_job_that_never_was_ends_unknown_and_is_let_go(stage: Stage) -> None:
    add(stage, JobId(99))
    one = daemon(stage)
    turns(one, 600)
    assert one.loop.watchers == {}
    assert all_jobs(stage.database(), watched=True) == []


def test_the_users_own_jobs_are_found_by_name(stage: Stage) -> None:
    one = daemon(stage, pattern="tra*")
    turns(one, 40)
    assert [str(job) for job in one.loop.watchers] == ["18"]
    other = replace(stage, holder="x:1:y")
    assert daemon(other, pattern="no*").loop.watchers == {}


def test_a_job_that_submit_remembered_is_found_and_keeps_its_result(stage: Stage) -> None:
    database = stage.database()
    number = remember(database, NewJob(JOB, "submit", stage.cluster.now, options={"artifacts": ["m.json"]}))
    one = daemon(stage, all_mine=True)
    turns(one, 5)
    assert list(one.loop.watchers) == [JOB]
    assert [job.number for job in all_jobs(database, watched=True)] == [number]
    assert one.loop.watchers[JOB].options.artifacts == ("m.json",)


def test_a_job_of_another_scheduler_with_the_same_id_is_not_taken_for_this_one(stage: Stage) -> None:
    database = stage.database()
    local = remember(database, NewJob(JOB, "submit", stage.cluster.now, scheduler="local"))
    set_watched(database, local, True)
    one = daemon(stage)
    turns(one, 5)
    assert one.loop.watchers == {}
    other = remember(database, NewJob(JOB, "daemon", stage.cluster.now, scheduler="slurm"))
    assert other != local


def test_an_ended_job_that_the_queue_still_lists_is_let_be_until_its_id_is_submitted_again(
    stage: Stage,
) -> None:
    database = stage.database()
    number = remember(database, NewJob(JOB, "submit", stage.cluster.now))
    end_job(database, number, stage.cluster.now, "completed", 0, {})
    one = daemon(stage, all_mine=True)
    turns(one, 40)
    assert one.loop.watchers == {}
    stage.cluster.jobs[JOB] = Job(submitted=stage.cluster.now, started=stage.cluster.now + 1)
    turns(one, 40)
    assert [job.number for job in all_jobs(database, watched=True)] == [number + 1]
    assert list(one.loop.watchers) == [JOB]


def test_an_id_that_is_given_out_again_while_it_is_watched_is_taken_up_as_another_job(stage: Stage) -> None:
    """Its submit lies before the moment at which that is seen."""
    first = add(stage, JOB, Options(artifacts=("m.json",)))
    one = daemon(stage, all_mine=True)
    turns(one, 5)
    (stage.cluster.folder / "m.json").write_text(json.dumps({"job_id": 18, "restart": 0}))
    stage.cluster.jobs[JOB] = Job(submitted=stage.cluster.now + 1, started=stage.cluster.now + 2)
    turns(one, 150)
    second, old = all_jobs(stage.database())
    assert (old.number, old.outcome) == (first, "unknown")
    assert old.ended is not None
    assert old.ended < stage.cluster.jobs[JOB].submitted
    assert (second.watched, second.options.get("artifacts")) == (True, [])
    assert list(one.loop.watchers) == [JOB]
    assert stage.cluster.acts == []


def test_an_outage_keeps_every_job(stage: Stage) -> None:
    add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    stage.cluster.down = True
    turns(one, 1000)
    assert one.snapshot().silent
    assert list(one.loop.watchers) == [JOB]


class Killed(BaseException):
    """As `kill -9`: nothing of the process goes on."""


def _with_restarts(stage: Stage, dice: random.Random, kills: int) -> None:
    """Watches until the job has ended; killed at random calls and starts again."""
    left = kills

    def maybe(_: str) -> None:
        nonlocal left
        if left and dice.random() < 0.25:
            left -= 1
            raise Killed

    stage.cluster.before = maybe
    for start in range(200):
        one = daemon(replace(stage, holder=f"here:{start}:x"))
        try:
            turns(one, 3000, lambda: all_jobs(stage.database())[0].ended is not None)
        except Killed:
            continue
        return
    pytest.fail("it never came to an end")


@pytest.mark.parametrize("seed", range(60 if os.environ.get("TRIAGE_SLOW") else 12))
def test_killed_at_any_moment_it_ends_with_one_verdict_and_at_most_one_decision(
    stage: Stage, seed: int
) -> None:
    """Three kills each, between any two calls of the scheduler: evidence before the act, no second decision."""
    dice = random.Random(seed)
    result = stage.cluster.folder / "m.json"
    number = add(stage, JOB, Options(artifacts=(str(result),)))
    if dice.random() < 0.8:
        result.write_text(json.dumps({"job_id": 18, "restart": 0}))
    else:
        stage.cluster.jobs[JOB] = Job("FAILED", listed=False, code=1)
    _with_restarts(stage, dice, 3)
    database = stage.database()
    actions = actions_of(database, number)
    assert len([a for a in actions if a.stage is not Reached.ABANDONED]) == (1 if result.exists() else 0)
    assert set(stage.cluster.acts) <= {"cancel attempt 0"}
    known = find_job(database, JOB)
    assert known is not None
    assert known.outcome == ("completed-early" if result.exists() else "unknown")
    assert verdict_of(database, number) is not None
    if stage.cluster.acts:
        assert actions[-1].evidence["path"] == str(result)


def test_http_shows_the_latest_snapshot_on_loopback_only(stage: Stage) -> None:
    add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    server = Server("127.0.0.1:0", one.snapshot, stage.cluster.clock)
    try:
        with urllib.request.urlopen(f"http://{server.address}/jobs/18", timeout=10) as reply:
            assert json.load(reply)["state"] == "RUNNING"
    finally:
        server.close()
    for address in ("0.0.0.0:80", "example.org:1", "nonsense"):
        with pytest.raises(UsageError):
            Server(address, one.snapshot, stage.cluster.clock)


def test_http_on_a_unix_socket_is_for_its_owner_alone(stage: Stage, tmp_path: Path) -> None:
    one = daemon(stage)
    path = tmp_path / "triage.socket"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    server = Server(f"unix:{path}", one.snapshot, stage.cluster.clock)
    try:
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert b"scheduler_answers" in b"".join(iter(lambda: client.recv(4096), b""))
    finally:
        server.close()
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(UsageError):
        Server(f"unix:{path}", one.snapshot, stage.cluster.clock)
    assert path.read_text() == "mine"


def test_a_store_that_fails_is_told_now_and_then_and_loses_no_word(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    one.tell(Event(2.0, "progress", "18", "is at iteration 7"))

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("triage.watch.daemon.note_states", full)
        broken.setattr("triage.store.daemons.beat", full)
        turns(one, 500)
    assert sum("the store cannot be used" in event.message for event in stage.told) == 1
    turns(one, 10)
    known = find_job(stage.database(), JOB)
    assert known is not None
    assert known.said == "is at iteration 7"


def test_who_asks_gets_the_jobs_as_they_are_now(stage: Stage) -> None:
    add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    got: list[Snapshot] = []
    asking = threading.Thread(target=lambda: got.append(one.ask()))
    asking.start()
    while not got:
        one.turn()
    asking.join()
    assert got[0].at == stage.cluster.now
    assert list(got[0].jobs) == ["18"]


def test_the_store_is_read_again_only_when_somebody_else_changed_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    reads: list[bool] = []

    def read(*_: object, **__: object) -> list[KnownJob]:
        reads.append(True)
        return []

    monkeypatch.setattr("triage.watch.daemon.all_jobs", read)
    turns(one, 20)
    assert reads == []
    set_watched(stage.database(), 1, False)
    turns(one, 5)
    assert reads == [True]


def test_what_was_said_last_is_in_the_store_for_all_jobs_at_once(stage: Stage) -> None:
    add(stage, JOB)
    one = daemon(stage)
    one.tell(Event(1.0, "state", "18", "runs", {"state": "RUNNING"}))
    one.tell(Event(2.0, "progress", "18", "is at iteration 7"))
    one.tell(Event(2.0, "store", "-", "cannot be used"))
    turns(one, 1)
    known = find_job(stage.database(), JOB)
    assert known is not None
    assert (known.state, known.seen, known.said) == ("RUNNING", 2.0, "is at iteration 7")


def test_every_path_has_its_answer(stage: Stage) -> None:
    pytest.importorskip("prometheus_client")
    add(stage, JOB)
    one = daemon(stage)
    turns(one, 5)
    now = stage.cluster.now
    assert answer("/healthz", one.snapshot(), now)[0] == 200
    assert answer("/healthz", one.snapshot(), now + 1000)[0] == 503
    assert json.loads(answer("/jobs/", one.snapshot(), now)[2])["jobs"][0]["job"] == "18"
    assert answer("/jobs/19", one.snapshot(), now)[0] == 404
    assert answer("/../../etc/passwd", one.snapshot(), now)[0] == 404
    code, _, body = answer("/metrics", one.snapshot(), now)
    assert code == 200
    assert b'triage_jobs{state="RUNNING"} 1.0' in body


def test_an_empty_daemon_is_healthy() -> None:
    assert answer("/healthz", Snapshot(100.0, {}), 110.0)[0] == 200


def test_a_flood_of_events_is_thinned_and_the_rest_is_counted() -> None:
    limit = Limit()
    through = [limit.lets_through(Event(float(n), "failure", str(n), "x")) for n in range(100)]
    assert through.count(True) == MOST
    assert limit.dropped == 100 - MOST
    assert limit.lets_through(Event(4000.0, "verdict", "1", "x"))
    assert not limit.lets_through(Event(4001.0, "progress", "1", "x"))
    assert limit.lets_through(Event(4001.0, "failure", "7", "x"))
    assert not limit.lets_through(Event(4002.0, "failure", "7", "x"))


def test_notifications_go_out_on_a_thread_of_their_own() -> None:
    sent: list[tuple[str, str]] = []
    notifier = Notifier(lambda title, body: bool(sent.append((title, body))))  # type: ignore[func-returns-value]
    notifier.tell(Event(0.0, "verdict", "18", "failed (oom): rank 5 ran out of memory"))
    notifier.close()
    assert sent[0][0] == "triage: job 18"
    assert "rank 5" in sent[0][1]


def test_systemd_is_told_where_it_listens(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        assert notify({"NOTIFY_SOCKET": str(tmp_path / "notify")}, "READY=1")
        assert listener.recv(100) == b"READY=1"
    assert not notify({}, "READY=1")
    assert not notify({"NOTIFY_SOCKET": str(tmp_path / "nobody")}, "READY=1")
