"""`triage config`: each value of a configuration, and where it came from."""

from __future__ import annotations

import argparse

from triage.cli.configuration import add_configuration, load
from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit
from triage.report.mask import safe

TAKES_REST = True

_EPILOG = """\
precedence: --set, ARGUMENTs behind --, TRIAGE_* variables, the file, defaults

exit codes: 0 no mistake, 2 a mistake in the configuration or the command line

examples:
  triage config
  triage config runs/8b.toml --set job.nodes=4 --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show each value of a configuration and where it came from."
    parser.epilog = _EPILOG
    add_configuration(parser)
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="output format (default: text)"
    )


def run(arguments: argparse.Namespace) -> int:
    from triage.submit.show import config_json, config_text

    settings = load(arguments)
    emit(config_json(settings) if arguments.format == "json" else safe(config_text(settings)))
    return ExitCode.OK
