"""The runner of one local job: a process of its own that outlives the tool, runs the script and writes down its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from triage.core.jobs.state import State
from triage.core.jobs.witness import OPEN_FAILED
from triage.core.values import dataclass
from triage.schedulers.local.processes import adopt_orphans, end_all
from triage.schedulers.local.store import JobFolder
from triage.schedulers.local.variables import file_name

KILL_WAIT = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_TICK = 0.1


@dataclass(slots=True)
class _Run:
    job: JobFolder
    state: dict[str, Any]

    def save(self, **values: Any) -> None:
        self.state.update(values)
        self.job.write("state", self.state)


def main(arguments: list[str]) -> int:
    """`batch FOLDER`; the lock is inherited."""
    job = JobFolder(Path(arguments[0]))
    request = job.read("request")
    run = _Run(job, {"state": State.RUNNING.value, "started": time.time(), "runner": os.getpid()})
    adopt_orphans()
    cancelled = _CancelFlag(job)
    folder = Path(request["plan"]["folder"] or request["folder"])
    environment = dict(os.environ)
    try:
        out, err = _open_logs(request["plan"], folder, environment)
    except OSError:
        run.save(
            state=State.FAILED.value, code=0, signal=OPEN_FAILED, ended=time.time(), reason="NonZeroExitCode"
        )
        return 0
    with out, err:
        if cancelled:
            run.save(state=State.CANCELLED.value, code=0, signal=0, ended=time.time())
            return 0
        run.save()
        _run_script(run, request, folder, environment, out, err, cancelled)
    return 0


class _CancelFlag:
    """Set by SIGTERM, or by the marker of a cancel that came before there was a process to signal."""

    def __init__(self, job: JobFolder) -> None:
        self.job = job
        self.signalled = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self.signalled = True

    def __bool__(self) -> bool:
        return self.signalled or self.job.is_cancelled


def _open_logs(
    plan: dict[str, Any], folder: Path, environment: dict[str, str]
) -> tuple[IO[bytes], IO[bytes]]:
    """Raises OSError where Slurm's `0:53` comes from: a missing folder, or one that cannot be written."""
    mode = "ab" if plan["append"] else "wb"
    out = open(folder / file_name(plan["output"], environment), mode)  # noqa: SIM115 (the caller closes it)
    if plan["error"] is None:
        return out, os.fdopen(os.dup(out.fileno()), "ab")
    try:
        return out, open(folder / file_name(plan["error"], environment), mode)
    except OSError:
        out.close()
        raise


def _run_script(
    run: _Run,
    request: dict[str, Any],
    folder: Path,
    environment: dict[str, str],
    out: IO[bytes],
    err: IO[bytes],
    cancelled: _CancelFlag,
) -> None:
    node, number = environment["SLURMD_NODENAME"], run.job.number
    try:
        process = subprocess.Popen(
            [str(run.job.script), *request["arguments"]],
            cwd=folder if folder.is_dir() else "/tmp", env=environment, stdin=subprocess.DEVNULL,
            stdout=out, stderr=err, process_group=0,
        )  # fmt: skip
    except OSError as error:
        err.write(f"slurmstepd: error: execve(): {run.job.script}: {error.strerror}\n".encode())
        run.save(state=State.FAILED.value, code=2, signal=0, ended=time.time(), reason="NonZeroExitCode")
        return
    run.save(script=process.pid)
    limit = request["plan"]["time_limit"]
    end = None if limit is None else time.time() + limit
    why: State | None = None
    while why is None and process.poll() is None:
        if cancelled:
            why = State.CANCELLED
        elif end is not None and time.time() >= end:
            why = State.TIMEOUT
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TICK)
    if why is not None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
        reason = " DUE TO TIME LIMIT" if why is State.TIMEOUT else ""
        err.write(
            f"slurmstepd: error: *** JOB {number} ON {node} CANCELLED AT {stamp}{reason} ***\n".encode()
        )
        err.flush()
    end_all(KILL_WAIT if why is not None else 0, process.pid, reap=process.poll)
    code = process.wait()
    own = State.COMPLETED if code == 0 else State.FAILED
    reason = "None" if code == 0 or why is not None else "NonZeroExitCode"
    run.save(
        state=(why or own).value, code=max(code, 0), signal=max(-code, 0), ended=time.time(),
        reason="TimeLimit" if why is State.TIMEOUT else reason,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
