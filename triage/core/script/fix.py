"""The smallest change of a script that removes a finding, where one is certain.

A change is a guess until the checks say that it holds: the changed text is judged again, and only one that removes the
finding and brings no other error counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from triage.core.megatron.connections import NAME
from triage.core.megatron.finding import Finding, Severity
from triage.core.values import dataclass

Judge = Callable[[str], Sequence[Finding]]
"""The findings of a changed text."""

EXPORTS = frozenset({"connections/not-one", "connections/none"})
PROCESSES = "torchrun/processes"
_EXPORT = re.compile(rf"\s*(?:export\s+)?{NAME}=(?:\w*|\"\w*\"|'\w*')\s*;?\s*(?:#.*)?")
_WORD = re.compile(rf"(?:(?<=\s)|^){NAME}=(?:\w*|\"\w*\"|'\w*')\s+(?=\S)")
_LAST_WORD = re.compile(rf"(\S)\s+{NAME}=(?:\w*|\"\w*\"|'\w*')(\s*(?:\\)?)$")
_WANTED = re.compile(r"set --nproc[-_]per[-_]node to (\d+)$")
_FLAG = re.compile(r"(--nproc[-_]per[-_]node[=\s]+[\"']?)(\d+)(?=[\"'\s\\]|$)")
_VARIABLE = re.compile(r"--nproc[-_]per[-_]node[=\s]+[\"']*\$\{?([A-Za-z_]\w*)\}?")
_OPENS = re.compile(r".*(?:\b(?:then|do|else)|\{)\s*(?:#.*)?")
_CLOSES = re.compile(r"\s*(?:fi|done|else|elif\b.*|esac|\}).*")


@dataclass(frozen=True, slots=True)
class Fix:
    """A changed text."""

    check: str
    """Of the finding that it removes."""
    what: str
    """What it does, as a sentence without its full stop."""
    text: str


def fix(text: str, findings: Sequence[Finding], judge: Judge) -> list[Fix]:
    """The fixes of a script, each on top of the one before."""
    found: list[Fix] = []
    for finding in findings:
        for changed in _changes(text, finding):
            if holds(finding, findings, judge(changed.text)):
                found.append(changed)
                text, findings = changed.text, judge(changed.text)
                break
    return found


def holds(finding: Finding, before: Sequence[Finding], after: Sequence[Finding]) -> bool:
    """Whether a change removes the finding and adds no error and no warning."""
    kept = {(item.check, item.message) for item in after if item.severity is not Severity.INFO}
    told = {(item.check, item.message) for item in before if item.severity is not Severity.INFO}
    return finding.check not in {check for check, _ in kept} and kept <= told


def _changes(text: str, finding: Finding) -> Iterator[Fix]:
    lines = text.split("\n")
    number = (finding.line or 0) - 1
    if not 0 <= number < len(lines):
        return
    if finding.check in EXPORTS:
        yield from _without_export(lines, number, finding.check)
    elif finding.check == PROCESSES and (wanted := _WANTED.search(finding.message)):
        yield from _with_processes(lines, number, wanted[1])


def _without_export(lines: list[str], number: int, check: str) -> Iterator[Fix]:
    """Takes out the line, or the one word of it."""
    if sum(NAME in line and not line.lstrip().startswith("#") for line in lines) != 1:
        return
    what, line = f"take out {NAME}", lines[number]
    if _EXPORT.fullmatch(line):
        around = lines[number - 1] if number else "", lines[number + 1] if number + 1 < len(lines) else ""
        if around[0].endswith("\\") or (_OPENS.fullmatch(around[0]) and _CLOSES.fullmatch(around[1])):
            return
        yield Fix(check, what, "\n".join(lines[:number] + lines[number + 1 :]))
        return
    for changed in (_WORD.sub("", line, count=1), _LAST_WORD.sub(r"\1\2", line, count=1)):
        if changed != line:
            yield Fix(check, what, "\n".join([*lines[:number], changed, *lines[number + 1 :]]))


def _with_processes(lines: list[str], number: int, wanted: str) -> Iterator[Fix]:
    """Changes the number at the flag, or the one number that its variable is set to."""
    changed, count = _FLAG.subn(rf"\g<1>{wanted}", lines[number])
    if count == 1:
        what = f"set --nproc-per-node to {wanted}"
        yield Fix(PROCESSES, what, "\n".join([*lines[:number], changed, *lines[number + 1 :]]))
        return
    variable = _VARIABLE.search(lines[number])
    if variable is None:
        return
    name = variable[1]
    sets = re.compile(rf"(\s*(?:export\s+|readonly\s+|local\s+)*{name}=[\"']?)(\d+)([\"']?\s*(?:#.*)?)")
    places = [index for index, line in enumerate(lines) if re.search(rf"\b{name}=", line)]
    if len(places) == 1 and (match := sets.fullmatch(lines[places[0]])):
        lines = list(lines)
        lines[places[0]] = f"{match[1]}{wanted}{match[3]}"
        yield Fix(PROCESSES, f"set {name}, which --nproc-per-node takes, to {wanted}", "\n".join(lines))
