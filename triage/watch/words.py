"""What a watcher says about a job, in words."""

from __future__ import annotations

import shlex
import time

from triage.core.cause.verdict import Verdict
from triage.core.events.model import Progress
from triage.core.jobs.identity import JobId
from triage.core.jobs.pending import never_starts
from triage.core.jobs.state import Phase, State
from triage.core.jobs.witness import JobStatus

_REASONS = {
    "Priority": "jobs with a higher priority go first",
    "Resources": "the nodes it needs are not free",
    "Dependency": "it waits for another job",
    "BeginTime": "it starts at a set time; a requeued job waits about two minutes",
    "QOSMaxJobsPerUserLimit": "as many of your jobs run as your QOS allows",
    "AssocGrpGRES": "your group's GPUs are all in use",
    "ReqNodeNotAvail": "a node that it needs is down or reserved",
    "JobArrayTaskLimit": "as many tasks of its array run as it allows itself",
    "Licenses": "a licence that it needs is not free",
    "Reservation": "it waits for its reservation",
}


def state_words(status: JobStatus) -> str:
    """`RUNNING on gpu[1-2]`, `PENDING: jobs with a higher priority go first`."""
    if status.phase is Phase.WAITING:
        return f"is {_name(status)}{pending_words(status)}"
    nodes = f" on {status.nodes}" if status.nodes and status.phase in (Phase.ACTIVE, Phase.ENDING) else ""
    return f"is {_name(status)}{nodes}"


def pending_words(status: JobStatus) -> str:
    """Why it waits, and whether it can ever start."""
    reason = status.reason or ""
    if not reason:
        return ""
    never = never_starts(reason)
    if never is not None:
        return f" and will not start by itself: {never}"
    told = _REASONS.get(reason.strip("()").split(",")[0])
    return f": {told} ({reason})" if told is not None else f" ({reason})"


def estimate_words(started: float | None, now: float) -> str:
    """When Slurm thinks that it starts."""
    if started is None or started <= now:
        return ""
    return f"; Slurm estimates its start at {time.strftime('%Y-%m-%d %H:%M', time.localtime(started))}"


def end_words(status: JobStatus) -> str:
    """`ended: FAILED, exit code 1`."""
    parts = [status.state.value]
    if status.reading.cancelled_by is not None and status.state is State.CANCELLED:
        parts[0] += f" by user id {status.reading.cancelled_by}"
    if status.exit is not None and not status.exit.succeeded:
        parts.append(
            f"exit code {status.exit.code}" if not status.exit.signal else f"signal {status.exit.signal}"
        )
    return f"ended: {', '.join(parts)}"


def verdict_words(verdict: Verdict) -> str:
    """The one line of a verdict."""
    return f"{verdict.category}: {verdict.summary}" if verdict.failed else verdict.summary


def outcome_words(outcome: str, verdict: Verdict, job: JobId) -> str:
    """The last line about a job: `failed (oom): rank 5 ran out of GPU memory; more: triage explain 18`."""
    category = (
        f" ({verdict.category})" if verdict.failed and verdict.category not in (outcome, "unknown") else ""
    )
    more = f"; more: triage explain {shlex.quote(str(job))}" if verdict.failed else ""
    return f"{outcome}{category}: {verdict.summary}{more}"


def progress_words(progress: Progress, left: float | None) -> str:
    total = f" of {progress.total}" if progress.total is not None else ""
    loss = next((f", loss {value:.4g}" for name, value in progress.values.items() if "loss" in name and "scale" not in name), "")  # fmt: skip
    return f"is at iteration {progress.iteration}{total}{loss}{f', {span(left)} left' if left is not None else ''}"


def dated(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def resubmit(folder: str, script: str) -> str:
    """The command that submits the job once more."""
    return f"cd {shlex.quote(folder)} && sbatch {shlex.quote(script or 'SCRIPT')}"


def span(seconds: float) -> str:
    """`2 h 05 min`, `45 s`."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    if whole < 5400:
        return f"{whole // 60} min"
    if whole < 172_800:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def _name(status: JobStatus) -> str:
    flags = sorted(flag.value for flag in status.reading.flags)
    hidden = status.state is State.UNKNOWN and flags
    return " ".join(flags) if hidden else " ".join([status.state.value, *flags])
