"""`triage daemon`: watches many jobs in the background."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from triage.cli.output import emit
from triage.errors import InputError, UsageError

if TYPE_CHECKING:
    from triage.core.jobs.identity import JobId
    from triage.store.database import Database
    from triage.store.jobs import KnownJob

_EPILOG = """\
examples:
  triage daemon run --all-mine --http 127.0.0.1:8790
  triage daemon add 4812 --artifact out/metrics.json --when 'iteration >= 500'
  triage daemon status
  triage daemon unit > ~/.config/systemd/user/triage.service
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from triage.cli.watch import add_options

    parser.description = "Watch many jobs in the background; what it knows is in the store, and survives."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="what", metavar="COMMAND", required=True)
    run_ = commands.add_parser("run", help="watch until it is stopped")
    run_.add_argument("--all-mine", action="store_true", help="find all of your jobs in the queue")
    run_.add_argument(
        "--name", metavar="PATTERN", help="find those of your jobs whose name matches, `pretrain-*`"
    )
    run_.add_argument(
        "--http", metavar="ADDRESS", help="serve /healthz /jobs /metrics: 127.0.0.1:PORT or unix:PATH"
    )
    run_.add_argument(
        "--notify", action="append", default=[], metavar="URL", help="tell failures and ends: an apprise URL"
    )
    run_.add_argument("--format", choices=("text", "json"), default="text")
    run_.add_argument("--scheduler", choices=("slurm", "local"), default="slurm")
    add_options(run_)
    add = commands.add_parser("add", help="watch this job")
    add.add_argument("job", metavar="JOB_ID")
    add_options(add)
    for name, text in (("show", "all that is known of a job"), ("forget", "do not watch it, and forget it")):
        one = commands.add_parser(name, help=text)
        one.add_argument("job", metavar="JOB_ID")
        one.add_argument("--format", choices=("text", "json"), default="text")
    status = commands.add_parser("status", help="what is watched, and by whom")
    status.add_argument("--format", choices=("text", "json"), default="text")
    from triage.cli import history

    history.add_arguments(commands.add_parser("history", help="as `triage history`"))
    commands.add_parser("unit", help="print a systemd unit")


def run(arguments: argparse.Namespace) -> int:
    import os

    from triage.cli.state import open_store

    match arguments.what:
        case "unit":
            return _unit()
        case "history":
            from triage.cli import history

            return history.run(arguments)
        case "run":
            from triage.cli.background import run_daemon

            return run_daemon(arguments, os.environ)
    database = open_store(os.environ)
    match arguments.what:
        case "add":
            return _add(arguments, database)
        case "show":
            return _show(arguments, database)
        case "forget":
            return _forget(arguments, database)
    return _status(arguments, database)


def _job(text: str) -> JobId:
    from triage.core.jobs.identity import parse_job

    job = parse_job(text)
    if job is None:
        raise UsageError(f"{text!r} is no job id: write 18, 18_3 for a task of an array, or 18;CLUSTER")
    return job


def _known(text: str, database: Database) -> KnownJob:
    from triage.store.jobs import find_job

    known = find_job(database, _job(text))
    if known is None:
        raise InputError(f"no job {text} in the store: `triage daemon add {text}` watches it")
    return known


def _add(arguments: argparse.Namespace, database: Database) -> int:
    import os

    from triage.cli.existing import must_exist
    from triage.cli.watch import options_from
    from triage.store.daemons import living
    from triage.store.jobs import NewJob, get_job, remember, set_watched

    job = _job(arguments.job)
    options = options_from(arguments)
    job, submitted = must_exist(job, database, os.environ)
    new = NewJob(
        job, "daemon", time.time(), submitted=submitted, folder=os.getcwd(), options=options.as_json()
    )
    number = remember(database, new)
    if get_job(database, number).ended is not None:
        raise UsageError(f"job {job} has ended: `triage explain {job}` says how")
    set_watched(database, number, True)
    running = living(database, time.time())
    hint = "" if running else "; no daemon runs: start one with `triage daemon run`"
    emit(f"job {job} is watched{hint}\n")
    return 0


def _forget(arguments: argparse.Namespace, database: Database) -> int:
    from triage.store.jobs import forget

    known = _known(arguments.job, database)
    forget(database, known.number)
    emit(f"job {known.job} is forgotten; the job itself is left alone\n")
    return 0


def _show(arguments: argparse.Namespace, database: Database) -> int:
    from triage.report.mask import safe
    from triage.store.actions import actions_of
    from triage.store.jobs import verdict_of

    known = _known(arguments.job, database)
    verdict = verdict_of(database, known.number)
    found: dict[str, Any] = {
        "schema": "triage.job/1", "job": str(known.job), "name": known.name, "state": known.state, "said": known.said,
        "seen": known.seen, "watched": known.watched, "held": known.held, "outcome": known.outcome, "folder": known.folder,
        "output": known.output, "options": dict(known.options), "verdict": verdict,
        "actions": [{"stage": a.stage.value, "at": a.at, "why": a.why, "dry_run": a.dry} for a in actions_of(database, known.number)],
    }  # fmt: skip
    if arguments.format == "json":
        emit(json.dumps(found, indent=2) + "\n")
        return 0
    lines = [
        f"job {known.job} {known.name}".rstrip(),
        f"state     {known.outcome or known.state or 'not seen yet'}",
    ]
    lines += [f"said      {known.said}"] if known.said else []
    lines += [f"log       {known.output}"] if known.output else []
    lines += ["held      nothing ends it early"] if known.held else []
    lines += [f"result    {', '.join(known.options['artifacts'])}"] if known.options.get("artifacts") else []
    lines += [f"verdict   {verdict['category']}: {verdict['summary']}"] if verdict is not None else []
    lines += [f"action    {a['stage']}: {a['why']}" for a in found["actions"]]
    emit("".join(f"{safe(line)}\n" for line in lines))
    return 0


def _status(arguments: argparse.Namespace, database: Database) -> int:
    from triage.report.mask import safe
    from triage.store.daemons import living
    from triage.store.jobs import all_jobs

    running = living(database, time.time())
    jobs = all_jobs(database, watched=True)
    if arguments.format == "json":
        found = {
            "schema": "triage.status/1", "stopped": database.stopped,
            "daemons": [{"host": d.host, "pid": d.pid, "started": d.started, "http": d.address} for d in running],
            "jobs": [{"job": str(j.job), "name": j.name, "state": j.state, "said": j.said, "held": j.held} for j in jobs],
        }  # fmt: skip
        emit(json.dumps(found, indent=2) + "\n")
        return 0
    lines = [f"daemon on {d.host}, process {d.pid}{f', {d.address}' if d.address else ''}" for d in running]
    lines = lines or ["no daemon runs: start one with `triage daemon run`"]
    lines += ["the kill-switch file is there: nothing is ended early"] if database.stopped else []
    lines += [
        f"{j.job!s:<12} {j.state or 'not seen yet':<12} {j.name}  {j.said or ''}".rstrip() for j in jobs
    ]
    emit("".join(f"{safe(line)}\n" for line in lines))
    return 0


def _unit() -> int:
    import shutil
    import sys

    from triage.watch.systemd import UNIT

    emit(UNIT.format(command=shutil.which("triage") or f"{sys.executable} -m triage"))
    return 0
