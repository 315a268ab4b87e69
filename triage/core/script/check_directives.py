"""Directives that sbatch ignores, refuses or overrides."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import chain, islice

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.allocation import count, gpu_request, is_time, minutes, node_count
from triage.core.script.case import Script, shown
from triage.core.script.directives import Directives, Stray, holds_variable
from triage.core.script.facts import Facts
from triage.core.script.holes import known
from triage.core.script.slurm_options import SBATCH_LONG, SBATCH_SHORT, SRUN_LONG, Option

_PLACEHOLDER = re.compile(r"<[^<>]*>?|[^<>]*>|\{\{?.*|.*\}\}?|\.\.\.|(?:YOUR|your)[_-].*|XX+|\?+|TODO.*")
_CAPITALS = re.compile(r"[A-Z]+(?:_[A-Z]+)*")
"""A placeholder where a number or an option is due (an account may well be called so)."""
_GIVEN_TWICE = (
    ("gpus-per-node", "gres"),
    ("mem", "mem-per-cpu"),
    ("mem", "mem-per-gpu"),
    ("mem-per-cpu", "mem-per-gpu"),
    ("requeue", "no-requeue"),
)
_PATTERNS = ("output", "error", "chdir", "job-name", "input")
_MOST = 20
_SHORT = 30
"""Minutes; a time limit below, written with one colon, may be meant as hours."""


def check_directives(script: Script, _: Facts) -> Iterator[Finding]:
    """All about the `#SBATCH` lines."""
    directives = script.directives
    generates = any(command.name == "sbatch" for command in script.commands)
    if not directives.options and (generates or not _is_shell(directives.shebang)):
        return
    if not directives.any:
        return
    yield from _file(directives)
    yield from _ignored(directives)
    for stray in [item for item in directives.strays if item.kind != "ignored"][:_MOST]:
        yield from _stray(stray)
    yield from islice(chain.from_iterable(map(_option, directives.options)), _MOST)
    yield from islice(_repeated(directives), _MOST)
    yield from _short_time(directives)
    if directives.components == 1:
        yield from _contradictions(directives)


def _is_shell(shebang: str) -> bool:
    return re.match(r"#!.*\b(?:ba|da|z|k)?sh\b", shebang) is not None


def _file(directives: Directives) -> Iterator[Finding]:
    if directives.dos:
        text = "the lines end in CR LF, and sbatch refuses a script with DOS line breaks: convert it with dos2unix"
        yield Finding(Severity.ERROR, "directives/dos", text, None, directives.first_line)
    if not directives.shebang.startswith("#!"):
        text = "sbatch refuses a script whose first line does not begin with #!: write #!/bin/bash there"
        yield Finding(Severity.ERROR, "directives/shebang", text, None, directives.first_line)


def _ignored(directives: Directives) -> Iterator[Finding]:
    """All directives behind the first command, as one finding."""
    strays = [item for item in directives.strays if item.kind == "ignored"]
    if not strays:
        return
    what = shown(strays[0].text)
    if len(strays) > 1:
        more = f" and {len(strays) - _MOST} more" if len(strays) > _MOST else ""
        what = f"those of lines {', '.join(str(item.line) for item in strays[:_MOST])}{more}"
    message = f"sbatch stops reading directives at the first command (line {directives.first_command}) and ignores {what}"
    yield Finding(Severity.WARNING, "directives/ignored", message, None, strays[0].line)


def _stray(stray: Stray) -> Iterator[Finding]:
    warn, line, text = Severity.WARNING, stray.line, shown(stray.text)
    match stray.kind:
        case "indented":
            message = f"#SBATCH must stand at the start of its line, so sbatch ignores {text}"
            yield Finding(warn, "directives/indented", message, None, line)
        case "not-a-directive" if re.match(r"\s*#+\s*SBATCH", stray.text):
            if re.match(r"#\s+SBATCH", stray.text):
                message = f"a comment to sbatch, because of the blank behind the #: {text}"
                yield Finding(Severity.INFO, "directives/comment", message, None, line)
        case "not-a-directive":
            message = f"sbatch reads only lines that begin with #SBATCH and ignores {text}"
            yield Finding(warn, "directives/misspelt", message, None, line)
        case "unmatched-quote":
            message = f"a quote is never closed, and sbatch refuses the script: {text}"
            yield Finding(Severity.ERROR, "directives/quote", message, None, line)
        case "colon":
            message = f"a word that begins with : makes sbatch refuse the script: {text}"
            yield Finding(Severity.ERROR, "directives/word", message, None, line)
        case "placeholder":
            yield _left(stray.text, line)
        case "no-option":
            if _PLACEHOLDER.fullmatch(stray.text) or _CAPITALS.fullmatch(stray.text):
                yield _left(stray.text, line)
            else:
                message = f"{text} is no option, and sbatch refuses the script (Invalid directive)"
                yield Finding(Severity.ERROR, "directives/word", message, None, line)


def _left(text: str, line: int) -> Finding:
    message = f"a placeholder is left to be filled in: {shown(text)}"
    return Finding(Severity.WARNING, "directives/placeholder", message, None, line)


def _option(option: Option) -> Iterator[Finding]:
    value = option.value.text if option.value is not None else None
    if not known(option.name) or (value is not None and not known(value)) or not option.name:
        return
    if not option.recognised:
        yield _unknown(option)
    elif option.missing:
        message = f"--{option.name} needs a value, and sbatch refuses the script"
        yield Finding(Severity.ERROR, "directives/value", message, None, option.line)
    elif value and _PLACEHOLDER.fullmatch(value) and option.name != "job-name":
        yield _left(value, option.line)
    elif value is not None and holds_variable(value):
        message = f"sbatch does not expand variables: --{option.name} is literally {shown(value)}; give it on the command line"
        yield Finding(Severity.WARNING, "directives/variable", message, None, option.line)
    elif value is not None and _unreadable(option.name, value) and _CAPITALS.fullmatch(value):
        yield _left(value, option.line)
    elif value is not None and _unreadable(option.name, value):
        message = f"{shown(value)} is no value of --{option.name}, and sbatch refuses the script"
        yield Finding(Severity.ERROR, "directives/value", message, None, option.line)


def _unreadable(name: str, value: str) -> bool:
    if name == "time":
        return not is_time(value)
    if name == "nodes":
        return re.fullmatch(r"\d+[kKmM]?(?:[-,:]\d+[kKmM]?)*", value.strip()) is None or value.strip() == "0"
    if name in ("ntasks", "ntasks-per-node", "cpus-per-task"):
        return re.fullmatch(r"\s*\d+\s*", value) is None
    return False


def _unknown(option: Option) -> Finding:
    name = option.name
    bare = name.lstrip("-")
    if name.startswith("--"):
        close = (
            difflib.get_close_matches(bare.replace("_", "-"), SBATCH_LONG, n=1, cutoff=0.75)
            if len(bare) < 40
            else []
        )
        hint = f"; did you mean --{close[0]}?" if close else ""
        if bare in SRUN_LONG:
            hint = "; it is an option of srun"
    else:
        hint = f"; did you mean --{option.name[1:]}?" if bare in SBATCH_LONG else ""
        if bare.lower() in SBATCH_SHORT:
            hint = f"; did you mean -{bare.lower()}?"
    message = (
        f"{shown(name)} is no option of sbatch{hint}; unless the site adds it, sbatch refuses the script"
    )
    return Finding(Severity.WARNING, "directives/unknown", message, None, option.line)


def _short_time(directives: Directives) -> Iterator[Finding]:
    """Slurm reads a time with one colon as minutes and seconds; many mean hours and minutes."""
    option = directives.get("time")
    text = _value(option).strip() if option is not None else ""
    time = minutes(text)
    if option is None or time is None or time >= _SHORT or re.fullmatch(r"\d+:\d\d?", text) is None:
        return
    first, second = map(int, text.split(":"))
    message = (
        f"--time={text} is {_amount(first, 'minute', second, 'second')};"
        f" {_amount(first, 'hour', second, 'minute')} is {first:02}:{second:02}:00"
    )
    yield Finding(Severity.WARNING, "directives/short-time", message, None, option.line)


def _amount(first: int, unit: str, second: int, smaller: str) -> str:
    parts = [f"{n} {name}{'s' * (n != 1)}" for n, name in ((first, unit), (second, smaller)) if n]
    return " ".join(parts) or f"0 {unit}s"


def _repeated(directives: Directives) -> Iterator[Finding]:
    first: dict[str, Option] = {}
    for option in directives.options:
        before = first.setdefault(option.name, option)
        old, new = _value(before), _value(option)
        if before is not option and option.recognised and old != new:
            message = (
                f"--{option.name} is given twice, {shown(old)} in line {before.line} and {shown(new)} here:"
                f" the last one counts"
            )
            yield Finding(Severity.WARNING, "directives/repeated", message, None, option.line)


def _value(option: Option) -> str:
    return option.value.text if option.value is not None else ""


def _contradictions(directives: Directives) -> Iterator[Finding]:
    given = {option.name: option for option in directives.options}
    for one, other in _GIVEN_TWICE:
        if one in given and other in given and _differ(given[one], given[other]):
            later = max(given[one], given[other], key=lambda item: item.line)
            message = f"--{one} and --{other} contradict each other"
            yield Finding(Severity.WARNING, "directives/contradiction", message, None, later.line)
    nodes = node_count(_value(given["nodes"])) if "nodes" in given else None
    per_node = count(_value(given["ntasks-per-node"])) if "ntasks-per-node" in given else None
    tasks = count(_value(given["ntasks"])) if "ntasks" in given else None
    if nodes and per_node and tasks and nodes * per_node != tasks:
        message = f"--ntasks={tasks} is not {nodes} nodes x {per_node} tasks per node = {nodes * per_node}"
        yield Finding(Severity.WARNING, "directives/contradiction", message, None, given["ntasks"].line)
    if nodes and "gpus" in given and ("gpus-per-node" in given or "gres" in given):
        total = gpu_request(_value(given["gpus"]), 0, gres=False)
        name = "gpus-per-node" if "gpus-per-node" in given else "gres"
        each = gpu_request(_value(given[name]), 0, gres=name == "gres")
        if total and each and each.count * nodes != total.count:
            message = f"--gpus={total.count} is not {nodes} nodes x {each.count} GPUs per node = {each.count * nodes}"
            yield Finding(Severity.WARNING, "directives/contradiction", message, None, given["gpus"].line)


def _differ(one: Option, other: Option) -> bool:
    """For `--gpus-per-node` and `--gres` only unequal numbers are a contradiction, for the others both at once."""
    if one.name != "gpus-per-node":
        return True
    first = gpu_request(_value(one), 0, gres=False)
    second = gpu_request(_value(other), 0, gres=True)
    return first is not None and second is not None and first.count != second.count
