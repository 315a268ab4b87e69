"""The ledger of early ends: at most one decision for each attempt of a job, its stage, its evidence, what it saved."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from triage.core.jobs.attempt import Attempt
from triage.core.jobs.cancel import Cause, Stage
from triage.core.values import dataclass
from triage.store.database import Database


@dataclass(frozen=True, slots=True)
class Action:
    """One decision to end a job early."""

    number: int
    job: int
    """Number of the job in the store."""
    attempt: Attempt
    cause: Cause
    stage: Stage
    at: float
    """When it was decided."""
    since: float
    """When the stage was reached."""
    why: str
    dry: bool
    """Only what would have been done."""
    requeue: bool | None
    """Whether the job could be requeued before the fence."""
    evidence: Mapping[str, Any]
    gpus: int | None
    planned_end: float | None
    """When the job would have ended by itself: by its progress, else by its time limit."""
    ended: float | None

    @property
    def saved(self) -> float | None:
        """GPU-hours, counted only once the job is gone."""
        if self.stage is not Stage.DONE or self.dry or None in (self.gpus, self.planned_end, self.ended):
            return None
        assert self.planned_end is not None
        assert self.ended is not None
        return max(0.0, self.planned_end - self.ended) / 3600 * (self.gpus or 0)


def intend(
    database: Database,
    job: int,
    attempt: Attempt,
    cause: Cause,
    at: float,
    why: str,
    evidence: Mapping[str, Any],
    *,
    dry: bool = False,
    gpus: int | None = None,
    planned_end: float | None = None,
) -> Action:
    """The decision about this attempt, on disk; if there is one already that was not abandoned, that one."""
    with database.transaction() as db:
        db.execute(
            "INSERT INTO actions (job, restarts, submitted, started, cause, stage, at, since, why, dry, evidence, gpus,"
            " planned_end) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (job, attempt.restarts, attempt.submitted, attempt.started, cause.value, Stage.INTENDED.value, at, at, why,
             dry, json.dumps(evidence), gpus, planned_end),
        )  # fmt: skip
        row = db.execute(
            "SELECT * FROM actions WHERE job = ? AND restarts = ? AND submitted = ? AND dry = ? AND stage <> ?",
            (job, attempt.restarts, attempt.submitted, dry, Stage.ABANDONED.value),
        ).fetchone()
    return _action(row)


def reach(
    database: Database,
    action: Action,
    stage: Stage,
    at: float,
    *,
    why: str | None = None,
    requeue: bool | None = None,
    ended: float | None = None,
) -> Action | None:
    """The action at its new stage, on disk; `None` if it is no longer where `action` says: another watcher has moved it
    on, or its job was forgotten. Nothing may be done on it then."""
    with database.transaction() as db:
        moved = db.execute(
            "UPDATE actions SET stage = ?, since = ?, why = coalesce(?, why), requeue = coalesce(?, requeue),"
            " ended = coalesce(?, ended) WHERE number = ? AND stage = ? AND since = ?",
            (stage.value, at, why, requeue, ended, action.number, action.stage.value, action.since),
        ).rowcount
        row = db.execute("SELECT * FROM actions WHERE number = ?", (action.number,)).fetchone()
    return _action(row) if moved else None


def actions_of(database: Database, job: int | None = None) -> list[Action]:
    """Of one job or of all, in the order in which they were decided."""
    where, values = ("WHERE job = ?", (job,)) if job is not None else ("", ())
    return [_action(row) for row in database.rows(f"SELECT * FROM actions {where} ORDER BY number", *values)]


def _action(row: sqlite3.Row) -> Action:
    return Action(
        row["number"], row["job"], Attempt(row["restarts"], row["submitted"], row["started"]), Cause(row["cause"]),
        Stage(row["stage"]), row["at"], row["since"], row["why"], bool(row["dry"]),
        None if row["requeue"] is None else bool(row["requeue"]), json.loads(row["evidence"]), row["gpus"],
        row["planned_end"], row["ended"],
    )  # fmt: skip
