"""`triage schema`: the JSON Schema of an output."""

from __future__ import annotations

import argparse

from triage.cli.output import emit
from triage.report.schema import SCHEMAS, schema_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print the JSON Schema (2020-12) of what --format json prints."
    parser.add_argument(
        "name", choices=sorted(SCHEMAS), nargs="?", default="verdict", help="which output (default: verdict)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to FILE instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    emit(schema_text(arguments.name), arguments.output)
    return 0
