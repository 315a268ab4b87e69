"""What the directives (or srun's options) ask for, as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from triage.core.script.directives import Directives
from triage.core.script.slurm_options import Option
from triage.core.values import dataclass, replace

_COUNT = re.compile(r"(\d{1,9})([kKmM]?)")
_GPU_NAME = re.compile(
    r"(?<![a-z0-9])(?:nvidia[-_ ])?(?:tesla[-_ ])?"
    r"(gb[23]00|gh200|[bh][123]00|h20|h800|h100|a100|a800|a[3456]0|a10g?|v100|p100|t4|l4|l40s?|rtx[-_ ]?\w{4}|mi[123]\d{2}[ax]?)"
    r"(?![0-9])",
    re.I,
)
_KIND = re.compile(r"\w[\w.-]*", re.ASCII)
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,5}))?)?")
_MOST_TASKS = 8
"""Tasks of an array that are told apart."""
_UNLIMITED = frozenset({"infinite", "unlimited", "-1"})


@dataclass(frozen=True, slots=True)
class Gpus:
    """A request for GPUs."""

    count: int
    kind: str | None
    line: int
    exact: bool = True
    total: bool = False
    """Asked for the whole job."""


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
    gpus_exact: bool = True
    """False where the GPUs of a node are only the total divided by the nodes."""
    export: str = ""
    """Which variables srun hands on where nothing else says so: sbatch's own `--export`."""
    array: tuple[str, ...] = ()
    """The numbers of an array's tasks, where they are few."""


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
        if amount is None or len(parts) > 2 or (len(parts) == 2 and not _KIND.fullmatch(parts[0])):
            return None
        total += amount
        kind = parts[0] if len(parts) == 2 else kind
    return Gpus(total, kind, line) if total else None


def gpu_type(text: str) -> str | None:
    """The one GPU type that a constraint tells."""
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
    """What the job gets. Nothing is concluded of a heterogeneous job, nor where options are not known."""
    if directives.components > 1 or not all(item.name for item in directives.options):
        return Allocation()
    given = {item.name: item for item in directives.options}
    nodes_option, tasks_option = given.get("nodes"), given.get("ntasks")
    nodes = node_count(_text(nodes_option)) if nodes_option else None
    if nodes_option is None and (listed := given.get("nodelist")) and _hosts(_text(listed)):
        nodes_option, nodes = listed, _hosts(_text(listed))
    tasks = count(_text(tasks_option)) if tasks_option else None
    per_node, task_line = _job_tasks(given, nodes, tasks)
    if nodes is None and nodes_option is None and tasks and per_node and tasks % per_node == 0:
        nodes, nodes_option = tasks // per_node, tasks_option
    gpus = _gpus(given, nodes, per_node)
    kind = _gpu_type(given, gpus)
    return Allocation(
        nodes,
        nodes_option.line if nodes_option else None,
        tasks or (nodes * per_node if nodes and per_node and "ntasks-per-node" in given else None),
        per_node,
        task_line,
        gpus.count if gpus and gpus.count else None,
        kind.kind if kind else None,
        gpus.line if gpus else None,
        kind.line if kind else None,
        gpus_exact=gpus is None or gpus.exact,
        export=_text(given.get("export")),
        array=_array(_text(given.get("array"))),
    )


def _array(text: str) -> tuple[str, ...]:
    """`0-3`, `1,4,7%2`, `0-8:4`."""
    found: list[int] = []
    for item in text.partition("%")[0].split(",") if text else ():
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            return ()
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        found += range(first, last + 1, max(step, 1)) if last - first < _MOST_TASKS * step else ()
        if not 0 < len(found) <= _MOST_TASKS:
            return ()
    return tuple(map(str, found))


