"""`triage bundle` at the command line."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.corpus.score import explained, judge
from tests.support import CASES
from triage.cli.main import main

LOGS = CASES / "shape-two-node" / "logs"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bundle_is_written_where_the_user_stands_and_explained_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(LOGS)]) == 0
    out, told = capsys.readouterr()
    assert out.startswith("triage-bundle-logs.tar.gz: ")
    assert "shape/matmul, confidence high" in out
    assert told == ""
    assert [p.name for p in here.iterdir()] == ["triage-bundle-logs.tar.gz"]
    assert main(["explain", "triage-bundle-logs.tar.gz", "--why-not", "0"]) == 0
    assert "node-a.err:9" in capsys.readouterr().out


def test_no_file_is_replaced_without_force(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "b.tar.gz").write_text("mine")
    assert main(["bundle", str(LOGS), "-o", "b.tar.gz"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (here / "b.tar.gz").read_text() == "mine"
    assert main(["bundle", str(LOGS), "-o", "b.tar.gz", "--force"]) == 0
    assert (here / "b.tar.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_folder_that_cannot_be_written_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(LOGS), "-o", str(here / "missing" / "b.tar.gz")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_json_is_the_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(LOGS), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["verdict"]["root"]["rank"]) == ("triage.bundle/1", 2)
    assert [log["path"] for log in told["logs"]] == ["node-a.err", "node-a.out", "node-b.err", "node-b.out"]


def test_what_the_scheduler_said_travels_with_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(LOGS, here / "run")
    (here / "run" / "triage-4812.json").write_text(
        json.dumps(
            {"schema": "triage.record/1", "job": "4812", "slurm": {"job_id": "4812", "state": "COMPLETED"}}
        )
    )
    assert main(["bundle", "run"]) == 0
    shutil.rmtree(here / "run")
    capsys.readouterr()
    assert main(["explain", "triage-bundle-run.tar.gz", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["category"], told["slurm"]["state"]) == ("none", "COMPLETED")


def test_the_job_that_was_asked_for_is_explained_from_the_bundle_too(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "run").mkdir()
    for job, error in (("41112", "KeyError"), ("41113", "OSError")):
        text = f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n{error}: x\n'
        (here / "run" / f"slurm-{job}.out").write_text(text)
    assert main(["bundle", "run", "--job", "41112"]) == 0
    capsys.readouterr()
    assert main(["explain", "triage-bundle-run.tar.gz", "--format", "json"]) == 10
    assert json.loads(capsys.readouterr().out)["root"]["exception"] == "KeyError"


def test_pipes_and_unreadable_files_are_left_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(LOGS, here / "run")
    os.mkfifo(here / "run" / "pipe.err")
    (here / "run" / "gone.err").symlink_to(here / "nowhere")
    assert main(["bundle", "run", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["logs"]) == 4
    assert {one["reason"] for one in told["verdict"]["scanned"]["skipped"]} == {"FIFO", "broken link"}


def test_empty_folder_is_no_bundle(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "run").mkdir()
    assert main(["bundle", "run"]) == 3
    assert "the folder is empty" in capsys.readouterr().err


def test_report_becomes_a_case_that_waits_for_its_label(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(LOGS), "-o", "b.tar.gz"]) == 0
    (here / "fixtures" / "cases").mkdir(parents=True)
    assert main(["bundle", "b.tar.gz", "--as-case", "my-case"]) == 0
    assert capsys.readouterr().err == ""
    case = here / "fixtures" / "cases" / "my-case"
    text = (case / "case.toml").read_text()
    assert "expect" not in tomllib.loads(text)
    assert "NOT REVIEWED" in text
    for path in LOGS.iterdir():
        assert (case / "logs" / path.name).read_bytes() == path.read_bytes()
    answer = text.partition("then delete this.\n")[2]
    label = tomllib.loads("".join(line.removeprefix("#").lstrip() + "\n" for line in answer.splitlines()))
    verdict = explained(case / "logs")
    assert all(judge(label["expect"], verdict).values())
    assert (label["expect"]["class"], label["expect"]["rank"]) == ("shape", 2)


def test_no_case_is_replaced_and_none_is_made_elsewhere(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(LOGS), "--as-case", "my-case"]) == 2
    assert "root of a checkout" in capsys.readouterr().err
    (here / "fixtures" / "cases" / "my-case").mkdir(parents=True)
    assert main(["bundle", str(LOGS), "--as-case", "my-case"]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["bundle", str(LOGS), "--as-case", "../x"]) == 2


def test_case_of_a_job_keeps_what_the_scheduler_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "fixtures" / "cases").mkdir(parents=True)
    shutil.copytree(LOGS, here / "run")
    (here / "run" / "triage-4812.json").write_text(
        json.dumps(
            {"schema": "triage.record/1", "job": "4812", "slurm": {"job_id": "4812", "state": "COMPLETED"}}
        )
    )
    assert main(["bundle", "run", "--as-case", "done", "--anonymize"]) == 0
    assert capsys.readouterr().err == ""
    assert explained(here / "fixtures" / "cases" / "done" / "logs")["category"] == "none"


def test_logs_of_another_job_in_the_same_folder_are_not_handed_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "logs").mkdir()
    shutil.copyfile(LOGS / "node-a.err", here / "logs" / "slurm-101.out")
    shutil.copyfile(LOGS / "node-b.err", here / "logs" / "slurm-102.out")
    assert main(["bundle", "logs", "--job", "101", "--format", "json"]) == 0
    out, told = capsys.readouterr()
    assert [log["path"] for log in json.loads(out)["logs"]] == ["slurm-101.out"]
    assert told == ""
