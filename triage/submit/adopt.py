"""An existing batch script to the values of a configuration. What the script's text does not tell becomes a note."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator
from dataclasses import field

from triage.core.megatron.connections import NAME as CONNECTIONS
from triage.core.megatron.launch import Framework
from triage.core.script.case import Script
from triage.core.script.directives import Directives
from triage.core.script.holes import known
from triage.core.script.launchers import Launcher as Starter
from triage.core.script.launches import Run
from triage.core.values import dataclass
from triage.submit.config import ContainerKind, Launcher
from triage.submit.keys import BY_NAME
from triage.submit.template import argument_lines
from triage.submit.values import Wrong, as_value, is_own_variable

Value = str | int | tuple[str, ...]
_TEXTS = {
    "job-name": "job.name", "account": "job.account", "partition": "job.partition", "time": "job.time",
    "qos": "job.qos", "constraint": "job.constraint", "reservation": "job.reservation",
}  # fmt: skip
_OTHERWISE = frozenset({
    *_TEXTS, "nodes", "ntasks", "ntasks-per-node", "gres", "gpus", "gpus-per-node", "output", "error", "open-mode",
    "chdir", "comment", "parsable", "wait",
})  # fmt: skip
"""Options that have a key of their own or that the written script decides."""


_SETUP = frozenset({"module", "ml", "source", ".", "conda", "micromamba", "spack", "ulimit"})
"""Commands that prepare the shell they run in."""


@dataclass(slots=True)
class Adopted:
    """What was found."""

    values: dict[str, Value] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Sentences on what could not be taken over, each with the script's line."""

    def take(self, name: str, value: Value | None, line: int | None) -> None:
        """A value if it is one that the key may have."""
        if value is None:
            return
        try:
            self.values[name] = as_value(BY_NAME[name], None, value)
        except Wrong as wrong:
            self.note(line, f"{name} {wrong}")

    def note(self, line: int | None, text: str) -> None:
        place = "" if line is None else f"line {line}: "
        self.notes.append(f"{place}{text}")


def adopt(script: Script) -> Adopted:
    """Reads the first training of the script, Megatron-LM's before others'."""
    found = Adopted()
    _directives(script, found)
    runs = sorted(script.runs, key=lambda run: run.launch.framework is not Framework.MEGATRON)
    if not runs:
        found.note(None, "no training command was found: write command and arguments yourself")
        return found
    if len(runs) > 1:
        found.note(runs[1].line, "another training command was left out: a configuration is one run")
    _launch(script, runs[0], found)
    return found


def _directives(script: Script, found: Adopted) -> None:
    directives, job = script.directives, script.allocation
    for name, key in _TEXTS.items():
        found.take(key, directives.text(name), _line_of(directives, name))
    found.take("job.nodes", job.nodes, job.nodes_line)
    found.take("job.gpus_per_node", job.gpus_per_node, job.gpus_line)
    found.take("gpu", job.gpu, job.gpu_line)
    options: list[str] = []
    for option in directives.options:
        if option.name in _OTHERWISE or not option.recognised:
            continue
        word = f"--{option.name}" if option.value is None else f"--{option.name}={option.value.text}"
        try:
            as_value(BY_NAME["job.options"], None, [word])
            options.append(word)
        except Wrong as wrong:
            found.note(option.line, f"job.options {wrong}")
    if options:
        found.values["job.options"] = tuple(options)
    folder = posixpath.dirname(directives.text("output") or "")
    if folder and "%" not in folder:
        found.take("logs", folder, _line_of(directives, "output"))


def _line_of(directives: Directives, name: str) -> int | None:
    option = directives.get(name)
    return option.line if option is not None else None


def _launch(script: Script, run: Run, found: Adopted) -> None:
    place = run.command.directory or script.text("chdir") or ""
    if place and known(place):
        found.take("worktree", place, run.line)
    else:
        found.note(run.line, "the worktree is not told: the script runs where sbatch is called")
    program = run.launch.program
    if program is not None:
        module = "module" in run.started.flags or not program.endswith(".py")
        found.take("command", f"-m {program}" if module else program, run.launch.program_line)
    found.take("arguments", tuple(_arguments(run, found)), run.line)
    _setup(script, run, found)
    found.values["launcher"] = _launcher(run).value
    port = run.number("master_port")
    if port is not None:
        found.take("master_port", port, run.flag_line("master_port"))
    if run.started.launcher is not Starter.TORCHRUN:
        found.note(run.line, f"it is started by {run.started.launcher.value}: torchrun takes its place")
    _container(run, found)
    for name, text in _variables(run):
        if text is None:
            found.note(
                run.command.environment[name].line, f"{name} is known only when the job runs: left out"
            )
        else:
            found.environment[name] = text


def _setup(script: Script, run: Run, found: Adopted) -> None:
    """What the script sources and loads before it launches."""
    lines: list[str] = []
    for command in script.commands:
        if command.name not in _SETUP or command.wrappers or command.line > run.line:
            continue
        if all(known(word.text) for word in command.words):
            lines.append(shlex.join(word.text for word in command.words))
        else:
            found.note(
                command.line, f"{command.name} of something that is known only when the job runs: left out"
            )
    if lines:
        found.take("hooks.setup", tuple(dict.fromkeys(lines)), run.line)


def _arguments(run: Run, found: Adopted) -> Iterator[str]:
    """Those that are known; an option goes with its values, one of which is not."""
    for words in argument_lines(run.started.arguments, lambda word: word.text):
        if all(known(word.text) for word in words):
            yield from (word.text for word in words)
            continue
        name = words[0].text if known(words[0].text) else "an argument"
        found.note(words[0].line, f"{name} is known only when the job runs: left out")


def _launcher(run: Run) -> Launcher:
    """The script's own, also against a rule that `triage check` tells; another one becomes torchrun."""
    if run.command.wrapper("uv") is not None:
        return Launcher.UV
    if run.started.launcher is Starter.TORCHRUN:
        return Launcher.PYTHON if run.started.module else Launcher.TORCHRUN
    contained = run.command.container is not None or _pyxis(run) is not None
    return Launcher.PYTHON if contained or run.command.activated else Launcher.UV


def _pyxis(run: Run) -> str | None:
    srun = run.command.wrapper("srun")
    image = srun.get("container-image") if srun is not None else None
    return image.value.text if image is not None and image.value is not None else None


def _container(run: Run, found: Adopted) -> None:
    image, inner = _pyxis(run), run.command.container
    if image is not None:
        found.values["container.kind"] = ContainerKind.PYXIS.value
        if known(image):
            found.take("container.image", image, run.line)
        else:
            found.values["container.image"] = "IMAGE"
            found.note(
                run.line,
                "the container's image is known only when the job runs: write container.image yourself",
            )
        srun = run.command.wrapper("srun")
        mounts = srun.get("container-mounts") if srun is not None else None
        if mounts is not None and mounts.value is not None and known(mounts.value.text):
            found.take("container.mounts", tuple(mounts.value.text.split(",")), mounts.line)
    elif inner is not None:
        found.note(inner.line, "the container was left out: write the table [container] yourself")


def _variables(run: Run) -> Iterator[tuple[str, str | None]]:
    """What the script exports for the run; CUDA_DEVICE_MAX_CONNECTIONS is decided by the arguments instead."""
    for name, variable in run.command.environment.items():
        if name == CONNECTIONS or variable.text is None or is_own_variable(name):
            continue
        yield name, variable.text if known(variable.text) else None
