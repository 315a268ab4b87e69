"""The local runner as a `Scheduler`. The folder of a job is the truth about it; the tool may come and go."""

from __future__ import annotations

import os
import pwd
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import triage
from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Reading, State
from triage.core.jobs.submission import Accepted, Looked, NotSent, Outcome, Refused
from triage.core.jobs.witness import Exit, JobStatus, Program, Sighting, Witness, merge
from triage.core.values import dataclass
from triage.errors import StoreError
from triage.schedulers.interface import Details, Request
from triage.schedulers.local.nodes import host_list, is_loopback_name, node_names
from triage.schedulers.local.plan import NotLocal, Plan, plan
from triage.schedulers.local.store import JobFolder, all_jobs, new_job, root_folder
from triage.schedulers.local.variables import file_name, job_variables
from triage.schedulers.slurm.environment import submit_environment

_SOURCE = Path(triage.__file__).resolve().parent.parent
"""Where this package lies: the job's own Python may not know it."""
_TOOLS = {
    "srun": "from triage.schedulers.local.srun import main; sys.exit(main(sys.argv[1], sys.argv[2:]))",
    "scontrol": "from triage.schedulers.local.scontrol import main; sys.exit(main(sys.argv[2:]))",
}


@dataclass(slots=True)
class Local:
    """Jobs of this user on this machine."""

    inherited: Mapping[str, str]
    clock: Callable[[], float] = time.time

    @property
    def name(self) -> str:
        return "local"

    @property
    def root(self) -> Path:
        return root_folder(self.inherited)

    def argv(self, request: Request) -> tuple[str, ...]:
        """No program submits it: it runs."""
        return (str(request.script), *request.arguments)

    def submit(self, request: Request, *, limit: float) -> Outcome:  # noqa: ARG002
        path = request.folder / request.script
        try:
            script = path.read_bytes()
        except OSError as error:
            return Refused(f"{path} cannot be read: {error.strerror}; check its path")
        if not script.startswith(b"#!"):
            return Refused(f"{path}: the script's first line must be `#!` and an interpreter, `#!/bin/bash`")
        options = (*request.options, *(() if request.name is None else (f"--job-name={request.name}",)))
        try:
            planned = plan(script.decode(errors="replace"), options, path)
            job = new_job(self.root)
        except NotLocal as error:
            return Refused(str(error))
        except StoreError as error:
            return NotSent(str(error))
        lock = job.lock()
        try:
            self._start(job, planned, request, script, lock)
        except OSError as error:
            return NotSent(f"{job.path} cannot be used: {error.strerror}")
        finally:
            os.close(lock)
        return Accepted(JobId(job.number))

    def find(self, token: str, since: float, cluster: str | None = None) -> Looked:  # noqa: ARG002
        """A job counts once a runner has it: what a killed submit left half made will never run."""
        found = [
            JobId(job.number)
            for job in all_jobs(self.root)
            if job.read("request").get("token") == token and (job.read("state") or job.is_held())
        ]
        return Looked(self.clock(), tuple(found))

    def status(
        self,
        jobs: Sequence[JobId],
        since: float | None = None,  # noqa: ARG002
    ) -> dict[JobId, JobStatus]:
        known = {job.number: job for job in all_jobs(self.root)}
        return {job: self._status(known.get(job.number) if job.task is None else None) for job in jobs}

    def named(self, job: JobId) -> JobId:
        return job

    def details(self, job: JobId) -> Details | None:
        folder = JobFolder(self.root / str(job.number))
        request = folder.read("request")
        if not request or job.task is not None:
            return None
        planned, variables = request["plan"], request["variables"]
        base = Path(planned["folder"] or request["folder"])
        output = str(base / file_name(planned["output"], variables))
        error = str(base / file_name(planned["error"], variables)) if planned["error"] else output
        return Details(
            job, self._sighting(folder, request), planned["name"], planned["partition"], str(base),
            request["script"], output, error, None, job.number, os.getuid(), False, None, planned["time_limit"],
        )  # fmt: skip

    def past(self, job: JobId) -> Details | None:
        """Its folder stays."""
        return self.details(job)

    def cancel(self, job: JobId) -> None:
        folder = JobFolder(self.root / str(job.number))
        if not folder.path.is_dir() or job.task is not None:
            return
        folder.request_cancel()
        runner = folder.read("state").get("runner")
        if isinstance(runner, int) and folder.is_held():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(runner, signal.SIGTERM)

    def signal(self, job: JobId, name: str) -> None:
        folder = JobFolder(self.root / str(job.number))
        script = folder.read("state").get("script")
        if isinstance(script, int) and folder.is_held():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(script, signal.Signals[f"SIG{name}"])

    def set_requeue(self, job: JobId, allowed: bool) -> None:
        """No local job is ever started again."""

    def waiting(self, cluster: str | None = None) -> tuple[Waiting, ...]:  # noqa: ARG002
        """No local job waits for another."""
        return ()

    def comment(self, job: JobId, text: str) -> None:
        """Nobody looks for comments of a local job."""

    def mine(self) -> tuple[JobId, ...]:
        return tuple(JobId(job.number) for job in all_jobs(self.root) if job.is_held())

    def site(self) -> None:
        return None

    def message_timeout(self) -> float:
        """No message is ever under way."""
        return 0.0

    def _start(self, job: JobFolder, planned: Plan, request: Request, script: bytes, lock: int) -> None:
        job.script.write_bytes(script)
        job.script.chmod(0o700)
        _write_tools(job)
        nodes = node_names(planned.nodes, is_loopback_name)
        folder = request.folder.resolve()
        user = self.inherited.get("USER") or pwd.getpwuid(os.getuid()).pw_name
        variables = job_variables(planned, job.number, nodes, str(folder), (user, os.getuid(), os.getgid()))
        environment = {**submit_environment(self.inherited), **variables}
        environment["PATH"] = f"{job.commands}{os.pathsep}{environment['PATH']}"
        job.write("request", {
            "plan": planned.as_json(), "folder": str(folder), "script": str(request.folder / request.script),
            "token": request.token, "arguments": list(request.arguments), "comment": request.comment,
            "submitted": self.clock(), "nodes": list(nodes), "variables": variables,
        })  # fmt: skip
        code = f"import sys; sys.path.insert(0, {str(_SOURCE)!r}); from triage.schedulers.local.batch import main; main(sys.argv[1:])"  # fmt: skip
        with open(job.path / "runner.log", "wb") as log:
            subprocess.Popen(
                [sys.executable, "-I", "-c", code, str(job.path)], env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, pass_fds=(lock,), cwd="/",
            )  # fmt: skip

    def _status(self, job: JobFolder | None) -> JobStatus:
        request = {} if job is None else job.read("request")
        seen = (self._sighting(job, request),) if job is not None and request else ()
        return merge([Witness(Program.LOCAL, self.clock(), seen)])

    def _sighting(self, job: JobFolder, request: Mapping[str, Any]) -> Sighting:
        """A runner that is gone without having written an end took its job with it, as a lost node does."""
        held = job.is_held()
        state = job.read("state")
        told = State(state["state"]) if state else State.PENDING
        if not held and told in (State.PENDING, State.RUNNING):
            told, reason = State.NODE_FAIL, "the runner of this job was killed"
        else:
            reason = str(state.get("reason", "None"))
        ended = "code" in state
        return Sighting(
            Reading(told), None if reason == "None" else reason, request["submitted"], state.get("started"),
            state.get("ended"), 0, Exit(state["code"], state["signal"]) if ended else None,
            nodes=host_list(request["nodes"]),
        )  # fmt: skip


def _write_tools(job: JobFolder) -> None:
    job.commands.mkdir()
    for name, code in _TOOLS.items():
        start = f"import sys; sys.path.insert(0, {str(_SOURCE)!r}); {code}"
        words = [sys.executable, "-I", "-c", start, str(job.path)]
        path = job.commands / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        path.chmod(0o700)


def connect(environment: Mapping[str, str]) -> Local:
    return Local(environment)
