"""The room's door: a script's text to a `Script`, and a `Script` to findings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from triage.core.script.allocation import Allocation, read_allocation
from triage.core.script.command import Command
from triage.core.script.directives import Directives, read_directives
from triage.core.script.holes import Holes, clean
from triage.core.script.launches import Run, find_runs, located
from triage.core.script.limits import SCRIPT
from triage.core.script.shell import evaluate

_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that is known of a script without running it."""

    directives: Directives
    allocation: Allocation
    commands: tuple[Command, ...]
    """In the order in which they would run, without those inside `$( )`."""
    runs: tuple[Run, ...]
    holes: Holes
    truncated: bool = False
    """A limit was reached: something behind it was not read."""


def read_script(text: str) -> Script:
    """Reads a script. Never fails: what is not understood is not known."""
    text = clean(text[: SCRIPT + 1])
    directives = read_directives(text)
    job = read_allocation(directives)
    result = evaluate(text, job, batch=directives.any)
    lines = _places(text)
    runs = tuple(
        replace(run, launch=replace(run.launch, args=located(run.launch.args, lines)))
        for run in find_runs(result.commands, job)
    )
    return Script(directives, job, result.commands, runs, result.holes, result.exhausted)


def _places(text: str) -> dict[str, list[int]]:
    """In which lines each option is written; comments are left out."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if "--" not in line or line.lstrip().startswith("#"):
            continue
        for match in _OPTION.finditer(line):
            found.setdefault(match[0], []).append(number)
    return found
