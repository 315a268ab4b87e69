"""CUDA_DEVICE_MAX_CONNECTIONS: which value a configuration needs on which GPU."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import assert_never

from triage.core.megatron.finding import ARGUMENTS, Finding, Severity
from triage.core.megatron.fsdp import MEGATRON_FSDP, TORCH_FSDP
from triage.core.megatron.gpus import BLACKWELL, capability
from triage.core.megatron.launch import Launch, Unknown, Unresolved
from triage.core.megatron.layout import CP, TP
from triage.core.megatron.pipeline import OVERLAP_EXPERTS

NAME = "CUDA_DEVICE_MAX_CONNECTIONS"


class Need(enum.Enum):
    """What a configuration wants of the variable."""

    NOT_ONE = "not-one"
    """FSDP: unset, or more than 1, on every GPU."""
    ONE = "one"
    """Tensor or context parallelism before Blackwell: exactly 1."""
    ONE_OR_MANY = "one-or-many"
    """The same beside overlapped expert communication: 1 or 32, a trade-off."""
    MANY = "many"
    """Overlapped expert communication: 32."""
    EITHER = "either"
    """As `ONE`, but the GPU is not known: Blackwell needs nothing."""
    NO_EFFECT = "no-effect"
    """Blackwell."""
    NONE = "none"


def need(launch: Launch) -> Need:
    """The row of the table that holds (arguments.py:1048, 1166, 1453-1479). Raises `Unresolved` where it is not known
    which."""
    if launch.flag(TORCH_FSDP, MEGATRON_FSDP):
        return Need.NOT_ONE
    major = capability(launch.gpu)
    if major is not None and major >= BLACKWELL:
        return Need.NO_EFFECT
    cut = launch.size(TP) > 1 or launch.size(CP) > 1
    if launch.flag(OVERLAP_EXPERTS):
        return Need.ONE_OR_MANY if cut and major is not None else Need.MANY
    if cut:
        return Need.ONE if major is not None else Need.EITHER
    return Need.NONE


def connections(launch: Launch) -> Iterator[Finding]:
    """Compares the exported value with what is needed."""
    wanted = need(launch)
    setting = launch.env.get(NAME)
    value = None if setting is None else setting.value
    if isinstance(value, Unknown):
        raise Unresolved(NAME)
    line = setting.line if setting is not None else None
    sure = Severity.ERROR if launch.env_complete or value is not None else Severity.WARNING
    if (found := _judge(launch, wanted, value, sure)) is not None:
        severity, text, source = found
        yield Finding(severity, f"connections/{wanted.value}", text, f"{ARGUMENTS}:{source}", line)
    if wanted is Need.NOT_ONE and _conflict(launch):
        yield Finding(
            Severity.WARNING,
            "connections/fsdp-conflict",
            f"before Blackwell, TP or CP > 1 runs best with {NAME}=1, which FSDP forbids: one of the two is slower",
            f"{ARGUMENTS}:1457",
            launch.line(TP, CP),
        )


def _judge(
    launch: Launch, wanted: Need, value: str | None, sure: Severity
) -> tuple[Severity, str, int] | None:
    """Severity, sentence and line of arguments.py, or `None` where the value is right."""
    shown = f"{NAME} is {'not set' if value is None else repr(value[:20])}"
    match wanted:
        case Need.NOT_ONE:
            torch = launch.flag(TORCH_FSDP)
            text = (
                f"{shown}, but with {TORCH_FSDP if torch else MEGATRON_FSDP} it must be unset or more than 1"
            )
            return (sure, text, 1048 if torch else 1166) if value == "1" else None
        case Need.ONE:
            text = f"{shown}, but {_sizes(launch)} on {launch.gpu} (before Blackwell) needs exactly 1"
            return None if value == "1" else (sure, f"{text}: an assertion fails at the start", 1477)
        case Need.EITHER:
            kind = (
                "the GPU type is not known"
                if launch.gpu is None
                else f"{launch.gpu} is no NVIDIA type known here"
            )
            text = f"{shown}, and {kind}: {_sizes(launch)} needs exactly 1 on Hopper and before"
            return Severity.WARNING, f"{text}, and nothing on Blackwell", 1477
        case Need.ONE_OR_MANY:
            text = (
                f"{shown}; {_sizes(launch)} wants 1 and {OVERLAP_EXPERTS} wants 32: choose what matters more"
            )
            return Severity.WARNING, text, 1467
        case Need.MANY:
            text = f"{shown}, but {OVERLAP_EXPERTS} overlaps best with 32"
            return None if value == "32" else (Severity.WARNING, text, 1467)
        case Need.NO_EFFECT:
            return (
                None
                if value is None
                else (Severity.INFO, f"{shown}, which has no effect on {launch.gpu}", 1454)
            )
        case Need.NONE:
            text = f"{shown}, but nothing here needs it (TP 1, CP 1, no FSDP): leave it unset"
            return None if value is None else (Severity.WARNING, text, 1453)
    assert_never(wanted)


def _sizes(launch: Launch) -> str:
    return f"TP {launch.size(TP)}, CP {launch.size(CP)}"


def _conflict(launch: Launch) -> bool:
    major = capability(launch.gpu)
    return major is not None and major < BLACKWELL and (launch.size(TP) > 1 or launch.size(CP) > 1)
