"""Finds what a script trains with, and says it as a `Launch`, the input of Megatron's own checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from triage.core.megatron.launch import UNKNOWN, Argument, Framework, Launch, Setting, Value, Word, arguments
from triage.core.script.allocation import Allocation, count, read_step
from triage.core.script.command import Command
from triage.core.script.holes import PLACES, Holes, known, symbols
from triage.core.script.launchers import NAMES, Launcher, Started, read_command
from triage.core.script.limits import LAUNCHES
from triage.core.script.state import Field
from triage.core.values import dataclass, replace

_MEGATRON = re.compile(
    r"(?:pretrain|finetune|train)_(?:gpt|bert|t5|mamba|hybrid|vlm|retro|ict|vision|mimo|biencoder)\w*\.py"
)
_OPTION = re.compile(r"(--[A-Za-z][\w.-]*)=(.*)", re.DOTALL | re.ASCII)

_NO_WRAPPERS = frozenset(
    [
        "echo",
        "printf",
        "which",
        "pip",
        "pip3",
        "grep",
        "sed",
        "cat",
        "ls",
        "kill",
        "pkill",
        "conda",
        "git",
        "tee",
        "rm",
        "cp",
        "mv",
        "man",
        "sbatch",
        "scancel",
        "type",
        "ps",
        "pgrep",
        "killall",
        "module",
        "cd",
        "source",
        "uv",
    ]
)
_MOST_WRAPPED = 24


@dataclass(frozen=True, slots=True)
class Run:
    """A program that is started on the GPUs of the job."""

    launch: Launch
    started: Started
    command: Command
    step: Allocation
    """What its srun gets; that of the job where there is no srun."""
    in_step: bool
    place: int = 0
    """The place of its command among all of the script."""
    variants: tuple[Launch, ...] = ()
    """The launch in each of a few branches that leave its words different; empty where none does."""

    @property
    def line(self) -> int:
        return self.started.line

    def number(self, *names: str) -> int | None:
        """A launcher's flag as a number; `None` where it is not given or not known."""
        flag = self.flag(*names)
        return count(flag.text) if flag is not None and known(flag.text) else None

    def flag(self, *names: str) -> Field | None:
        """The value of a launcher's flag."""
        found = (self.started.flags.get(name) for name in names)
        return next((item.value for item in found if item is not None), None)

    def has(self, *names: str) -> bool:
        return any(name in self.started.flags for name in names)

    def flag_line(self, *names: str) -> int:
        """Where a flag stands, else where the launcher does."""
        found = (self.started.flags.get(name) for name in names)
        return next((item.line for item in found if item is not None), self.line)


def find_runs(commands: Iterable[Command], job: Allocation, holes: Holes) -> Iterator[Run]:
    """Every training program of a script, in order. A Python program on its own (no launcher, no srun) is none."""
    found = 0
    for number, command in enumerate(commands):
        started = read_command(command.words) or _behind(command)
        if started is None or found >= LAUNCHES:
            continue
        srun = command.wrapper("srun")
        if started.launcher is Launcher.PYTHON and srun is None and command.wrapper("mpirun") is None:
            continue
        step = read_step(srun.options, job) if srun is not None else _mpi_step(command, job)
        found += 1
        in_step = srun is not None
        launch = _launch(started, command, step, job, in_step=in_step)
        variants = tuple(
            _launch(again, variant, step, job, in_step=in_step)
            for variant in _variants(command, holes)
            if (again := read_command(variant.words) or _behind(variant)) is not None
        )
        yield Run(launch, started, command, step, in_step, number, variants)


def _mpi_step(command: Command, job: Allocation) -> Allocation:
    """What `mpirun -np N` starts on the nodes of the job."""
    mpirun = command.wrapper("mpirun")
    option = mpirun.get("-np", "--np", "-n", "--n") if mpirun is not None else None
    tasks = count(option.value.text) if option is not None and option.value is not None else None
    if option is None or tasks is None:
        return job
    each = tasks // job.nodes if job.nodes and tasks % job.nodes == 0 else None
    return replace(job, tasks=tasks, tasks_per_node=each, tasks_line=option.line)


