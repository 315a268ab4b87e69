"""What a daemon shows of its jobs: plain values, made on its own thread, read on others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from triage.core.jobs.state import Phase
from triage.core.values import dataclass
from triage.watch.reasons import time_left
from triage.watch.watcher import Watcher


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All watched jobs at one time."""

    at: float
    jobs: dict[str, dict[str, Any]]
    calls: int = 0
    """Rounds of questions to the scheduler."""
    silent: bool = False
    """The scheduler does not answer."""
    ended: dict[str, int] | None = None
    """How many jobs ended how, since the daemon started."""


def job_json(watcher: Watcher, at: float) -> dict[str, Any]:
    """One job, as `/jobs/ID` shows it."""
    status, details, logs = watcher.life.status, watcher.details, watcher.logs
    progress = logs.progress if logs is not None else None
    verdict = watcher.verdict
    return {
        "job": str(watcher.job),
        "name": details.name if details is not None else None,
        "state": status.state.value if status is not None else "UNKNOWN",
        "reason": status.reason if status is not None else None,
        "nodes": watcher.nodes,
        "attempt": watcher.life.attempt.restarts if watcher.life.attempt is not None else None,
        "gpus": details.gpus if details is not None else None,
        "iteration": progress.iteration if progress is not None else None,
        "train_iters": progress.total if progress is not None else None,
        "seconds_left": time_left(logs.curve) if logs is not None else None,
        "quiet_seconds": watcher.quiet.after(
            at, alive=False, counts=watcher.life.phase is Phase.ACTIVE
        ).seconds,
        "artifact": watcher.open.why if watcher.open is not None else None,
        "failure": verdict.summary if verdict is not None and verdict.failed else None,
        "category": verdict.category if verdict is not None and verdict.failed else None,
        "outcome": watcher.ending.outcome if watcher.ending is not None else None,
    }


def snapshot(watchers: Iterable[Watcher], at: float, calls: int, ended: dict[str, int]) -> Snapshot:
    found = list(watchers)
    silent = bool(found) and all(watcher.life.silent is not None for watcher in found)
    return Snapshot(
        at, {str(watcher.job): job_json(watcher, at) for watcher in found}, calls, silent, dict(ended)
    )
