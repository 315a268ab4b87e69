"""Single lines by which programs state a size: initialisation lines, entries of dumped settings, failed checks.

Sources: accelerate state.py (`PartialState.__repr__`) and commands/launch.py, deepspeed runtime/config.py and
runtime/pipe/topology.py, nanotron trainer.py (`pre_training`), detectron2
engine/defaults.py, LLaMA-Factory hparams/parser.py, mmengine runner/runner.py, timm train.py, transformers trainer.py,
torchtitan train.py, fairseq2 recipes, ColossalAI initialize.py and context/parallel_context.py, RETURNN torch/distributed.py, torch distributed/distributed_c10d.py (`_store_based_barrier`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from triage.core.events.commands import LIMIT
from triage.core.events.model import Event, Facts
from triage.core.events.names import ALIASES, YAML_NAMES, number, settle
from triage.core.lazy import lazy
from triage.core.logs.record import Record
from triage.core.values import replace


def positive(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The pairs whose text is a positive whole number."""
    return {name: value for name, text in pairs if (value := number(text)) is not None}


_NAMED: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("MEMBER: ", lazy(r"GLOBAL_RANK: \d+, MEMBER: \d+/(\d{1,9})"), ("world_size",)),
    ("distributed processes", lazy(r"All distributed processes registered\. Starting with (\d{1,9}) process"), ("world_size",)),
    ("orld size", lazy(r"^World size: (\d{1,9})\s*$"), ("world_size",)),
    ("orld size", lazy(r"\bRank of current process: \d+\. World size: (\d{1,9})\s*$"), ("world_size",)),
    ("orld size", lazy(r"\bProcess (?:local )?rank: \d+, world size: (\d{1,9}), device: "), ("world_size",)),
    ("world_rank=", lazy(r"\bworld_rank=\d+, local_rank=\d+, world_size=(\d{1,9})\b"), ("world_size",)),
    ("dist_world_size", lazy(r"\bdist_world_size=(\d{1,9})"), ("world_size",)),
    ("GPUs determined", lazy(r"Total number of GPUs determined to be: (\d{1,9})"), ("world_size",)),
    ("local_rank: ", lazy(r"\brank: \d+, local_rank: \d+, world_size: (\d{1,9})\b"), ("world_size",)),
    ("based_barrier_key:1 ", lazy(r"\bstore_based_barrier_key:1 (?:\(world_size=|with )(\d{1,9})(?:, worker_count| nodes)"), ("world_size",)),
    ("GPU number: ", lazy(r"^\s*GPU number: (\d{1,9})\s*$"), ("world_size",)),
    (", total ", lazy(r"Training in distributed mode with .{0,60}\bProcess \d+, total (\d{1,9})"), ("world_size",)),
    ("--num_processes`", lazy(r"^\s*`--num_processes` was set to a value of `(\d{1,9})`"), ("world_size",)),
    ("--num_machines`", lazy(r"^\s*`--num_machines` was set to a value of `(\d{1,9})`"), ("nnodes",)),
    ("mesh_device ", lazy(r"\bConfig mesh_device None world_size = (\d{1,9})\s*$"), ("replicas",)),
    ("orld_size", lazy(r"^(?:\W?[Rr]ank[ :=]?\d{1,7}\W{1,3})?world_size[ =:]{1,3}(\d{1,9})[ ,;]{1,2}(?:device|backend|rank|local_rank)\b"), ("world_size",)),
    ("orld size set", lazy(r"\bWorld size set to (\d{1,9})\.\s*$"), ("world_size",)),
    ("is initialized, data", lazy(r"\bDistributed environment is initialized, data parallel size: (\d{1,9}), pipeline parallel size: (\d{1,9}), tensor parallel size: (\d{1,9})\b"), ("dp", "pp", "tp")),
    ("ank 0/", lazy(r"^(?:\[\w{1,20}\] )?[Rr]ank 0/(\d{1,9}) on \S"), ("world_size",)),
    ("num_local_procs", lazy(r"\bnnodes=(\d{1,9}), num_local_procs=(\d{1,9})"), ("nnodes", "nproc_per_node")),
    ("global batch size ", lazy(r"^\W*setting global batch size to (\d{1,9})"), ("global_batch_size",)),
    ("batch size per device", lazy(r"Instantaneous batch size per device = ([\d,]{1,12})"), ("micro_batch_size",)),
    ("train batch size (w", lazy(r"Total train batch size \(w\. parallel.{0,40}\) = ([\d,]{1,12})"), ("global_batch_size",)),
    ("optimization steps", lazy(r"Total optimization steps = ([\d,]{1,12})"), ("train_iters",)),
    ("local batch size ", lazy(r"\blocal batch size (\d{1,9}), global batch size (\d{1,9}), .{0,80}?sequence length (\d{1,9}), .{0,80}?total steps (\d{1,12})"), ("micro_batch_size", "global_batch_size", "seq_length", "train_iters")),
    ("global batch size ", lazy(r"global batch size (\d{1,9}), .{0,80}?sequence length (\d{1,9}), .{0,80}?total steps (\d{1,12})"), ("global_batch_size", "seq_length", "train_iters")),
    ("CONFIG: ", lazy(r"\bCONFIG: micro_batches=\d+ micro_batch_size=(\d{1,9})"), ("micro_batch_size",)),
    ("nproc_per_node", lazy(r"^\W*nproc_per_node\s+: (\d{1,9})\s*$"), ("nproc_per_node",)),
    ("_nodes ", lazy(r"^\W*min_nodes\s+: (\d{1,9})\s*$"), ("min_nodes",)),
    ("_nodes ", lazy(r"^\W*max_nodes\s+: (\d{1,9})\s*$"), ("max_nodes",)),
    ('"key": "', lazy(r'"key": "global_batch_size", "value": (\d{1,9})\b'), ("global_batch_size",)),
    ('"key": "', lazy(r'"key": "max_sequence_length", "value": (\d{1,9})\b'), ("seq_length",)),
)  # fmt: skip
"""Words that stand in the line, the pattern, and what its groups are."""
NAMED_WORDS = tuple(dict.fromkeys(word for word, _, _ in _NAMED))