def _job_tasks(
    given: Mapping[str, Option], nodes: int | None, tasks: int | None
) -> tuple[int | None, int | None]:
    """Tasks of a node where nothing else is said to srun, and the line that says so."""
    if option := given.get("ntasks-per-node"):
        return count(_text(option)), option.line
    if option := given.get("ntasks"):
        return (tasks // nodes if tasks and nodes and tasks % nodes == 0 else None), option.line
    if any(name.startswith("ntasks-per-") for name in given):
        return None, None
    return 1, None


def read_step(options: Sequence[Option], job: Allocation) -> Allocation:
    """What one srun of the job gets. What contradicts the job's own numbers is left unknown: the answer depends on
    the version (src/srun/opt.c, `_opt_verify`)."""
    given = {item.name: item for item in options}
    if any(not item.recognised and not item.name for item in options):
        return replace(job, nodes=None, tasks=None, tasks_per_node=None)
    nodes_option, tasks_option, per_node_option = (
        given.get(name) for name in ("nodes", "ntasks", "ntasks-per-node")
    )
    tasks = count(_text(tasks_option)) if tasks_option else None
    nodes = node_count(_text(nodes_option)) if nodes_option else job.nodes
    if nodes_option is None and (listed := given.get("nodelist")):
        nodes = _hosts(_text(listed))
    elif nodes_option is None and tasks and (nodes is None or tasks < nodes):
        nodes = tasks if tasks == 1 else None
    if tasks_option:
        per_node = tasks // nodes if tasks and nodes and tasks % nodes == 0 else None
    elif per_node_option:
        per_node = count(_text(per_node_option))
        per_node = per_node if job.tasks in (None, per_node and job.nodes and per_node * job.nodes) else None
    else:
        per_node = job.tasks_per_node if nodes == job.nodes or job.tasks is None else None
    line = next((item.line for item in (per_node_option, tasks_option) if item), job.tasks_line)
    gpus = _gpus(given, nodes, per_node)
    own = gpus is not None and not gpus.total
    return replace(
        job,
        nodes=nodes,
        nodes_line=nodes_option.line if nodes_option else job.nodes_line,
        tasks=tasks or (nodes * per_node if nodes and per_node else None),
        tasks_per_node=per_node,
        tasks_line=line,
        gpus_per_node=(gpus.count or None) if gpus and own else job.gpus_per_node,
        gpus_line=gpus.line if gpus and own else job.gpus_line,
        gpus_exact=gpus.exact if gpus and own else job.gpus_exact,
    )


def _text(option: Option | None) -> str:
    return option.value.text if option is not None and option.value is not None else ""


def _hosts(text: str) -> int | None:
    """The number of nodes that `--nodelist` names, where it is a plain list."""
    names = text.split(",")
    return len(names) if text and all(re.fullmatch(r"[\w.-]+", name, re.ASCII) for name in names) else None


def _gpus(given: Mapping[str, Option], nodes: int | None, per_node: int | None) -> Gpus | None:
    """GPUs of a node. A count of 0 says that they are asked for, but not how many a node has."""
    if option := given.get("gpus-per-node"):
        return gpu_request(_text(option), option.line, gres=False) or Gpus(0, None, option.line)
    if (option := given.get("gres")) and "gpu" in _text(option):
        return gpu_request(_text(option), option.line, gres=True) or Gpus(0, None, option.line)
    if option := given.get("gpus-per-task"):
        found = gpu_request(_text(option), option.line, gres=False)
        amount = found.count * per_node if found and per_node else 0
        return Gpus(amount, found.kind if found else None, option.line)
    if option := given.get("gpus"):
        found = gpu_request(_text(option), option.line, gres=False)
        amount = found.count // nodes if found and nodes and found.count % nodes == 0 else 0
        return Gpus(amount, found.kind if found else None, option.line, exact=nodes == 1, total=True)
    return None


def _gpu_type(given: Mapping[str, Option], gpus: Gpus | None) -> Gpus | None:
    """The type as a request for GPUs or a constraint says it. A partition's name is no evidence."""
    if gpus is not None and gpus.kind is not None:
        return gpus
    if (
        (option := given.get("gres"))
        and (found := gpu_request(_text(option), option.line, gres=True))
        and found.kind
    ):
        return found
    if (option := given.get("constraint")) and (kind := gpu_type(_text(option))):
        return Gpus(0, kind, option.line)
    return None
