"""Lines in which a process says which rank it is, and those of several processes that must not be taken for one."""

from __future__ import annotations

import pytest

from tests.core.events.lines import records
from triage.core.events.identity import extract_identity
from triage.core.logs.record import NO_TAGS, Tags


def values(text: str, tags: Tags = NO_TAGS) -> list[dict[str, object]]:
    return [dict(event.values) for event in extract_identity(records(text, tags), 0)]


@pytest.mark.parametrize(
    "line",
    [
        "RANK=2",
        'declare -x RANK="2"',
        "environ({'MASTER_ADDR': 'a', 'RANK': '2', 'WORLD_SIZE': '3', 'LOCAL_RANK': '0'})",
        "OMPI_COMM_WORLD_RANK=2",
        "PMI_RANK=2",
        "Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/4",
        "Discovered MPI settings of world_rank=2, local_rank=2, world_size=8, master_addr=10.0.0.1, master_port=29500",
    ],
)
def test_environment_tells_the_own_rank(line: str) -> None:
    assert values(line) == [{"own_rank": 2}]


@pytest.mark.parametrize(
    "line", ["LOCAL_RANK=2", "NODE_RANK=2", "GROUP_RANK: 2", "RANK=$SLURM_PROCID", "RANK=1 RANK=2"]
)
def test_other_counts_are_no_rank(line: str) -> None:
    assert values(line) == []


def test_submitit_tells_rank_host_and_world() -> None:
    line = "Starting with JobEnvironment(job_id=4, hostname=n0824, local_rank=5(8), node=0(2), global_rank=5(16))"
    assert values(line) == [
        {"host": "n0824", "local_rank": 5, "nproc_per_node": 8, "nnodes": 2, "own_rank": 5, "world_size": 16}
    ]


def test_fairseq_tells_the_host_of_a_rank() -> None:
    assert values("initialized host gpu-7 as rank 3") == [{"host": "gpu-7", "rank": 3}]


def test_initialisation_line_counts_under_a_hosts_label_only() -> None:
    line = "| distributed init (rank 5): env://"
    assert values(line) == []
    assert values(line, Tags(node="cn-d003")) == [{"rank": 5, "host": "cn-d003"}]
