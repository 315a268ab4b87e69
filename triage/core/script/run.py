"""One simple command of the evaluator: assignments, builtins, wrappers, and what is left is recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from triage.core.script import builtins, streams, tree
from triage.core.script.allocation import read_step
from triage.core.script.assigning import assign
from triage.core.script.command import Command, Variable
from triage.core.script.conditions import condition
from triage.core.script.counting import count
from triage.core.script.holes import FIRST_HOST, OWN_HOST, flat
from triage.core.script.limits import LAUNCHES, SUBMISSIONS, WORDS, WRAPPERS
from triage.core.script.outputs import Asked, output
from triage.core.script.slurm_options import Option
from triage.core.script.slurm_variables import handed_over
from triage.core.script.splitting import separators
from triage.core.script.state import Field, State, plain_path
from triage.core.script.submissions import submissions
from triage.core.script.wrappers import Wrapper, peel
from triage.core.values import replace

if TYPE_CHECKING:
    from triage.core.script.flow import Flow

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
            assign(flow.expander, item, state)
    for item in node.arrays:
        if builtins.is_local(fields[0].text, fields[1:]):
            state.localize(item.name)
        assign(flow.expander, item, state, table="A" in builtins.flags(fields))
    given = state.input
    line = state.input_line
    streams.redirect_input(flow, node.redirects, state)
    flow.status = True
    stored = streams.stored(node.redirects)
    flow.capturing += stored
    outputs = streams.outputs(flow, node.redirects, state)
    flow.outputs += outputs
    if fields:
        printed = command(flow, fields, state, prefix, node.line)
    else:
        printed = _read_file(flow, node, state)
    flow.capturing -= stored
    del flow.outputs[len(flow.outputs) - len(outputs) :]
    flow.printed_line = streams.here_line(node.redirects) or node.line
    printed = streams.redirect_output(flow, node.redirects, printed, state)
    state.input, state.input_line = given, line
    return printed


def _read_file(flow: Flow, node: tree.Simple, state: State) -> str:
    """`$(<FILE)`: no command, and yet what the file holds."""
    if not flow.capturing or not any(item.operator == "<" for item in node.redirects):
        return ""
    return state.input or flow.holes.unknown("it is read from a file")


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
    if name.rpartition("/")[2] in _SHELLS or plain_path(name) in state.files:
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
            builtins.declare(name, arguments, state, flow.expander)
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
            builtins.unset(arguments, state, flow.expander)
        case "printf" if arguments[:1] and arguments[0].text.startswith("-v"):
            builtins.print_to(arguments, state, flow.expander)
        case "set":
            builtins.set_options(arguments, state)
        case "shift":
            builtins.shift(arguments, state)
        case "getopts":
            flow.status = False if state.arguments == () and len(arguments) < 3 else None
        case "true" | ":":
            pass
        case "false":
            flow.status = False
        case "let":
            for item in arguments:
                flow.status = count(item.text, flow.expander, state, item.line)
        case "eval":
            return flow.text(" ".join(item.text for item in arguments), state, line)
        case "source" | ".":
            return _source(flow, arguments, state, line)
        case _:
            flow.status = None
            return None
    return ""


def _source(flow: Flow, arguments: Sequence[Field], state: State, line: int) -> str:
    path = plain_path(arguments[0].text) if arguments else ""
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
        state, lost = _handed_to_tasks(wrapper, flow, state)
        flow.lost.append(lost)
        flow.steps.append(read_step(wrapper.options, flow.job))
        flow.per_task.append(True)
    elif wrapper.name == "mpirun":
        flow.steps.append(None)
        flow.per_task.append(True)
    printed = command(flow, rest, state, prefix, line)
    if wrapper.name == "srun":
        flow.lost.pop()
    if wrapper.name in ("srun", "mpirun"):
        flow.steps.pop()
        flow.per_task.pop()
    flow.wrappers = outer
    return printed


def _handed_to_tasks(wrapper: Wrapper, flow: Flow, state: State) -> tuple[State, tuple[str, ...]]:
    """The state that the tasks of an srun see, and the variables that its `--export` keeps from them."""
    option = wrapper.get("export")
    wanted = option.value.text if option is not None and option.value is not None else None
    if wanted is None:
        set_here = state.variables.get("SLURM_EXPORT_ENV")
        unset = "SLURM_EXPORT_ENV" in state.removed
        wanted = flat(set_here) if set_here is not None else "ALL" if unset else flow.job.export
    kept = handed_over(wanted)
    lost = sorted(state.exported - kept) if kept is not None else []
    if not lost:
        return state, ()
    inner = state.copy()
    flow.budget.spend(state.size)
    for name in lost:
        inner.unset(name)
    return inner, tuple(lost)


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
    name = plain_path(fields[0].text)
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
        text = state.files.get(plain_path(fields[position].text))
        position += 1 if text is not None else 0
    if text is None:
        if position == len(fields) and state.input:
            text = (state.input, state.input_line or line)
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
    child.functions = {name: body for name, body in state.functions.items() if name in state.exported}
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
    if name == "tee":
        streams.tee(flow, fields[1:], state, line)
    if not flow.mute and (name == "sbatch" or not flow.substituting) and len(flow.commands) < _MOST:
        flow.budget.spend(len(state.exported))
        recorded = _recorded(flow, fields, state, prefix, line)
        if name == "sbatch" and len(flow.submissions) < SUBMISSIONS:
            flow.submissions += submissions(recorded, state, flow.commands)
        if not flow.substituting:
            flow.commands.append(recorded)
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
        way=flow.way,
        repeated=flow.loops > 0,
        background=flow.background > 0,
        lost=flow.lost[-1] if flow.lost else (),
        outputs=tuple(flow.outputs),
        directory=state.directory,
        opaque=state.opaque,
        activated=flow.activated,
    )
