"""`triage submit`: check, then submit exactly once, whatever happens in between."""

from __future__ import annotations

import argparse
import os
import pwd
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from triage.cli.configuration import add_layers, load, read_file, read_template
from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit, tell
from triage.cli.preflight import ask_site, findings_here, findings_of_config_here, open_script
from triage.core.folders import state_folder
from triage.core.jobs.identity import JobId
from triage.core.megatron.finding import Finding, Severity
from triage.core.script.site import Site
from triage.errors import InputError, RefusedError, SchedulerError, StoreError, UsageError
from triage.files.facts import NotAScript, read_mounts
from triage.report.check import Checked, CheckOptions, counted, finding_lines
from triage.report.submit import SUBMIT_FORMATS, Outcome, Submission
from triage.schedulers.interface import SCHEDULERS, Scheduler, connect
from triage.schedulers.local.variables import file_name
from triage.schedulers.once import new_token
from triage.submit.config import Settings
from triage.submit.draft import Draft
from triage.submit.keys import FILE_NAME
from triage.submit.record import Record, to_json
from triage.submit.send import Sent, keep, look_for, make_folders, send
from triage.submit.unfinished import Unfinished, begin, interrupted

TAKES_REST = True
_EPILOG = """\
A call that is interrupted, even by kill -9, leaves no second job behind: run the same command again, and it first looks
for the job of the interrupted one.

exit codes: 0 submitted (or submitted by the interrupted call), 2 wrong usage, 3 the script cannot be read,
4 Slurm does not answer (if a job may exist, the message says so), 5 refused by the checks or by Slurm,
6 nothing could be written down, so nothing was submitted

examples:
  triage submit
  triage submit triage.toml --set job.nodes=4 -- --exit-interval 100
  triage submit run_megatron.slurm --dependency afterok:4711 -- config-b.yaml
  triage submit run_megatron.slurm --dry-run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check a configuration or a job script and submit it, exactly once. ARGUMENTs behind -- are the script's, or are"
        " added to the training's."
    )
    parser.epilog = _EPILOG
    parser.usage = "%(prog)s [CONFIG|SCRIPT] [option ...] [-- ARGUMENT ...]"
    parser.add_argument(
        "source", metavar="CONFIG|SCRIPT", nargs="?", help=f"default: {FILE_NAME} of this folder"
    )
    add_layers(parser)
    parser.add_argument("--template", metavar="FILE", help="a site's own template for the script")
    parser.add_argument(
        "--dry-run", action="store_true", help="check, show what would be done, and do nothing"
    )
    parser.add_argument("--no-check", action="store_true", help="submit without checking the script")
    parser.add_argument("--strict", action="store_true", help="refuse for warnings too")
    parser.add_argument(
        "--resume", action="store_true",
        help="submit nothing; look for the jobs of interrupted calls (of this source, or of all)",
    )  # fmt: skip
    parser.add_argument(
        "--patience", metavar="SECONDS", type=_seconds, default=180.0,
        help="how long a Slurm that takes no jobs is tried (default: 180)",
    )  # fmt: skip
    parser.add_argument(
        "--watch", action="store_true", help="follow the job afterwards, as `triage watch` does"
    )
    parser.add_argument("--scheduler", choices=tuple(SCHEDULERS), default="slurm", help="default: slurm")
    parser.add_argument("--dependency", metavar="LIST", help="start after other jobs (sbatch --dependency)")
    parser.add_argument("--array", metavar="INDICES", help="submit an array (sbatch --array)")
    parser.add_argument("--requeue", action="store_true", help="Slurm may start it again (sbatch --requeue)")
    parser.add_argument("--hold", action="store_true", help="submit it held (sbatch --hold)")
    parser.add_argument(
        "--format", choices=tuple(SUBMIT_FORMATS), default="text", help="output format (default: text)"
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 7 * 86400:
        raise ValueError(text)
    return seconds


def run(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        _watch()
    if arguments.resume:
        return _resume(arguments)
    scheduler = connect(arguments.scheduler, os.environ)
    draft, settings = _draft(arguments)
    findings = [] if arguments.no_check else _checked(arguments, draft, settings)
    refusal = _refusal(findings, arguments.strict)
    told = Submission(Outcome.REFUSED, draft.source, refusal, findings=tuple(findings))
    if refusal:
        _emit(arguments, told)
        raise RefusedError(refusal)
    record = draft.record(scheduler, time.time())
    if arguments.dry_run:
        _emit(arguments, replace(told, outcome=Outcome.DRY_RUN, log=record.output, record=to_json(record)))
        return ExitCode.OK
    earlier = _earlier(arguments, scheduler, record)
    return earlier if earlier is not None else _submit(arguments, scheduler, draft, record, told)


def _draft(arguments: argparse.Namespace) -> tuple[Draft, Settings | None]:
    """With the settings where a configuration was named, or lies in this folder."""
    name = arguments.source
    if name is None:
        if not os.path.exists(FILE_NAME):
            raise UsageError(f"name the script to submit, or write a {FILE_NAME} with `triage init`")
        name = FILE_NAME
    given = {"dependency": arguments.dependency, "array": arguments.array}
    options = [f"--{name}={value}" for name, value in given.items() if value is not None]
    options += [f"--{name}" for name in ("requeue", "hold") if getattr(arguments, name)]
    if name.endswith(".toml"):
        return _from_config(arguments, name, tuple(options))
    if arguments.sets or arguments.template:
        raise UsageError(f"--set and --template are for a configuration, and {name} is a script")
    try:
        text, script = open_script(name)
    except NotAScript as error:
        raise InputError(f"{name} {error}") from None
    draft = Draft(
        os.path.abspath(name), text, script, new_token(), os.getcwd(), _user(), None, tuple(options),
        tuple(arguments.behind),
    )  # fmt: skip
    return draft, None


def _from_config(
    arguments: argparse.Namespace, name: str, options: tuple[str, ...]
) -> tuple[Draft, Settings]:
    """What stands behind `--` has become a part of the training's command."""
    from triage.core.script.read import read_script
    from triage.submit.template import render

    settings = load(arguments, name)
    token = new_token()
    text = render(settings.config, token=token, template=read_template(arguments.template))
    source = os.path.abspath(name)
    artifact = settings.config.artifact
    draft = Draft(
        source, text, read_script(text), token, os.path.dirname(source), _user(), read_file(name).text, options,
        artifacts=() if artifact is None else (artifact,),
    )  # fmt: skip
    return draft, settings


