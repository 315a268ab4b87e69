"""One simple command of the evaluator: assignments, builtins, wrappers, and what is left is recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from triage.core.script import builtins, tree
from triage.core.script.allocation import read_step
from triage.core.script.arithmetic import number
from triage.core.script.command import Command, Variable
from triage.core.script.conditions import condition
from triage.core.script.counting import count
from triage.core.script.holes import FIRST_HOST, OWN_HOST, Array, Table, Value, elements, flat, known
from triage.core.script.limits import LAUNCHES, WORDS, WRAPPERS
from triage.core.script.outputs import Asked, output
from triage.core.script.slurm_options import Option
from triage.core.script.splitting import separators
from triage.core.script.state import Field, State
from triage.core.script.wrappers import Wrapper, peel

if TYPE_CHECKING:
    from triage.core.script.flow import Flow

_TO_FILE = (">", ">>", ">|")
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_SILENT = frozenset({"mkdir", "cd", "rm", "cp", "mv", "touch", "ln", "chmod", "sleep", "wait", "ulimit", "trap", "module", "ml",
                     "conda", "mamba", "true", ":", "set", "shopt", "umask", "kill", "scancel", "shift", "tee"})  # fmt: skip
_MOST = LAUNCHES * 16
_EXPORTS = re.compile(r"([A-Za-z_]\w*)=([^,]*)", re.ASCII)


def simple(flow: Flow, node: tree.Simple, state: State) -> str:
    """Follows one simple command and gives what it prints."""
    fields = flow.expander.command(node.words, state)
    if len(fields) > WORDS:
        rest = Field(flow.holes.unknown("the command has too many words"), fields[WORDS].line, many=True)
        fields = [*fields[:WORDS], rest]
    prefix: dict[str, Variable] = {}
    for item in node.assignments:
        if fields:
            if not item.is_array:
                prefix[item.name] = Variable(flow.expander.text(item.value, state), item.line)  # type: ignore[arg-type]
        else:
            assign(flow, item, state)
    for item in node.arrays:
        if builtins.is_local(fields[0].text, fields[1:]):
            state.localize(item.name)
        assign(
            flow, item, state, table="A" in "".join(word.text for word in fields if word.text.startswith("-"))
        )
    given = state.input
    _redirect_input(flow, node, state)
    flow.status = True
    stored = any(item.operator in _TO_FILE and item.descriptor in ("", "1", "&") for item in node.redirects)
    flow.capturing += stored
    if fields:
        printed = command(flow, fields, state, prefix, node.line)
    else:
        printed = _read_file(flow, node, state)
    flow.capturing -= stored
    for redirect in node.redirects:
        if redirect.operator in (*_TO_FILE, ">&") and redirect.descriptor in ("", "1", "&"):
            if redirect.operator != ">&":
                _write(flow, redirect, printed, node, state)
            printed = "" if redirect.operator != ">&" else printed
    state.input = given
    return printed


def _read_file(flow: Flow, node: tree.Simple, state: State) -> str:
    """`$(<FILE)`: no command, and yet what the file holds."""
    if not flow.capturing or not any(item.operator == "<" for item in node.redirects):
        return ""
    return state.input or flow.holes.unknown("it is read from a file")


def assign(flow: Flow, item: tree.Assignment, state: State, *, table: bool = False) -> None:
    """`A=x`, `A+=x`, `A=(...)`, `A[i]=x`."""
    before = flow.expander.value(item.name, state) if item.append or item.index else None
    current = state.variables.get(item.name)
    if item.is_array:
        value = _array(flow, item, state, table=table or isinstance(current, dict))
        if item.append and not isinstance(value, dict):
            value = (*(elements(before) if before is not None else ()), *value)
        elif item.append and isinstance(before, dict):
            value = {**before, **value}  # type: ignore[dict-item]
        flow.budget.spend(len(value))
        state.assign(item.name, value, item.line)
        return
    text = flow.expander.text(item.value, state)  # type: ignore[arg-type]
    if item.index is not None:
        _assign_element(flow, item, text, before, state)
    elif item.append and isinstance(before, tuple):
        state.assign(item.name, (flow.expander.bounded(flat(before) + text), *before[1:]), item.line)
    elif item.append:
        state.assign(
            item.name, flow.expander.bounded(("" if before is None else flat(before)) + text), item.line
        )
    else:
        state.assign(item.name, text, item.line)


def _array(flow: Flow, item: tree.Assignment, state: State, *, table: bool) -> Array | Table:
    values: list[str] = []
    keyed: dict[str, str] = {}
    for key, word in item.value:  # type: ignore[misc]
        if key is not None:
            keyed[flow.expander.text(key, state)] = flow.expander.text(word, state)
        else:
            values += [field.text for field in flow.expander.fields((word,), state)]
    if keyed or table:
        return keyed
    return tuple(values)


def _assign_element(flow: Flow, item: tree.Assignment, text: str, before: Value | None, state: State) -> None:
    key = flow.expander.text(item.index or (), state)
    if not known(key):
        state.assign(item.name, flow.holes.unknown(f"an element of {item.name} that is not known"), item.line)
        return
    if isinstance(before, dict):
        state.assign(item.name, {**before, key: text}, item.line)
        flow.budget.spend(len(before))
        return
    values = list(elements(before)) if before is not None else []
    place = number(flow.expander.arithmetic(key, state, item.line))
    if place is None or not 0 <= place <= len(values):
        state.assign(item.name, {**dict(enumerate_text(values)), key: text}, item.line)
        return
    flow.budget.spend(len(values))
    state.assign(item.name, (*values[:place], text, *values[place + 1 :]), item.line)


def enumerate_text(values: Sequence[str]) -> list[tuple[str, str]]:
    return [(str(index), value) for index, value in enumerate(values)]


def _redirect_input(flow: Flow, node: tree.Simple, state: State) -> None:
    for redirect in node.redirects:
        if redirect.operator in ("<<", "<<<"):
            state.input = flow.expander.text(redirect.target, state)
        elif redirect.operator == "<":
            inner = redirect.target[0] if redirect.target else None
            if inner is not None and inner.kind == "process":
                state.input = flow.substitution(inner.text, state, inner.line)
            else:
                name = flow.expander.text(redirect.target, state)
                state.input = state.files.get(_path(name), ("", 0))[0]


def _write(flow: Flow, redirect: tree.Redirect, printed: str, node: tree.Simple, state: State) -> None:
    """Remembers a file that the script itself writes, to follow it when it is run."""
    path = _path(flow.expander.text(redirect.target, state))
    if not path or path == "/dev/null":
        return
    here = next((item.target for item in node.redirects if item.operator == "<<"), None)
    line = here[0].line if here else node.line
    if redirect.operator == ">>" and path in state.files:
        before, first = state.files[path]
        state.files[path] = (flow.expander.bounded(before + printed), first)
    elif redirect.operator != ">>":
        state.files[path] = (printed, line)


def _path(text: str) -> str:
    return text.removeprefix("./")


def command(flow: Flow, fields: Sequence[Field], state: State, prefix: dict[str, Variable], line: int) -> str:
    """A command with its words."""
    name, arguments = fields[0].text, fields[1:]
    flow.status = None
    if name in state.functions:
        return flow.call(state.functions[name], tuple(item.text for item in arguments), state)
    if name in ("[", "test", "[["):
        words = [item.text for item in arguments]
        words = words[:-1] if name == "[" and words[-1:] == ["]"] else words
        many = any(item.many for item in arguments) and name != "[["
        flow.status = None if many else condition(words, double=name == "[[")
        return ""
    if name in builtins.ENDS:
        state.dead = name
        return ""
    if (result := _builtin(flow, name, arguments, state, prefix, line)) is not None:
        return result
    peeled = peel(fields) if len(flow.wrappers) < WRAPPERS else None
    if peeled is not None:
        return _wrapped(flow, peeled[0], peeled[1], state, prefix, line)
    if name.rpartition("/")[2] in _SHELLS or _path(name) in state.files:
        return _shell(flow, fields, state, prefix, line)
    return _record(flow, fields, state, prefix, line)


def _builtin(
    flow: Flow,
    name: str,
    arguments: Sequence[Field],
    state: State,
    prefix: dict[str, Variable],
    line: int,
) -> str | None:
    """Follows a builtin; `None` where it is none."""
    flow.status = True
    match name:
        case "export" | "declare" | "local" | "readonly" | "typeset":
            builtins.declare(name, arguments, state, flow.holes)
        case "read":
            given = prefix.get("IFS")
            marks = separators(given.text if given is not None else state.variables.get("IFS"))
            builtins.read(arguments, state, flow.holes, marks)
            flow.status = None
        case "mapfile" | "readarray":
            builtins.read_lines(arguments, state, flow.holes)
        case "cd" | "pushd":
            builtins.change_directory(arguments, state, flow.holes)
            _record(flow, (Field(name, line), *arguments), state, {}, line)
        case "unset":
            builtins.unset(arguments, state)
        case "set":
            builtins.set_options(arguments, state)
        case "shift":
            builtins.shift(arguments, state)
        case "true" | ":":
            pass
        case "false":
            flow.status = False
        case "let":
            flow.status = count(" ".join(item.text for item in arguments), flow.expander, state, line)
        case "eval":
            return flow.text(" ".join(item.text for item in arguments), state, line)
        case "source" | ".":
            return _source(flow, arguments, state, line)
        case _:
            flow.status = None
            return None
    return ""


def _source(flow: Flow, arguments: Sequence[Field], state: State, line: int) -> str:
    path = _path(arguments[0].text) if arguments else ""
    if path in state.files:
        text, first = state.files[path]
        return flow.text(text, state, first)
    if builtins.activates(arguments):
        flow.activated = True
    else:
        state.opaque = True
    _record(flow, (Field("source", line), *arguments), state, {}, line)
    return ""


def _wrapped(
    flow: Flow, wrapper: Wrapper, rest: Sequence[Field], state: State, prefix: dict[str, Variable], line: int
) -> str:
    if not rest:
        return _record(flow, (Field(wrapper.name, line),), state, prefix, line)
    prefix = {**prefix, **_handed_over(wrapper)}
    outer = flow.wrappers
    flow.wrappers = (*outer, replace(wrapper, line=wrapper.line or line))
    if wrapper.name == "srun":
        flow.steps.append(read_step(wrapper.options, flow.job))
        flow.per_task.append(True)
    elif wrapper.name == "mpirun":
        flow.steps.append(None)
        flow.per_task.append(True)
    printed = command(flow, rest, state, prefix, line)
    if wrapper.name in ("srun", "mpirun"):
        flow.steps.pop()
        flow.per_task.pop()
    flow.wrappers = outer
    return printed


def _handed_over(wrapper: Wrapper) -> dict[str, Variable]:
    """Variables that the wrapper itself sets: `env A=1`, `srun --export=ALL,A=1`, `mpirun -x A=1`, `--env A=1`."""
    found: dict[str, Variable] = {}
    for word in wrapper.settings:
        name, _, value = word.text.partition("=")
        found[name] = Variable(value, word.line)
    for option in wrapper.options:
        if option.value is None:
            continue
        if option.name in ("export", "-x", "-e", "--env", "--env-file"):
            for name, value in _EXPORTS.findall(option.value.text):
                found[name] = Variable(value, option.line)
        elif option.name in ("-u", "--unset") and wrapper.name == "env":
            found[option.value.text] = Variable(None, option.line)
    return found


def _shell(flow: Flow, fields: Sequence[Field], state: State, prefix: dict[str, Variable], line: int) -> str:
    """`bash -c TEXT`, `bash FILE`, `./FILE` of which the text is known; else it is recorded."""
    name = _path(fields[0].text)
    position = 1
    text: tuple[str, int] | None = None
    if name in state.files:
        text = state.files[name]
    while text is None and position < len(fields) and fields[position].text[:1] in ("-", "+"):
        letters = fields[position].text
        position += 1
        if letters in ("-o", "-O", "+o", "--rcfile", "--init-file"):
            position += 1
        elif not letters.startswith("--") and "c" in letters and position < len(fields):
            text = (fields[position].text, fields[position].line)
            position += 2  # what follows the text is $0
            break
    if text is None and position < len(fields):
        text = state.files.get(_path(fields[position].text))
        position += 1
    if text is None:
        if position == 1 and state.input:
            text = (state.input, line)
        else:
            return _record(flow, fields, state, prefix, line)
    arguments = tuple(item.text for item in fields[position:])
    child = _child(state, prefix, arguments)
    flow.budget.spend(state.size)
    return flow.text(text[0], child, text[1])


def _child(state: State, prefix: dict[str, Variable], arguments: tuple[str, ...]) -> State:
    """A new shell process: it has what was exported, and its own arguments."""
    child = State(
        files=dict(state.files), arguments=arguments, directory=state.directory, opaque=state.opaque
    )
    for name in state.exported:
        if name in state.variables:
            child.variables[name] = state.variables[name]
            child.lines[name] = state.lines.get(name, 0)
    child.exported = set(state.exported)
    child.removed = set(state.removed)
    for name, item in prefix.items():
        if item.text is None:
            child.unset(name)
        else:
            child.assign(name, item.text, item.line)
            child.exported.add(name)
    return child


def _record(flow: Flow, fields: Sequence[Field], state: State, prefix: dict[str, Variable], line: int) -> str:
    """Notes a command that is none of the shell's own."""
    name = fields[0].text.rpartition("/")[2]
    if name in ("conda", "mamba", "micromamba", "module", "ml", "spack"):
        flow.activated = True
    if not flow.mute and not flow.substituting and len(flow.commands) < _MOST:
        flow.budget.spend(len(state.exported))
        flow.commands.append(_recorded(flow, fields, state, prefix, line))
    if not flow.capturing:
        return ""
    asked = Asked([name, *(item.text for item in fields[1:])], state.input, flow.per_task[-1], flow.outside)
    printed = output(asked)
    if printed is None and name in _SILENT:
        return ""
    if flow.wrappers and flow.wrappers[-1].name == "srun":
        printed = _of_step(flow, printed)
    return flow.holes.unknown(f"the output of {name[:40]}") if printed is None else printed


def _of_step(flow: Flow, printed: str | None) -> str | None:
    """What one task on the first host says of itself."""
    wrapper = flow.wrappers[-1]
    where: Option | None = wrapper.get("nodelist")
    first = where is not None and where.value is not None and where.value.text == FIRST_HOST
    single = wrapper.get("ntasks") is not None and flow.steps[-1] is not None and flow.steps[-1].tasks == 1
    if printed == OWN_HOST and (first or (single and where is None)):
        return FIRST_HOST
    return printed


def _recorded(
    flow: Flow, fields: Sequence[Field], state: State, prefix: dict[str, Variable], line: int
) -> Command:
    environment: dict[str, Variable] = {}
    for name in state.exported:
        value = state.variables.get(name)
        if value is not None:
            environment[name] = Variable(flat(value), state.lines.get(name, line))
    for name in state.removed:
        environment.setdefault(name, Variable(None, line))
    environment |= prefix
    return Command(
        tuple(fields),
        line,
        flow.wrappers,
        environment,
        certain=flow.guesses == 0,
        repeated=flow.loops > 0,
        background=flow.background > 0,
        directory=state.directory,
        opaque=state.opaque,
        activated=flow.activated,
    )