def _variants(command: Command, holes: Holes) -> Iterator[Command]:
    """The command as each of the undecided branches before it would leave it."""
    texts = [item.text for item in command.words]
    texts += [item.text for item in command.environment.values() if item.text is not None]
    number = max((_branches(text, holes) for text in texts), default=0)
    for branch in range(number):
        words: list[Field] = []
        for item in command.words:
            text = item.text if known(item.text) else holes.chosen(item.text, branch)
            if text == item.text or not item.many:
                words.append(replace(item, text=text))
            else:
                words += [Field(piece, item.line, many=not known(piece)) for piece in text.split()]
        environment = {
            name: replace(item, text=holes.chosen(item.text, branch)) if item.text is not None else item
            for name, item in command.environment.items()
        }
        yield replace(command, words=tuple(words), environment=environment)


def _branches(text: str, holes: Holes) -> int:
    """How many ways an undecided branch leaves a text."""
    if known(text):
        return 0
    return max((len(holes.choices(mark)) for mark in symbols(text)), default=0)


def _behind(command: Command) -> Started | None:
    """A launcher behind a program of the site's own (`./numa-wrapper torchrun ...`, `$PROFILER torchrun ...`)."""
    if not command.words or command.name in _NO_WRAPPERS:
        return None
    own = command.words[0].text
    if not command.wrappers and "/" not in own and not own.endswith(".sh") and known(own):
        return None
    for index, word in enumerate(command.words[1:_MOST_WRAPPED], 1):
        before = command.words[index - 1].text
        if before.startswith("--") and before != "--" and "=" not in before:
            continue
        name = word.text.rpartition("/")[2]
        following = [item.text for item in command.words[index + 1 : index + 4]]
        if name in NAMES or name == "accelerate" or (name.startswith("python") and "-m" in following):
            found = read_command(command.words[index:])
            return found if found is not None and found.launcher is not Launcher.PYTHON else None
        if name.endswith(".py") and command.name.endswith(".sh") and command.wrapper("srun"):
            return Started(Launcher.PYTHON, {}, True, word, command.words[index + 1 :], False, word.line)
    return None


def _launch(
    started: Started, command: Command, step: Allocation, job: Allocation, *, in_step: bool
) -> Launch:
    nodes, nodes_line = _nodes(started, step, job, in_step=in_step)
    gpus, gpus_line = _processes(started, step)
    program = started.program
    name = _program(program)
    return Launch(
        nodes=nodes,
        gpus_per_node=gpus,
        gpu=step.gpu or job.gpu,
        args=arguments(_words(started.arguments)),
        env={name: Setting(_value(item.text), item.line) for name, item in command.environment.items()},
        env_complete=not (command.opaque or command.container or _pyxis(command)),
        framework=Framework.MEGATRON
        if name and _MEGATRON.fullmatch(name.rpartition("/")[2])
        else Framework.UNKNOWN,
        program=name,
        nodes_line=nodes_line,
        gpus_line=gpus_line,
        gpu_line=step.gpu_line or job.gpu_line,
        program_line=program.line if program is not None else None,
    )


def _program(program: Field | None) -> str | None:
    """The program as it is written; of one in a folder that is not known, its name."""
    if program is None:
        return None
    name = program.text if known(program.text) else program.text.rpartition("/")[2]
    return name if name and known(name) else None


def _pyxis(command: Command) -> bool:
    srun = command.wrapper("srun")
    return srun is not None and srun.get("container-image", "container-name", "environment") is not None


def _value(text: str | None) -> Value | None:
    return text if text is None or known(text) else UNKNOWN


