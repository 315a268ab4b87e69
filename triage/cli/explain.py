"""`triage explain`: what failed, where, and why."""

from __future__ import annotations

import argparse
import sys
import time

from triage.cli.exitcodes import of_verdict
from triage.cli.output import emit, terminal_width, wants_color
from triage.cli.progress import ProgressBar

FORMAT_NAMES = ("text", "json", "markdown", "github")

_EPILOG = """\
exit codes: 0 no failure, 10 a failure explained, 11 a failure of unknown cause,
2 wrong usage or rules, 3 no readable input, 70 a bug in triage

examples:
  triage explain logs/
  triage explain 'logs/train-4812-*.err' --format json
  srun ... 2>&1 | triage explain -
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Explain a failed run from its logs: the root cause, the evidence, and what to do."
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="log file, folder, glob pattern, or - for standard input"
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

    _refuse_own_output(arguments.paths, arguments.output)
    bar = ProgressBar(sys.stderr, time.monotonic)
    chosen = {"attempt": arguments.attempt, "job": arguments.job, "rules": tuple(arguments.rules)}
    try:
        if arguments.why_not is not None:
            answer = api.explain_why_not(arguments.paths, arguments.why_not, progress=bar, **chosen)
        else:
            verdict = api.explain(arguments.paths, progress=bar, **chosen)
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
