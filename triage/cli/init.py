"""`triage init`: writes a commented configuration, filled in from a batch script where one is given."""

from __future__ import annotations

import argparse
import os
import sys

from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit
from triage.cli.preflight import open_script
from triage.errors import InputError, UsageError
from triage.files.facts import NotAScript
from triage.report.mask import one_line, safe
from triage.submit.keys import FILE_NAME

_EPILOG = """\
exit codes: 0 written, 2 the file exists or cannot be written,
3 a script that cannot be read

examples:
  triage init
  triage init run_megatron.slurm -o runs/8b.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a commented configuration.\nFrom SCRIPT it takes over what the text tells, and never runs it."
    )
    parser.epilog = _EPILOG
    parser.add_argument("script", metavar="SCRIPT", nargs="?", help="a batch script to start from")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default=FILE_NAME,
        help=f"the file to write, - for standard output (default: {FILE_NAME})",
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(arguments: argparse.Namespace) -> int:
    from triage.submit.adopt import Adopted, adopt
    from triage.submit.initial import initial

    if arguments.output != "-" and os.path.lexists(arguments.output) and not arguments.force:
        raise UsageError(f"{arguments.output} exists: --force replaces it, -o names another file")
    found = Adopted({"worktree": ".", "command": "pretrain_gpt.py", "job.name": "megatron", "job.nodes": 1, "job.gpus_per_node": 8})  # fmt: skip
    if arguments.script is not None:
        try:
            _, script = open_script(arguments.script)
        except NotAScript as error:
            raise InputError(f"{arguments.script} {error}") from None
        found = adopt(script)
    emit(initial(found.values, found.environment, found.notes), arguments.output)
    notes = "".join(f"triage: {arguments.script}: {one_line(note)}\n" for note in found.notes)
    if arguments.output != "-":
        notes += f"triage: wrote {arguments.output}; `triage check {arguments.output}` finds its mistakes\n"
    sys.stderr.write(safe(notes))
    return ExitCode.OK
