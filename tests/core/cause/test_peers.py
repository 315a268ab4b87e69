"""The one rank that all broken groups share, from the stacks of those it left."""

from __future__ import annotations

import pytest

from triage.core.cause.groups import Sizes
from triage.core.cause.peers import common_peer, group_of
from triage.core.events.model import Frame

TP, DP, PP = "TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP_WITH_CP", "PIPELINE_MODEL_PARALLEL_GROUP"
SIZES = Sizes(world=8, tp=2, cp=1, pp=2)
"""Ranks: tp pairs 01 23 45 67; dp pairs 02 13 46 57; pp pairs 04 15 26 37."""


def stack(*files: str) -> tuple[Frame, ...]:
    return tuple(Frame(file, 1, "f") for file in files)


@pytest.mark.parametrize(
    ("files", "group"),
    [
        (
            (
                "megatron/core/pipeline_parallel/schedules.py",
                "megatron/core/pipeline_parallel/p2p_communication.py",
            ),
            PP,
        ),
        (("megatron/core/tensor_parallel/mappings.py", "torch/distributed/distributed_c10d.py"), TP),
        (("megatron/core/distributed/param_and_grad_buffer.py", "torch/distributed/distributed_c10d.py"), DP),
        (
            (
                "megatron/core/pipeline_parallel/p2p_communication.py",
                "megatron/core/tensor_parallel/mappings.py",
            ),
            TP,
        ),
        (("train.py", "torch/distributed/distributed_c10d.py"), None),
        ((), None),
    ],
)
def test_the_innermost_megatron_file_tells_the_group(files: tuple[str, ...], group: str | None) -> None:
    assert group_of(stack(*files)) == group


def test_a_frame_far_out_tells_nothing() -> None:
    assert group_of(stack("megatron/core/tensor_parallel/mappings.py", *["torch/x.py"] * 12)) is None


def test_the_rank_that_two_groups_share_is_missing() -> None:
    assert common_peer([(0, TP), (3, DP)], SIZES) == 1
    assert common_peer([(3, DP), (0, TP)], SIZES) == 1


def test_one_victim_alone_accuses_nobody() -> None:
    assert common_peer([(0, TP)], SIZES) is None
    assert common_peer([(0, TP), (0, DP)], SIZES) is None


def test_victims_of_groups_without_a_common_member_accuse_nobody() -> None:
    assert common_peer([(0, TP), (7, TP)], SIZES) is None


def test_a_victim_is_never_the_culprit() -> None:
    assert common_peer([(0, TP), (1, TP)], SIZES) is None


def test_two_ranks_that_fit_equally_are_none() -> None:
    four = Sizes(world=4, tp=4, cp=1, pp=1)
    assert common_peer([(0, TP), (1, TP)], four) is None
    assert common_peer([(0, TP), (1, TP), (2, TP)], four) == 3


def test_unknown_sizes_accuse_nobody() -> None:
    assert common_peer([(0, TP), (3, DP)], Sizes(world=8)) is None
