"""The facts of a verdict: what the logs state about the run's sizes, merged, and completed only where certain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from triage.core.cause.verdict import FACT_NAMES
from triage.core.events.model import Facts, Progress
from triage.core.lazy import lazy

ORIGINS = ("arguments", "command", "world", "memory", "environment", "iteration")
"""Best first."""

_HELPERS = ("nnodes", "nproc_per_node", "min_nodes", "max_nodes", "nranks", "ntasks", "replicas")
_LARGEST_WINS = frozenset({"peak_memory_gib", "nranks"})
_EXACT_FORMS = frozenset({"megatron", "deepspeed", "composer", "lightning", "nemo", "swift", "generic"})
"""Wordings of progress whose number is the run's iteration; a bar counts steps only where it is the only one."""

Number = int | float


def merge_facts(facts: Sequence[Facts], progress: Sequence[Progress]) -> dict[str, Number | None]:
    """Every name of `FACT_NAMES`, None where the logs do not say or contradict each other."""
    known: dict[str, Number] = {}
    for name in (*FACT_NAMES, *_HELPERS):
        value = _stated(name, facts)
        if value is not None:
            known[name] = value
    for name, value in _from_progress(progress).items():
        known.setdefault(name, value)
    _complete(known)
    return {name: known.get(name) for name in FACT_NAMES}


def _stated(name: str, facts: Sequence[Facts]) -> Number | None:
    """The value of the best origin that states it."""
    for origin in ORIGINS:
        holders = [
            event for event in facts if event.origin == origin and _number(event.values.get(name)) is not None
        ]
        if holders:
            return _agreed(name, holders)
    return None


def _agreed(name: str, holders: Sequence[Facts]) -> Number | None:
    """The one value; of different ones the later of one stream; None where streams contradict each other."""
    if name in _LARGEST_WINS:
        return max(value for event in holders if (value := _number(event.values.get(name))) is not None)
    latest: dict[object, Facts] = {}
    for event in holders:
        stream = (event.span.source, event.tags.stream_key())
        if stream not in latest or latest[stream].span.first <= event.span.first:
            latest[stream] = event
    values = {_number(event.values.get(name)) for event in latest.values()}
    if len(values) > 1:
        values = {_number(event.values.get(name)) for event in latest.values() if _of_one_process(event)}
    return values.pop() if len(values) == 1 else None


def _of_one_process(event: Facts) -> bool:
    """The line has a label, so that what has none is the launcher's, which knows the world less well."""
    return any(part is not None for part in event.tags.stream_key()[:3])


def _number(value: object) -> Number | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return value


def _from_progress(progress: Sequence[Progress]) -> dict[str, Number]:
    """The last iteration, the number of iterations asked for, and the batch size of the last iteration."""
    found: dict[str, Number] = {}
    counted = [
        event for event in progress if event.iteration is not None and event.kind in ("iteration", "exiting")
    ]
    exact = [event for event in counted if event.form in _EXACT_FORMS]
    if not exact:
        bars = [event for event in counted if event.form in ("bar", "glued")]
        exact = bars if len({event.total for event in bars}) == 1 else []
    if exact:
        last = max(exact, key=lambda event: event.iteration or 0)
        found["last_iteration"] = last.iteration or 0
        totals = {event.total for event in exact if event.total is not None}
        if len(totals) == 1:
            found["train_iters"] = totals.pop()
        size = last.values.get("global_batch_size")
        if size is not None and size == size and 0 < size < 1e12 and size == int(size):
            found["global_batch_size"] = int(size)
    return found


def _complete(known: dict[str, Number]) -> None:
    """Arithmetic that leaves no choice, in place."""
    nodes = known.get("nnodes")
    if nodes is None and known.get("min_nodes") == known.get("max_nodes"):
        nodes = known.get("min_nodes")
    per_node = known.get("nproc_per_node")
    if "world_size" not in known and nodes is not None and per_node is not None:
        known["world_size"] = nodes * per_node
    sizes = [known.get(name) for name in ("tp", "pp", "cp")]
    model = 1
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            model = 0
            break
        model *= size
    world, replicas = known.get("world_size"), known.get("dp")
    if model and isinstance(world, int) and replicas is None and world % model == 0 and world >= model:
        known["dp"] = world // model
    if model and world is None and isinstance(replicas, int):
        known["world_size"] = model * replicas
    for count in ("nranks", "ntasks"):
        if "world_size" not in known and _fits(known, count):
            known["world_size"] = known[count]
    if "world_size" not in known and known.get("replicas", 1) > 1 and _alone(known):
        known["world_size"] = known["replicas"]


def _fits(known: Mapping[str, Number], count: str) -> bool:
    """Whether the largest communicator of NCCL, or what mpirun started, may be the world, as far as the parallel sizes
    tell."""
    ranks = known.get(count)
    if not isinstance(ranks, int):
        return False
    product = 1
    for name in ("tp", "pp", "cp", "dp"):
        product *= int(known.get(name, 1))
    return product > 0 and ranks % product == 0


def _alone(known: Mapping[str, Number]) -> bool:
    """No model parallelism is stated, so that DeepSpeed's replicas are all ranks."""
    return all(known.get(name, 1) == 1 for name in ("tp", "pp", "cp", "ep"))


_UNITS = {"b": 1.0, "byte": 1.0, "bytes": 1.0, "kib": 2.0**10, "kb": 2.0**10, "mib": 2.0**20, "mb": 2.0**20,
          "gib": 2.0**30, "gb": 2.0**30, "tib": 2.0**40, "tb": 2.0**40}  # fmt: skip
"""torch's `GB` of old messages are GiB (c10/cuda/CUDACachingAllocator.cpp, `format_size`)."""
_AMOUNT = lazy(r"\s*(\d{1,24}(?:\.\d{1,12})?)\s*([A-Za-z]{0,5})\s*")
_MEMORY_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("requested_gib", ("requested",)),
    ("gpu_total_gib", ("total",)),
    ("gpu_free_gib", ("free",)),
    ("peak_memory_gib", ("in_use", "allocated", "reserved")),
)


def memory_facts(captures: Mapping[str, str]) -> dict[str, float]:
    """GiB from the captures of an out-of-memory rule: `NAME` as `2.00 GiB`, or `NAME` and `NAME_unit`.

    A bare number without a unit counts bytes, but only a whole one; else the amount is not known.
    """
    found: dict[str, float] = {}
    for fact, names in _MEMORY_NAMES:
        for amount in _amounts(captures, names):
            found[fact] = amount
            break
    return found


def _amounts(captures: Mapping[str, str], names: Iterable[str]) -> Iterable[float]:
    for name in names:
        match = _AMOUNT.fullmatch(captures.get(name) or "")
        if match is None:
            continue
        unit = (match[2] or captures.get(f"{name}_unit") or "").strip().lower()
        if not unit and "." in match[1]:
            continue
        scale = _UNITS.get(unit or "bytes")
        if scale is not None:
            yield _rounded(float(match[1]) * scale / 2.0**30)


def _rounded(gib: float) -> float:
    """Two decimals from 1 GiB on, three significant digits below."""
    return round(gib, 2) if gib >= 1 else float(f"{gib:.3g}")
