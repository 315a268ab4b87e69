"""A job with nothing new costs next to nothing, and yet nothing that is written is overlooked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.watch.scripted import Cluster, Job, Stage
from triage.core.jobs.identity import JobId
from triage.watch.agenda import Agenda, in_slot
from triage.watch.loop import Loop
from triage.watch.options import Options
from triage.watch.watcher import Watcher

JOB = JobId(18)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    cluster = Cluster(tmp_path, jobs={JOB: Job(started=Cluster(tmp_path).now - 5000, limit=90_000)})
    cluster.output(JOB).write_text("hello\n")
    return Stage(cluster, JOB, Options(artifacts=("m.json",)))


def close_looks(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the watcher looked closely, from now on."""
    times: list[float] = []
    assert watcher.logs is not None
    look = type(watcher.logs).look

    def counted(logs: object, now: float) -> bool:
        times.append(now)
        return look(logs, now)  # type: ignore[arg-type]

    monkeypatch.setattr(type(watcher.logs), "look", counted)
    return times


def rested(stage: Stage) -> tuple[Loop, Watcher]:
    loop = stage.loop()
    return loop, stage.run(loop, 10)


def test_a_silent_job_is_looked_at_closely_once_or_twice_a_minute(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, watcher = rested(stage)
    times = close_looks(watcher, monkeypatch)
    stage.run(loop, 600)
    assert 10 <= len(times) <= 30


@pytest.mark.parametrize(
    "write",
    [
        lambda stage: stage.cluster.output(JOB).write_text("hello\nmore\n"),
        lambda stage: (stage.cluster.folder / "m.json").write_text("{}"),
        lambda stage: os.truncate(stage.cluster.output(JOB), 0),
        lambda stage: os.unlink(stage.cluster.output(JOB)),
        lambda stage: stage.cluster.output(JOB).rename(stage.cluster.folder / "away"),
    ],
    ids=["appended", "result", "truncated", "gone", "renamed"],
)
def test_whatever_happens_to_it_is_looked_at_closely_within_seconds(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, write: Callable[[Stage], object]
) -> None:
    loop, watcher = rested(stage)
    times = close_looks(watcher, monkeypatch)
    write(stage)
    happened = stage.cluster.now
    stage.run(loop, 5, lambda: bool(times))
    assert times
    assert times[0] - happened <= 2


@pytest.mark.parametrize("pattern", ["ou?.json", "sub/m.json", "*/m.json", "ckpt:sub"])
def test_a_result_that_appears_while_the_job_rests_is_found_within_seconds(
    stage: Stage, pattern: str
) -> None:
    folder = stage.cluster.folder
    stage = replace(stage, options=Options(artifacts=(pattern,), cancel=False))
    loop, watcher = rested(stage)
    (folder / "sub").mkdir()
    if pattern == "ckpt:sub":
        (folder / "sub" / "iter_0000007").mkdir()
        (folder / "sub" / "iter_0000007" / "model.pt").write_text("x")
        (folder / "sub" / "latest_checkpointed_iteration.txt").write_text("7")
    else:
        (folder / pattern.replace("?", "t").replace("*", "sub")).write_text(json.dumps({"job_id": 18}))
    happened = stage.cluster.now
    stage.run(loop, 60, lambda: watcher.open is not None and "not exist" not in watcher.open.why and "holds no" not in watcher.open.why)  # fmt: skip
    assert stage.cluster.now - happened < 5


def test_a_new_log_beside_a_silent_one_is_found(stage: Stage) -> None:
    loop, watcher = rested(stage)
    (stage.cluster.folder / "train-18-1.out").write_text("ValueError\n")
    stage.run(loop, 15)
    assert watcher.logs is not None
    assert len(watcher.logs.tail.files) == 2


def test_silence_is_measured_while_the_job_rests(stage: Stage) -> None:
    stage = replace(stage, options=Options(stall_after=300.0))
    loop, watcher = rested(stage)
    stage.run(loop, 400, lambda: "stall" in stage.kinds())
    assert 300 <= watcher.quiet.seconds <= 303


def test_a_clock_set_back_stops_no_look(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, watcher = rested(stage)
    times = close_looks(watcher, monkeypatch)
    stage.cluster.now -= 7200
    stage.run(loop, 5)
    assert times


def test_the_agenda_gives_what_is_due_the_longest_first() -> None:
    agenda = Agenda()
    for number, at in enumerate([5.0, 1.0, 3.0]):
        agenda.put(JobId(number + 1), at)
    agenda.put(JobId(2), 4.0)
    agenda.drop(JobId(3))
    assert agenda.next() == 4.0
    assert agenda.take(3.9) == []
    assert agenda.take(9.0) == [JobId(2), JobId(1)]
    assert agenda.next() is None


def test_regular_looks_share_their_times() -> None:
    assert {in_slot(10.0 + n / 1000) for n in range(1, 251)} == {10.25}
    assert in_slot(10.25) == 10.25
