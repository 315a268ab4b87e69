"""What became of a submission, of this call or of one that was interrupted: found out, told, remembered."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Sequence

from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit, tell
from triage.core.folders import state_folder
from triage.core.jobs.identity import JobId
from triage.core.megatron.finding import Finding
from triage.errors import RefusedError, SchedulerError, StoreError
from triage.report.submit import SUBMIT_FORMATS, Outcome, Submission
from triage.schedulers.interface import connect
from triage.schedulers.local.variables import file_name
from triage.submit.record import Record, to_json
from triage.submit.send import Sent, look_for
from triage.submit.unfinished import Unfinished, interrupted

_EACH = re.compile(r"%\d*[aNnst]")
_FOUND = "a call that was interrupted had submitted it; nothing was submitted now"


def report(
    arguments: argparse.Namespace,
    entry: Unfinished,
    outcome: Outcome,
    sent: Sent,
    findings: Sequence[Finding] = (),
) -> int:
    """The user is told first, and only then the entry goes: a job that nobody was told of is looked for again."""
    record, job = sent.record, sent.record.job
    assert job is not None
    never = None if "--hold" in record.options else sent.never_starts
    log = _filled(record.output, job)
    message = "" if outcome is Outcome.SUBMITTED else _FOUND
    emit_submission(arguments, Submission(
        outcome, record.source, message, job, sent.others, sent.status, never, log, to_json(record),
        str(record.path), findings,
    ))  # fmt: skip
    trouble = _remember(record, job)
    entry.finish()
    for sentence in (*sent.troubles, *trouble):
        tell(sentence)
    for other in sent.others:
        tell(f"job {other} carries the same token, which must not happen: look at both, and cancel one")
    if never is not None:
        tell(f"job {job} will not start by itself: {never}")
    if not arguments.watch:
        return ExitCode.OK
    from triage.cli.main import main

    artifacts = [word for path in record.artifacts for word in ("--artifact", path)]
    return main(
        ["watch", str(job), "--scheduler", record.scheduler, "--format", arguments.format, *artifacts]
    )


def _filled(path: str, job: JobId) -> str:
    """A log's name with the job's number; one of each array task, node or task of a step stays a pattern."""
    if _EACH.search(path):
        return path
    return file_name(path, {"SLURM_JOB_ID": str(job.number)})


def _remember(record: Record, job: JobId) -> list[str]:
    """In the store, for `triage watch`. The record beside the logs holds the same: what fails here is only told."""
    from triage.cli.state import open_store
    from triage.store.jobs import NewJob, remember

    log = _filled(record.output, job)
    error = _filled(record.error, job) if record.error is not None else log
    new = NewJob(
        job, "submit", time.time(), os.getuid(), record.submitted, record.name, record.folder, record.script, log,
        error, record.token, {"artifacts": list(record.artifacts)} if record.artifacts else {},
        record.scheduler,
    )  # fmt: skip
    try:
        database = open_store(os.environ)
        try:
            remember(database, new)
        finally:
            database.close()
    except StoreError as error:
        return [f"the job is not in the store: {error}"]
    return []


def resume(arguments: argparse.Namespace) -> int:
    """Every interrupted call gets its answer; where one cannot be told yet, the others still are."""
    source = os.path.realpath(arguments.source) if arguments.source is not None else None
    unknown: list[SchedulerError] = []
    entries = list(interrupted(state_folder(os.environ), source))
    for entry in entries:
        try:
            sent = _looked_for(entry)
        except SchedulerError as error:
            unknown.append(error)
            continue
        if sent is not None:
            report(arguments, entry, Outcome.FOUND, sent)
            continue
        entry.finish()
        message = f"the interrupted call had not submitted {entry.record.source}: submit it again"
        emit_submission(arguments, Submission(Outcome.NOT_FOUND, entry.record.source, message))
        tell(message)
    if unknown:
        raise unknown[0]
    if not entries:
        tell("no call was interrupted: nothing is open")
    return ExitCode.OK


def emit_submission(arguments: argparse.Namespace, told: Submission) -> None:
    emit(SUBMIT_FORMATS[arguments.format](told))


def earlier(arguments: argparse.Namespace, record: Record) -> int | None:
    """Tells which job a call for the same source left that was interrupted; `None` if there is none."""
    code = None
    for entry in interrupted(state_folder(os.environ), record.source):
        sent = _looked_for(entry)
        if sent is None:
            entry.finish()
        elif entry.record.digest != record.digest or entry.record.scheduler != record.scheduler:
            if sent.record.job is not None:
                _remember(sent.record, sent.record.job)
            entry.finish()
            raise RefusedError(
                f"not submitted: the interrupted call had submitted job {sent.record.job_id}, and what it runs has"
                " changed since; cancel that job or keep it, then run this command again"
            )
        else:
            code = report(arguments, entry, Outcome.FOUND, sent)
    return code


def _looked_for(entry: Unfinished) -> Sent | None:
    record = entry.record
    at = time.strftime("%H:%M:%S", time.localtime(record.asked))
    tell(f"a call at {at} that submitted {record.source} was interrupted: looking for its job first")
    try:
        return look_for(connect(record.scheduler, os.environ), entry)
    except BaseException:
        entry.leave()
        raise
