"""Sizes and settings that a run prints about itself: argument dumps, command lines, initialisation lines.

Sources: Megatron-LM megatron/training/arguments.py (`_print_args`, `validate_args`), GPT-NeoX arguments.py,
deepspeed runtime/config.py and launcher/launch.py, transformers trainer.py, torch distributed/run.py and
elastic/agent/server/api.py, lightning fabric/utilities/distributed.py, nccl src/init.cc.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Sequence

from triage.core.events.commands import LIMIT, command_facts, is_command, json_facts, list_facts
from triage.core.events.model import Event, Facts
from triage.core.events.names import ALIASES, number, settle, transformer_only
from triage.core.events.place import place
from triage.core.events.statements import (
    ACCELERATE_WORDS,
    CHECK_WORDS,
    ENTRY_WORDS,
    INITIALIZED_WORDS,
    LIST_WORDS,
    NAMED_WORDS,
    TOPOLOGY_WORDS,
    accelerate_world,
    entry_sizes,
    initialized_world,
    listed_sizes,
    named_sizes,
    positive,
    stated_sizes,
    topology_sizes,
    unambiguous,
)
from triage.core.lazy import lazy
from triage.core.logs.record import Record
from triage.core.values import dataclass, field

_Values = dict[str, int | float | str | bool]

_HEADER = lazy(r"^\s*-{5,80} (?:end of )?[\w ]{0,40}arguments -{5,80}\s*$")
_MEMBER = lazy(r'"([a-z_]{2,60})"\s*:\s*(\d{1,12})\b')
_ENTRY = lazy(r"^ {1,4}([A-Za-z_][\w.]{0,120}) (\.{1,80}) (.*)$")
_LONG_ENTRY = lazy(r"^ {2}([a-z_]\w{47,120}|train_micro_batch_size_per_gpu) {1,2}(\S.*)?$")
_NEOX_VALUE = lazy(r"^(.*?)\.{2,80}(?:updated|default)$")
_MEGATRON_WIDTH = 48
"""Names are padded to this many characters; longer ones stand without dots."""
_DEEPSPEED_WIDTH = 29
"""DeepSpeed pads names to 29 characters; its `world_size` counts data-parallel replicas only."""
_DUMP_GAP = 40
"""Lines of other writers inside one dump."""
_CONTINUED_LINES = 200


@dataclass(slots=True)
class _Dump:
    first: Record
    last: Record
    pairs: list[tuple[str, str]] = field(default_factory=list)
    gap: int = 0


def extract_facts(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Event], list[Record]]:
    """Facts of one stream. Dumps and echoed commands are consumed; lines with another meaning stay."""
    events: list[Event] = []
    rest: list[Record] = []
    dump: _Dump | None = None
    index = 0
    while index < len(stream):
        record = stream[index]
        if dump is None and worth is not None and record.offset not in worth and record.text[:1] != " ":
            rest.append(record)
            index += 1
            continue
        entry = _dump_entry(record)
        if entry is not None:
            dump = dump or _Dump(record, record)
            dump.pairs.append(entry)
            dump.last, dump.gap = record, 0
            index += 1
            continue
        if _HEADER.match(record.text[:200]):
            _close(dump, source, events)
            dump = None
            index += 1
            continue
        if dump is not None:
            dump.gap += 1
            if dump.gap > _DUMP_GAP:
                _close(dump, source, events)
                dump = None
        index += _other(stream, index, source, events, rest)
    _close(dump, source, events)
    return unambiguous(events), rest


def artifact_sizes(text: str) -> dict[str, int]:
    """The sizes among the numbers of a JSON object's members, which may be cut off anywhere."""
    return positive((name, value) for name, value in _MEMBER.findall(text))


def _close(dump: _Dump | None, source: int, events: list[Event]) -> None:
    if dump is None:
        return
    values: _Values = dict(settle(dump.pairs, aliases=_DUMP_NAMES))
    if values:
        events.append(Facts(*place(source, dump.first, dump.last), values=values, origin="arguments"))


