"""The launcher's numbers against the allocation: one worker group, one agent per node, as many workers as GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.megatron.launch import Framework
from triage.core.script.arithmetic import number
from triage.core.script.case import Script, several_nodes, severity
from triage.core.script.facts import Facts
from triage.core.script.holes import EACH_HOST, FIRST_REASON, LOCAL_ID, known, symbols
from triage.core.script.launchers import Launcher
from triage.core.script.launches import Run

_NAMES = {
    Launcher.TORCHRUN: ("nnodes", "nproc_per_node", "node_rank"),
    Launcher.DEEPSPEED: ("num_nodes", "num_gpus", "node_rank"),
    Launcher.ACCELERATE: ("num_machines", "num_processes", "machine_rank"),
    Launcher.PYTHON: ("", "", ""),
}
"""What each launcher calls nodes, processes and the node's number."""


def processes(script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    """As many workers on a node as it has GPUs."""
    if "CUDA_VISIBLE_DEVICES" in run.command.environment:
        return
    if run.started.launcher is Launcher.PYTHON:
        yield from _tasks(script, run)
        return
    workers, gpus = run.launch.gpus_per_node, run.step.gpus_per_node
    line = run.flag_line(_NAMES[run.started.launcher][1])
    if workers is None:
        return
    grade, source = severity(script, run), f"allocation (line {run.step.gpus_line})"
    if not run.step.gpus_exact:
        grade = Severity.WARNING
    if gpus is None:
        if run.step.gpus_line is not None or not script.directives.any:
            return
        gpus, grade, source = (
            facts.site().gpus_per_node(script.text("partition")),
            Severity.WARNING,
            "partition",
        )
    if gpus is None or gpus == workers:
        return
    flag = "--" + _NAMES[run.started.launcher][1].replace("_", "-")
    if "nproc_per_node" not in run.started.flags and run.started.launcher is Launcher.TORCHRUN:
        text = f"{flag} is not given, so one worker is started on each node, but the {source} has {gpus} GPUs there"
    elif workers > gpus:
        text = f"{workers} workers per node, but the {source} gives only {gpus} GPUs per node: set {flag} to {gpus}"
    else:
        text = f"{workers} workers per node leave GPUs idle: the {source} gives {gpus} per node; set {flag} to {gpus}"
    yield Finding(grade, "torchrun/processes", text, None, line)


def _tasks(script: Script, run: Run) -> Iterator[Finding]:
    """Where no launcher starts the workers, each task is one."""
    tasks, gpus = run.step.tasks_per_node, run.step.gpus_per_node
    if tasks is None or gpus is None or tasks in (1, gpus) or not run.step.gpus_exact:
        return
    certain = tasks > gpus and run.launch.framework is Framework.MEGATRON
    grade = severity(script, run) if certain else Severity.WARNING
    text = f"{tasks} tasks per node for {gpus} GPUs (line {run.step.gpus_line}): each task is the worker of one GPU"
    yield Finding(grade, "torchrun/processes", text, None, run.step.tasks_line)


def nodes(script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """One worker group over all nodes."""
    if run.started.launcher is Launcher.ACCELERATE and not run.has("num_machines"):
        yield from _machines(run)
    if run.started.launcher is Launcher.PYTHON or run.launch.nodes is None:
        return
    group, alone = run.launch.nodes, "standalone" in run.started.flags
    whole = run.in_step and run.step.nodes is not None and run.step.nodes == script.allocation.nodes
    spread = (run.command.background or run.command.repeated) and not whole
    here = run.step.nodes if run.in_step and not spread else script.allocation.nodes
    line = run.flag_line(_NAMES[run.started.launcher][0], "standalone")
    if spread and _alone_on_each(script, run):
        text = f"independent single-node jobs on {here} nodes instead of one worker group: set --nnodes to {here}"
        yield Finding(Severity.ERROR, "torchrun/one-group", text, None, line)
        return
    if run.in_step and not spread and here == group == 1 and script.sole is run:
        here = script.allocation.nodes
    if here is None or here == group or (spread and group == run.step.nodes):
        return
    grade = severity(script, run)
    if (
        spread
        or (run.in_step and run.step.nodes != script.allocation.nodes)
        or run.started.launcher is Launcher.DEEPSPEED
    ):
        grade = Severity.WARNING
    if group == 1:
        how = "--standalone starts" if alone else "a worker group of one node means"
        text = (
            f"{how} independent single-node jobs on {here} nodes instead of one worker group: set --nnodes to {here}"
            if run.in_step and run.step.nodes != 1
            else f"the worker group is one node of {here} that are allocated, and nothing starts workers on the others"
        )
        yield Finding(grade, "torchrun/one-group", text, None, line)
    else:
        text = f"the worker group has {group} nodes, but srun starts it on {here}"
        if not run.in_step:
            text = f"the worker group has {group} nodes, but {here} are allocated"
        yield Finding(grade, "torchrun/nodes", text, None, line)


def _machines(run: Run) -> Iterator[Finding]:
    """accelerate takes itself for one machine, unless a file of its own says otherwise."""
    hidden = not run.started.complete or run.has("config_file") or run.command.background
    if several_nodes(run) and not hidden:
        text = (
            f"--num_machines is not given, so each of {run.step.nodes} nodes trains on its own unless accelerate's"
            f" default configuration says otherwise: set it to {run.step.nodes}"
        )
        yield Finding(Severity.WARNING, "torchrun/one-group", text, None, run.line)


def _alone_on_each(script: Script, run: Run) -> bool:
    """Whether the same command is certainly started once for each node, each time as a worker group of its own."""
    same = [other for other in script.runs if _alike(run, other)]
    told = all(ord(mark) < FIRST_REASON for word in run.command.words for mark in symbols(word.text))
    each = len(same) > 1 and len(same) == script.allocation.nodes
    srun = run.command.wrapper("srun")
    host = srun.get("nodelist") if srun is not None and len(same) == 1 else None
    if host is not None and host.value is not None and (script.allocation.nodes or 1) > 1:
        each = script.holes.reason(host.value.text).endswith(EACH_HOST) and run.step.tasks == 1
    return told and run.launch.nodes == 1 and each


def _alike(run: Run, other: Run) -> bool:
    one, two = run.command, other.command
    texts = [[word.text for word in command.words] for command in (one, two)]
    values = [{name: item.text for name, item in command.environment.items()} for command in (one, two)]
    steps = other.in_step and other.step.nodes == 1 and two.background and two.way == one.way
    return steps and texts[0] == texts[1] and values[0] == values[1]


def agents(script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """Exactly one task per node where the launcher starts the workers."""
    if run.started.launcher is Launcher.PYTHON or not run.in_step:
        return
    tasks = run.step.tasks_per_node
    if tasks is None or tasks <= 1 or run.launch.nodes == run.step.tasks:
        return
    text = (
        f"srun starts {tasks} tasks on each node, and each of them starts a worker group of its own:"
        " ask for --ntasks-per-node=1"
    )
    yield Finding(severity(script, run), "torchrun/tasks", text, None, run.step.tasks_line)


def node_rank(script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """The node's number differs from node to node, or the rendezvous needs none."""
    launcher = run.started.launcher
    if (
        launcher not in (Launcher.TORCHRUN, Launcher.ACCELERATE)
        or not several_nodes(run)
        or run.launch.nodes == 1
    ):
        return
    name = _NAMES[launcher][2]
    backend = run.flag("rdzv_backend")
    if backend is not None and backend.text != "static":
        return
    flag, spelt = run.flag(name), "--" + name.replace("_", "-")
    if flag is None:
        hidden = (
            not run.started.complete or "PET_NODE_RANK" in run.command.environment or run.has("config_file")
        )
        if hidden or run.launch.nodes is None or run.command.opaque:
            return
        text = f"{spelt} is not given, so every node takes itself for node 0: pass SLURM_NODEID, or use --rdzv-backend=c10d"
        yield Finding(severity(script, run), "torchrun/node-rank", text, None, run.line)
    elif LOCAL_ID in flag.text or (known(flag.text) and number(flag.text) is not None):
        given = "SLURM_LOCALID" if LOCAL_ID in flag.text else flag.text
        hint = (
            " (in the batch script SLURM_NODEID and SLURM_PROCID are 0; quote them for srun's tasks)"
            if given == "0"
            else ""
        )
        text = f"{spelt} is {given} on every one of {run.step.nodes} nodes{hint}: pass each node its SLURM_NODEID"
        yield Finding(severity(script, run), "torchrun/node-rank", text, None, run.flag_line(name))


def started(script: Script, run: Run, _: Facts) -> Iterator[Finding]:
    """Something starts the launcher on every node."""
    group = run.launch.nodes
    if (
        run.in_step
        or run.started.launcher not in (Launcher.TORCHRUN, Launcher.ACCELERATE)
        or not script.directives.any
    ):
        return
    reached = run.command.repeated or run.command.background or run.command.wrapper("mpirun")
    remote = any(command.name in ("ssh", "pdsh", "clush") for command in script.commands)
    if group is None or group < 2 or reached or remote:
        return
    text = f"the worker group has {group} nodes, but without srun it is started on the first one only, and waits for the rest"
    yield Finding(Severity.WARNING, "torchrun/srun", text, None, run.line)