def named_sizes(text: str) -> dict[str, int]:
    """Initialisation lines of one wording each."""
    for word, pattern, names in _NAMED:
        if word in text and (match := pattern.search(text)) is not None:
            return positive(zip(names, (value.replace(",", "") for value in match.groups()), strict=True))
    return {}


INITIALIZED_WORDS = ("nitialized", "nitialised", "nitializing", "nitialization", "nit done")
_INITIALIZED = lazy(
    r"(?i)\b(?:torch[. ]?distributed|distributed|process group|processgroup|ddp)\b[^\n]{0,80}?\binit(?:iali[sz](?:ed|ing|ation)| done)\b"
    r"|\binitiali[sz](?:ed|ing) (?:the )?(?:torch[. ]?distributed|distributed|process group|ddp)\b"
)
_SUBGROUP = lazy(
    r"(?i)parallel\b|\b[tpdecs]p\b|pipeline|tensor|expert|replica|shard|sub-?group|node[_ ]rank|vllm|sglang|rollout|inference|engine"
)
_RANK_OF_SIZE = lazy(
    r"(?i)(?<![\w-])rank[ :=]{1,3}(\d{1,9})(?:\s?/\s?|[,;|]?\s(?:of\s|in\s)?(?:world[ _]?size|size)[ :=]{1,3})(\d{1,9})\b"
)
_WORLD_OF_SIZE = lazy(r"(?i)(?<![\w-])world[ _]?size[ :=]{1,3}(\d{1,9})\b")


def initialized_world(text: str) -> dict[str, int]:
    """A program's own words that the process group stands: `Torch distributed initialized. Backend: None, rank 0, size 4`,
    `Process group initialized: rank=3, world_size=8`. Not where the line speaks of a part of the world."""
    head = text[:400]
    if _INITIALIZED.search(head) is None or _SUBGROUP.search(head) is not None:
        return {}
    if (match := _RANK_OF_SIZE.search(head)) is not None:
        return positive([("world_size", match[2])]) if int(match[1]) < int(match[2]) else {}
    match = _WORLD_OF_SIZE.search(head)
    return positive([("world_size", match[1])]) if match is not None else {}


ACCELERATE_WORDS = ("Num processes: ",)
_PROCESSES = lazy(r"^\s*Num processes: (\d{1,9})\s*$")
_BESIDE = 2
"""Lines on either side in which the rest of accelerate's report stands."""


def accelerate_world(stream: Sequence[Record], index: int) -> dict[str, int]:
    """`Num processes: 2` of accelerate's report; elsewhere these words count workers of a data loader or a pool."""
    match = _PROCESSES.match(stream[index].text[:80])
    if match is None:
        return {}
    before = stream[max(0, index - _BESIDE) : index]
    after = stream[index + 1 : index + 1 + _BESIDE]
    if any("Distributed environment: " in r.text[:400] for r in before) or any(
        r.text.startswith("Process index: ") for r in after
    ):
        return positive([("world_size", match[1])])
    return {}


TOPOLOGY_WORDS = ("ProcessCoord(",)
_COORDINATE = lazy(r"ProcessCoord\(([a-z]{1,10}=\d{1,6}(?:, [a-z]{1,10}=\d{1,6}){0,4})\): (\d{1,9})")
_COORDINATE_AXES = {"pipe": "pp", "model": "tp", "data": "dp"}