def _user() -> str:
    return os.environ.get("USER") or pwd.getpwuid(os.getuid()).pw_name


def _checked(arguments: argparse.Namespace, draft: Draft, settings: Settings | None) -> list[Finding]:
    site = ask_site(os.environ) if arguments.scheduler == "slurm" else Site
    if settings is None:
        findings = findings_here(draft.script, draft.folder, read_mounts(), site)
    else:
        template = read_template(arguments.template)
        findings = findings_of_config_here(settings, read_mounts(), site, template)
    if arguments.format == "text":
        checked = Checked(arguments.source or FILE_NAME, tuple(findings))
        for line in finding_lines(checked, CheckOptions()):
            tell(line)
    return findings


def _refusal(findings: Sequence[Finding], strict: bool) -> str:
    """Why the checks do not let it through; empty if they do."""
    refusing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    found = [counted(sum(item.severity is one for item in findings), one.value) for one in refusing]
    if not any(item.severity in refusing for item in findings):
        return ""
    return f"not submitted: {' and '.join(found)}; correct them, or submit all the same with --no-check"


def _earlier(arguments: argparse.Namespace, scheduler: Scheduler, record: Record) -> int | None:
    """Tells which job a call for the same source left that was interrupted; `None` if there is none."""
    code = None
    for entry in interrupted(state_folder(os.environ), record.source):
        sent = _looked_for(entry)
        if sent is None:
            entry.finish()
        elif entry.record.digest != record.digest or entry.record.scheduler != scheduler.name:
            entry.finish()
            raise RefusedError(
                f"not submitted: the interrupted call had submitted job {sent.record.job_id}, and what it runs has"
                " changed since; cancel that job or keep it, then run this command again"
            )
        else:
            code = _report(arguments, entry, Outcome.FOUND, sent)
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


