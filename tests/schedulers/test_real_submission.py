"""Submitting once against a real controller that is down, slow, strict, or whose answer is lost.

The quick ones always run; the rest of the matrix runs with TRIAGE_SLOW=1.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.minislurm.cluster import ACCOUNT, MiniSlurm
from triage.core.jobs.identity import JobId
from triage.core.jobs.pending import never_starts
from triage.core.jobs.submission import Accepted, Done, Looked, Lost, NotSent, Refused, Tried
from triage.errors import RefusedError
from triage.schedulers.interface import Request
from triage.schedulers.once import Journal, new_token, submit_once
from triage.schedulers.slurm.client import Slurm

slow = pytest.mark.skipif(not os.environ.get("TRIAGE_SLOW"), reason="slow: set TRIAGE_SLOW=1")
ROOT = Path(__file__).resolve().parents[2]


def client(mini: MiniSlurm, *, path: str = "") -> Slurm:
    environment = dict(mini.environment)
    if path:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return Slurm(environment)


def request(folder: Path, *options: str, token: str = "") -> Request:
    script = folder / "run.sbatch"
    script.write_text("#!/bin/bash\nsleep 300\n")
    return Request(script, folder, token or new_token(), name="once", options=options)


def jobs_with(mini: MiniSlurm, token: str) -> list[str]:
    """What the controller itself has, asked without the code under test; a refused request leaves a dead record."""
    rows = [
        row.split("|")
        for row in mini.output("squeue", "-h", "-a", "-t", "all", "-o", "%i|%r|%k").splitlines()
    ]
    return [row[0] for row in rows if row[2] == f"triage:{token}" and row[1] != "BadConstraints"]


def wrapper(folder: Path, *lines: str) -> str:
    """A folder whose `sbatch` does something around the real one."""
    folder.mkdir()
    path = folder / "sbatch"
    path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
    path.chmod(0o755)
    return str(folder)


def later(seconds: float, what: object, *arguments: object) -> threading.Timer:
    timer = threading.Timer(seconds, what, arguments)  # type: ignore[arg-type]
    timer.start()
    return timer


def test_answer_lost_after_acceptance_is_found_at_once(mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    path = wrapper(
        tmp_path / "bin", '/usr/bin/sbatch "$@" >/dev/null',
        "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1",
    )  # fmt: skip
    asked = request(tmp_path)
    journal = Journal.open(tmp_path / "journal")
    done = submit_once(client(mini_slurm, path=path), asked, journal)
    assert jobs_with(mini_slurm, asked.token) == [str(done.job)]
    assert [type(step.outcome) for step in journal.steps if isinstance(step, Tried)] == [Lost]


def test_controller_down_and_back_gets_one_job(mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    mini_slurm.stop_daemon("slurmctld")
    timer = later(10, mini_slurm.start_daemon, "slurmctld")
    asked = request(tmp_path)
    journal = Journal.open(tmp_path / "journal")
    done = submit_once(client(mini_slurm), asked, journal)
    timer.join()
    assert jobs_with(mini_slurm, asked.token) == [str(done.job)]
    assert NotSent in [type(step.outcome) for step in journal.steps if isinstance(step, Tried)]


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--partition=nope",), "--partition"),
        (("--gres=gpu:9",), "--gres"),
        (("--nodes=0",), "--nodes"),
        (("--mem=999G",), "--mem"),
        (("--time=soon",), "--time"),
        (("--no-such-option",), "option"),
    ],
)
def test_refusal_says_what_to_change_and_leaves_no_job(
    mini_slurm: MiniSlurm, tmp_path: Path, options: tuple[str, ...], advice: str
) -> None:
    asked = request(tmp_path, *options)
    slurm = client(mini_slurm)
    with pytest.raises(RefusedError, match=advice):
        submit_once(slurm, asked, Journal.open(tmp_path / "journal"))
    assert jobs_with(mini_slurm, asked.token) == []
    assert slurm.find(asked.token, time.time()).found == ()


@pytest.mark.parametrize("options", [("--partition=short", "--time=10"), ("--nodes=9",)])
def test_accepted_and_never_started_is_told_by_its_reason(
    mini_slurm: MiniSlurm, tmp_path: Path, options: tuple[str, ...]
) -> None:
    slurm = client(mini_slurm)
    done = submit_once(slurm, request(tmp_path, *options), Journal.open(tmp_path / "journal"))
    end = time.monotonic() + 15
    while (reason := slurm.status([done.job])[done.job].reason) is None or never_starts(reason) is None:
        assert time.monotonic() < end, reason
        time.sleep(0.3)


def test_hostile_variables_of_the_caller_change_nothing(mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    hostile = {
        "SQUEUE_STATES": "FAILED", "SQUEUE_USERS": "nobody", "SCANCEL_STATE": "PENDING", "SCANCEL_INTERACTIVE": "true",
        "SBATCH_PARTITION": "closed", "SBATCH_TEST_ONLY": "1", "SLURM_TIME_FORMAT": "relative", "SLURM_CLUSTERS": "nope",
    }  # fmt: skip
    slurm = Slurm({**mini_slurm.environment, **hostile})
    asked = request(tmp_path)
    done = submit_once(slurm, asked, Journal.open(tmp_path / "journal"))
    end = time.monotonic() + 20
    while not slurm.status([done.job])[done.job].reading.is_running:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert "gpu" in mini_slurm.output("squeue", "-h", "-j", str(done.job), "-o", "%P")
    slurm.cancel(done.job)
    while not slurm.status([done.job])[done.job].released:
        assert time.monotonic() < end
        time.sleep(0.2)


@slow
def test_frozen_controller_that_wakes_up_gets_one_job(mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    slurm = client(mini_slurm)
    slurm.message_timeout()
    mini_slurm.freeze("slurmctld")
    timer = later(12, mini_slurm.thaw, "slurmctld")
    asked = request(tmp_path)
    journal = Journal.open(tmp_path / "journal")
    done = submit_once(slurm, asked, journal)
    timer.join()
    time.sleep(8)
    assert jobs_with(mini_slurm, asked.token) == [str(done.job)]


@slow
def test_request_that_vanished_is_sent_again_after_two_looks(mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    mark = tmp_path / "vanished"
    path = wrapper(
        tmp_path / "bin",
        f"if [ ! -e {mark} ]; then touch {mark}; kill -9 $$; fi",
        'exec /usr/bin/sbatch "$@"',
    )
    asked = request(tmp_path)
    journal = Journal.open(tmp_path / "journal")
    done = submit_once(client(mini_slurm, path=path), asked, journal)
    looks = [step.at for step in journal.steps if isinstance(step, Looked)]
    assert len(looks) == 2
    assert looks[1] - looks[0] >= 10
    assert jobs_with(mini_slurm, asked.token) == [str(done.job)]


@slow
def test_accounting_down_does_not_hinder_a_submission(mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    mini_slurm.stop_daemon("slurmdbd")
    path = wrapper(tmp_path / "bin", '/usr/bin/sbatch "$@" >/dev/null; kill -9 $$')
    asked = request(tmp_path)
    done = submit_once(client(mini_slurm, path=path), asked, Journal.open(tmp_path / "journal"))
    assert jobs_with(mini_slurm, asked.token) == [str(done.job)]


DRIVER = """
import sys
from pathlib import Path
from triage.schedulers.interface import Request
from triage.schedulers.once import Journal, submit_once
from triage.schedulers.slurm.client import Slurm
import json, os
told = json.loads(sys.argv[1])
request = Request(Path(told["script"]), Path(told["folder"]), told["token"], name="once")
print(submit_once(Slurm(dict(os.environ)), request, Journal.open(Path(told["journal"]))).job)
"""


@slow
@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("seconds", [0.3, 1.2])
def test_tool_killed_around_the_request_makes_one_job(
    mini_slurm: MiniSlurm, tmp_path: Path, place: str, seconds: float
) -> None:
    """sbatch itself lives on when the tool is killed: it sends its request later, or has sent it already."""
    import json

    mark = tmp_path / "once"
    real = '/usr/bin/sbatch "$@"'
    first = ["sleep 1", real] if place == "before" else [real, "sleep 1"]
    path = wrapper(
        tmp_path / "bin", f"if [ ! -e {mark} ]; then touch {mark}; {'; '.join(first)}; else exec {real}; fi"
    )
    asked = request(tmp_path)
    told = {
        "script": str(asked.script),
        "folder": str(tmp_path),
        "token": asked.token,
        "journal": str(tmp_path / "j"),
    }
    environment = {**mini_slurm.environment, "PYTHONPATH": str(ROOT)}
    environment["PATH"] = f"{path}:{environment['PATH']}"
    argv = [sys.executable, "-c", DRIVER, json.dumps(told)]
    tool = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 20
    while not mark.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(seconds)
    tool.send_signal(signal.SIGKILL)
    tool.communicate()
    again = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0, again.stderr
    time.sleep(2)
    assert jobs_with(mini_slurm, asked.token) == [again.stdout.strip()]


@pytest.fixture
def strict(mini_slurm: MiniSlurm) -> Iterator[MiniSlurm]:
    """The same cluster with limits enforced, and a QOS whose limit denies."""
    changed = mini_slurm.enforce(True)
    changed.run("sacctmgr", "-i", "add", "qos", "tiny", "MaxTRESPerJob=node=1", "Flags=DenyOnLimit")
    changed.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=tiny")
    time.sleep(1)
    yield changed
    changed.clear()
    changed.enforce(False)


@slow
def test_strict_controller_refuses_at_once_with_what_to_change(strict: MiniSlurm, tmp_path: Path) -> None:
    slurm = client(strict)
    for options, advice in (
        (("--account=nope",), "--account"),
        (("--qos=nope",), "--qos"),
        (("--partition=short", "--time=10"), "--time"),
        (("--nodes=9",), "--nodes"),
        (("--qos=tiny", "--nodes=2"), "limit"),
    ):
        outcome = slurm.submit(request(tmp_path, *options), limit=60)
        assert isinstance(outcome, Refused), (options, outcome)
        assert advice in outcome.sentence, (options, outcome)
    good = slurm.submit(request(tmp_path, f"--account={ACCOUNT}", "--qos=tiny", "--nodes=1"), limit=60)
    assert isinstance(good, Accepted)


@slow
def test_site_checks_against_the_live_cluster(mini_slurm: MiniSlurm) -> None:
    site = client(mini_slurm).site()
    assert {row.name for row in site.partitions} == {"gpu", "urgent", "short", "closed"}
    assert ACCOUNT in site.accounts
    assert site.unknown == ()


@slow
def test_lost_node_requeues_its_job_and_the_client_sees_it_wait(
    mini_slurm: MiniSlurm, tmp_path: Path
) -> None:
    slurm = client(mini_slurm)
    done: Done = submit_once(slurm, request(tmp_path, "--nodelist=gpu2"), Journal.open(tmp_path / "journal"))
    job: JobId = done.job
    end = time.monotonic() + 60
    while not slurm.status([job])[job].reading.is_running:
        assert time.monotonic() < end
        time.sleep(0.2)
    mini_slurm.lose("gpu2")
    while (details := slurm.details(job)) is None or details.sighting.restarts == 0:
        status = slurm.status([job])[job]
        assert status.phase.value != "ended", status
        assert time.monotonic() < end, status
        time.sleep(0.5)
    assert slurm.status([job])[job].phase.value == "waiting"
