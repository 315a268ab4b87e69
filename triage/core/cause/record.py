"""What the scheduler's record and the watcher's own say about a verdict that was made of logs alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triage.core.cause.verdict import Verdict
from triage.core.jobs.cancel import Cause, Stage
from triage.core.jobs.state import State, read_state
from triage.core.jobs.witness import OPEN_FAILED
from triage.core.values import dataclass, replace

SCHEMA = "triage.record/1"
_ENDED_WELL = frozenset({State.COMPLETED, State.CANCELLED})
_LASTS: Mapping[State, str] = {
    State.PENDING: "waits in the queue",
    State.RUNNING: "is running",
    State.SUSPENDED: "is suspended",
}
_NO_LOG = "no log of the job can be read"
_VAGUE = frozenset({"none", "unknown", "cancelled", "signal", "nccl", "launcher"})
"""What processes show whose node, memory or allocation was taken away."""
_STATES: Mapping[State, tuple[str, str, str]] = {
    State.OUT_OF_MEMORY: (
        "host-oom",
        "host-oom/slurm-oom-kill",
        "Slurm ended the job because it ran out of host memory",
    ),
    State.NODE_FAIL: ("hardware", "hardware/node-failure", "Slurm lost a node of the job"),
    State.BOOT_FAIL: ("hardware", "hardware/node-failure", "Slurm could not boot a node of the job"),
    State.PREEMPTED: ("preempted", "preempted/preemption", "Slurm preempted the job"),
    State.TIMEOUT: ("timeout", "timeout/time-limit", "Slurm ended the job at its time limit"),
    State.DEADLINE: ("timeout", "timeout/time-limit", "Slurm ended the job at its deadline"),
    State.CANCELLED: ("cancelled", "cancelled/scancel", "the job was cancelled"),
}
_STEPS: Mapping[str, tuple[str, ...]] = {
    "host-oom": ("Ask for more host memory with `--mem`, or use fewer data-loader workers and pinned buffers",),
    "hardware": ("Submit the job again without the node (`--exclude`), and tell your site",),
    "preempted": ("Save checkpoints more often, and submit with `--requeue` so that it goes on by itself",),
    "timeout": ("Ask for more time with `--time`, or go on from the last checkpoint",),
    "launcher": ("Make the folder of the log before the job is submitted; Slurm does not make it",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a job beside its logs."""

    job: str
    state: State
    slurm: Mapping[str, Any] | None
    """The verdict's `slurm` object, times as text."""
    early: str | None = None
    """Why the watcher ended it early, where that was really sent."""
    log_failed: bool = False
    """Slurm could not open the job's log."""


_SENT = frozenset({Stage.ASKED.value, Stage.SENT.value, Stage.DONE.value})
_FIELDS = (
    "job_id",
    "state",
    "reason",
    "exit_code",
    "signal",
    "restarts",
    "nodes",
    "submitted",
    "started",
    "ended",
)


def read_record(plain: Mapping[str, Any], slurm: Mapping[str, Any] | None = None) -> Record:
    """From the JSON of `triage-JOBID.json`; what the scheduler says now, where it does, replaces what it said then."""
    said = slurm if slurm is not None else plain.get("slurm")
    found: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    state = read_state(str(found.get("state", ""))).state
    kept = {name: found.get(name) for name in _FIELDS}
    log_failed = OPEN_FAILED in (found.get("signal"), found.get("batch_signal"))
    return Record(
        str(plain.get("job", "")), state, kept if found else None, _early(plain.get("early")), log_failed
    )


def _early(action: object) -> str | None:
    """Why it ended early, if that was sent, and for a result: a cancel for a failure leaves the failure."""
    if not isinstance(action, Mapping) or action.get("dry_run") or action.get("stage") not in _SENT:
        return None
    return str(action.get("why", "")) if action.get("cause") == Cause.ARTIFACT.value else None


def with_record(verdict: Verdict, record: Record) -> Verdict:
    """The verdict in the light of the record."""
    slurm = dict(record.slurm) if record.slurm is not None else None
    verdict = replace(verdict, slurm=slurm, job=verdict.job or record.job or None)
    if record.early is not None and (
        record.state in (*_ENDED_WELL, State.UNKNOWN) or verdict.category in _VAGUE
    ):
        return _fine(
            verdict,
            f"ended early, because {record.early}",
            (f"triage ended it early, because {record.early}",),
        )
    if record.state is State.COMPLETED:
        seen = (f"the logs alone look like this: {verdict.summary}",) if verdict.failed else ()
        return _fine(verdict, "the job completed", ("Slurm says COMPLETED with exit code 0", *seen))
    if record.log_failed and not verdict.root:
        text = "the job ended before its first line: Slurm could not open its log (exit 0:53), because the folder is missing"
        return _told(verdict, "launcher", None, text)
    if (
        record.state in _STATES
        and verdict.category in _VAGUE
        and _STATES[record.state][0] != verdict.category
    ):
        if record.state is not State.CANCELLED or verdict.category == "none":
            return _told(verdict, *_STATES[record.state])
        return _ended(verdict)
    if record.state is State.FAILED and verdict.category == "none":
        code = slurm.get("exit_code") if slurm is not None else None
        return _told(
            verdict, "unknown", None, f"the job failed with exit code {code}, and its logs do not say why"
        )
    if record.state in _LASTS:
        return _lasting(verdict, record.state)
    return verdict if record.state is State.UNKNOWN else _ended(verdict)


def without_logs(record: Record) -> Verdict:
    """The verdict where no log can be read."""
    running = record.state in _LASTS or record.state is State.UNKNOWN
    empty = Verdict(False, "none", None, not running, "low", _NO_LOG, None, {})
    return with_record(empty, record)


def _lasting(verdict: Verdict, state: State) -> Verdict:
    """What logs without an end leave open, the scheduler knows."""
    if verdict.category != "none" or verdict.ended:
        return verdict
    rest = _NO_LOG if verdict.summary == _NO_LOG else "no failure is seen in its logs"
    return replace(
        verdict, summary=f"the job {_LASTS[state]}, and {rest}", reasons=(f"the scheduler says {state.value}", *verdict.reasons)
    )  # fmt: skip


def _ended(verdict: Verdict) -> Verdict:
    return verdict if verdict.ended else replace(verdict, ended=True)


def _fine(verdict: Verdict, summary: str, reasons: tuple[str, ...]) -> Verdict:
    return replace(
        verdict, failed=False, category="none", rule=None, ended=True, confidence="high", summary=summary, root=None,
        downstream=(), unexplained=(), next_steps=(), reasons=(*reasons, *verdict.reasons[:2]),
    )  # fmt: skip


def _told(verdict: Verdict, category: str, rule: str | None, summary: str) -> Verdict:
    """The scheduler names the cause; what the logs held is what it provoked."""
    state = verdict.slurm.get("state") if verdict.slurm else None
    before = (f"the logs alone look like this: {verdict.summary}",) if verdict.failed else ()
    return replace(
        verdict, failed=True, category=category, rule=rule, ended=True, confidence="low" if category == "unknown" else "medium",
        summary=summary, root=None, next_steps=_STEPS.get(category, ()),
        reasons=(f"Slurm's accounting says {state}", *before, *verdict.reasons),
    )  # fmt: skip
