"""Whether the processes can be laid out at all: world size, expert world size, sizes that are numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from triage.core.megatron.finding import ARGUMENTS, PARALLEL_CONFIG, STATE, Finding, Severity
from triage.core.megatron.launch import Argument, Launch, Unresolved, is_int
from triage.core.megatron.layout import (
    CP,
    DS_SEQUENCE,
    EP,
    ETP,
    EXPERT_SHARDS,
    PP,
    SHARDS,
    SIZES,
    TP,
    expert_tp,
    layout,
    remat,
)

NUMBERS = (
    *SIZES,
    "--num-layers",
    "--hidden-size",
    "--num-attention-heads",
    "--num-query-groups",
    "--kv-channels",
    "--seq-length",
    "--max-position-embeddings",
    "--micro-batch-size",
    "--global-batch-size",
    "--num-experts",
    "--num-layers-per-virtual-pipeline-stage",
    "--num-virtual-stages-per-pipeline-rank",
    "--decoder-first-pipeline-num-layers",
    "--decoder-last-pipeline-num-layers",
)
"""Options whose one value is an int."""
_ZERO = frozenset({"--num-experts"})
"""Those that may be 0 (megatron/training/arguments.py:1648)."""
OTHER_WORLDS = ("--encoder-tensor-model-parallel-size", "--encoder-pipeline-model-parallel-size")
"""Older versions give an encoder processes of its own."""


def numbers(launch: Launch) -> Iterator[Finding]:
    """Each size is a whole number (argparse) and at least 1 (megatron/training/arguments.py:427 divides by it)."""
    for name in NUMBERS:
        item = launch.find(name)
        if item is not None and (wrong := _wrong(item)):
            yield Finding(Severity.ERROR, "arguments/number", f"{name} {wrong}", None, item.line)


def _wrong(item: Argument) -> str | None:
    if not item.values:
        return "has no value"
    value = item.values[0]
    if not isinstance(value, str):
        return None
    shown = repr(value[:40])
    if not is_int(value):
        return f"is {shown}, which is no whole number"
    return f"is {shown}, but must be at least 1" if int(value) < (item.name not in _ZERO) else None


def world_size(launch: Launch) -> Iterator[Finding]:
    """The world is a multiple of TP x PP x CP (arguments.py:432, parallel_state.py:823). A size that is not known is
    left out of the product: the world must be a multiple of the rest all the same."""
    if launch.world_size is None or launch.has(*OTHER_WORLDS):
        return
    names = [("TP", TP), ("PP", PP), ("CP", CP)]
    if launch.has(DS_SEQUENCE):
        names.append(("SP", DS_SEQUENCE))
    sizes = [(short, _known(launch, name)) for short, name in names]
    product = prod(size for _, size in sizes)
    shown = " x ".join(f"{short} {size}" for short, size in sizes)
    if launch.has(SHARDS):
        product = layout(launch).model
        shown = str(layout(launch))
    if launch.world_size < 1 or launch.world_size % product:
        yield Finding(
            Severity.ERROR,
            "parallel/world-size",
            f"the world of {_world(launch)} is no multiple of {shown} = {product}",
            f"{ARGUMENTS}:432",
            launch.line(TP, PP, CP, DS_SEQUENCE) or launch.nodes_line,
        )


def _known(launch: Launch, name: str) -> int:
    try:
        return launch.size(name)
    except Unresolved:
        return 1


def _world(launch: Launch) -> str:
    return f"{launch.world_size} processes ({launch.nodes} nodes x {launch.gpus_per_node})"


def expert_world_size(launch: Launch) -> Iterator[Finding]:
    """The world is a multiple of expert-TP x EP x PP (parallel_state.py:882); of a dense model `world_size` says it."""
    if not launch.has("--num-experts", EP, ETP, EXPERT_SHARDS):
        return
    placed = layout(launch)
    tensor = expert_tp(launch)
    shards = remat(launch, EXPERT_SHARDS, tensor)
    product = tensor * launch.size(EP) * placed.pp * shards
    if placed.world % product:
        yield Finding(
            Severity.ERROR,
            "parallel/expert-world-size",
            f"the world of {_world(launch)} is no multiple of expert-TP {tensor} x EP {launch.size(EP)} "
            f"x PP {placed.pp}{f' x weight shards {shards}' if shards > 1 else ''} = {product}",
            f"{STATE}:882",
            launch.line(EP, ETP, EXPERT_SHARDS),
        )


def weight_shards(launch: Launch) -> Iterator[Finding]:
    """Weight shards are a multiple of TP (model_parallel_config.py:31, 36)."""
    for option, tensor, short in (
        (SHARDS, launch.size(TP), "TP"),
        (EXPERT_SHARDS, expert_tp(launch), "expert-TP"),
    ):
        shards = launch.int(option)
        if shards is not None and (shards < tensor or shards % tensor):
            yield Finding(
                Severity.ERROR,
                "parallel/weight-shards",
                f"{option} {shards} is no multiple of {short} {tensor}",
                f"{PARALLEL_CONFIG}:{32 if shards < tensor else 37}",
                launch.line(option),
            )
