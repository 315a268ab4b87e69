"""What the directives (or srun's options) ask for, as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from triage.core.script.directives import Directives
from triage.core.script.slurm_options import Option

_COUNT = re.compile(r"(\d{1,9})([kKmM]?)")
_GPU_NAME = re.compile(
    r"(?<![a-z0-9])(?:nvidia[-_ ])?(?:tesla[-_ ])?"
    r"(gb[23]00|gh200|[bh][123]00|h20|h800|h100|a100|a800|a[3456]0|a10g?|v100|p100|t4|l4|l40s?|rtx[-_ ]?\w{4}|mi[123]\d{2}[ax]?)"
    r"(?![0-9])",
    re.I,
)
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_UNLIMITED = frozenset({"infinite", "unlimited", "-1"})


@dataclass(frozen=True, slots=True)
class Gpus:
    """A request for GPUs."""

    count: int
    kind: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """Numbers of an allocation; `None` is not given or not understood."""

    nodes: int | None = None
    nodes_line: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    tasks_line: int | None = None
    gpus_per_node: int | None = None
    gpu: str | None = None
    gpus_line: int | None = None
    gpu_line: int | None = None


def node_count(text: str) -> int | None:
    """`4`, `1k`; of a range (`2-4`, `1,2,4`) nothing is certain."""
    match = _COUNT.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        return None
    return int(match[1]) * {"": 1, "k": 1024, "m": 1024 * 1024}[match[2].lower()]


def count(text: str | None) -> int | None:
    """A positive whole number, `None` for anything else (placeholders, lists)."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0 else None


def gpu_request(text: str, line: int, *, gres: bool) -> Gpus | None:
    """`gpu:a100:4`, `gpu:4`, `gpu` (one), `a100:4`, `4`; `None` for other resources or what is not understood."""
    total, kind = 0, None
    for item in text.split(","):
        parts = item.strip().split("(")[0].split(":")
        if gres:
            if parts[0].removeprefix("gres/") != "gpu":
                continue
            parts = parts[1:]
        if len(parts) == 1 and count(parts[0]) is None and parts[0] and gres:
            parts = [parts[0], "1"]
        amount = 1 if not parts and gres else count(parts[-1]) if parts else None
        if amount is None or len(parts) > 2:
            return None
        total += amount
        kind = parts[0] if len(parts) == 2 else kind
    return Gpus(total, kind, line) if total else None


def gpu_type(text: str) -> str | None:
    """The one GPU type that a constraint or a partition's name tells."""
    found = {match.lower() for match in _GPU_NAME.findall(text)}
    return found.pop() if len(found) == 1 else None


def minutes(text: str) -> float | None:
    """A time limit in minutes: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S` (src/common/parse_time.c)."""
    match = _TIME.fullmatch(text.strip())
    if match is None or len(text) > 20:
        return None
    first, second, third = int(match[2]), int(match[3] or 0), int(match[4] or 0)
    if match[1] is not None:
        return int(match[1]) * 1440 + first * 60 + second + third / 60
    return first * 60 + second + third / 60 if match[4] is not None else first + second / 60


def is_time(text: str) -> bool:
    return text.lower() in _UNLIMITED or minutes(text) is not None


def read_allocation(directives: Directives) -> Allocation:
    """What the job gets. In a heterogeneous job nothing is concluded."""
    if directives.components > 1:
        return Allocation()
    return from_options({item.name: item for item in directives.options})


def from_options(given: dict[str, Option], base: Allocation | None = None) -> Allocation:
    """The same from options by name; `base` is the job in which a step runs."""
    nodes_option, tasks_option = given.get("nodes"), given.get("ntasks")
    per_node_option = given.get("ntasks-per-node")
    nodes = node_count(_text(nodes_option)) if nodes_option else base.nodes if base else None
    if nodes_option is None and base is None and (listed := given.get("nodelist")):
        nodes_option = listed if _hosts(_text(listed)) else None
        nodes = _hosts(_text(listed))
    tasks = count(_text(tasks_option)) if tasks_option else None
    per_node = count(_text(per_node_option)) if per_node_option else None
    if per_node is None and per_node_option is None and tasks is not None and nodes is not None:
        per_node = tasks // nodes if tasks % nodes == 0 else None
    if nodes is None and nodes_option is None and tasks and per_node and tasks % per_node == 0:
        nodes, nodes_option = tasks // per_node, tasks_option
    gpus = _gpus(given, nodes, per_node, tasks)
    where = gpus or _typed_elsewhere(given)
    return Allocation(
        nodes,
        nodes_option.line if nodes_option else base.nodes_line if base else None,
        tasks if tasks is not None or tasks_option else nodes * per_node if nodes and per_node else None,
        per_node,
        (per_node_option or tasks_option or nodes_option or _NOWHERE).line or None,
        gpus.count if gpus and gpus.count > 0 else base.gpus_per_node if base and gpus is None else None,
        where.kind if where and where.kind else base.gpu if base else None,
        gpus.line if gpus else base.gpus_line if base else None,
        where.line if where and where.kind else base.gpu_line if base else None,
    )


_NOWHERE = Option("", None, 0)


def _text(option: Option | None) -> str:
    return option.value.text if option is not None and option.value is not None else ""


def _hosts(text: str) -> int | None:
    """The number of nodes that `--nodelist` names, where it is a plain list."""
    names = text.split(",")
    return len(names) if text and all(re.fullmatch(r"[\w.-]+", name, re.ASCII) for name in names) else None


def _gpus(
    given: dict[str, Option], nodes: int | None, per_node: int | None, tasks: int | None
) -> Gpus | None:
    """GPUs of a node. A count of 0 says that they are asked for, but not how many a node has."""
    if (option := given.get("gpus-per-node")) or (option := given.get("gres")):
        found = gpu_request(_text(option), option.line, gres=option.name == "gres")
        if found is None and option.name == "gres" and "gpu" not in _text(option):
            return _total(given, nodes, per_node, tasks)
        other = given.get("gres")
        if found and option.name == "gpus-per-node" and found.kind is None and other:
            typed = gpu_request(_text(other), other.line, gres=True)
            found = Gpus(found.count, typed.kind if typed else None, found.line)
        return _with_type(found or Gpus(0, None, option.line), given)
    return _total(given, nodes, per_node, tasks)


def _total(
    given: dict[str, Option], nodes: int | None, per_node: int | None, tasks: int | None
) -> Gpus | None:
    if option := given.get("gpus-per-task"):
        found = gpu_request(_text(option), option.line, gres=False)
        per_node = per_node or (1 if tasks is None and "ntasks" not in given and nodes else None)
        amount = found.count * per_node if found and per_node else 0
    elif option := given.get("gpus"):
        found = gpu_request(_text(option), option.line, gres=False)
        amount = found.count // nodes if found and nodes and found.count % nodes == 0 else 0
    else:
        return None
    return _with_type(Gpus(amount, found.kind if found else None, option.line), given)


def _with_type(found: Gpus, given: dict[str, Option]) -> Gpus:
    if found.kind is not None:
        return found
    elsewhere = _typed_elsewhere(given)
    return Gpus(found.count, elsewhere.kind, found.line) if elsewhere else found


def _typed_elsewhere(given: dict[str, Option]) -> Gpus | None:
    """The type as a constraint says it, else the partition's name."""
    for name in ("constraint", "partition"):
        option = given.get(name)
        if option and (kind := gpu_type(_text(option))):
            return Gpus(0, kind, option.line)
    return None