def _submit(
    arguments: argparse.Namespace, scheduler: Scheduler, draft: Draft, record: Record, told: Submission
) -> int:
    """An entry stays behind only where a job may exist that nobody was told of."""
    make_folders(draft.logs.folders)
    keep(record, draft.text, draft.config)
    entry = begin(state_folder(os.environ), record)
    try:
        sent = send(scheduler, entry, arguments.patience, tell)
    except RefusedError as error:
        entry.finish()
        _emit(arguments, replace(told, message=str(error)))
        raise
    except SchedulerError as error:
        entry.finish() if error.transient else entry.leave()
        raise
    except KeyboardInterrupt:
        tell("there may be a job: run the same command again, and it looks for it first")
        raise
    return _report(arguments, entry, Outcome.SUBMITTED, sent, told.findings)


def _report(
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
    log = (
        record.output
        if "%a" in record.output
        else file_name(record.output, {"SLURM_JOB_ID": str(job.number)})
    )
    message = (
        ""
        if outcome is Outcome.SUBMITTED
        else "a call that was interrupted had submitted it; nothing was submitted now"
    )
    _emit(arguments, Submission(
        outcome, record.source, message, job, sent.others, sent.status, never, log, to_json(record),
        str(record.path), findings,
    ))  # fmt: skip
    trouble = _remember(record, job, log)
    entry.finish()
    for sentence in (*sent.troubles, *trouble):
        tell(sentence)
    for other in sent.others:
        tell(f"job {other} carries the same token, which must not happen: look at both, and cancel one")
    if never is not None:
        tell(f"job {job} will not start by itself: {never}")
    if not arguments.watch:
        return ExitCode.OK
    artifacts = [word for path in record.artifacts for word in ("--artifact", path)]
    return _watch()(["watch", str(job), "--scheduler", record.scheduler, *artifacts])


def _remember(record: Record, job: JobId, log: str) -> list[str]:
    """In the store, for `triage watch`. The record beside the logs holds the same: what fails here is only told."""
    from triage.cli.state import open_store
    from triage.store.jobs import NewJob, remember

    new = NewJob(
        job, "submit", time.time(), os.getuid(), record.submitted, record.name, record.folder, record.script, log,
        record.error or log, record.token, {"artifacts": list(record.artifacts)} if record.artifacts else {},
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


def _resume(arguments: argparse.Namespace) -> int:
    """Every interrupted call gets its answer; where one cannot be told yet, the others still are."""
    source = os.path.abspath(arguments.source) if arguments.source is not None else None
    unknown: list[SchedulerError] = []
    entries = list(interrupted(state_folder(os.environ), source))
    for entry in entries:
        try:
            sent = _looked_for(entry)
        except SchedulerError as error:
            unknown.append(error)
            continue
        if sent is not None:
            _report(arguments, entry, Outcome.FOUND, sent)
            continue
        entry.finish()
        message = f"the interrupted call had not submitted {entry.record.source}: submit it again"
        _emit(arguments, Submission(Outcome.NOT_FOUND, entry.record.source, message))
        tell(message)
    if unknown:
        raise unknown[0]
    if not entries:
        tell("no call was interrupted: nothing is open")
    return ExitCode.OK


def _emit(arguments: argparse.Namespace, told: Submission) -> None:
    emit(SUBMIT_FORMATS[arguments.format](told))


def _watch() -> Callable[[list[str]], int]:
    """`triage watch`, where this version has it."""
    from triage.cli.main import COMMANDS, main

    if "watch" not in COMMANDS:
        raise UsageError("--watch: this version of triage has no `triage watch`; submit without it")
    return main
