"""The room's door: a script's text to a `Script`, and a `Script` to findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from triage.core.megatron.launch import Launch
from triage.core.script.allocation import Allocation, read_allocation
from triage.core.script.case import Script
from triage.core.script.checks import check_script
from triage.core.script.directives import Directives, read_directives
from triage.core.script.holes import Holes, clean
from triage.core.script.launches import find_runs, located
from triage.core.script.limits import SCRIPT, SUBMISSIONS, Budget
from triage.core.script.shell import Evaluated, evaluate, evaluate_submitted
from triage.core.script.submissions import Submission
from triage.core.values import replace

__all__ = ["Script", "check_script", "read_script"]

_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w.-]*", re.ASCII)

_ARGUMENTS = re.compile(r"\$\{?[@*#1-9]|\bgetopts\b|\bgetopt\b")


def read_script(text: str) -> Script:
    """Reads a script. Never fails: what is not understood is not known."""
    text = clean(text[: SCRIPT + 1])
    directives = read_directives(text)
    job = read_allocation(directives)
    result = evaluate(text, job, batch=directives.any)
    places = _places(text, 1)
    script = _script(directives, job, result, places)
    inner = tuple(_submitted(result.submissions, result.holes))
    uncalled = None
    if script.runs and directives.any and _ARGUMENTS.search(text):
        alone = _script(directives, job, evaluate(text, job, arguments=()), places)
        uncalled = replace(alone, supposed=True)
    return replace(script, submitted=inner, uncalled=uncalled)


def _submitted(submissions: Iterable[Submission], holes: Holes) -> Iterator[Script]:
    """The scripts that a script submits, and those that they submit."""
    waiting, budget = [*submissions], Budget()
    for _ in range(SUBMISSIONS):
        if not waiting:
            return
        submission = waiting.pop(0)
        given = read_directives(submission.text, submission.first_line)
        directives = given.outranked(submission.options)
        job = read_allocation(directives)
        result = evaluate_submitted(submission, job, holes, budget)
        waiting += result.submissions
        script = _script(directives, job, result, _places(submission.text, submission.first_line))
        yield replace(script, made=submission.made, sure=not submission.way)


def _script(
    directives: Directives, job: Allocation, result: Evaluated, lines: dict[str, list[int]]
) -> Script:
    runs = tuple(
        replace(
            run,
            launch=_located(run.launch, lines),
            variants=tuple(_located(item, lines) for item in run.variants),
        )
        for run in find_runs(result.commands, job, result.holes)
    )
    return Script(
        directives, job, result.commands, runs, result.holes, result.decisions, truncated=result.exhausted
    )


def _located(launch: Launch, lines: dict[str, list[int]]) -> Launch:
    return replace(launch, args=located(launch.args, lines))


def _places(text: str, first_line: int) -> dict[str, list[int]]:
    """In which lines each option is written; comments are left out."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), first_line):
        if "--" not in line or line.lstrip().startswith("#"):
            continue
        for match in _OPTION.finditer(line):
            found.setdefault(match[0], []).append(number)
    return found
