"""`triage check`: what will fail in a job script, before it is submitted."""

from __future__ import annotations

import argparse
import os

from triage.cli.configuration import add_layers, load
from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit, wants_color
from triage.cli.preflight import ask_site, findings_of, findings_of_config
from triage.core.megatron.finding import Severity
from triage.errors import ConfigError, InputError
from triage.files.facts import NotAScript, read_mounts
from triage.report.check import CHECK_FORMATS, Checked, CheckOptions
from triage.submit.keys import FILE_NAME

TAKES_REST = True
CONFIGURATION = ".toml"

_EPILOG = """\
exit codes: 0 no errors, 1 errors found (with --strict also warnings), 2 wrong usage or configuration,
3 a path that cannot be read or is no script, 70 a bug in triage

examples:
  triage check
  triage check run_megatron.slurm
  triage check jobs/*.sbatch --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Check configurations and job scripts without running them: Megatron-LM's rules, torchrun, Slurm, storage."
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help=f"configuration (*.toml) or shell script (default: {FILE_NAME})",
    )
    parser.add_argument(
        "--format", choices=tuple(CHECK_FORMATS), default="text", help="output format (default: text)"
    )
    add_layers(parser)
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
    site = ask_site(os.environ)
    mounts = read_mounts()
    results: list[Checked] = []
    unread: list[str] = []
    wrong: list[str] = []
    for path in arguments.paths or [FILE_NAME]:
        try:
            if path.endswith(CONFIGURATION):
                found = findings_of_config(load(arguments, path), mounts, site)
            else:
                found = findings_of(path, mounts, site)
            results.append(Checked(path, tuple(found)))
        except NotAScript as error:
            unread.append(f"{path} {error}")
        except ConfigError as error:
            wrong.append(str(error))
    if results:
        options = CheckOptions(arguments.verbose, wants_color(arguments.color))
        emit(CHECK_FORMATS[arguments.format](results, options))
    if wrong:
        raise ConfigError("\n".join(wrong + unread))
    if unread:
        raise InputError("\n".join(unread))
    counted = (Severity.ERROR, Severity.WARNING) if arguments.strict else (Severity.ERROR,)
    failed = any(result.count(severity) for result in results for severity in counted)
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK
