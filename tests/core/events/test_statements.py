"""Single lines that state a size, and lines that only look as if they did."""

from __future__ import annotations

import time

import pytest

from tests.core.events.lines import records
from triage.core.events.arguments import extract_facts
from triage.core.events.model import Facts
from triage.core.events.statements import stated_sizes


def values(text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for event in extract_facts(records(text), 0)[0]:
        if isinstance(event, Facts):
            found |= event.values
    return found


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("Torch distributed initialized. Backend: None, rank 0, size 4.", 4),
        ("Distributed initialized: rank=1, world_size=8", 8),
        ("Process group initialized, world size 2", 2),
        ("initialized distributed, rank 3/8, local rank 3", 8),
        ("INFO: init_process_group done: distributed init done (rank 2, world size 16)", 16),
        ("Rank of current process: 0. World size: 8", 8),
        ("Process rank: 3, world size: 8, device: cuda:3, distributed training: True", 8),
        ("Training in distributed mode with multiple processes, 1 device per process.Process 0, total 4, device cuda:0.", 4),
        ("    GPU number: 16", 16),
        ("\t`--num_processes` was set to a value of `2`", 2),
        ("Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.", 8),
    ],
)  # fmt: skip
def test_the_world_as_programs_say_it(line: str, size: int) -> None:
    assert values(line) == {"world_size": size}


@pytest.mark.parametrize(
    "line",
    [
        "Tensor parallel process group initialized, rank 0, size 4",
        "rank 0 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 0; distributed initialized",
        "vLLM distributed environment initialized, world size 4",
        "Distributed initialized, node_rank 0, world_size 2",
        "Distributed sampler initialized, rank 4, size 4",
        "optimizer initialized, size 4",
        "Rank 3: Completed store-based barrier for key:store_based_barrier_key:2 with 4 nodes.",
        "Config mesh_device DeviceMesh('cuda', [0, 1]) world_size = 2",
        "Process 0 of the pool, total 4",
    ],
)
def test_sizes_of_a_part_or_of_something_else_are_not_the_world(line: str) -> None:
    assert "world_size" not in values(line)


def test_accelerates_report_counts_only_as_such() -> None:
    report = (
        "Distributed environment: FSDP  Backend: nccl\nNum processes: 2\nProcess index: 0\nDevice: cuda:0"
    )
    assert values(report) == {"world_size": 2}
    assert values("Num processes: 2\nProcess index: 1") == {"world_size": 2}
    assert values("tokenizing\nNum processes: 32\nNum shards: 4") == {}


def test_deepspeeds_configuration_counts_replicas() -> None:
    assert values("Config mesh_device None world_size = 2") == {"replicas": 2}


def test_deepspeeds_topology_is_the_world_only_if_whole() -> None:
    whole = "Using topology: {ProcessCoord(pipe=0, data=0): 0, ProcessCoord(pipe=0, data=1): 1, ProcessCoord(pipe=1, data=0): 2, ProcessCoord(pipe=1, data=1): 3}"
    assert values(whole) == {"world_size": 4, "pp": 2, "dp": 2}
    assert values(whole[:-1]) == {}
    assert values("Using topology: {ProcessCoord(pipe=0, data=1): 1, ProcessCoord(pipe=1, data=1): 3}") == {}


def test_several_settings_in_one_line() -> None:
    line = "[Start training] datetime: 2024-03-22 19:46:52.930585 | mbs: 1 | grad_accum: 8 | global_batch_size: 64 | sequence_length: 4096 | train_steps: 5 | start_iteration_step: 0"
    assert values(line) == {
        "micro_batch_size": 1, "global_batch_size": 64, "seq_length": 4096, "train_iters": 5,
    }  # fmt: skip
    assert values("{'global_batch_size': 512, 'micro_batch_size': 4, 'lr': 0.1}") == {
        "global_batch_size": 512, "micro_batch_size": 4,
    }  # fmt: skip


def test_an_inference_engine_or_one_setting_alone_states_nothing() -> None:
    assert values("LLM engine: tensor_parallel_size=4, global_batch_size=8, seq_len=4096") == {}
    assert values("saw batch_size: 12, global_batch_size: 64 | loss 2.5") == {}


def test_settings_of_dataclass_reprs() -> None:
    assert values("TrainConfig(seed=6198, model=ModelConfig(n_heads=16), global_train_batch_size=512, device_train_microbatch_size=4)") == {
        "global_batch_size": 512, "micro_batch_size": 4,
    }  # fmt: skip
    assert values("tokens=TokensArgs(sequence_length=4096, train_steps=5, micro_batch_size=1)") == {
        "seq_length": 4096, "train_iters": 5, "micro_batch_size": 1,
    }  # fmt: skip
    assert values("parallelism=ParallelismArgs(dp=8, pp=1, tp=2, expert_parallel_size=1)") == {
        "dp": 8, "pp": 1, "tp": 2, "ep": 1,
    }  # fmt: skip
    assert values("OtherConfig(dp=8, pp=1, tp=2)") == {}


@pytest.mark.parametrize(
    "entry",
    ["  global_train_batch_size: 64", '  "global_batch_size": 64,', "global_batch_size = 64", "global_batch_size=64,"],
)  # fmt: skip
def test_an_entry_of_a_dump_in_any_notation(entry: str) -> None:
    assert values(entry) == {"global_batch_size": 64}


@pytest.mark.parametrize(
    "line",
    ["WORLD_SIZE=4", "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4", "'WORLD_SIZE': '4'", "WORLD_SIZE: 4", 'export WORLD_SIZE="4"'],
)  # fmt: skip
def test_the_environments_world_size(line: str) -> None:
    assert values(line) == {"world_size": 4}


def test_another_variable_that_ends_in_world_size_is_another_one() -> None:
    assert values("LOCAL_WORLD_SIZE=4 GROUP_WORLD_SIZE: 2") == {}


def test_numbers_without_brackets_in_a_failed_check() -> None:
    assert stated_sizes("Sequence length 8190 must be divisible by tensor parallel degree 4 because of DTensors") == {
        "seq_length": 8190, "tp": 4,
    }  # fmt: skip
    assert stated_sizes("max_seq_len 4096 must be divisible by 8") == {}
    assert stated_sizes("sequence length 4097 must be at most 4096") == {}


def test_composer_counts_one_node_unless_more_are_spoken_of() -> None:
    assert values("+ composer -n 8 train.py --seed 1") == {"nproc_per_node": 8, "nnodes": 1}
    assert values("+ composer -n 8 --node_rank 1 --master_addr h train.py") == {"nproc_per_node": 8}
    assert values("+ composer --world_size 16 -n 8 --node_rank 1 train.py") == {"world_size": 16}


@pytest.mark.parametrize(
    "unit",
    ["distributed ", "rank 1 ", "initialized distributed rank 1 of ", "mbs: 1 | global_batch_size: 1 ", "ProcessCoord(pipe=0",
     "sequence length 1 divisible ", "'global_batch_size': 1"],
)  # fmt: skip
def test_long_hostile_lines_take_linear_time(unit: str) -> None:
    began = time.process_time()
    values(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 1.0
