"""What the settings of the usual programs are called, and which fact each one states."""

from __future__ import annotations

from collections.abc import Iterable

ALIASES: dict[str, str] = {
    "world_size": "world_size",
    "dist_world_size": "world_size",
    "distributed_world_size": "world_size",
    "global_num_gpus": "world_size",
    "tensor_model_parallel_size": "tp",
    "tensor_parallel_size": "tp",
    "tensor_parallel_degree": "tp",
    "model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "pipeline_parallel_size": "pp",
    "pipeline_parallel_degree": "pp",
    "pipe_parallel_size": "pp",
    "context_parallel_size": "cp",
    "context_parallel_degree": "cp",
    "expert_model_parallel_size": "ep",
    "expert_parallel_degree": "ep",
    "moe_expert_parallel_size": "ep",
    "data_parallel_size": "dp",
    "micro_batch_size": "micro_batch_size",
    "train_micro_batch_size_per_gpu": "micro_batch_size",
    "train_micro_batch_size": "micro_batch_size",
    "per_device_train_batch_size": "micro_batch_size",
    "device_train_microbatch_size": "micro_batch_size",
    "ppo_micro_batch_size_per_gpu": "micro_batch_size",
    "global_batch_size": "global_batch_size",
    "global_train_batch_size": "global_batch_size",
    "seq_length": "seq_length",
    "seq_len": "seq_length",
    "sequence_length": "seq_length",
    "encoder_seq_length": "seq_length",
    "num_layers": "num_layers",
    "num_attention_heads": "num_attention_heads",
    "hidden_size": "hidden_size",
    "train_iters": "train_iters",
    "max_steps": "train_iters",
    "nnodes": "nnodes",
    "nproc_per_node": "nproc_per_node",
    "n_gpus_per_node": "nproc_per_node",
    "num_local_procs": "nproc_per_node",
}
"""Whole names only: `cpu_offloading_num_layers` or `moe_ffn_hidden_size` state something else."""

YAML_NAMES: dict[str, str] = {
    name: ALIASES[name]
    for name in (
        "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size",
        "tensor_parallel_degree", "pipeline_parallel_degree", "context_parallel_degree", "micro_batch_size",
        "global_batch_size", "global_train_batch_size", "device_train_microbatch_size", "per_device_train_batch_size",
        "seq_length", "encoder_seq_length", "num_attention_heads", "train_iters",
    )
} | {
    "tp_size": "tp", "pp_size": "pp", "cp_size": "cp", "ep_size": "ep", "num_nodes": "nnodes",
    "num_gpus_per_node": "nproc_per_node",
}  # fmt: skip
"""Names that mean one thing in whatever section of a dumped configuration they stand."""

_CANONICAL = frozenset(
    {
        "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
        "expert_model_parallel_size", "seq_length", "train_iters", "micro_batch_size",
    }
)  # fmt: skip
"""Where one place gives a fact under two names, these win."""

_SHAPE = frozenset({"num_layers", "hidden_size"})
"""Words that other models use too (a ResNet's `--num-layers 50`)."""
_TRANSFORMER = frozenset(
    {"num_attention_heads", "seq_length", "tp", "pp", "micro_batch_size", "global_batch_size"}
)
"""Facts whose presence shows that the words of `_SHAPE` mean a transformer."""

LARGEST = 10**12
"""A number above this is no size."""


def number(text: str) -> int | None:
    """The positive whole number that `text` is, else None (`None`, `-1`, `0`, `1:4`, `gpu`)."""
    text = text.strip().strip("'\",")
    if not (text.isascii() and text.isdigit()) or len(text) > 13:
        return None
    value = int(text)
    return value if 0 < value <= LARGEST else None


def settle(pairs: Iterable[tuple[str, str]], *, aliases: dict[str, str] = ALIASES) -> dict[str, int]:
    """Facts of one dump or command from its `name, value` pairs; what it states twice differently is left out."""
    values: dict[str, dict[bool, set[int]]] = {}
    for name, text in pairs:
        fact = aliases.get(name)
        if fact is None or (value := number(text)) is None:
            continue
        values.setdefault(fact, {}).setdefault(name in _CANONICAL, set()).add(value)
    found: dict[str, int] = {}
    for fact, by_rank in values.items():
        candidates = by_rank.get(True) or by_rank.get(False) or set()
        if len(candidates) == 1:
            found[fact] = next(iter(candidates))
    return found


def transformer_only(found: dict[str, int]) -> dict[str, int]:
    """Without the shape words of some other kind of model."""
    if found.keys() & _TRANSFORMER:
        return found
    return {name: value for name, value in found.items() if name not in _SHAPE}
