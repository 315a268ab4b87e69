"""What every scheduler of the table must do, shown on a real Slurm and on the runner without one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase, State
from triage.core.jobs.submission import Accepted, Refused
from triage.core.jobs.witness import JobStatus
from triage.errors import UsageError
from triage.schedulers.interface import SCHEDULERS, Request, Scheduler, connect
from triage.schedulers.once import Journal, new_token, submit_once


@dataclass(slots=True)
class Place:
    """A scheduler and a folder to submit from."""

    scheduler: Scheduler
    folder: Path

    def submit(self, body: str, *arguments: str, directives: str = "", name: str = "demo") -> JobId:
        request = self.request(body, *arguments, directives=directives, name=name)
        outcome = self.scheduler.submit(request, limit=60)
        assert isinstance(outcome, Accepted), outcome
        return outcome.job

    def request(self, body: str, *arguments: str, directives: str = "", name: str = "demo") -> Request:
        script = self.folder / "run.sbatch"
        heads = [
            f"#SBATCH {line}"
            for line in (f"--job-name={name}", "--output=%x-%j.out", *directives.split("\n"))
            if line
        ]
        script.write_text("\n".join(["#!/bin/bash", *heads, "set -euo pipefail", body, ""]))
        return Request(script, self.folder, new_token(), arguments=arguments)

    def status(self, job: JobId) -> JobStatus:
        return self.scheduler.status([job])[job]

    def until(self, job: JobId, wanted: Callable[[JobStatus], bool], *, seconds: float = 40) -> JobStatus:
        end = time.monotonic() + seconds
        while not wanted(status := self.status(job)):
            assert time.monotonic() < end, status
            time.sleep(0.2)
        return status

    def ended(self, job: JobId) -> JobStatus:
        return self.until(job, lambda status: status.phase is Phase.ENDED and status.released)

    def log(self, job: JobId, name: str = "demo") -> str:
        path = self.folder / f"{name}-{job.number}.out"
        end = time.monotonic() + 10
        while not path.exists() or not path.read_text():
            assert time.monotonic() < end, f"{path} is missing or empty"
            time.sleep(0.1)
        return path.read_text()


@pytest.fixture(params=list(SCHEDULERS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "USER": "root"}
    match request.param:
        case "slurm":
            environment["SLURM_CONF"] = str(request.getfixturevalue("mini_slurm").conf)
        case "local":
            environment["TRIAGE_LOCAL_ROOT"] = str(tmp_path / "local")
        case other:
            pytest.fail(f"say here where the scheduler `{other}` can be tried out")
    folder = tmp_path / "run"
    folder.mkdir()
    return Place(connect(request.param, environment), folder)


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match="slurm, local"):
        connect("slrum", {})


def test_a_job_of_two_nodes_runs_with_its_variables_and_ends_well(place: Place) -> None:
    body = """
    export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
    getent hosts "$MASTER_ADDR" >/dev/null && echo resolves
    echo "job $SLURM_JOB_ID nodes $SLURM_NNODES argument $1"
    srun --ntasks=${SLURM_NNODES} --ntasks-per-node=1 --label bash -c 'echo "node $SLURM_NODEID of $SLURM_NNODES rank $SLURM_PROCID local $SLURM_LOCALID"'
    """
    job = place.submit(body, "two words", directives="--nodes=2\n--ntasks-per-node=1")
    assert place.status(job).phase in (Phase.WAITING, Phase.ACTIVE)
    status = place.ended(job)
    assert (status.state, status.exit and status.exit.code) == (State.COMPLETED, 0)
    log = place.log(job)
    assert "resolves" in log
    assert f"job {job.number} nodes 2 argument two words" in log
    assert "0: node 0 of 2 rank 0 local 0" in log
    assert "1: node 1 of 2 rank 1 local 0" in log


def test_a_failed_script_keeps_its_code_and_a_failed_task_is_told(place: Place) -> None:
    job = place.submit("srun --kill-on-bad-exit=1 bash -c '[ $SLURM_PROCID = 0 ] || exit 3; sleep 20' || exit 7", directives="--nodes=2")  # fmt: skip
    status = place.ended(job)
    assert (status.state, status.exit and status.exit.code) == (State.FAILED, 7)
    assert "task 1: Exited with exit code 3" in place.log(job)


def test_a_failed_step_under_a_script_that_goes_on_is_no_failure(place: Place) -> None:
    assert place.ended(place.submit("srun false || true")).state is State.COMPLETED


def test_a_missing_log_folder_is_told_as_0_53(place: Place) -> None:
    job = place.submit("echo never", directives="--output=nowhere/%j.out")
    status = place.ended(job)
    assert status.state is State.FAILED
    assert status.output_failed


def test_cancel_ends_a_job_that_ignores_the_first_signal(place: Place) -> None:
    job = place.submit("trap '' TERM\necho started\nsleep 100 & wait\nsleep 100")
    place.log(job)
    assert place.until(job, lambda status: status.reading.is_running).state is State.RUNNING
    place.scheduler.cancel(job)
    status = place.ended(job)
    assert status.state is State.CANCELLED


def test_details_lead_to_the_log(place: Place) -> None:
    job = place.submit("sleep 30")
    details = place.scheduler.details(job)
    assert details is not None
    assert Path(details.output) == place.folder / f"demo-{job.number}.out"
    assert Path(details.folder) == place.folder
    assert details.sighting.restarts == 0
    place.scheduler.cancel(job)


def test_an_unknown_job_is_unknown_everywhere_and_cancel_of_it_is_quiet(place: Place) -> None:
    nobody = JobId(9_999_999)
    status = place.status(nobody)
    assert (status.phase, status.known, status.released) == (Phase.UNKNOWN, False, False)
    assert place.scheduler.details(nobody) is None
    place.scheduler.cancel(nobody)


def test_a_signal_reaches_the_script_alone_and_it_may_end_well(place: Place) -> None:
    job = place.submit("trap 'echo asked; exit 0' USR2\nsleep 60 & echo ready; wait", directives="--requeue")
    place.until(job, lambda status: status.reading.is_running)
    place.log(job)
    place.scheduler.set_requeue(job, False)
    details = place.scheduler.details(job)
    assert details is not None
    assert (details.requeue, details.uid, details.raw) == (False, os.getuid(), job.number)
    assert job in place.scheduler.mine()
    place.scheduler.signal(job, "USR2")
    assert place.ended(job).state is State.COMPLETED
    assert "asked" in place.log(job)
    assert place.scheduler.waiting() == ()


def test_a_script_that_is_none_is_refused_with_what_to_change(place: Place) -> None:
    script = place.folder / "run.sbatch"
    script.write_text("echo no interpreter\n")
    for path, word in ((script, "#!"), (place.folder / "absent", "path")):
        outcome = place.scheduler.submit(Request(path, place.folder, new_token()), limit=60)
        assert isinstance(outcome, Refused)
        assert word in outcome.sentence


def test_a_job_is_found_by_its_token_even_after_its_end(place: Place) -> None:
    start = time.time()
    request = place.request("true")
    done = submit_once(place.scheduler, request, Journal.open(place.folder / "journal"))
    look = place.scheduler.find(request.token, start)
    assert (look.found, look.whole) == ((done.job,), True)
    place.ended(done.job)
    assert place.scheduler.find(request.token, start).found == (done.job,)
    assert place.scheduler.find(new_token(), start).found == ()
