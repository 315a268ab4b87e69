"""`triage submit`: what it says, what it writes down, and that kill -9 at any step leaves neither two jobs nor a lost one.

The steps are killed on the local scheduler, where nothing waits for a message; tests/submit/test_real.py does the same
on a real Slurm.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.submit.killing import ROOT, submit_killed_at
from triage.cli.main import main
from triage.report.schema import schema_text
from triage.schedulers.local.store import JobFolder, all_jobs
from triage.store.database import Database
from triage.store.jobs import all_jobs as all_known

SCRIPT = (
    '#!/bin/bash\n#SBATCH --output=logs/%x-%j.out\n#SBATCH --job-name=demo\necho "$@" >ran-$SLURM_JOB_ID\n'
)

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a script, as the current one; state and local jobs lie beside it."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.sbatch").write_text(SCRIPT)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TRIAGE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TRIAGE_LOCAL_ROOT", raising=False)
    yield folder
    for job in jobs(tmp_path):
        while job.is_held():
            time.sleep(0.02)


def jobs(tmp_path: Path) -> list[JobFolder]:
    return all_jobs(tmp_path / "state" / "local")


def submit(capsys: Capture, *words: str, scheduler: str = "local") -> tuple[int, Any]:
    """Exit code and the JSON that is valid and alone on standard output."""
    own, behind = (words[: words.index("--")], words[words.index("--") :]) if "--" in words else (words, ())
    code = main(["submit", *own, "--scheduler", scheduler, "--format", "json", *behind])
    out = capsys.readouterr().out
    data = json.loads(out) if out else None
    if data is not None:
        jsonschema.validate(data, json.loads(schema_text("submit")))
    return code, data


def test_job_runs_with_its_arguments_and_all_is_kept_beside_its_logs(run: Path, capsys: Capture) -> None:
    code, told = submit(capsys, "run.sbatch", "--", "--lr", "a b")
    assert (code, told["outcome"], told["job_id"]) == (0, "submitted", "100000")
    kept = Path(told["record_path"]).parent
    assert kept.parent == run / "logs" / ".triage"
    assert (kept / "run.sbatch").read_text() == SCRIPT
    assert json.loads((kept / "submission.json").read_text()) == told["record"]
    assert told["record"]["arguments"] == ["--lr", "a b"]
    assert told["log"] == str(run / "logs" / "demo-100000.out")
    assert list((run.parent / "state" / "submissions").iterdir()) == []


def test_job_is_remembered_for_those_who_watch_it(run: Path, capsys: Capture) -> None:
    _, told = submit(capsys, "run.sbatch")
    (known,) = all_known(Database(str(run.parent / "state")))
    assert (str(known.job), known.origin, known.token) == ("100000", "submit", told["record"]["token"])
    assert (known.name, known.output) == ("demo", told["log"])


@pytest.mark.usefixtures("run")
def test_job_is_watched_and_explained_where_it_was_submitted(capsys: Capture) -> None:
    submit(capsys, "run.sbatch")
    assert main(["watch", "100000", "--plain"]) == 0
    assert "job 100000 completed" in capsys.readouterr().out
    assert main(["explain", "100000"]) == 0


@pytest.mark.usefixtures("run")
def test_jobs_of_two_schedulers_are_not_watched_in_one_call(capsys: Capture) -> None:
    submit(capsys, "run.sbatch")
    assert main(["watch", "100000", "2"]) == 2
    assert "in two calls" in capsys.readouterr().err


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("words", [["watch", "1"], ["explain", "1"], ["submit", "--no-check", "run.sbatch"]])
def test_slurm_that_is_not_here_is_one_sentence_and_one_code_at_once(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(words) == 4
    assert "run this where Slurm's commands are installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "log"),
    [("o-%x-%j", "o-run.sbatch-100000"), ("o-%j-%N", "o-%j-%N"), ("o-%8j%%", "o-00100000%")],
)
def test_log_is_named_as_far_as_it_is_known(run: Path, capsys: Capture, output: str, log: str) -> None:
    (run / "run.sbatch").write_text(f"#!/bin/bash\n#SBATCH --output={output} --error=e-%j\ntrue\n")
    _, told = submit(capsys, "run.sbatch")
    assert told["log"] == str(run / log)
    (known,) = all_known(Database(str(run.parent / "state")))
    assert (known.output, known.error) == (told["log"], str(run / "e-100000"))


def test_store_that_cannot_be_used_loses_no_job(run: Path, capsys: Capture) -> None:
    (run.parent / "state").mkdir()
    (run.parent / "state" / "triage.sqlite").write_text("no database" * 100)
    assert main(["submit", "run.sbatch", "--scheduler", "local"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("submitted job 100000\n")
    assert "not in the store" in told.err


def test_watch_follows_the_job_to_its_end(run: Path, capsys: Capture) -> None:
    (run / "run.sbatch").write_text(SCRIPT + "exit 3\n")
    assert main(["submit", "run.sbatch", "--scheduler", "local", "--watch"]) in (10, 11)
    assert capsys.readouterr().out.startswith("submitted job 100000\n")


@pytest.mark.usefixtures("run")
def test_watch_tells_in_the_form_that_submit_was_asked_for(capsys: Capture) -> None:
    assert main(["submit", "run.sbatch", "--scheduler", "local", "--watch", "--format", "json"]) == 0
    submission, _, events = capsys.readouterr().out.partition("\n}\n")
    assert json.loads(submission + "}")["job_id"] == "100000"
    assert json.loads(events.splitlines()[-1])["event"] == "verdict"


def test_same_command_twice_is_two_jobs(run: Path, capsys: Capture) -> None:
    assert [submit(capsys, "run.sbatch")[1]["job_id"] for _ in range(2)] == ["100000", "100001"]
    assert len(jobs(run.parent)) == 2


def test_calls_at_the_same_time_take_each_other_for_no_interrupted_ones(run: Path) -> None:
    argv = [
        sys.executable,
        "-m",
        "triage",
        "submit",
        "run.sbatch",
        "--scheduler",
        "local",
        "--format",
        "json",
    ]
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    calls = [subprocess.Popen(argv, env=own, cwd=run, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [json.loads(call.communicate(timeout=60)[0]) for call in calls]
    assert {one["outcome"] for one in told} == {"submitted"}
    assert {int(one["job_id"]) for one in told} == alive_or_ended(run.parent)
    assert len(alive_or_ended(run.parent)) == 4


def test_text_names_the_job_first(run: Path, capsys: Capture) -> None:
    assert main(["submit", "run.sbatch", "--scheduler", "local"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("submitted job 100000\n")
    assert f"  log     {run}/logs/demo-100000.out\n" in out


def test_dry_run_does_nothing_and_shows_the_command(run: Path, capsys: Capture) -> None:
    code, told = submit(capsys, "run.sbatch", "--dry-run", "--hold", "--array=1-3", scheduler="slurm")
    assert (code, told["outcome"], told["job_id"]) == (0, "dry-run", None)
    argv = told["record"]["argv"]
    assert argv[0] == "sbatch"
    assert {"--array=1-3", "--hold"} <= set(argv)
    assert argv[-1] == str(run / "run.sbatch")
    assert [path.name for path in run.iterdir()] == ["run.sbatch"]
    assert not (run.parent / "state").exists()


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("#SBATCH --time=soon", [], 5),
        ("#SBATCH --time=soon", ["--no-check"], 0),
        ("#SBATCH --time=1\n#SBATCH --time=2", [], 0),
        ("#SBATCH --time=1\n#SBATCH --time=2", ["--strict"], 5),
        ("#SBATCH --time=2", ["--strict"], 0),
    ],
)
def test_errors_refuse_and_warnings_when_asked(
    run: Path, capsys: Capture, text: str, words: list[str], code: int
) -> None:
    (run / "run.sbatch").write_text(SCRIPT.replace("#SBATCH --job-name=demo", text))
    got, told = submit(capsys, "run.sbatch", *words)
    assert got == code, told
    assert told["outcome"] == ("submitted" if code == 0 else "refused")
    if code:
        assert "--no-check" in told["message"]
        assert jobs(run.parent) == []
        assert not (run / "logs").exists()


def test_missing_log_folder_is_made_and_no_error(run: Path, capsys: Capture) -> None:
    script = run / "run.sbatch"
    assert main(["check", "run.sbatch"]) == 0
    assert "warning: if the job is submitted from here: the log folder" in capsys.readouterr().out
    script.write_text(f"{script.read_text()}\ncd {run}\n")
    assert main(["check", "run.sbatch"]) == 1
    assert "storage/log-folder" in capsys.readouterr().out
    assert submit(capsys, "run.sbatch")[0] == 0
    assert (run / "logs").is_dir()


def test_log_folder_that_cannot_be_made_is_refused_before_anything_is_sent(
    run: Path, capsys: Capture
) -> None:
    (run / "logs").write_text("a file")
    assert main(["submit", "run.sbatch", "--scheduler", "local", "--no-check"]) == 5
    assert "change --output" in capsys.readouterr().err
    assert jobs(run.parent) == []


def test_log_folder_on_storage_that_is_not_here_is_not_invented(run: Path, capsys: Capture) -> None:
    (run / "run.sbatch").write_text(SCRIPT.replace("logs/", "/no-such-storage/logs/"))
    assert main(["submit", "run.sbatch", "--scheduler", "local"]) == 5
    assert "/no-such-storage" in capsys.readouterr().err
    assert not Path("/no-such-storage").exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "name the script"),
        (["nowhere.sbatch"], 3, "nowhere.sbatch"),
        (["run.sbatch", "--scheduler", "lsf"], 2, "lsf"),
        (["run.sbatch", "--array=1-3", "--scheduler", "local"], 5, "without Slurm"),
    ],
)
@pytest.mark.usefixtures("run")
def test_wrong_calls_say_what_to_do(capsys: Capture, words: list[str], code: int, says: str) -> None:
    assert main(["submit", *words]) == code
    assert says in capsys.readouterr().err


def test_without_slurm_it_says_where_to_go(
    run: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["submit", "run.sbatch"]) == 4
    assert "no `sbatch` here" in capsys.readouterr().err
    assert list((run.parent / "state" / "submissions").iterdir()) == []


def test_state_that_cannot_be_written_submits_nothing(
    run: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run / "state").write_text("a file")
    monkeypatch.setenv("TRIAGE_STATE", str(run / "state"))
    assert main(["submit", "run.sbatch", "--scheduler", "local"]) == 6
    assert "nothing was submitted" in capsys.readouterr().err
    assert not (run / "state" / "local").exists()


RECORDED = (5, "submission.json.part")
"""There is a job: the record is opened for the third time, after the draft and the entry, each of which is renamed."""


def killed_at(step: int, *words: str, mark: str = "") -> subprocess.CompletedProcess[str]:
    return submit_killed_at(step, [*words, "--scheduler", "local"], os.environ, Path.cwd(), mark=mark)


def alive_or_ended(tmp_path: Path) -> set[int]:
    """Jobs that a runner has or had; a folder that a killed call left half made never becomes one."""
    return {job.number for job in jobs(tmp_path) if job.read("state") or job.is_held()}


def test_killed_at_every_step_and_run_again_makes_one_job(run: Path, capsys: Capture) -> None:
    """Whoever was told the job's id runs the command for a second job; who was not, gets the first."""
    known: set[int] = set()
    found = 0
    for step in itertools.count(1, 1 if os.environ.get("TRIAGE_SLOW") else 6):
        done = killed_at(step, "run.sbatch", "--format", "json")
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, (step, done)
        code, told = submit(capsys, "run.sbatch")
        assert code == 0
        ids = {int(told["job_id"])} | ({int(json.loads(done.stdout)["job_id"])} if done.stdout else set())
        assert alive_or_ended(run.parent) - known == ids, (step, told["outcome"])
        assert len(ids) == 1 or done.stdout, step
        assert Path(told["record_path"]).exists()
        found += told["outcome"] == "found"
        known |= ids
    assert step > 20
    assert found > 0


