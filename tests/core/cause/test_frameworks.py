"""Advice speaks the language of the framework that the logs show."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import OOM, cancelled, log, oom, steps, tagged, trace, verdict


def batch_step(*parts: str) -> str:
    """What the verdict says about the batch."""
    found = verdict(log("t.log", *parts))
    assert found.category == "oom"
    return next(step for step in found.next_steps if "batch" in step)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("/venv/lib/python3.11/site-packages/transformers/trainer.py", "per_device_train_batch_size"),
        ("/venv/lib/python3.11/site-packages/deepspeed/runtime/engine.py", "train_micro_batch_size_per_gpu"),
        ("/app/torchtitan/train.py", "--training.local_batch_size"),
        ("/venv/lib/python3.11/site-packages/lightning/pytorch/loops/fit_loop.py", "accumulate_grad_batches"),
        ("/opt/megatron/core/pipeline_parallel/schedules.py", "--micro-batch-size"),
        ("/app/model.py", "Lower the batch of a GPU and accumulate"),
    ],
)
def test_the_batch_is_lowered_by_the_options_name_of_the_framework(file: str, words: str) -> None:
    assert words in batch_step(tagged(3, trace(OOM.format(gpu=3), "run", file)))


def test_megatrons_progress_shows_megatron() -> None:
    assert "--micro-batch-size" in batch_step(steps(1, 5), tagged(3, oom(3)))


def test_a_time_limit_speaks_of_megatrons_options_to_megatron_alone() -> None:
    limit = cancelled(500, "TIME LIMIT")
    mine = verdict(log("t.log", steps(1, 49, 0, 10), limit)).next_steps
    bars = "\n".join(f"{n}%|##   | {n}/100 [00:{n:02d}<01:00,  1.00it/s, loss=2.1]" for n in range(1, 50))
    others = verdict(log("t.log", bars, limit)).next_steps
    assert any("--exit-duration-in-mins" in step for step in mine)
    assert any("#SBATCH --signal=TERM@300" in step for step in others)
    assert not any("--exit" in step or "--save" in step for step in others)


def test_nobody_else_is_told_megatrons_options() -> None:
    found = verdict(log("t.log", tagged(3, trace(OOM.format(gpu=3), "run", "/app/model.py"))))
    assert not any("--recompute" in step or "tensor-model-parallel" in step for step in found.next_steps)


def test_nemo_is_not_told_megatrons_options_though_it_runs_megatron() -> None:
    text = trace(OOM.format(gpu=3), "run", "/opt/megatron/core/layers.py").replace(
        "/app/pretrain.py", "/venv/lib/python3.11/site-packages/nemo/train.py"
    )
    assert "--micro-batch-size" not in batch_step(tagged(3, text))