def _words(fields: Iterable[Field]) -> Iterator[Word]:
    """Words for `arguments`; `--name=HOLE` keeps its name."""
    for item in fields:
        match = None if known(item.text) else _OPTION.fullmatch(item.text)
        if match is not None:
            yield Word(match[1], item.line)
            yield Word(UNKNOWN, item.line)
        else:
            yield Word(item.text if known(item.text) else UNKNOWN, item.line, item.many)


def _flag(started: Started, *names: str) -> tuple[str | None, int]:
    for name in names:
        if (flag := started.flags.get(name)) is not None and flag.value is not None:
            return flag.value.text, flag.line
    return None, started.line


def _nodes(
    started: Started, step: Allocation, job: Allocation, *, in_step: bool
) -> tuple[int | None, int | None]:
    """Nodes of the worker group."""
    match started.launcher:
        case Launcher.TORCHRUN:
            text, line = _flag(started, "nnodes")
            if "standalone" in started.flags or (text is None and started.complete):
                return 1, line
            low, _, high = (text or "").partition(":")
            return (count(low) if not high or low == high else None), line
        case Launcher.DEEPSPEED:
            text, line = _flag(started, "num_nodes")
            return (count(text), line) if text is not None else (None, line)
        case Launcher.ACCELERATE:
            text, line = _flag(started, "num_machines")
            return (count(text), line) if text is not None else (None, line)
        case Launcher.PYTHON:
            return (step.nodes, step.nodes_line) if in_step or step is not job else (None, job.nodes_line)


def _processes(started: Started, step: Allocation) -> tuple[int | None, int | None]:
    """Processes on each node."""
    match started.launcher:
        case Launcher.TORCHRUN:
            text, line = _flag(started, "nproc_per_node")
            if text is None:
                return (1 if started.complete else None), line
            return (step.gpus_per_node if text in ("gpu", "auto") else count(text)), line
        case Launcher.DEEPSPEED:
            text, line = _flag(started, "num_gpus")
            return (count(text), line) if text is not None else (None, line)
        case Launcher.ACCELERATE:
            total, line = _flag(started, "num_processes")
            nodes, _ = _flag(started, "num_machines")
            processes, machines = count(total), count(nodes)
            machines = machines or (1 if step.nodes == 1 else None)
            if processes and machines and processes % machines == 0:
                return processes // machines, line
            return None, line
        case Launcher.PYTHON:
            return _tasks(step)


def _tasks(step: Allocation) -> tuple[int | None, int | None]:
    """One process per task; a single task may start others itself (NeMo, Lightning)."""
    if step.tasks_per_node is None or (step.tasks_per_node == 1 and step.gpus_per_node != 1):
        return None, step.tasks_line
    return step.tasks_per_node, step.tasks_line


def unresolved(run: Run, holes: Holes) -> dict[str, str]:
    """Options whose value is not known, with the reason."""
    found: dict[str, str] = {}
    srun = run.command.wrapper("srun")
    for option in srun.options if srun is not None else ():
        if not option.name and option.value is not None:
            found["the options of srun"] = holes.reason(option.value.text)
    words = run.started.arguments
    for index, item in enumerate(words):
        if known(item.text) or all(mark in PLACES or holes.choices(mark) for mark in symbols(item.text)):
            continue
        before = (
            words[index - 1].text if index and words[index - 1].text.startswith("--") else "the arguments"
        )
        match = _OPTION.fullmatch(item.text)
        found.setdefault(match[1] if match else before, holes.reason(item.text))
    return found


def located(args: tuple[Argument, ...], lines: dict[str, list[int]]) -> tuple[Argument, ...]:
    """Options with the line in which each is written, rather than that of the variable it came through."""
    found = []
    for item in args:
        places = lines.get(item.name or "", [])
        if len(places) == 1:
            item = Argument(item.name, item.values, places[0])
        elif places and item.line is not None:
            after = [place for place in places if place >= item.line]
            item = Argument(item.name, item.values, after[0] if after else places[-1])
        found.append(item)
    return tuple(found)
