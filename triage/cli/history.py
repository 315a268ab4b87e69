"""`triage history`: the jobs of the store, how they ended, what was done about them, and what that saved."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from triage.cli.output import emit
from triage.core.jobs.cancel import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triage.store.actions import Action
    from triage.store.jobs import KnownJob


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the jobs that triage has submitted or watched."
    parser.add_argument(
        "--savings", action="store_true", help="only early ends, with the GPU-hours that they saved"
    )
    parser.add_argument(
        "--days", type=float, default=30.0, metavar="N", help="of the last N days (default: 30)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    import os

    from triage.cli.state import open_store
    from triage.store.actions import actions_of
    from triage.store.jobs import all_jobs, verdict_of

    database = open_store(os.environ)
    since = time.time() - arguments.days * 86400
    actions: dict[int, list[Action]] = {}
    for action in actions_of(database):
        actions.setdefault(action.job, []).append(action)
    jobs = [job for job in all_jobs(database) if (job.ended or job.added) >= since]
    if arguments.savings:
        jobs = [job for job in jobs if job.number in actions]
    rows = [(job, actions.get(job.number, [])) for job in jobs]
    verdicts = {job.number: verdict_of(database, job.number) for job in jobs if job.ended is not None}
    categories = {number: str(verdict.get("category")) for number, verdict in verdicts.items() if verdict}
    emit(_as_json(rows) if arguments.format == "json" else _as_text(rows, categories, arguments.savings))
    return 0


def _as_json(rows: Sequence[tuple[KnownJob, list[Action]]]) -> str:
    found: list[dict[str, Any]] = []
    for job, actions in rows:
        found.append({
            "job": str(job.job), "name": job.name, "origin": job.origin, "added": job.added, "ended": job.ended,
            "outcome": job.outcome, "exit_code": job.exit_code, "held": job.held,
            "actions": [
                {"cause": a.cause.value, "stage": a.stage.value, "at": a.at, "why": a.why, "dry_run": a.dry, "gpus": a.gpus,
                 "gpu_hours_saved": a.saved}
                for a in actions
            ],
        })  # fmt: skip
    total = sum(a.saved or 0.0 for _, actions in rows for a in actions)
    return (
        json.dumps({"schema": "triage.history/1", "gpu_hours_saved": total, "jobs": found}, indent=2) + "\n"
    )


def _as_text(
    rows: Sequence[tuple[KnownJob, list[Action]]], categories: Mapping[int, str], savings: bool
) -> str:
    from triage.report.mask import safe

    lines = [f"{'last change':<16}  {'job':<12} {'outcome':<20} name"] if rows else []
    for job, actions in rows:
        outcome = (
            f"{_outcome(job, categories.get(job.number))}{' (held)' if job.held and not job.ended else ''}"
        )
        lines.append(
            f"{_date(job.ended or job.added)}  {job.job!s:<12} {safe(outcome):<20} {safe(job.name)}".rstrip()
        )
        lines += [f"    {safe(_told(action, job))}" for action in actions]
    if savings:
        lines.append(_saved([action for _, actions in rows for action in actions]))
    elif any(job.outcome is None and not job.watched for job, _ in rows):
        lines.append("`triage explain JOB_ID` asks for the end of a job whose end nobody has seen")
    return "".join(f"{line}\n" for line in lines) or "no job so far\n"


def _outcome(job: KnownJob, category: str | None) -> str:
    """The store knows the end of a job only where a watcher saw it."""
    if job.outcome is None:
        return "is watched" if job.watched else "end not seen"
    return job.outcome if category in (None, job.outcome, "none") else f"{job.outcome} ({category})"


def _saved(actions: Sequence[Action]) -> str:
    from triage.report.check import counted

    done = [action for action in actions if action.stage is Stage.DONE and not action.dry]
    total = sum(action.saved or 0.0 for action in done)
    unknown = sum(not action.gpus for action in done)
    missing = f"; no GPUs were counted for {unknown} of them" if unknown else ""
    return f"{total:.1f} GPU-hours saved by {counted(len(done), 'early end')}{missing}"


def _told(action: Action, job: KnownJob) -> str:
    when = _date(action.at)
    if action.dry:
        end = f", it really ended {_date(job.ended)}" if job.ended is not None else ""
        return f"would have been ended {when}, because {action.why}{end}"
    saved = f", {action.saved:.1f} GPU-hours saved" if action.saved is not None else ""
    return f"{action.stage.value} {when}: {action.why}{saved}"


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
