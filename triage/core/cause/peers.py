"""Who went away, told from the stacks of those it left: each was in a collective of one Megatron group, and the one
rank that all these groups share is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from triage.core.cause.groups import Sizes, megatron_members
from triage.core.events.model import Frame
from triage.core.lazy import lazy

_CALLS = "torch/distributed/distributed_c10d.py"
_AXES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("PIPELINE_MODEL_PARALLEL_GROUP", lazy(r"p2p_communication\.py")),
    (
        "DATA_PARALLEL_GROUP_WITH_CP",
        lazy(
            r"param_and_grad_buffer\.py|finalize_model_grads\.py|distrib_optimizer\.py|nn/parallel/distributed\.py"
        ),
    ),
    (
        "TENSOR_MODEL_PARALLEL_GROUP",
        lazy(r"tensor_parallel/(?:mappings|layers|cross_entropy|data)\.py"),
    ),
)
"""Megatron files in which a collective of a group stands; asked from the innermost frame outwards."""


def group_of(frames: Sequence[Frame]) -> str | None:
    """Description of the process group in whose collective a stack ends; None where the files do not tell."""
    for frame in reversed(frames[-12:]):
        for description, pattern in _AXES:
            if pattern.search(frame.file):
                return description
    return None


def call_of(frames: Sequence[Frame]) -> str | None:
    """The function of torch.distributed in which a stack ends; None where it ends elsewhere."""
    calls = (frame.function for frame in reversed(frames[-3:]) if frame.file.endswith(_CALLS))
    return next(calls, None)


def common_peer(victims: Iterable[tuple[int, str]], sizes: Sizes) -> int | None:
    """The one rank, no victim itself, that is in the group of every victim; victims are (rank, group description).

    None when fewer than two victims tell, or when several ranks or none fit.
    """
    told = list(victims)
    ranks = {rank for rank, _ in told}
    if len(ranks) < 2:
        return None
    shared: set[int] | None = None
    for rank, description in told:
        members = megatron_members(description, rank, sizes)
        if members is None:
            return None
        shared = set(members) if shared is None else shared & set(members)
    left = (shared or set()) - ranks
    return left.pop() if len(left) == 1 else None
