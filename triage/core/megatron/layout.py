"""How a launch lays its processes out: TP x CP x PP x DP of the dense layers, expert-TP x EP x PP of the experts."""

from __future__ import annotations

from triage.core.megatron.launch import Launch, Unresolved
from triage.core.values import dataclass

TP = "--tensor-model-parallel-size"
PP = "--pipeline-model-parallel-size"
CP = "--context-parallel-size"
EP = "--expert-model-parallel-size"
ETP = "--expert-tensor-parallel-size"
SHARDS = "--tensor-parallel-num-weight-shards"
EXPERT_SHARDS = "--expert-tensor-parallel-num-weight-shards"
DS_SEQUENCE = "--ds-sequence-parallel-size"
"""Megatron-DeepSpeed's sequence parallelism, a factor of the world like CP."""

SIZES = (TP, PP, CP, EP, ETP, SHARDS, EXPERT_SHARDS, DS_SEQUENCE)


@dataclass(frozen=True, slots=True)
class Layout:
    """Parallel sizes, all known and at least 1."""

    world: int
    tp: int
    pp: int
    cp: int
    remat: int
    """Weight shards per TP rank, a factor of the world (megatron/core/model_parallel_config.py:10)."""

    @property
    def model(self) -> int:
        """Processes that hold one replica of the model."""
        return self.tp * self.pp * self.cp * self.remat

    @property
    def dp(self) -> int:
        """Replicas. Raises `Unresolved` where the world is no multiple, which has its own check."""
        if self.world < 1 or self.world % self.model:
            raise Unresolved("data parallel size")
        return self.world // self.model

    def __str__(self) -> str:
        shown = f"TP {self.tp} x PP {self.pp} x CP {self.cp}"
        return shown if self.remat == 1 else f"{shown} x weight shards {self.remat}"


def layout(launch: Launch) -> Layout:
    """Raises `Unresolved` where a size or the world is not known."""
    if launch.world_size is None:
        raise Unresolved("world size")
    tp = launch.size(TP)
    cp = launch.size(CP) * launch.size(DS_SEQUENCE)
    return Layout(launch.world_size, tp, launch.size(PP), cp, remat(launch, SHARDS, tp))


def remat(launch: Launch, option: str, tp: int) -> int:
    """Weight shards per rank; 1 without the option. Raises `Unresolved` where they do not fit TP."""
    shards = launch.int(option, default=tp)
    if shards is None or shards < tp or shards % tp:
        raise Unresolved(option)
    return shards // tp


def expert_tp(launch: Launch) -> int:
    """Expert-TP, which follows TP (megatron/training/arguments.py:585)."""
    return launch.size(TP) if launch.has(ETP) is False else launch.size(ETP)
