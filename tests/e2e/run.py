"""Runs one fault: a real job of the mini-Slurm under the real torchrun, followed by `triage submit --watch` to its verdict."""

from __future__ import annotations

import contextlib
import json
import random
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.fault import Fault
from tests.e2e.growth import Growth
from tests.e2e.outcome import Outcome, outcome_of
from tests.e2e.torchpython import ROOT
from tests.minislurm.cluster import MiniSlurm

WORKTREE = Path(__file__).parent / "worktree"
TRIAGE = (
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); import triage.__main__ as m; sys.exit(m.run())",
)
"""Not through PYTHONPATH, which the job would inherit."""
REFUSED = 5


@dataclass(slots=True)
class Job:
    """A fault's job while it runs."""

    mini: MiniSlurm
    folder: Path
    """Holds the worktree `tree` and the tool's state."""
    environment: dict[str, str]
    id: str = ""
    told: list[dict[str, Any]] = field(default_factory=list)
    """What the watcher told, as it came."""
    states: list[tuple[float, str]] = field(default_factory=list)
    """What the queue said, each with the time at which it was first seen."""

    @property
    def logs(self) -> Path:
        return self.folder / "tree" / "logs"

    def text(self, pattern: str = "**/*.out") -> str:
        return "".join(path.read_text(errors="replace") for path in sorted(self.logs.glob(pattern)))

    def until(self, what: str, happened: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end:
                raise TimeoutError(f"job {self.id}: not within {seconds:g} s: {what}")
            time.sleep(0.05)

    def reaches(self, step: int) -> None:
        self.until(f"step {step}", lambda: f"iteration {step:8d}/" in self.text())

    def slurm(self, *words: str) -> str:
        return self.mini.run(*words).stdout

    def state(self) -> str:
        return self.slurm("squeue", "-h", "-t", "all", "-j", self.id, "-o", "%T").strip()

    def end(self) -> None:
        """No process of it is left."""
        if self.id:
            self.slurm("scancel", "--full", "--signal=KILL", self.id)
            self.until("it has left", lambda: self.state() not in ("RUNNING", "COMPLETING"))

    def observe(self) -> None:
        state = self.state()
        if state and (not self.states or self.states[-1][1] != state):
            self.states.append((time.time(), state))


def run(mini: MiniSlurm, python: Path, trainer: str, fault: Fault, folder: Path) -> Outcome:
    """From an empty folder to what became of the fault."""
    shutil.copytree(WORKTREE, folder / "tree")
    (folder / "tree" / ".venv").mkdir()
    (folder / "tree" / "triage.toml").write_text(configuration(trainer, fault, folder / "tree" / "logs"))
    environment = {
        **mini.environment,
        "PATH": f"{python.parent}:{mini.environment['PATH']}",
        "TRIAGE_STATE": str(folder / "state"),
    }
    job = Job(mini, folder, environment)
    growth = Growth(job.logs)
    with fault.around(folder / "tree"):
        growth.start()
        try:
            code, refused = _follow(job, fault)
        finally:
            growth.stop()
            job.end()
    return outcome_of(job, fault, growth, code, refused, _explained(job))


def configuration(trainer: str, fault: Fault, logs: Path) -> str:
    """The fault's `triage.toml`; its logs lie where they do whatever its worktree is."""
    shape = fault.shape
    values: dict[str, str] = {
        "command": json.dumps(trainer),
        "arguments": json.dumps(shlex.split(fault.flags)),
        "launcher": '"python"',
        "master_port": str(free_port()),
        "job.name": '"lab"',
        "logs": json.dumps(str(logs)),
        "job.nodes": str(shape.nodes),
        "job.gpus_per_node": str(shape.processes),
        "job.time": json.dumps(shape.time),
        "job.options": json.dumps(["--overcommit", *shape.options]),
        "environment.OMP_NUM_THREADS": '"1"',
        "environment.GLOO_SOCKET_IFNAME": '"lo"',
    }
    if shape.partition is not None:
        values["job.partition"] = json.dumps(shape.partition)
    if fault.artifact:
        values["artifact"] = '"results/metrics.json"'
    return "".join(f"{name} = {value}\n" for name, value in {**values, **fault.values}.items())


def free_port() -> int:
    """Below those that a machine gives to outgoing connections, which could take it before the job does."""
    while True:
        port = random.randrange(12000, 32000)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("", port))
            return port


def _follow(job: Job, fault: Fault) -> tuple[int, bool]:
    """The exit code of `triage submit --watch`, and whether it was refused at first."""
    words = ["submit", "--watch", "--format", "json"]
    for refused in (False, True):
        follower = subprocess.Popen(
            [*TRIAGE, *words], cwd=job.folder / "tree", env=job.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=(job.folder / "triage.err").open("a"), text=True,
        )  # fmt: skip
        listener = threading.Thread(target=_listen, args=(job, follower), daemon=True)
        listener.start()
        try:
            code = _wait(job, fault, follower)
        finally:
            follower.kill()
            listener.join()
        if code != REFUSED:
            return code, refused
        words.append("--no-check")
    return code, True


def _wait(job: Job, fault: Fault, follower: subprocess.Popen[str]) -> int:
    """Until the follower ends by itself; the job is disturbed on the way."""
    end = time.monotonic() + fault.seconds
    acted = False
    while follower.poll() is None:
        if time.monotonic() > end:
            return -1
        if job.id:
            job.observe()
            if not acted:
                acted = True
                fault.act(job)
        time.sleep(0.1)
    return int(follower.returncode)


def _listen(job: Job, follower: subprocess.Popen[str]) -> None:
    assert follower.stdout is not None
    for told in objects(follower.stdout):
        job.told.append(told)
        with (job.folder / "told.jsonl").open("a") as file:
            file.write(json.dumps(told) + "\n")
        if told.get("schema") == "triage.submit/1" and told.get("job_id"):
            job.id = told["job_id"]


def objects(lines: Iterator[str] | Any) -> Iterator[dict[str, Any]]:
    """The JSON objects that a stream holds, whatever lines they stretch over."""
    text = ""
    for line in lines:
        text += line
        try:
            found = json.loads(text)
        except json.JSONDecodeError:
            continue
        text = ""
        yield found


def _explained(job: Job) -> dict[str, Any] | None:
    """`triage explain JOB` afterwards."""
    if not job.id:
        return None
    done = subprocess.run(
        [*TRIAGE, "explain", job.id, "--format", "json"], cwd=job.folder / "tree", env=job.environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found: dict[str, Any] | None = json.loads(done.stdout) if done.stdout else None
    return found