def test_job_of_a_killed_call_is_found_by_resume_from_anywhere(
    run: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(RECORDED[0], "run.sbatch", mark=RECORDED[1])
    monkeypatch.chdir("/")
    code = main(["submit", "--resume", "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["outcome"], told["job_id"]) == (0, "found", "100000")
    assert main(["submit", "--resume"]) == 0
    assert "nothing is open" in capsys.readouterr().err
    assert len(jobs(run.parent)) == 1


def test_call_that_was_killed_before_it_sent_anything_is_told_as_such(run: Path, capsys: Capture) -> None:
    killed_at(1, "run.sbatch", mark="journal")
    code = main(["submit", "--resume", "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["outcome"], told["job_id"]) == (0, "not-found", None)
    assert jobs(run.parent) == []


def test_script_that_was_changed_meanwhile_is_not_taken_for_the_interrupted_one(
    run: Path, capsys: Capture
) -> None:
    killed_at(RECORDED[0], "run.sbatch", mark=RECORDED[1])
    existing = jobs(run.parent)[-1].number
    (run / "run.sbatch").write_text(SCRIPT + "echo changed\n")
    capsys.readouterr()
    assert main(["submit", "run.sbatch", "--scheduler", "local"]) == 5
    assert f"job {existing}" in capsys.readouterr().err
    assert jobs(run.parent)[-1].number == existing
    assert submit(capsys, "run.sbatch")[1]["job_id"] == str(existing + 1)


def test_other_arguments_are_another_request(run: Path, capsys: Capture) -> None:
    killed_at(RECORDED[0], "run.sbatch", mark=RECORDED[1])
    assert submit(capsys, "run.sbatch", "--", "other")[0] == 5
    assert len(jobs(run.parent)) == 1
