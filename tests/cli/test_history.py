"""`triage history` from a store: what ended how, what nobody saw end, and what early ends have saved."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from triage.cli.main import main
from triage.core.jobs.attempt import Attempt
from triage.core.jobs.cancel import Cause, Stage
from triage.core.jobs.identity import JobId
from triage.store.actions import intend, reach
from triage.store.database import Database
from triage.store.jobs import NewJob, end_job, remember, set_watched

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("TRIAGE_STATE", str(tmp_path))
    return Database(str(tmp_path))


def told(capsys: Capture, *words: str) -> list[str]:
    assert main(["history", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_failure_has_its_category_and_a_job_that_nobody_followed_no_end(
    database: Database, capsys: Capture
) -> None:
    now = time.time()
    numbers = [remember(database, NewJob(JobId(n), "submit", now, name=f"run{n}")) for n in (1, 2, 3)]
    end_job(database, numbers[0], now, "failed", 10, {"category": "oom"})
    set_watched(database, numbers[1], True)
    header, *rows, hint = told(capsys)
    assert header.split() == ["last", "change", "job", "outcome", "name"]
    assert [" ".join(row.split()[2:]) for row in rows] == [
        "3 end not seen run3", "2 is watched run2", "1 failed (oom) run1",
    ]  # fmt: skip
    assert "triage explain JOB_ID" in hint


@pytest.mark.parametrize(
    ("gpus", "line"),
    [
        (8, "8.0 GPU-hours saved by 1 early end"),
        (None, "0.0 GPU-hours saved by 1 early end; no GPUs were counted for 1 of them"),
    ],
)
def test_an_early_end_counts_also_where_no_gpus_were_counted(
    database: Database, capsys: Capture, gpus: int | None, line: str
) -> None:
    now = time.time()
    number = remember(database, NewJob(JobId(1), "submit", now))
    attempt = Attempt(0, now, now)
    action = intend(
        database, number, attempt, Cause.ARTIFACT, now, "so", {}, gpus=gpus, planned_end=now + 3600
    )
    reach(database, action, Stage.DONE, now, ended=now)
    end_job(database, number, now, "completed-early", 0, {"category": "none"})
    assert told(capsys, "--savings")[-1] == line
