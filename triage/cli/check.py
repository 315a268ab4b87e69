"""`triage check`: what will fail in a job script, before it is submitted."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit, wants_color
from triage.cli.preflight import ask_site, findings_of
from triage.core.megatron.finding import Severity
from triage.errors import InputError, UsageError
from triage.files.facts import NotAScript, read_mounts
from triage.report.check import CHECK_FORMATS, Checked, CheckOptions

_EPILOG = """\
exit codes: 0 no errors, 1 errors found (with --strict also warnings), 2 wrong usage,
3 a path that cannot be read or is no script, 70 a bug in triage

examples:
  triage check run_megatron.slurm
  triage check jobs/*.sbatch --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check job scripts without running them: Megatron-LM's rules, torchrun, Slurm, storage."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paths", metavar="SCRIPT", nargs="+", help="sbatch script, or another shell script")
    parser.add_argument(
        "--format", choices=tuple(CHECK_FORMATS), default="text", help="output format (default: text)"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    parser.add_argument("-v", "--verbose", action="store_true", help="show notes (info) in text output too")
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours in text output (default: auto)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Checks and prints; what could not be read is told after the findings of the rest."""
    _refuse_configurations(arguments.paths)
    site = ask_site(os.environ)
    mounts = read_mounts()
    results: list[Checked] = []
    unread: list[str] = []
    for path in arguments.paths:
        try:
            results.append(Checked(path, tuple(findings_of(path, mounts, site))))
        except NotAScript as error:
            unread.append(f"{path} {error}")
    if results:
        options = CheckOptions(arguments.verbose, wants_color(arguments.color))
        emit(CHECK_FORMATS[arguments.format](results, options))
    if unread:
        raise InputError("\n".join(unread))
    counted = (Severity.ERROR, Severity.WARNING) if arguments.strict else (Severity.ERROR,)
    failed = any(result.count(severity) for result in results for severity in counted)
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


def _refuse_configurations(paths: Sequence[str]) -> None:
    found = [path for path in paths if path.endswith(".toml")]
    if found:
        raise UsageError(
            "\n".join(f"{path}: configurations are not read yet; name sbatch scripts" for path in found)
        )
