"""Watching jobs of the mini-Slurm: real jobs, a real store, the real command line's wiring, in a thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.minislurm.cluster import MiniSlurm
from triage.cli.exitcodes import of_error
from triage.cli.following import follow_jobs
from triage.core.jobs.identity import JobId, parse_job
from triage.errors import TriageError
from triage.schedulers.process import Answer, Call, run
from triage.store.database import Database
from triage.watch.events import Event
from triage.watch.options import Options

GRACEFUL = """\
folder={folder}/$SLURM_JOB_NAME-$SLURM_JOB_ID/attempt-${{SLURM_RESTART_COUNT:-0}}
ended() {{
  read -r request < "$folder/end-early" || return
  [ "$request" = "job=$SLURM_JOB_ID attempt=${{SLURM_RESTART_COUNT:-0}}" ] || return
  kill "$step"; wait "$step"; exit 0
}}
trap ended USR2
mkdir -p "$folder"
echo "triage.started/1 job=$SLURM_JOB_ID attempt=${{SLURM_RESTART_COUNT:-0}} end=USR2" > "$folder/started"
"""


SLOW = pytest.mark.skipif(not os.environ.get("TRIAGE_SLOW"), reason="slow: set TRIAGE_SLOW=1")


@dataclass(slots=True)
class Watching:
    """A watcher that runs in a thread."""

    thread: threading.Thread
    told: list[Event]
    code: list[int]

    def until(self, kind: str, *, seconds: float = 40, words: str = "") -> Event:
        """The first event of a kind that holds the words."""
        end = time.monotonic() + seconds
        while True:
            for event in list(self.told):
                if event.kind == kind and words in event.message:
                    return event
            assert time.monotonic() < end, f"no {kind} {words!r}: {self.said()}"
            assert self.thread.is_alive() or any(e.kind == kind for e in self.told), self.said()
            time.sleep(0.02)

    def ended(self, *, seconds: float = 60) -> int:
        self.thread.join(seconds)
        assert not self.thread.is_alive(), self.said()
        return self.code[0]

    def said(self) -> str:
        return "\n".join(event.line() for event in self.told)


def hold(site: RealSite, job: JobId | str, *words: str) -> None:
    """`triage hold`, as its user runs it."""
    argv = [sys.executable, "-m", "triage", "hold", str(job), *words]
    done = subprocess.run(argv, env=site.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(slots=True)
class RealSite:
    """A folder on the mini-Slurm's machine."""

    mini: MiniSlurm
    folder: Path
    submitted: list[JobId] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    """The commands that the watchers sent to change something."""
    before: Callable[[str], None] = lambda _: None
    """Gets the line of each command of a watcher before it runs: a test may change the cluster there."""

    def runner(self, call: Call) -> Answer:
        line = " ".join(call.argv)
        self.before(line)
        if (
            line.startswith(("scancel", "scontrol update", "scontrol -M mini update"))
            and "Comment=" not in line
        ):
            self.acts.append(line)
        return run(call)

    @property
    def hits(self) -> list[str]:
        """What a watcher sent to end a job."""
        return [line for line in self.acts if line.startswith("scancel")]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.mini.environment, "TRIAGE_STATE": str(self.folder / "state")}

    @property
    def database(self) -> Database:
        return Database(str(self.folder / "state"))

    def submit(self, body: str, *options: str, name: str = "train") -> JobId:
        script = self.folder / f"{name}.sh"
        script.write_text(f"#!/bin/bash\n{body}")
        text = self.mini.output(
            "sbatch", "--parsable", f"--job-name={name}", f"--output={self.folder}/%x-%j.out", f"--chdir={self.folder}", *options, str(script)
        )  # fmt: skip
        job = parse_job(text.strip())
        assert job is not None
        self.submitted.append(job)
        return job

    def graceful(self) -> str:
        """The head of a script that ends itself when it is asked to, as the rendered one does."""
        return GRACEFUL.format(folder=self.folder)

    def watch(self, job: JobId, options: Options | None = None, *, give_up: float = 3600.0) -> Watching:
        told: list[Event] = []
        code: list[int] = []

        def run() -> None:
            try:
                code.append(
                    follow_jobs(self.environment, "slurm", [job], options or Options(), told.append, give_up)
                )
            except TriageError as error:
                told.append(Event(time.time(), "error", str(job), str(error)))
                code.append(int(of_error(error)))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return Watching(thread, told, code)

    def unharmed(self, job: JobId, *, restarts: int = 0, seconds: float = 3.0) -> None:
        """Some looks later the job still runs, may be requeued, and nobody has sent anything to end it."""
        self.keeps_running(job, restarts=restarts, seconds=seconds)
        assert self.hits == []

    def command(self, name: str, before: str = "", after: str = "") -> Path:
        """A command of Slurm for a PATH of its own, with lines of bash around the real one; `code` is its exit code."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\n{before}/usr/bin/{name} "$@"\ncode=$?\n{after}exit $code\n')
        path.chmod(0o755)
        return path

    def keeps_running(self, job: JobId, *, restarts: int, seconds: float) -> None:
        time.sleep(seconds)
        assert self.state(job) == "RUNNING"
        shown = self.mini.output("scontrol", "show", "job", job.local)
        assert f"Requeue=1 Restarts={restarts} " in shown, shown

    def restarts(self, job: JobId) -> int:
        """How often Slurm has started it again."""
        shown = self.mini.run("scontrol", "show", "job", job.local).stdout
        return int(shown.split("Restarts=")[1].split()[0]) if "Restarts=" in shown else 0

    def may_requeue(self, job: JobId) -> bool:
        return "Requeue=1 " in self.mini.output("scontrol", "show", "job", job.local)

    def log(self, job: JobId, name: str = "train") -> Path:
        return self.folder / f"{name}-{job.number}.out"

    def until(self, what: str, happened: Callable[[], bool], *, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < end, f"not within {seconds} s: {what}"
            time.sleep(0.05)

    def state(self, job: JobId) -> str:
        return self.mini.run("squeue", "-h", "-t", "all", "-j", str(job.number), "-o", "%T").stdout.strip()

    def requeued(self, job: JobId) -> bool:
        """Whether Slurm takes a requeue; it waits to be started again then."""
        return self.mini.run("scontrol", "requeue", str(job)).returncode == 0

    def preempted(self, job: JobId) -> bool:
        """Another job takes the node; whether this one waits to be started again."""
        urgent = self.submit("sleep 1\n", "--partition=urgent", "--exclusive", "-w", "gpu1", name="urgent")
        self.until("the urgent job has run", lambda: self.state(urgent) in ("", "COMPLETED"), seconds=60)
        return self.state(job) == "PENDING"

    def requeue(self, job: JobId) -> None:
        """It starts again, without the two minutes that Slurm waits."""
        self.mini.output("scontrol", "requeue", str(job))
        self.start_now(job)

    def start_now(self, job: JobId) -> None:
        """Slurm sets the time once more when it has cleaned up after the attempt before: it is told until the job runs.

        Told at once, it may start the next attempt while the script of the one before is being removed, and that fails.
        """
        self.until("it waits again", lambda: self.state(job) == "PENDING")
        time.sleep(2)

        def runs() -> bool:
            self.mini.run("scontrol", "update", f"JobId={job}", "StartTime=now")
            return self.state(job) == "RUNNING"

        self.until("it runs again", runs, seconds=90)

    def runs(self, job: JobId) -> None:
        self.until(f"job {job} runs", lambda: self.state(job) == "RUNNING")
