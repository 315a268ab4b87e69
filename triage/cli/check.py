"""`triage check`: what will fail in a job script, before it is submitted."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence

from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit, wants_color
from triage.core.megatron.finding import Finding, Severity
from triage.core.script.limits import SCRIPT
from triage.core.script.read import Script, check_script, read_script
from triage.errors import InputError, UsageError
from triage.files.facts import Machine, Mount, NotAScript, read_mounts, read_text, same_folder
from triage.report.check import CHECK_FORMATS, Checked, CheckOptions

_EPILOG = """\
exit codes: 0 no errors, 1 errors found (with --strict also warnings), 2 wrong usage,
3 a path that cannot be read or is no script, 70 a bug in triage

examples:
  triage check run_megatron.slurm
  triage check jobs/*.sbatch --format json
"""

_BYTES = 4 * (SCRIPT + 1)
"""As much as `read_script` looks at, whatever its characters are."""

_SHELL = re.compile(r"#!.*\b(?:ba|da|z|k)?sh\b")
_SHELL_NAMES = (".sh", ".bash", ".sbatch", ".slurm", ".batch", ".job", ".sub")
_NAMED = 5
"""Unseen paths that are told by name."""


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
    mounts = read_mounts()
    results: list[Checked] = []
    unread: list[str] = []
    for path in arguments.paths:
        try:
            results.append(Checked(path, tuple(_findings(path, mounts))))
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


def _findings(path: str, mounts: Sequence[Mount]) -> list[Finding]:
    script = _script(path)
    machine = _machine(path, script, mounts, settled=True)
    found = check_script(script, machine)
    if machine.foreign:
        machine = _machine(path, script, mounts, settled=False)
        found = check_script(script, machine)
    return [*found, *_not_checked(machine)]


def _script(path: str) -> Script:
    text = read_text(path, _BYTES)
    script = read_script(text)
    if not (_SHELL.match(text) or script.directives.any or (path.endswith(_SHELL_NAMES) and script.runs)):
        raise NotAScript(
            "is no script: its first line names no shell (#!/bin/bash), and it has no #SBATCH line"
        )
    return script


def _machine(path: str, script: Script, mounts: Sequence[Mount], *, settled: bool) -> Machine:
    """Relative paths begin at `--chdir`, else where sbatch is called. That is taken to be the current folder if the
    script lies in it, and only as long as this machine sees the script's other paths."""
    chosen = script.text("chdir") or ""
    here = same_folder(os.path.dirname(path) or ".", ".")
    return Machine(chosen or ".", mounts, settled=chosen.startswith("/") or (settled and here))


def _not_checked(machine: Machine) -> list[Finding]:
    found = []
    if machine.unseen:
        paths: list[str] = []
        for path in sorted(machine.unseen):
            if not paths or not path.startswith(paths[-1].rstrip("/") + "/"):
                paths.append(path)
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        text = f"not checked, as this machine does not see them: {', '.join(paths[:_NAMED])}{more}"
        found.append(Finding(Severity.INFO, "storage/not-seen", text))
    text = "partition, time limit, GPUs per node, account and QOS were not compared with a live cluster"
    return [*found, Finding(Severity.INFO, "site/not-checked", text)]
