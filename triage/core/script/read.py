"""The room's door: a script's text to a `Script`, and a `Script` to findings."""

from __future__ import annotations

import re
from dataclasses import replace

from triage.core.megatron.launch import Launch
from triage.core.script.allocation import read_allocation
from triage.core.script.case import Script
from triage.core.script.checks import check_script
from triage.core.script.directives import read_directives
from triage.core.script.holes import clean
from triage.core.script.launches import find_runs, located
from triage.core.script.limits import SCRIPT
from triage.core.script.shell import evaluate

__all__ = ["Script", "check_script", "read_script"]

_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w.-]*", re.ASCII)


def read_script(text: str) -> Script:
    """Reads a script. Never fails: what is not understood is not known."""
    text = clean(text[: SCRIPT + 1])
    directives = read_directives(text)
    job = read_allocation(directives)
    result = evaluate(text, job, batch=directives.any)
    lines = _places(text)
    runs = tuple(
        replace(
            run,
            launch=_located(run.launch, lines),
            variants=tuple(_located(item, lines) for item in run.variants),
        )
        for run in find_runs(result.commands, job, result.holes)
    )
    return Script(directives, job, result.commands, runs, result.holes, result.exhausted)


def _located(launch: Launch, lines: dict[str, list[int]]) -> Launch:
    return replace(launch, args=located(launch.args, lines))


def _places(text: str) -> dict[str, list[int]]:
    """In which lines each option is written; comments are left out."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if "--" not in line or line.lstrip().startswith("#"):
            continue
        for match in _OPTION.finditer(line):
            found.setdefault(match[0], []).append(number)
    return found
