"""The record of a job: what the scheduler said and what the watcher decided, as `triage-JOBID.json` keeps it."""

from __future__ import annotations

import base64
import time
from typing import Any

from triage.core.cause.record import SCHEMA
from triage.core.jobs.identity import JobId
from triage.core.jobs.witness import JobStatus
from triage.store.actions import Action

MOST_KEPT = 64 << 10
"""Bytes of a result that are kept as evidence; its hash covers all of it."""


def slurm_of(job: JobId, status: JobStatus) -> dict[str, Any]:
    """The verdict's `slurm` object."""
    exit_, batch = status.exit, status.batch_exit
    return {
        "job_id": str(job), "state": status.state.value, "reason": status.reason,
        "exit_code": exit_.code if exit_ is not None else None, "signal": exit_.signal if exit_ is not None else None,
        "restarts": status.restarts, "nodes": status.nodes, "submitted": _text(status.submitted),
        "started": _text(status.started), "ended": _text(status.ended),
        **({"batch_signal": batch.signal} if batch is not None and batch.signal else {}),
    }  # fmt: skip


def _text(seconds: float | None) -> str | None:
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))


def evidence_of(
    path: str, kind: str, digest: str, size: int, written: float, data: bytes, because: str
) -> dict[str, Any]:
    """The proof that a result was there."""
    return {
        "path": path, "kind": kind, "sha256": digest, "size": size, "written": written, "owner": because,
        "data": base64.b64encode(data[:MOST_KEPT]).decode(), "data_cut": len(data) > MOST_KEPT,
    }  # fmt: skip


def action_json(action: Action) -> dict[str, Any]:
    attempt = action.attempt
    return {
        "cause": action.cause.value, "stage": action.stage.value, "why": action.why, "decided": action.at, "reached": action.since,
        "attempt": {"restarts": attempt.restarts, "submitted": attempt.submitted, "started": attempt.started},
        "evidence": dict(action.evidence), "dry_run": action.dry,
    }  # fmt: skip


def record_json(
    job: JobId, uid: int | None, status: JobStatus | None, action: Action | None
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "job": job.local,
        "cluster": job.cluster,
        "uid": uid,
        "slurm": slurm_of(job, status) if status is not None else None,
        "early": action_json(action) if action is not None else None,
    }
