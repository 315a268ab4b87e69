"""Facts: dumps, command lines and initialisation lines; names inside other names state nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.events.lines import records
from triage.core.events.arguments import extract_facts
from triage.core.events.model import Facts
from triage.core.events.statements import stated_sizes


def facts(text: str) -> tuple[list[Facts], list[str]]:
    events, rest = extract_facts(records(text), 0)
    return [e for e in events if isinstance(e, Facts)], [r.text for r in rest]


def values(text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for event in facts(text)[0]:
        found |= event.values
    return found


def dump(*pairs: tuple[str, str], width: int = 48) -> str:
    return "\n".join(f"  {name} {'.' * (width - len(name))} {value}" for name, value in pairs)


def test_megatron_dump_is_one_event_and_is_consumed_whole() -> None:
    text = "\n".join(
        [
            "------------------------ arguments ------------------------",
            dump(
                ("tensor_model_parallel_size", "2"),
                ("seq_length", "4096"),
                ("train_iters", "None"),
                ("world_size", "16"),
            ),
            "  inference_dynamic_batching_paused_buffer_size_gb  None",
            dump(("check_for_nan_in_loss_and_grad", "True"), ("error_injection_rate", "0")),
            "-------------------- end of arguments ---------------------",
            "after",
        ]
    )
    events, rest = facts(text)
    assert [(e.origin, dict(e.values)) for e in events] == [
        ("arguments", {"tp": 2, "seq_length": 4096, "world_size": 16})
    ]
    assert rest == ["after"]


def test_names_of_46_and_47_characters_have_two_dots_and_one() -> None:
    text = dump(("a" * 46, "None"), ("b" * 47, "None"), ("micro_batch_size", "2"))
    assert facts(text)[1] == []
    assert facts("  he said . nothing")[1] == ["  he said . nothing"]
    assert facts("  wait .. what")[1] == ["  wait .. what"]


def test_other_writers_lines_inside_a_dump_do_not_split_it() -> None:
    events, rest = facts(dump(("hidden_size", "64")) + "\nnoise\n" + dump(("num_layers", "2")))
    assert len(events) == 1
    assert rest == ["noise"]


@pytest.mark.parametrize(
    "name",
    ["moe_ffn_hidden_size", "cpu_offloading_num_layers", "eval_micro_batch_size", "num_layers_per_virtual_pipeline_stage",
     "expert_tensor_parallel_size", "log_world_size_to_tensorboard", "inprocess_active_world_size"],
)  # fmt: skip
def test_a_wanted_name_inside_another_name_states_nothing(name: str) -> None:
    assert values(dump((name, "7"))) == {}


def test_neox_dump_with_its_origin_column() -> None:
    text = (
        "  hidden_size ..................... 6144........................updated\n"
        "  pipe_parallel_size .............. 0...........................default\n"
        "  model_parallel_size ............. 2...........................updated"
    )
    assert values(text) == {"hidden_size": 6144, "tp": 2}


def test_deepspeeds_world_size_counts_replicas_and_is_not_believed() -> None:
    text = dump(
        ("world_size", "4"), ("train_batch_size", "64"), ("train_micro_batch_size_per_gpu", "4"), width=29
    )
    assert values(text) == {"global_batch_size": 64, "micro_batch_size": 4}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "using world size: 16, data-parallel size: 4, context-parallel size: 1, hierarchical context-parallel sizes: None, "
            "tensor-model-parallel size: 2, pipeline-model-parallel size: 2",
            {"world_size": 16, "dp": 4, "cp": 1, "tp": 2, "pp": 2},
        ),
        (
            "using world size: 6, data-parallel size: 3, context-parallel size: 1, hierarchical context-parallel sizes: "
            "Nonetensor-model-parallel size: 2, encoder-tensor-model-parallel size: 0, pipeline-model-parallel size: 1, "
            "encoder-pipeline-model-parallel size: 0",
            {"world_size": 6, "dp": 3, "cp": 1, "tp": 2, "pp": 1},
        ),
        (
            "using world size: 8, data-parallel-size: 2, tensor-model-parallel size: 2, pipeline-model-parallel size: 2 ",
            {"world_size": 8, "dp": 2, "tp": 2, "pp": 2},
        ),
        (
            "using world size: 8, data-parallel-size: 2, sequence-parallel size: 1, tensor-model-parallel size: 2, pipeline-model-parallel size: 2 ",
            {"world_size": 8, "dp": 2, "tp": 2, "pp": 2},
        ),
        ("NeoXArgs.configure_distributed_args() using world size: 2 and model-parallel size: 1 ", {"world_size": 2, "tp": 1}),
        ("> initialized tensor model parallel with size 2", {"tp": 2}),
        ("> initializing model parallel with size 4", {"tp": 4}),
        ("setting global batch size to 256", {"global_batch_size": 256}),
        ("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/16", {"world_size": 16}),
        ("nnodes=8, num_local_procs=4, node_rank=0", {"nnodes": 8, "nproc_per_node": 4}),
        ("  Instantaneous batch size per device = 4", {"micro_batch_size": 4}),
        ("  Total train batch size (w. parallel, distributed & accumulation) = 1,024", {"global_batch_size": 1024}),
        ("  nproc_per_node   : 8", {"nproc_per_node": 8}),
        ("Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]", {"tp": 2, "world_size": 8}),
        ("Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=4, etp=1",
         {"pp": 2, "cp": 1, "tp": 2, "ep": 4, "world_size": 16}),
        ("Trainer is initialized with local batch size 7, global batch size 28, gradient accumulation steps 1, sequence length 8192,"
         " total steps 1000 (warmup 200)",
         {"micro_batch_size": 7, "global_batch_size": 28, "seq_length": 8192, "train_iters": 1000}),
        ("  global_world_sizes=[16, 16, 16, 16]", {"world_size": 16}),
        ("[INFO:swift] rank: 0, local_rank: 0, world_size: 16, local_world_size: 4", {"world_size": 16}),
        ("WORLD_SIZE=16", {"world_size": 16}),
        ("LOCAL_WORLD_SIZE=8", {}),
        ("comm 0x147f64ca0fa0 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 - Init COMPLETE", {"nranks": 4}),
        ("[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.00 | max allocated: 2048.00 | reserved: 3.00 | max reserved: 4.00",
         {"peak_memory_gib": 2.0}),
        ("and config=GPTDatasetConfig(random_seed=1234, sequence_length=4096, blend=None)", {"seq_length": 4096}),
        ("    tensor_model_parallel_size: 4", {"tp": 4}),
        ("    num_layers: 4", {}),
    ],
)  # fmt: skip
def test_initialisation_lines(line: str, expected: dict[str, object]) -> None:
    assert values(line) == expected


def test_command_with_continuations_as_bash_prints_a_script() -> None:
    text = (
        "torchrun --nnodes 2 --nproc_per_node=8 \\\n"
        "    pretrain_gpt.py --tensor-model-parallel-size 2 \\\n"
        "    --seq-length=4096 --micro-batch-size '1' --num-attention-heads \"32\"\n"
        "next"
    )
    events, rest = facts(text)
    assert len(events) == 1
    assert events[0].origin == "command"
    assert dict(events[0].values) == {
        "nnodes": 2, "nproc_per_node": 8, "tp": 2, "seq_length": 4096, "micro_batch_size": 1, "num_attention_heads": 32,
    }  # fmt: skip
    assert rest == ["next"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("+ torchrun --nproc_per_node=4 train.py", {"nproc_per_node": 4, "nnodes": 1}),
        ("+ torchrun --nnodes=1:4 --nproc_per_node=4 train.py", {"nproc_per_node": 4}),
        ("+ torchrun --nproc_per_node=gpu train.py --global-batch-size 8", {"global_batch_size": 8}),
        ("accelerate launch --num_processes 16 --num_machines 2 train.py", {"world_size": 16, "nnodes": 2}),
        ("+ python train.py --network resnet-v1b --num-layers 50 --batch-size 400", {}),
        ("+ numactl --physcpubind=0-7 python train.py num_nodes=2 --lr 1", {}),
        ("+ python train.py trainer.num_nodes=2 trainer.devices=8 model.tensor_model_parallel_size=4 --x y",
         {"nnodes": 2, "nproc_per_node": 8, "tp": 4}),
        ("cmd = /opt/python -u -m deepspeed.launcher.launch --world_info=e30= main.py --deepspeed_config '{\"train_batch_size\": 64}'",
         {"global_batch_size": 64}),
        ("+ colossalai run train.py --tp_size 4 --pp_size 1", {"tp": 4, "pp": 1}),
        ("+ python -m sglang.launch_server --tp-size 8", {}),
        ("usage: pretrain_gpt.py [-h] [--num-layers NUM_LAYERS] [--seq-length 4096]", {}),
    ],
)  # fmt: skip
def test_command_lines(line: str, expected: dict[str, object]) -> None:
    assert values(line) == expected


def test_argv_list_of_a_failed_process_is_read_and_left() -> None:
    line = (
        "['/usr/bin/python', '-u', 'pretrain_gpt.py', '--local_rank=3', '--num-layers', '24', '--hidden-size', '2048', "
        "'--seq-length', '32768'] exits with return code = 1"
    )
    events, rest = facts(line)
    assert dict(events[0].values) == {"num_layers": 24, "hidden_size": 2048, "seq_length": 32768}
    assert rest == [line]


def test_hydra_overrides_prefer_the_trained_model_over_its_helpers() -> None:
    line = (
        "Error executing job with overrides: ['trainer.nnodes=1', 'trainer.n_gpus_per_node=8', 'actor.megatron.tensor_model_parallel_size=4', "
        "'rollout.tensor_model_parallel_size=2']"
    )
    assert values(line) == {"nnodes": 1, "nproc_per_node": 8, "tp": 4}
    assert facts(line)[1] == [line]


def test_namespace_repr_with_conflicting_names_states_neither() -> None:
    assert values("Namespace(num_attention_heads=8, hidden_size=64, seq_len=5, seq_length=7)") == {
        "num_attention_heads": 8, "hidden_size": 64, "seq_length": 7,
    }  # fmt: skip
    assert values("Namespace(backbone='resnext50', num_layers=50)") == {}
    assert values("Namespace(seq_len=5, sequence_length=7)") == {}


def test_source_lines_of_a_traceback_are_no_commands() -> None:
    text = '  File "a.py", line 3, in f\n    run("torchrun --nnodes 2 --nproc_per_node 8 x.py")'
    assert facts(text) == ([], text.split("\n"))


def test_sizes_in_the_message_of_a_failed_check() -> None:
    assert stated_sizes("global batch size (6) is not divisible by micro batch size (1) times data parallel size (4)") == {
        "global_batch_size": 6, "micro_batch_size": 1,
    } | {"dp": 4}  # fmt: skip
    assert stated_sizes("num_attention_heads (6) must be a multiple of tensor_model_parallel_size (4).") == {
        "num_attention_heads": 6, "tp": 4,
    }  # fmt: skip
    assert stated_sizes("world_size (3) was printed") == {}


@given(st.text(max_size=300))
def test_any_text_is_read_and_nothing_unread_is_lost(text: str) -> None:
    events, rest = facts(text)
    assert events or rest == [r.text for r in records(text) if not r.text.startswith(" ") or r.text in rest]


@pytest.mark.parametrize(
    "unit",
    ["'", '"', "\\", "--a ", "torchrun --x='", "global batch size 1, sequence length 1, ", "Namespace(", "  a . ", "{\"a\": 1, ",
     "using world size: 1 data-parallel size: ", "WORLD_SIZE=", "  aaaa ....", "Config(sequence_length=", "['a', "],
)  # fmt: skip
def test_long_hostile_lines_take_linear_time(unit: str) -> None:
    began = time.process_time()
    facts("+ torchrun --x " + unit * (200_000 // len(unit)))
    facts(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 1.0


def test_many_continued_commands_take_linear_time() -> None:
    began = time.process_time()
    facts("\n".join(["+ torchrun --x y \\"] * 20_000))
    assert time.process_time() - began < 3.0


def test_lines_of_a_dumped_configuration() -> None:
    text = "model:\n  num_attention_heads: 32\n  seq_length: 4096\n  pp_size: 1\ntrainer:\n  num_nodes: 2\n  num_layers: 50"
    assert values(text) == {"num_attention_heads": 32, "seq_length": 4096, "pp": 1, "nnodes": 2}


def test_two_models_of_one_configuration_leave_unknown_what_they_state_differently() -> None:
    text = "text:\n  num_attention_heads: 32\n  tp_size: 2\nvision:\n  num_attention_heads: 16\n  tp_size: 2"
    assert values(text) == {"tp": 2}


@pytest.mark.parametrize(
    ("line", "stated"),
    [
        ("World size: 8", {"world_size": 8}),
        ("> initializing torch distributed with 8 workers.", {"world_size": 8}),
        ("> initializing cuda backend with 16 processes", {"world_size": 16}),
        (
            "Discovered MPI settings of world_rank=5, local_rank=1, world_size=8, master_addr=x",
            {"world_size": 8},
        ),
        ("Rank 0 has tensor model parallel group: [0, 1, 2, 3]", {"tp": 4}),
        ("Rank 0 has data parallel group : [0, 4]", {"dp": 2}),
        ("DeviceMesh((dp_shard=4, tp=2), device: 'cuda')", {"tp": 2}),
        ("fairseq2 - World size set to 4.", {"world_size": 4}),
        (
            "Distributed environment is initialized, data parallel size: 2, pipeline parallel size: 1, tensor parallel size: 4",
            {"dp": 2, "pp": 1, "tp": 4},
        ),
        ("Distributed environment is initialized, world size: 2", {"world_size": 2}),
        ("[rank 0] world_size=4 device=cuda:0", {"world_size": 4}),
        ("world_size 2 backend nccl", {"world_size": 2}),
        ("world_size=4", {}),
        ("[init] rank 0/16 on nid005123 device 0", {"world_size": 16}),
        ("[tp] rank 0/2 of the tensor group", {}),
        ("Old World size: 8 is ignored", {}),
        ("Rank 0 has embedding group: [0, 1]", {}),
    ],
)
def test_lines_that_state_the_world(line: str, stated: dict[str, int]) -> None:
    assert values(line) == stated


def test_command_inside_the_quotes_of_another() -> None:
    text = "+ srun --ntasks=2 bash -c 'cd /opt && torchrun --nproc-per-node=8 --nnodes=2 train.py'"
    assert values(text) == {"nproc_per_node": 8, "nnodes": 2}


def test_a_launcher_that_quotes_its_command_says_more_than_its_sizes() -> None:
    line = "Error: failed to run torchrun --nproc_per_node=4 --nnodes=1 train.py -s on 127.0.0.1"
    events, rest = facts(line)
    assert [dict(e.values) for e in events] == [{"nproc_per_node": 4, "nnodes": 1}]
    assert rest == [line]


def test_mpirun_counts_processes_only_where_it_starts_python_itself() -> None:
    assert values("+ mpirun -np 8 --hostfile h python train.py") == {"ntasks": 8}
    assert "ntasks" not in values("+ mpirun -np 2 --hostfile h bash run.sh")
    assert "ntasks" not in values("+ mpirun -np 2 --hostfile h torchrun --nproc-per-node=8 train.py")
