"""Whose rules a launch follows, told from its options and its program."""

from __future__ import annotations

import re

from triage.core.megatron.launch import UNKNOWN, Argument, Framework, Launch
from triage.core.megatron.options import KNOWN
from triage.core.values import replace

OWN = frozenset({
    "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--num-layers", "--hidden-size",
    "--num-attention-heads", "--micro-batch-size", "--global-batch-size", "--max-position-embeddings",
    "--seq-length",
})  # fmt: skip
"""Options that together mark a program of Megatron's family."""
_FAMILY = 3
"""How many of them do."""
_DEEPSPEED = re.compile(r"--(?:no-)?(?:deepspeed|ds-|zero-stage|cpu-optimizer)", re.ASCII)
_PRETRAIN = re.compile(r"(?:.*[/.])?(?:pretrain_\w+|train_rl)(?:\.py)?", re.S)
"""Megatron-LM's own programs, which check their arguments in full (megatron/training/arguments.py)."""
_MODEL = frozenset({
    "--num-layers", "--hidden-size", "--num-attention-heads", "--num-query-groups", "--kv-channels",
    "--ffn-hidden-size", "--seq-length", "--max-position-embeddings",
})  # fmt: skip
_NEMO = re.compile(r"nemo|megatron_gpt_pretraining|megatron_gpt_finetuning", re.I)

OVERRIDES = {
    "tensor_model_parallel_size": "--tensor-model-parallel-size",
    "pipeline_model_parallel_size": "--pipeline-model-parallel-size",
    "context_parallel_size": "--context-parallel-size",
    "expert_model_parallel_size": "--expert-model-parallel-size",
    "num_attention_heads": "--num-attention-heads",
    "num_query_groups": "--num-query-groups",
    "hidden_size": "--hidden-size",
    "kv_channels": "--kv-channels",
    "num_layers": "--num-layers",
    "micro_batch_size": "--micro-batch-size",
    "global_batch_size": "--global-batch-size",
    "encoder_seq_length": "--seq-length",
    "max_position_embeddings": "--max-position-embeddings",
}
"""NeMo's names below `model.`."""


def dashed(launch: Launch) -> Launch:
    """Of a fork whose parser spells all options with underscores, the launch in Megatron-LM's spelling."""
    names = {item.name.replace("_", "-") for item in launch.args if item.name and "_" in item.name}
    if len(names & OWN) < _FAMILY:
        return launch
    args = (
        item if item.name is None else replace(item, name=item.name.replace("_", "-")) for item in launch.args
    )
    return replace(launch, args=tuple(args), framework=Framework.FORK)


def recognise(launch: Launch) -> Framework:
    """The framework of a launch that says Megatron-LM or nothing about it."""
    if launch.framework not in (Framework.MEGATRON, Framework.UNKNOWN):
        return launch.framework
    names = {item.name for item in launch.args if item.name is not None}
    if any(_DEEPSPEED.match(name) for name in names):
        return Framework.DEEPSPEED
    if any(_override(item) for item in launch.args) or _NEMO.search(launch.program or ""):
        return Framework.NEMO
    own = launch.program is None or _PRETRAIN.fullmatch(launch.program) is not None
    if len(names & OWN) < _FAMILY and not (own and launch.framework is Framework.MEGATRON):
        return Framework.UNKNOWN
    return Framework.FORK if foreign(launch) or not own else Framework.MEGATRON


def deferred(launch: Launch) -> Launch:
    """Of a program that does not pretrain, sizes of -1 are those of the checkpoint that it loads."""
    if launch.program is None or _PRETRAIN.fullmatch(launch.program):
        return launch
    args = (
        replace(item, values=(UNKNOWN,)) if item.name in _MODEL and item.values == ("-1",) else item
        for item in launch.args
    )
    return replace(launch, args=tuple(args))


def foreign(launch: Launch) -> tuple[Argument, ...]:
    """Options that current Megatron-LM does not have."""
    return tuple(
        item
        for item in launch.args
        if item.name is not None and item.name.startswith("--") and item.name not in KNOWN
    )


def translated(launch: Launch) -> Launch:
    """NeMo's overrides under Megatron's names. What is not among them stands in its configuration file."""
    args = tuple(
        replace(item, name=name) if (name := _override(item)) else item
        for item in launch.args
        if item.name is not None
    )
    return replace(launch, args=(*args, Argument(None)))


def _override(item: Argument) -> str | None:
    head, _, tail = (item.name or "").lstrip("+").rpartition(".")
    return OVERRIDES.get(tail) if head.split(".")[-1] == "model" else None
