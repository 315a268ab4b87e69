"""The live view, drawn for a narrow and a wide terminal in every state of a job."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.watch.scripted import START, Cluster, Job, Stage
from triage.core.jobs.identity import JobId
from triage.watch.options import Options
from triage.watch.panel import curve
from triage.watch.screen import Screen
from triage.watch.watcher import Watcher

JOB = JobId(18)
STEP = " [2026-12-01 10:00:00] iteration {n:8d}/    5000 | consumed samples:  1 | elapsed time per iteration (ms): 1000.0 | lm loss: {loss:.3E} |\n"
TRACE = 'Traceback (most recent call last):\n  File "/w/train.py", line 7, in <module>\nValueError: bad \x1b[31mluck\n'


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    cluster = Cluster(tmp_path, jobs={JOB: Job()})
    cluster.output(JOB).write_text("".join(STEP.format(n=n, loss=10 / n) for n in range(1, 4)))
    return Stage(cluster, JOB, Options(artifacts=("m.json",)))


def drawn(stage: Stage, width: int = 80, height: int = 24, seconds: float = 5) -> str:
    loop = stage.loop()
    watcher = loop.watchers[JOB]
    for turn in range(int(seconds)):
        stage.run(loop, 1.5)
        with open(stage.cluster.output(JOB), "a") as file:
            if "Traceback" not in stage.cluster.output(JOB).read_text():
                file.write(STEP.format(n=10 + turn, loss=2 - turn / 10))
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    screen = Screen(console)
    for event in stage.told:
        screen.tell(event)
    console.print(screen.draw([watcher], stage.cluster.now))
    return out.getvalue()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (40, 10)])
def test_no_line_is_wider_and_the_whole_no_higher_than_the_terminal(
    stage: Stage, width: int, height: int
) -> None:
    lines = drawn(stage, width, height).rstrip("\n").split("\n")
    assert max(map(len, lines)) <= width
    assert len(lines) <= height


def test_a_run_shows_its_progress_loss_and_result(stage: Stage) -> None:
    text = drawn(stage, 120)
    assert "RUNNING" in text
    assert "of 5000, 83 min left" in text
    assert "loss" in text
    assert "m.json does not exist yet" in text
    assert "GPU-hours on 8 GPUs" in text


def test_a_failure_is_shown_without_the_logs_control_characters(stage: Stage) -> None:
    stage.cluster.output(JOB).write_text(TRACE)
    text = drawn(stage)
    assert "python: ValueError" in text
    assert "\x1b[31m" not in text


def test_a_job_that_has_failed_and_still_runs_says_so_first_and_promises_no_time(stage: Stage) -> None:
    with open(stage.cluster.output(JOB), "a") as file:
        file.write(TRACE.replace("bad", "bad " * 30))
    lines = drawn(stage).split("\n")
    assert lines[0].startswith("job 18  train  RUNNING, has failed")
    first = next(n for n, line in enumerate(lines) if line.startswith("failure   python: "))
    assert lines[first + 1].startswith("          bad")
    assert not any("left" in line for line in lines[:first])


def test_a_job_that_hangs_says_for_how_long_and_promises_no_time(stage: Stage) -> None:
    stage = replace(stage, options=Options(stall_after=120.0))
    loop = stage.loop()
    stage.run(loop, 300)
    out = io.StringIO()
    console = Console(file=out, width=80, height=24)
    console.print(Screen(console).draw([loop.watchers[JOB]], stage.cluster.now))
    assert "RUNNING, no progress" in out.getvalue()
    assert "          no new iteration for 4 min" in out.getvalue()
    assert "left" not in out.getvalue()


def test_progress_that_stands_still_is_not_told_again(stage: Stage) -> None:
    loop = stage.loop()
    stage.run(loop, 2000)
    assert stage.kinds().count("progress") == 1


def test_more_jobs_than_fit_have_a_line_each_the_failed_ones_first(stage: Stage) -> None:
    stage.cluster.output(JOB).write_text(TRACE)
    loop = stage.loop()
    failed = stage.run(loop, 5)
    others = [Watcher(loop.world, JobId(100 + n), Options()) for n in range(40)]
    out = io.StringIO()
    console = Console(file=out, width=80, height=24)
    console.print(Screen(console).draw([*others, failed], stage.cluster.now))
    lines = out.getvalue().rstrip("\n").split("\n")
    assert lines[0].startswith("job 18  train  RUNNING, has failed")
    assert any(line.startswith("and 23 more") for line in lines)
    assert len(lines) <= 24


def test_a_waiting_job_says_why(stage: Stage) -> None:
    stage.cluster.jobs[JOB] = Job("PENDING", reason="Priority", started=START + 900)
    assert "jobs with a higher priority go first" in drawn(stage, 120)


def test_an_outage_is_seen(stage: Stage) -> None:
    loop = stage.loop()
    stage.run(loop, 3)
    stage.cluster.down = True
    stage.run(loop, 100)
    out = io.StringIO()
    console = Console(file=out, width=100, height=24)
    console.print(Screen(console).draw([loop.watchers[JOB]], stage.cluster.now))
    assert "the scheduler does not answer" in out.getvalue()


def test_silent_ranks_are_named(stage: Stage) -> None:
    folder = stage.cluster.folder / "train-18" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "rank-3.log").write_text("hello\n")
    stage = replace(stage, options=Options())
    assert "rank 3" in drawn(stage, 120)


def test_a_curve_has_gaps_where_there_is_no_number() -> None:
    assert curve([1, 2, float("inf"), 8]) == "▁▂ █"
    assert curve([3, 3]) == "▁▁"
    assert curve([]) == ""