def topology_sizes(text: str) -> dict[str, int]:
    """DeepSpeed's `Using topology: {ProcessCoord(pipe=0, data=0): 0, ...}`, if it is there to its end."""
    if "}" not in text:
        return {}
    found = _COORDINATE.findall(text)
    if sorted(int(rank) for _, rank in found) != list(range(len(found))) or not found:
        return {}
    sizes: dict[str, int] = {"world_size": len(found)}
    for place, _ in found:
        for axis in place.split(", "):
            name, _, at = axis.partition("=")
            if name in _COORDINATE_AXES:
                fact = _COORDINATE_AXES[name]
                sizes[fact] = max(sizes.get(fact, 1), int(at) + 1)
    return sizes


LIST_WORDS = ("batch_size", "batchsize")
_PAIR = lazy(r"(?<![\w.])['\"]?(\w{2,60})['\"]?\s?[:=]\s?(\d{1,13})(?=\s*(?:[|,;)}\]]|$))")
_LIST_NAMES = ALIASES | {"mbs": "micro_batch_size", "train_steps": "train_iters"}
_BATCHES = frozenset({"global_batch_size", "micro_batch_size"})
_OTHER_MODELS = ("LLM engine", "Vllm", "EngineArgs", "EngineConfig", "ServerArgs", "SamplingParams")


def listed_sizes(text: str) -> dict[str, int]:
    """Several settings in one line: `mbs: 1 | global_batch_size: 64 | sequence_length: 4096`, or a printed dict.
    One alone says too little about whose it is."""
    if any(word in text for word in _OTHER_MODELS):
        return {}
    found = settle(_PAIR.findall(text), aliases=_LIST_NAMES)
    return found if len(found) > 1 and found.keys() & _BATCHES else {}


ENTRY_WORDS = (
    "_size: ", "_size = ", '_size": ', "_size=", "_degree: ", "_degree = ", "seq_length: ", '_length": ', "seq_length = ", "attention_heads: ",
    "train_iters: ", "num_nodes: ", "gpus_per_node: ", "num_nodes = ", "gpus_per_node = ", "microbatch_size: ", "_device_train_batch_size=",
)  # fmt: skip
_ENTRY = lazy(r"^\s{0,40}['\"]?(\w{2,60})['\"]?(?::\s|\s=\s|=)(\d{1,13}),?\s*$")


def entry_sizes(text: str) -> dict[str, int]:
    """One line of a configuration dumped as YAML, JSON, TOML or a repr; which section it belongs to is not known."""
    match = _ENTRY.match(text)
    return settle([(match[1], match[2])], aliases=YAML_NAMES) if match is not None else {}


def unambiguous(events: list[Event]) -> list[Event]:
    """Without what the lines of dumped configurations, those of several models perhaps, state differently."""
    stated: dict[str, set[object]] = {}
    for event in events:
        if isinstance(event, Facts) and event.origin == "yaml":
            for name, value in event.values.items():
                stated.setdefault(name, set()).add(value)
    kept: list[Event] = []
    for event in events:
        if isinstance(event, Facts) and event.origin == "yaml":
            if all(len(stated[name]) == 1 for name in event.values):
                kept.append(replace(event, origin="command"))
        else:
            kept.append(event)
    return kept


CHECK_WORDS = ("divisible", "multiple of", "must be", "should be", "not equal")
_STATED = lazy(
    r"(?<![\w-])(?:eval[_ ])?((?:global|micro)[_ ]batch[_ ]size|num_attention_heads|(?:tensor|pipeline)_model_parallel_size"
    r"|context_parallel_size|data[_ ]parallel[_ ]size|world[_ ]size|hidden_size|num_layers) \((\d{1,13})\)"
)
_CHECKED = lazy(
    r"(?i)(?<![\w.-])(seq(?:uence)?[_ ]len(?:gth)?|global[_ ]batch[_ ]size|world[_ ]size"
    r"|(?:tensor|pipeline|context)[_ ](?:model[_ ])?parallel[_ ](?:size|degree))(?:\s?[=:]\s?|\s\(|\s)(\d{1,13})(?![\w.])"
)
_CHECKED_NAMES = {"sequence_len": "seq_length", "sequence_length": "seq_length", "seq_len": "seq_length",
                  "seq_length": "seq_length"}  # fmt: skip


def stated_sizes(text: str) -> dict[str, int]:
    """Sizes that the message of a failed check names: `num_attention_heads (6) must be a multiple of ...`, `Sequence
    length 8190 must be divisible by tensor parallel degree 4`."""
    if not any(word in text for word in CHECK_WORDS):
        return {}
    text = text[:LIMIT]
    found = settle((_snake(match[1]), match[2]) for match in _STATED.finditer(text))
    if "divisible" in text or "multiple of" in text:
        pairs = ((_snake(match[1]), match[2]) for match in _CHECKED.finditer(text))
        found = settle(pairs, aliases=ALIASES | _CHECKED_NAMES) | found
    return found


def _snake(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")
