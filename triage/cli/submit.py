"""`triage submit`: check, then submit exactly once, whatever happens in between."""

from __future__ import annotations

import argparse
import os
import pwd
import time
from collections.abc import Sequence

from triage.cli.configuration import add_layers, load, read_file, read_template
from triage.cli.exitcodes import ExitCode
from triage.cli.output import tell
from triage.cli.preflight import ask_site, findings_here, findings_of_config_here, open_script
from triage.cli.submitted import earlier, emit_submission, report, resume
from triage.core.folders import state_folder
from triage.core.megatron.finding import Finding, Severity
from triage.core.script.site import Site
from triage.core.values import replace
from triage.errors import InputError, RefusedError, SchedulerError, UsageError
from triage.files.facts import NotAScript, read_mounts
from triage.report.check import Checked, CheckOptions, counted, finding_lines
from triage.report.submit import SUBMIT_FORMATS, Outcome, Submission
from triage.schedulers.interface import SCHEDULERS, Scheduler, connect
from triage.schedulers.once import new_token
from triage.submit.config import Settings
from triage.submit.draft import Draft
from triage.submit.keys import FILE_NAME
from triage.submit.record import Record, to_json
from triage.submit.send import keep, make_folders, send
from triage.submit.unfinished import begin

TAKES_REST = True
_EPILOG = """\
A call that is interrupted, even by kill -9, leaves no second job behind:
run the same command again, and it first looks for the interrupted one's job.

exit codes: 0 submitted (or submitted by the interrupted call), 2 wrong usage,
3 the script cannot be read, 4 Slurm does not answer (if a job may exist, the
message says so), 5 refused by the checks or by Slurm, 6 nothing could be
written down, so nothing was submitted

examples:
  triage submit
  triage submit triage.toml --set job.nodes=4 -- --exit-interval 100
  triage submit run_megatron.slurm --dependency afterok:4711 -- config-b.yaml
  triage submit run_megatron.slurm --dry-run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check a configuration or a job script and submit it, exactly once.\n"
        "ARGUMENTs behind -- are the script's, or are added to the training's."
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
    if arguments.resume:
        return resume(arguments)
    scheduler = connect(arguments.scheduler, os.environ)
    draft, settings = _draft(arguments)
    findings = [] if arguments.no_check else _checked(arguments, draft, settings)
    refusal = _refusal(findings, arguments.strict)
    told = Submission(Outcome.REFUSED, draft.source, refusal, findings=tuple(findings))
    if refusal:
        emit_submission(arguments, told)
        raise RefusedError(refusal)
    record = draft.record(scheduler, time.time())
    if arguments.dry_run:
        emit_submission(
            arguments, replace(told, outcome=Outcome.DRY_RUN, log=record.output, record=to_json(record))
        )
        return ExitCode.OK
    found = earlier(arguments, record)
    return found if found is not None else _submit(arguments, scheduler, draft, record, told)


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
        os.path.realpath(name), text, script, new_token(), os.getcwd(), _user(), None, tuple(options),
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
    source = os.path.realpath(name)
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
        emit_submission(arguments, replace(told, message=str(error)))
        raise
    except SchedulerError as error:
        entry.finish() if error.transient else entry.leave()
        raise
    except KeyboardInterrupt:
        tell("there may be a job: run the same command again, and it looks for it first")
        raise
    return report(arguments, entry, Outcome.SUBMITTED, sent, told.findings)
