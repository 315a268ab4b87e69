"""What a script's directives ask for, on this machine: a pure function of its text and of the command line's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from triage.core.script.allocation import count, gpu_request, minutes, node_count
from triage.core.script.directives import read_directives
from triage.core.script.slurm_options import SBATCH_LONG, SBATCH_SHORT, Option, read_options, text_of
from triage.core.script.state import Field
from triage.core.values import dataclass
from triage.schedulers.local.nodes import MOST

_NOT_HERE = {
    "array": "arrays run on Slurm only",
    "dependency": "dependencies are kept by Slurm only",
    "begin": "a local job starts at once",
    "hold": "a local job starts at once",
    "test-only": "it would submit nothing",
    "wrap": "write a script",
}


class NotLocal(Exception):
    """The script asks for what only Slurm has; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a script is run."""

    name: str
    nodes: int
    tasks: int | None
    """`None` where the script does not say: then SLURM_NTASKS is not set either."""
    tasks_per_node: int | None
    gpus_per_node: int | None
    cpus_per_task: int | None
    output: str
    error: str | None
    """`None`: together with the output."""
    append: bool
    folder: str | None
    """`--chdir`."""
    time_limit: float | None
    """Seconds."""
    partition: str
    account: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def plan(text: str, options: Sequence[str], script: PurePath) -> Plan:
    """Options of the command line outrank the directives. Raises `NotLocal`."""
    directives = read_directives(text)
    if directives.components > 1:
        raise NotLocal("a heterogeneous job runs on Slurm only: submit it there")
    given: dict[str, Option] = {option.name: option for option in directives.options}
    told, rest = read_options([Field(word, 0) for word in options], SBATCH_LONG, SBATCH_SHORT)
    if rest < len(options):
        raise NotLocal(f"`{options[rest]}` is no option of sbatch: take it out")
    given.update({option.name: option for option in told})
    for name, why in _NOT_HERE.items():
        if name in given:
            raise NotLocal(f"--{name} does not work without Slurm ({why}): take it out, or submit to Slurm")
    unknown = next((option.name for option in given.values() if not option.recognised), None)
    if unknown is not None:
        raise NotLocal(
            f"sbatch does not know the option `{unknown}`: take it out (`sbatch --help` lists all)"
        )
    return _plan(given, script)


def _plan(given: Mapping[str, Option], script: PurePath) -> Plan:
    nodes = _number(given, "nodes", node_count) or 1
    if nodes > MOST:
        raise NotLocal(f"{nodes} nodes are too many for one machine: at most {MOST}")
    per_node = _number(given, "ntasks-per-node", count)
    tasks = _number(given, "ntasks", count) or (nodes * per_node if per_node else None)
    limit = minutes(text_of(given, "time")) if "time" in given else None
    return Plan(
        text_of(given, "job-name") or script.name,
        nodes,
        tasks,
        per_node,
        _gpus(given, nodes),
        _number(given, "cpus-per-task", count),
        text_of(given, "output") or "slurm-%j.out",
        text_of(given, "error") or None,
        text_of(given, "open-mode").startswith("a"),
        text_of(given, "chdir") or None,
        None if limit is None else limit * 60,
        text_of(given, "partition") or "local",
        text_of(given, "account"),
    )


def _number(given: Mapping[str, Option], name: str, read: Callable[[str], int | None]) -> int | None:
    text = text_of(given, name)
    if not text:
        return None
    found = read(text)
    if found is None:
        raise NotLocal(f"--{name}={text} is no number that a local run understands: write a plain number")
    return found


def _gpus(given: Mapping[str, Option], nodes: int) -> int | None:
    for name in ("gpus-per-node", "gres"):
        if (text := text_of(given, name)) and (found := gpu_request(text, 0, gres=name == "gres")):
            return found.count
    if (text := text_of(given, "gpus")) and (found := gpu_request(text, 0, gres=False)):
        return found.count // nodes or None
    return None
