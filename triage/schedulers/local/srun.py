"""The local `srun`: one process per task on this machine, with the variables, files, labels and messages of Slurm's.

Messages as in SchedMD/slurm src/plugins/launch/slurm/launch_slurm.c, labels as in src/common/write_labelled_message.c.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import IO

from triage.core.events.ranges import expand_hosts
from triage.core.script.allocation import count, node_count
from triage.core.script.slurm_options import PLUGINS, SRUN_LONG, SRUN_SHORT, Option, read_options, text_of
from triage.core.script.state import Field
from triage.core.values import dataclass
from triage.schedulers.local.variables import file_name, is_per_task, spread, step_variables

_KILL_WAIT = 5.0
_USAGE = 1
_BAD_OPTION = 255


class Wrong(Exception):
    """The step cannot be run; the message is what srun prints."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one call of srun asks for."""

    command: tuple[str, ...]
    nodes: tuple[str, ...]
    per_node: tuple[int, ...]
    label: bool = False
    kill_on_bad_exit: bool = False
    output: str | None = None
    error: str | None = None
    append: bool = False
    folder: str | None = None
    export: str | None = None

    @property
    def tasks(self) -> int:
        return sum(self.per_node)


def read_step_command(words: Sequence[str], environment: Mapping[str, str]) -> Step:
    """Pure. Options that only place or limit processes mean nothing on one machine and are passed over."""
    options, position = read_options([Field(word, 0) for word in words], SRUN_LONG, SRUN_SHORT)
    given = {option.name: option for option in options}
    for option in options:
        if not option.recognised:
            raise Wrong(f"srun: unrecognized option '{option.name}'")
        if option.name in PLUGINS:
            raise Wrong(f"srun: error: --{option.name} needs Slurm with pyxis: this job runs without Slurm")
    command = tuple(words[position:])
    if not command:
        raise Wrong("srun: fatal: No command given to execute.")
    nodes = expand_hosts(environment.get("SLURM_JOB_NODELIST", "")) or ("localhost",)
    chosen = expand_hosts(text_of(given, "nodelist"))
    missing = [name for name in chosen if name not in nodes]
    if missing:
        raise Wrong(
            f"srun: error: Unable to create step for job: Requested node {missing[0]} is not in the allocation"
        )
    nodes = chosen or nodes
    asked = _number(given, "nodes", node_count)
    if asked is not None and asked > len(nodes):
        raise Wrong(f"srun: error: Only allocated {len(nodes)} nodes asked for {asked}")
    nodes = nodes[: asked or len(nodes)]
    tasks = _tasks(given, nodes, environment, narrowed=asked is not None or bool(chosen))
    per_node = tuple(spread(tasks, len(nodes)))
    bad_exit = given.get("kill-on-bad-exit")
    kill = (
        text_of(given, "kill-on-bad-exit") != "0"
        if bad_exit
        else environment.get("SLURM_KILL_BAD_EXIT") == "1"
    )
    return Step(
        command, nodes[: len(per_node)], per_node, "label" in given, kill, text_of(given, "output") or None,
        text_of(given, "error") or None, text_of(given, "open-mode").startswith("a"), text_of(given, "chdir") or None,
        text_of(given, "export") or environment.get("SLURM_EXPORT_ENV"),
    )  # fmt: skip


def _tasks(
    given: Mapping[str, Option], nodes: Sequence[str], environment: Mapping[str, str], *, narrowed: bool
) -> int:
    if tasks := _number(given, "ntasks", count):
        return tasks
    if per_node := _number(given, "ntasks-per-node", count):
        return per_node * len(nodes)
    if not narrowed and (tasks := count(environment.get("SLURM_NTASKS"))):
        return tasks
    return (count(environment.get("SLURM_NTASKS_PER_NODE")) or 1) * len(nodes)


def _number(given: Mapping[str, Option], name: str, read: Callable[[str], int | None]) -> int | None:
    text = text_of(given, name)
    if not text:
        return None
    found = read(text)
    if found is None:
        raise Wrong(f'srun: error: Invalid numeric value "{text}" for --{name}.')
    return found


def exported(environment: Mapping[str, str], rule: str | None) -> dict[str, str]:
    """`--export`: ALL, NONE, or names and assignments; Slurm's own variables always pass."""
    parts = [part for part in (rule or "ALL").split(",") if part]
    everything = "ALL" in parts
    found = {
        name: value
        for name, value in environment.items()
        if everything or name.startswith("SLURM") or name in parts or name == "PATH"
    }
    found.update(dict(part.split("=", 1) for part in parts if "=" in part))
    return found


@dataclass(slots=True)
class _Task:
    number: int
    node: str
    process: subprocess.Popen[bytes]
    pumps: list[threading.Thread] = field(default_factory=list)
    told: bool = False


class _Stop:
    """The signal that srun itself got; it goes on to the tasks."""

    def __init__(self) -> None:
        self.number: signal.Signals | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: object) -> None:
        self.number = signal.Signals(number)


def main(folder: str, words: list[str]) -> int:
    """`srun ARGUMENTS` in the job of that folder; the highest exit code of its tasks."""
    try:
        step = read_step_command(words, os.environ)
    except Wrong as error:
        print(error, file=sys.stderr)
        return _BAD_OPTION if "unrecognized" in str(error) else _USAGE
    number = _next_step(Path(folder))
    stop = _Stop()
    with _standard_input() as source:
        try:
            tasks = _start(step, number, source)
        except OSError as error:
            print(f"srun: error: {error.filename or 'srun'}: {error.strerror}", file=sys.stderr)
            return _USAGE
        _watch(step, number, tasks, stop)
    for task in tasks:
        for pump in task.pumps:
            pump.join(timeout=2)
    _let_go_of_output()
    codes = [task.process.returncode for task in tasks]
    return max(code if code >= 0 else 128 - code for code in codes)


