"""`triage render`: prints the batch script of a configuration."""

from __future__ import annotations

import argparse
import sys

from triage.cli.configuration import add_configuration, load, read_template
from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit
from triage.report.mask import visible
from triage.submit.template import render

TAKES_REST = True

_EPILOG = """\
exit codes: 0 rendered, 2 a mistake in the configuration, the template or the
command line

examples:
  triage render
  triage render runs/8b.toml --set job.nodes=4 -o run.sbatch
  triage render -- --exit-interval 100
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the batch script of a configuration.\nARGUMENTs behind -- are added to the training's."
    )
    parser.epilog = _EPILOG
    add_configuration(parser)
    parser.add_argument(
        "--template", metavar="FILE", help="use this Jinja2 template instead of the shipped one"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the script to a file")


def run(arguments: argparse.Namespace) -> int:
    settings = load(arguments)
    script = render(settings.config, template=read_template(arguments.template))
    emit(script if arguments.output or not sys.stdout.isatty() else visible(script), arguments.output)
    return ExitCode.OK
