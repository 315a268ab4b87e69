"""What CUDA_DEVICE_MAX_CONNECTIONS a configuration needs, and why (megatron/training/arguments.py:1048, 1166, 1453-1479)."""

from __future__ import annotations

from typing import assert_never

from triage.core.megatron.connections import NAME, Need, need
from triage.core.megatron.launch import Launch, Unresolved, Word, arguments
from triage.core.values import dataclass
from triage.submit.config import Config
from triage.submit.quoting import Quoted


@dataclass(frozen=True, slots=True)
class Connections:
    """What the script does about the variable."""

    value: str | None
    """`None` unsets it."""
    why: Quoted
    """For a comment."""


def connections(config: Config) -> Connections | None:
    """`None`: leave the variable alone, because nothing needs it, or because the configuration sets it itself."""
    if NAME in config.environment:
        return None
    launch = Launch(
        nodes=config.job.nodes,
        gpus_per_node=config.job.gpus_per_node,
        gpu=config.gpu,
        args=arguments(Word(text) for text in config.arguments),
    )
    try:
        wanted = need(launch)
    except Unresolved:
        return None
    match wanted:
        case Need.NOT_ONE:
            return Connections(
                None, Quoted("FSDP asserts that this is not 1, and an inherited value would count")
            )
        case Need.ONE:
            return Connections(
                "1", Quoted("tensor or context parallelism before Blackwell asserts exactly 1")
            )
        case Need.EITHER:
            return Connections(
                "1",
                Quoted(
                    "tensor or context parallelism asserts exactly 1 before Blackwell, where it has no effect"
                ),
            )
        case Need.ONE_OR_MANY:
            return Connections(
                "32",
                Quoted(
                    "overlapped expert communication wants 32; 1 would favour tensor and context parallelism"
                ),
            )
        case Need.MANY:
            return Connections("32", Quoted("overlapped expert communication wants 32"))
        case Need.NO_EFFECT | Need.NONE:
            return None
    assert_never(wanted)