def _let_go_of_output() -> None:
    """What a closed pipe does not take any more is no error at the interpreter's end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _next_step(folder: Path) -> int:
    (folder / "steps").mkdir(exist_ok=True)
    for number in range(1_000_000):
        with contextlib.suppress(FileExistsError):
            (folder / "steps" / str(number)).mkdir()
            return number
    raise OverflowError("too many steps")


@contextlib.contextmanager
def _standard_input() -> Iterator[str | None]:
    """Slurm gives every task the whole input; `None` where there is none to give."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        mode = 0
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        yield None
        return
    with tempfile.NamedTemporaryFile() as file:
        with contextlib.suppress(OSError):
            shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file.name


def _start(step: Step, number: int, source: str | None) -> list[_Task]:
    base = exported(os.environ, step.export)
    width = len(str(step.tasks - 1))
    shared: dict[str, IO[bytes]] = {}
    tasks: list[_Task] = []
    for index in range(step.tasks):
        own = step_variables(number, index, step.nodes, step.per_node)
        environment = {**base, **own}
        out = _target(step.output, step, environment, shared)
        err = _target(step.error, step, environment, shared) if step.error else out
        prefix = f"{index:>{width}}: ".encode() if step.label else b""
        with open(source or os.devnull, "rb") as given:
            task = _spawn(step, environment, given, out, err, prefix)
        task.number, task.node = index, own["SLURMD_NODENAME"]
        tasks.append(task)
    return tasks


def _target(
    pattern: str | None, step: Step, environment: Mapping[str, str], shared: dict[str, IO[bytes]]
) -> IO[bytes] | None:
    """The file that a pattern names; `None` is srun's own output."""
    if pattern is None or pattern in ("none", "all"):
        return None
    name = file_name(pattern, environment)
    if name not in shared:
        path = Path(step.folder or ".") / name if is_per_task(pattern) else Path(name)
        shared[name] = open(path, "ab" if step.append else "wb", buffering=0)  # noqa: SIM115 (as long as the step)
    return shared[name]


def _spawn(
    step: Step,
    environment: dict[str, str],
    source: IO[bytes],
    out: IO[bytes] | None,
    err: IO[bytes] | None,
    prefix: bytes,
) -> _Task:
    pipe = bool(prefix)
    program = step.command
    if shutil.which(program[0], path=environment.get("PATH")) is None:
        missing = f"slurmstepd: error: execve(): {program[0]}: No such file or directory"
        program = ("/bin/sh", "-c", 'printf "%s\\n" "$1" >&2; exit 2', "sh", missing)
    process = subprocess.Popen(
        program, env=environment, cwd=step.folder, process_group=0,
        stdin=source,
        stdout=subprocess.PIPE if pipe else out, stderr=subprocess.PIPE if pipe else err,
    )  # fmt: skip
    task = _Task(0, "", process)
    if pipe:
        for stream, target in (
            (process.stdout, out or sys.stdout.buffer),
            (process.stderr, err or sys.stderr.buffer),
        ):
            thread = threading.Thread(target=_pump, args=(stream, target, prefix), daemon=True)
            thread.start()
            task.pumps.append(thread)
    return task


def _pump(source: IO[bytes], target: IO[bytes], prefix: bytes) -> None:
    """Copies lines; where nobody reads any more, it still takes them, so that no task waits for ever."""
    for line in source:
        with contextlib.suppress(BrokenPipeError, ValueError):
            target.write(prefix + line + (b"" if line.endswith(b"\n") else b"\n"))
            target.flush()


def _watch(step: Step, number: int, tasks: Sequence[_Task], stop: _Stop) -> None:
    """Until all tasks are over. A bad exit ends the others only if srun was told so."""
    ending: float | None = None
    while any(task.process.poll() is None for task in tasks):
        if stop.number is not None and ending is None:
            _signal(tasks, stop.number)
            ending = time.monotonic() + _KILL_WAIT
        if _report(tasks) and step.kill_on_bad_exit and ending is None:
            job = os.environ.get("SLURM_JOB_ID", "0")
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
            print("srun: Job step aborted: Waiting up to 7 seconds for job step to finish.", file=sys.stderr)
            print(f"slurmstepd: error: *** STEP {job}.{number} ON {step.nodes[0]} CANCELLED AT {stamp} ***", file=sys.stderr)  # fmt: skip
            sys.stderr.flush()
            _signal(tasks, signal.SIGTERM)
            ending = time.monotonic() + _KILL_WAIT
        if ending is not None and time.monotonic() > ending:
            _signal(tasks, signal.SIGKILL)
        time.sleep(0.05)
    _report(tasks)


def _signal(tasks: Sequence[_Task], number: signal.Signals) -> None:
    for task in tasks:
        if task.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(task.process.pid, number)


def _report(tasks: Sequence[_Task]) -> bool:
    """Tells each bad exit once; True if there was any so far."""
    bad = False
    for task in tasks:
        code = task.process.poll()
        if not code:
            continue
        bad = True
        if not task.told:
            task.told = True
            how = f"Exited with exit code {code}" if code > 0 else _signal_name(-code)
            print(f"srun: error: {task.node}: task {task.number}: {how}", file=sys.stderr, flush=True)
    return bad


def _signal_name(number: int) -> str:
    """`Segmentation fault`, as Slurm prints it."""
    return signal.strsignal(number) or f"Signal {number}"