def _dump_entry(record: Record) -> tuple[str, str] | None:
    """`  name ....... value`; a name of 48 or more characters has no dots."""
    text = record.text
    if not text.startswith(" ") or len(text) > 65_536:
        return None
    match = _ENTRY.match(text) if " ." in text else None
    if match is not None and len(match[2]) < 3 and len(match[1]) + len(match[2]) != _MEGATRON_WIDTH:
        return None
    if match is None:
        long = _LONG_ENTRY.match(text)
        return None if long is None else (long[1], long[2] or "")
    name, value = match[1], match[3]
    if len(name) + len(match[2]) == _DEEPSPEED_WIDTH and name == "world_size":
        return "", ""
    neox = _NEOX_VALUE.match(value[:400])
    return name, neox[1] if neox is not None else value


def _other(stream: Sequence[Record], index: int, source: int, events: list[Event], rest: list[Record]) -> int:
    """Read what is no dump from `index` on; how many records were used."""
    record = stream[index]
    text = record.text
    after_frame = index > 0 and stream[index - 1].text.lstrip().startswith('File "')
    if after_frame or not _is_worth(text[:LIMIT]):
        rest.append(record)
        return 1
    if is_command(text):
        last = _continued(stream, index)
        joined = " ".join(r.text[:LIMIT].rstrip().rstrip("\\") for r in stream[index : last + 1])
        values: _Values = dict(command_facts(joined))
        if values:
            events.append(Facts(*place(source, record, stream[last]), values=values, origin="command"))
        if not values or _COMPLAINT.match(text):
            rest.extend(stream[index : last + 1])
        return last - index + 1
    if processes := accelerate_world(stream, index):
        events.append(Facts(*place(source, record), values=dict(processes), origin="world"))
        rest.append(record)
        return 1
    for origin, literals, consumed, reader in _FORMS:
        if any(literal in text for literal in literals) and (found := reader(text[:LIMIT])):
            events.append(Facts(*place(source, record), values=dict(found), origin=origin))
            if not consumed:
                rest.append(record)
            return 1
    rest.append(record)
    return 1


_COMPLAINT = lazy(r"\W{0,4}(?:Error|ERROR|[Ff]ailed)\b")
"""A launcher that quotes the command which failed."""


def _continued(stream: Sequence[Record], index: int) -> int:
    """The last record of a command whose lines end in backslashes."""
    stop = min(len(stream) - 1, index + _CONTINUED_LINES)
    room = LIMIT
    while index < stop and room > 0 and stream[index].text.rstrip().endswith("\\"):
        room -= len(stream[index].text)
        index += 1
    return index


_DUMP_NAMES = ALIASES | {"train_batch_size": "global_batch_size"}
_PARALLEL = lazy(
    r"(?<!encoder-)(data|tensor|pipeline|context|expert|(?<![a-z]-)model)(?:-model)?-parallel[- ]size:? (\d{1,9})"
)
_AXES = {"data": "dp", "tensor": "tp", "pipeline": "pp", "context": "cp", "expert": "ep", "model": "tp"}


def _megatron_world(text: str) -> dict[str, int]:
    """`using world size: 16, data-parallel size: 4, ...` in all its versions."""
    match = re.search(r"using world size: (\d{1,9})", text)
    if match is None:
        return {}
    pairs = [(_AXES[axis], value) for axis, value in _PARALLEL.findall(text)]
    return positive([("world_size", match[1]), *pairs])


_BACKEND = lazy(r"> initializing (?:torch distributed|\w{2,12} backend) with (\d{1,9}) (?:workers|processes)")
"""NeMo Automodel's components/distributed/init_utils.py."""
_INITIALIZED = lazy(
    r"> initializ(?:ed|ing) (?:(tensor|pipeline|context|expert) )?(?:model )?parallel with size (\d{1,9})"
)


