"""`triage explain`: what failed, where, and why."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from triage.cli.exitcodes import of_verdict
from triage.cli.output import emit, terminal_width, wants_color
from triage.cli.progress import ProgressBar

if TYPE_CHECKING:
    from triage.core.cause.record import Record
    from triage.core.cause.verdict import Verdict

FORMAT_NAMES = ("text", "json", "markdown", "github")

_EPILOG = """\
exit codes: 0 no failure, 10 a failure explained, 11 a failure of unknown cause,
2 wrong usage or rules, 3 no readable input, 70 a bug in triage

examples:
  triage explain logs/
  triage explain 4812
  triage explain 'logs/train-4812-*.err' --format json
  srun ... 2>&1 | triage explain -

a wrong answer? report it with what `triage bundle PATH --anonymize` writes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Explain a failed run from its logs: root cause, evidence, and what to do."
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="log file, folder, glob pattern, - for standard input; or one job id, whose logs are found",
    )
    parser.add_argument(
        "--format", choices=FORMAT_NAMES, default="text", help="output format (default: text)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the result to FILE instead of standard output"
    )
    parser.add_argument(
        "--attempt",
        type=_positive,
        metavar="N",
        help="explain attempt N (from 1) instead of the one that decides",
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="what is known of the job beside its logs: a triage-JOBID.json, or saved output of `scontrol show job` or `sacct`",
    )
    parser.add_argument(
        "--scheduler",
        choices=("slurm", "local"),
        help="whom to ask about a job id (default: the one it was submitted to)",
    )
    parser.add_argument("--job", metavar="ID", help="explain this job where the logs hold several")
    parser.add_argument(
        "--rules", action="append", default=[], metavar="DIR", help="folder with more rules; may be repeated"
    )
    parser.add_argument(
        "--why-not",
        type=_rank,
        metavar="RANK",
        help="tell why the failure of this rank is not the root cause",
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours in text output (default: auto)",
    )
    parser.add_argument("--width", type=_width, metavar="N", help="columns of text output (default: the terminal's, else 80)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Explains and prints; the exit code is the verdict's."""
    import gc

    gc.disable()  # a short run that makes millions of values and no cycles: looking for some costs a fifth of it
    from triage import api
    from triage.report import FORMATS, Options, view_of

    paths, record = asked_for(arguments)
    _refuse_own_output(paths, arguments.output)
    bar = ProgressBar(sys.stderr, time.monotonic)
    chosen = {
        "attempt": arguments.attempt,
        "job": arguments.job,
        "rules": tuple(arguments.rules),
        "base": _base(arguments.format),
    }
    try:
        if arguments.why_not is not None:
            answer = api.explain_why_not(paths, arguments.why_not, progress=bar, **chosen)
        else:
            verdict = _explained(paths, record, bar, chosen)
    finally:
        bar.close()
    if arguments.why_not is not None:
        from triage.report.whynot import WHY_NOT

        width = arguments.width or terminal_width()
        emit(WHY_NOT[arguments.format](arguments.why_not, answer, width), arguments.output)
        return 0
    code = of_verdict(verdict)
    to_file = arguments.output not in (None, "-")
    options = Options(
        width=arguments.width or (80 if to_file else terminal_width()),
        color=wants_color(arguments.color) and not (to_file and arguments.color == "auto"),
    )
    emit(FORMATS[arguments.format](view_of(verdict, int(code)), options), arguments.output)
    return int(code)


def _base(format_name: str) -> str | None:
    """From where people open the files of the evidence: the current folder, of an annotation the root of the checkout.

    JSON names them from the argument, as its contract says.
    """
    import os

    if format_name == "json":
        return None
    return (os.environ.get("GITHUB_WORKSPACE") if format_name == "github" else None) or os.curdir


def asked_for(arguments: argparse.Namespace) -> tuple[list[str], Record | None]:
    """The logs, and what is known beside them; the paths of a job that is named by its id are looked up."""
    record = None
    if arguments.record is not None:
        from triage.cli.jobs import named_job, saved

        record = saved(arguments.record, named_job(arguments.paths))
    if len(arguments.paths) == 1 and arguments.paths[0][:1].isdigit():
        from triage.cli.jobs import find, named_job

        job = named_job(arguments.paths)
        if job is not None:
            import os

            found = find(job, os.environ, arguments.scheduler)
            return list(found.paths), record or found.record
    return arguments.paths, record


def _explained(paths: list[str], record: Record | None, bar: ProgressBar, chosen: dict[str, Any]) -> Verdict:
    """A job whose logs are gone is explained from its record alone."""
    from triage import api
    from triage.errors import InputError

    try:
        if not paths:
            raise InputError("the job has no log that can be read")
        return api.explain(paths, progress=bar, record=record, **chosen)
    except InputError:
        if record is None or chosen["attempt"] is not None or chosen["job"] is not None:
            raise
        from triage.core.cause.record import without_logs

        return without_logs(record)


def _refuse_own_output(paths: list[str], output: str | None) -> None:
    """Raises UsageError when the report would take the place of a log."""
    import os

    from triage.errors import UsageError

    if output in (None, "-") or not os.path.exists(str(output)):
        return
    if any(os.path.exists(p) and os.path.samefile(p, str(output)) for p in paths):
        raise UsageError(f"{output} is one of the logs: give -o another file")


def _positive(text: str) -> int:
    value = _rank(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1")
    return value


def _rank(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return int(text)


def _width(text: str) -> int:
    value = _rank(text)
    if not 20 <= value <= 1000:
        raise argparse.ArgumentTypeError("the width must be from 20 to 1000 columns")
    return value
