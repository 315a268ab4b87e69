"""`triage hold`: a veto against ending a job early."""

from __future__ import annotations

import argparse

from triage.cli.output import emit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Forbid that any watcher of yours ends this job early, or allow it again."
    parser.add_argument("job", metavar="JOB_ID")
    parser.add_argument("--release", action="store_true", help="allow it again")


def run(arguments: argparse.Namespace) -> int:
    import os
    import time

    from triage.cli.existing import must_exist
    from triage.cli.state import open_store
    from triage.core.jobs.identity import parse_job
    from triage.errors import UsageError
    from triage.store.jobs import NewJob, get_job, is_held, remember, set_held

    job = parse_job(arguments.job)
    if job is None:
        raise UsageError(
            f"{arguments.job!r} is no job id: write 18, 18_3 for a task of an array, or 18;CLUSTER"
        )
    database = open_store(os.environ)
    job, submitted = must_exist(job, database, os.environ)
    number = remember(database, NewJob(job, "hold", time.time(), submitted=submitted))
    if get_job(database, number).ended is not None and not arguments.release:
        raise UsageError(f"job {job} has ended: there is nothing to hold (`triage explain {job}`)")
    set_held(database, number, not arguments.release)
    if arguments.release and is_held(database, number, job):
        emit(
            f"job {job} is still held, by a hold on its array or on one of its tasks: release that one as well\n"
        )
    elif arguments.release:
        emit(f"job {job} may be ended early again\n")
    else:
        emit(f"job {job} is held: no watcher ends it early until `triage hold {job} --release`\n")
    return 0