def _initialized(text: str) -> dict[str, int]:
    if (match := _INITIALIZED.search(text)) is not None:
        return positive([(_AXES[match[1] or "tensor"], match[2])])
    match = _BACKEND.search(text)
    return positive([("world_size", match[1])]) if match is not None else {}


_GROUP = lazy(
    r"\bRank \d{1,7} has (tensor model|pipeline model|context|data) parallel group ?: \[([\d, ]{1,8000})\]"
)


def _group(text: str) -> dict[str, int]:
    """NeMo's `Rank 0 has tensor model parallel group: [0, 1, 2, 3]` (nlp/modules/common/megatron/megatron_init.py)."""
    if (match := _GROUP.search(text)) is None:
        return {}
    return {_AXES[match[1].split(" ")[0]]: match[2].count(",") + 1}


_MESH = lazy(r"device mesh with \[([\w', ]{1,200})\], \[([\d, ]{1,100})\]")
_MESH_REPR = lazy(r"\bDeviceMesh\(\(([a-z_]{1,20}=\d{1,9}(?:, [a-z_]{1,20}=\d{1,9}){0,8})\)")
_MESH_LISTED = lazy(r"device mesh with parallelism: ((?:[a-z_]{1,20}=\d{1,9}(?:, )?){1,10})")
_MESH_AXES = {"tp": "tp", "pp": "pp", "cp": "cp"}


def _mesh(text: str) -> dict[str, int]:
    """torchtitan's `Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]` and, in later versions, `Building device mesh
    with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=1`, torch's `DeviceMesh((dp=2, tp=4), ...)`.
    The latter may be a part of the world."""
    if (shown := _MESH_REPR.search(text)) is not None:
        axes = (axis.split("=") for axis in shown[1].split(", "))
        return positive((_MESH_AXES[name], size) for name, size in axes if name in _MESH_AXES)
    if (listed := _MESH_LISTED.search(text)) is not None:
        return _listed_mesh(listed[1])
    if (match := _MESH.search(text)) is None:
        return {}
    names = [name.strip(" '") for name in match[1].split(",")]
    sizes = [number(size) for size in match[2].split(",")]
    if len(names) != len(sizes):
        return {}
    found: dict[str, int] = {}
    world = 1
    for name, size in zip(names, sizes, strict=True):
        if size is None:
            return {}
        world *= size
        if name in _MESH_AXES:
            found[_MESH_AXES[name]] = size
    return found | {"world_size": world}


def _listed_mesh(text: str) -> dict[str, int]:
    """All axes by name; the expert ones lie within the others."""
    sizes = positive((name, size) for name, _, size in (axis.partition("=") for axis in text.split(", ")))
    found = {name: size for name, size in sizes.items() if name in ("tp", "pp", "cp", "ep")}
    axes = [sizes.get(name) for name in ("pp", "dp_replicate", "dp_shard", "cp", "tp")]
    return found if None in axes else found | {"world_size": math.prod(size for size in axes if size)}


_WORLD_SIZES = lazy(r"\bglobal_world_sizes=\[(\d{1,9})[,\]]")
_NRANKS = lazy(r"\brank \d{1,9} nranks (\d{1,9}) ")
_JSON_WORLD = lazy(r"^\s*\"world_size\": (\d{1,9}),?\s*$")


def _elastic(text: str) -> dict[str, int]:
    match = _WORLD_SIZES.search(text)
    return positive([("world_size", match[1])]) if match is not None else {}


_WORLD_SIZE = lazy(r"(?<![A-Z_])WORLD_SIZE['\"]?(?:[= ]|: ?|\s=\s|,\s)['\"]?(\d{1,9})\b")


