from __future__ import annotations

import os

import pytest

from triage.core.events.model import Frame, Link
from triage.core.rules.frames import owner_of, phase_of
from triage.core.rules.texts import of_link
from triage.files.rules import load

TABLE = load(os.environ).frames

TRAIN = ["pretrain_gpt.py in <module>", "megatron/training/training.py in pretrain"]
STEP = [*TRAIN, "megatron/training/training.py in train", "megatron/training/training.py in train_step"]
FORWARD = [
    *STEP,
    "megatron/core/pipeline_parallel/schedules.py in forward_step",
    "torch/nn/modules/module.py in _call_impl",
]
SETUP = [*TRAIN, "megatron/training/training.py in setup_model_and_optimizer"]


def stack(*lines: str) -> list[Frame]:
    return [Frame(file, 1, function) for file, _, function in (line.partition(" in ") for line in lines)]


@pytest.mark.parametrize(
    ("lines", "phase"),
    [
        ([*FORWARD, "torch/nn/functional.py in linear"], "forward"),
        (["pytorch_lightning/strategies/ddp.py in setup_environment", "ddp.py in root_device"], "init"),
        (["multiprocessing/spawn.py in _main", "multiprocessing/spawn.py in prepare"], "init"),
        (["deepspeed/runtime/engine.py in _broadcast_model", "distributed_c10d.py in broadcast"], "init"),
        ([*STEP, "torch/autograd/graph.py in _engine_run_backward"], "backward"),
        (
            [
                *STEP,
                "torch/autograd/__init__.py in backward",
                "torch/utils/checkpoint.py in recompute_fn",
                "m.py in forward",
            ],
            "backward",
        ),
        ([*FORWARD, "torch/utils/checkpoint.py in checkpoint", "m.py in forward"], "forward"),
        (
            [*STEP, "megatron/core/optimizer/optimizer.py in step", "torch/optim/adamw.py in step"],
            "optimizer",
        ),
        (
            [
                "lightning/module.py in optimizer_step",
                "torch/optim/adamw.py in step",
                "m.py in training_step",
            ],
            "forward",
        ),
        ([*STEP, "pretrain_gpt.py in get_batch", "torch/utils/data/dataloader.py in __next__"], "data"),
        (
            [*TRAIN, "training.py in build_train_valid_test_data_iterators", "numpy/lib/npyio.py in load"],
            "data",
        ),
        (
            [
                *SETUP,
                "megatron/training/checkpointing.py in load_checkpoint",
                "torch/serialization.py in load",
            ],
            "checkpoint",
        ),
        ([*SETUP, "torch/serialization.py in load"], "checkpoint"),
        (["train.py in main", "my/dataset.py in __getitem__", "torch/serialization.py in load"], "data"),
        ([*TRAIN, "training.py in evaluate_and_print_results", "schedules.py in forward_step"], "eval"),
        (
            [*TRAIN, "training.py in save_checkpoint_and_time", "checkpointing.py in save_checkpoint"],
            "checkpoint",
        ),
        ([*SETUP, "m.py in get_model", "torch/nn/modules/module.py in _apply"], "init"),
        ([*SETUP, "megatron/core/optimizer/__init__.py in get_megatron_optimizer"], "init"),
        ([*TRAIN, "megatron/training/arguments.py in validate_args"], "init"),
        (["train.py in main", "torch/nn/parallel/distributed.py in __init__"], "init"),
        (["train.py in main", "torch/distributed/distributed_c10d.py in init_process_group"], "init"),
        (
            ["train.py in <module>", "<frozen importlib._bootstrap> in _load_unlocked", "a.py in <module>"],
            "init",
        ),
        (["train.py in <module>", "broken.py in "], "init"),
        (["train.py in <module>", "train.py in main", "train.py in fire"], None),
        ([*FORWARD, "lazy.py in <module>"], "forward"),
        ([*STEP, "apex/optimizers/fused_adam.py in __init__"], "init"),
        (
            ["train.py in main", "train/utils.py in fsdp_save_ckpt", "torch/storage.py in _resize_"],
            "checkpoint",
        ),
        (
            [
                "train.py in main",
                "torch/nn/modules/module.py in state_dict",
                "torch/distributed/fsdp/_state_dict_utils.py in _full_pre_state_dict_hook",
                "torch/storage.py in _resize_",
            ],
            "checkpoint",
        ),
        ([], None),
    ],
)
def test_the_stack_tells_the_phase(lines: list[str], phase: str | None) -> None:
    assert phase_of(stack(*lines), TABLE) == phase


def test_a_deep_recursion_is_as_quick_as_a_flat_stack() -> None:
    frames = stack("torch/autograd/graph.py in _engine_run_backward", *["m.py in forward"] * 100_000)
    assert phase_of(frames, TABLE) == "backward"


def test_hostile_names_cost_no_time() -> None:
    frames = [Frame("/" * 100_000, None, "get_" * 50_000), Frame("a" * 100_000, None, "_" * 100_000)]
    assert phase_of(frames, TABLE) is None


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("/opt/megatron-lm/megatron/core/tensor_parallel/layers.py", "megatron"),
        ("/venv/lib/python3.12/site-packages/torch/nn/functional.py", "torch"),
        ("/venv/lib/python3.12/site-packages/einops/einops.py", "library"),
        ("/usr/lib/python3.11/multiprocessing/pool.py", "python"),
        ("/home/me/train.py", "user"),
    ],
)
def test_the_owner_of_a_frame(file: str, owner: str) -> None:
    assert owner_of(Frame(file, 1, "f"), TABLE) == owner


@pytest.mark.parametrize("root", ["/data/me/proj/", "/DATA/proj/", "/mnt/datasets/proj/", "/home/data/proj/"])
def test_the_storage_a_script_lies_on_says_nothing_about_what_it_does(root: str) -> None:
    seen = of_link(
        Link("PermissionError", "[Errno 13] Permission denied", (Frame(f"{root}train.py", 7, "write"),))
    )
    assert "data" not in seen.frames.lower()
    assert phase_of([Frame(f"{root}train.py", 1, "load")], TABLE) is None
    assert phase_of([Frame(f"{root}data/loader.py", 1, "__getitem__")], TABLE) == "data"