def _environment(text: str) -> dict[str, int]:
    """WORLD_SIZE of an environment; under some job operators it counts nodes, hence the low rank of its origin."""
    match = _WORLD_SIZE.search(text) or _JSON_WORLD.search(text)
    if match is not None:
        return positive([("world_size", match[1])])
    match = _NRANKS.search(text)
    return positive([("nranks", match[1])]) if match is not None else {}


_MEMORY = lazy(r"memory \(MB\) \|(.{0,400})")
_MEMORY_PART = lazy(r"(max allocated|max reserved): ([\d.]{1,20})")


def _memory(text: str) -> dict[str, float]:
    """Megatron's memory report; its MB are MiB. The peak is the most that was allocated."""
    if (match := _MEMORY.search(text)) is None:
        return {}
    parts = dict(_MEMORY_PART.findall(match[1]))
    try:
        return {"peak_memory_gib": round(float(parts["max allocated"]) / 1024, 4)}
    except (KeyError, ValueError):
        return {}


_REPR = lazy(r"\b(?:Namespace|\w{0,60}(?:Config|Arguments|Args))\(")
_REPR_NAMES = {
    "TokensArgs(": {"train_steps": "train_iters"},
    "ParallelismArgs(": {name: name for name in ("dp", "pp", "tp")} | {"expert_parallel_size": "ep"},
}
"""nanotron's config/config.py and config/parallelism_config.py."""
_REPR_PAIR = lazy(r"(?<![\w.])(\w{2,60})=(\d{1,13})(?=[,)\s])")


def _repr(text: str) -> dict[str, int]:
    """`Namespace(...)` and dataclass reprs of settings."""
    match = _REPR.search(text)
    if match is None:
        return {}
    pairs = _REPR_PAIR.findall(text[match.start() :])
    aliases = ALIASES | _REPR_NAMES.get(match[0], {})
    found = transformer_only(settle(pairs, aliases=aliases))
    return found if "Namespace" in match[0] or len(found) > 1 else _dataset(text, found)


def _dataset(text: str, found: dict[str, int]) -> dict[str, int]:
    """Megatron's dataset settings state the sequence length alone."""
    match = re.search(r"DatasetConfig\(.{0,400}?\bsequence_length=(\d{1,9})\b", text)
    return found | positive([("seq_length", match[1])]) if match is not None else found


_FORMS: tuple[tuple[str, tuple[str, ...], bool, Callable[[str], dict[str, int] | dict[str, float]]], ...] = (
    ("world", ("using world size",), True, _megatron_world),
    ("world", ("> initializ",), True, _initialized),
    ("memory", ("memory (MB)",), True, _memory),
    ("world", ("device mesh with", "DeviceMesh(("), True, _mesh),
    ("world", ("parallel group",), False, _group),
    ("world", ("global_world_sizes=",), True, _elastic),
    ("command", ("with overrides: [", "with command: [", "exits with return code", "CalledProcessError: Command"), False, list_facts),
    ("command", ("train_micro_batch_size_per_gpu", '"train_batch_size"', "_parallel_size\""), False, json_facts),
    ("arguments", ("Namespace(", "Config(", "Arguments(", "Args("), False, _repr),
    ("world", NAMED_WORDS, False, named_sizes),
    ("world", INITIALIZED_WORDS, False, initialized_world),
    ("world", TOPOLOGY_WORDS, False, topology_sizes),
    ("command", LIST_WORDS, False, listed_sizes),
    ("environment", ("WORLD_SIZE", "nranks ", '"world_size"'), False, _environment),
    ("yaml", ENTRY_WORDS, False, entry_sizes),
    ("iteration", CHECK_WORDS, False, stated_sizes),
)  # fmt: skip
_WORDS = ("--", *ACCELERATE_WORDS, *(literal for form in _FORMS for literal in form[1]))
WORDS = (*_WORDS, "arguments -")
"""One of these stands in every line that is read, but for the entries of a dump, which begin with a blank."""


def _is_worth(text: str) -> bool:
    return any(word in text for word in _WORDS)
