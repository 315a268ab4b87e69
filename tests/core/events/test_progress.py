"""Progress: every program's wording counts, settings and sentences do not."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.events.lines import records
from triage.core.events.model import Progress
from triage.core.events.progress import extract_progress

MEGATRON = (
    " iteration     1200/  500000 | consumed samples:       614400 | elapsed time per iteration (ms): 1234.5 | "
    "learning rate: 1.500000E-04 | global batch size:   512 | lm loss: 1.2E+01 | loss scale: 1.0 | grad norm: 1.234 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |"
)
BAR = "  5%|▌         | 12/500 [00:10<06:32,  1.24it/s]"


def one(line: str) -> Progress:
    events, _ = extract_progress(records(line), 3)
    assert len(events) == 1, line
    assert isinstance(events[0], Progress)
    return events[0]


def none(line: str) -> bool:
    events, rest = extract_progress(records(line), 3)
    return not events and len(rest) == 1


def test_megatron_line_gives_iteration_total_and_values() -> None:
    got = one(MEGATRON)
    assert (got.iteration, got.total, got.kind, got.form) == (1200, 500000, "iteration", "megatron")
    assert got.values["elapsed_ms"] == 1234.5
    assert got.values["global_batch_size"] == 512
    assert got.values["lm loss"] == 12.0
    assert (got.span.source, got.span.first) == (3, 0)


def test_nan_loss_is_still_progress() -> None:
    assert math.isnan(one(MEGATRON.replace("1.2E+01", "nan")).values["lm loss"])


@pytest.mark.parametrize(
    ("line", "kind", "iteration"),
    [
        ("[after training is done] datetime: 2026-12-01 10:00:00 ", "done", None),
        ("Training complete: 120 epochs", "done", None),
        ("Training has finished successfully.", "done", None),
        ("3 epochs completed in 0.331 hours.", "done", None),
        ("[before the start of training step] datetime: 2026-12-01 10:00:00 ", "start", None),
        ("saving checkpoint at iteration    500 to /ckpt in torch_dist format", "saving", 500),
        ("  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/2, p 1/1 ]", "saved", 500),
        (" loading checkpoint from /ckpt at iteration 500", "loading", 500),
        (" loading distributed checkpoint from /ckpt at iteration 500", "loading", 500),
        ("  successfully loaded checkpoint from /ckpt [ t 1/1, p 1/1 ] at iteration 500", "loaded", 500),
        ("[exiting program at iteration 20] datetime: 2026-12-01 10:00:00", "exiting", 20),
        ("exiting program after receiving SIGTERM.", "exiting", None),
        (
            " validation loss at iteration 1000 | lm loss value: 2.5E+00 | lm loss PPL: 1.2E+01 | ",
            "eval",
            1000,
        ),
        ("`Trainer.fit` stopped: `max_steps=100` reached.", "done", None),
    ],
)
def test_announcements(line: str, kind: str, iteration: int | None) -> None:
    got = one(line)
    assert (got.kind, got.iteration) == (kind, iteration)


@pytest.mark.parametrize(
    ("line", "iteration"),
    [
        ("[Rank 0] step=10, skipped=0, lr=[5e-05], mom=[[0.9, 0.999]]", 10),
        ("step: 10  loss: 11.5000  memory: 53.11GiB(67.15%)  tps: 6,826  mfu: 41.77%", 10),
        ("step 84 | loss 1.9", 84),
        ("step 7: {'train/loss': -4.8e-08, 'train/step': 7}", 7),
        (
            "  1/2   21.7G   0.0384   0.0110   53   640:  52%|█████     | 151/289 [02:31<02:18,  1.07it/s]",
            151,
        ),
        ("iter 100: loss 2.3451, time 130.2ms, mfu 40.1%", 100),
        ("progress: step=3600, loss=1.81, lr=0.0004, sample_count=7, step_time=0.2", 3600),
        ("[batch=12/3000]:", 12),
        ("epoch 001:    100 / 2000 loss=9.1, ppl=547, wps=1200, num_updates=100, lr=0.0005, gnorm=2.1", 100),
        (
            "Training epoch 0, iteration 4/999 | lr: 0.0001 | global_batch_size: 32 | global_step: 4 | reduced_train_loss: 11",
            4,
        ),
        (
            "Epoch 0:  12%|█▏        | 30/250 [00:10<01:15,  2.91it/s, loss=2.1, v_num=3, global_step=29.00]",
            29,
        ),
        ("train heartbeat iteration=7", 7),
    ],
)
def test_wordings_of_other_programs(line: str, iteration: int) -> None:
    assert one(line).iteration == iteration


def test_a_count_inside_an_epoch_says_so() -> None:
    for line in (
        "Epoch: [4]  [ 60/4572]  eta: 0:05:02    time: 0.0663  data: 0.0642  max mem: 21023",
        "epoch 3 | steps 84 | loss 1.274",
        "Epoch 2:  12%|█▏        | 30/250 [00:10<01:15,  2.91it/s, v_num=3]",
    ):
        assert one(line).form == "epoch", line


def test_huggingface_dicts() -> None:
    assert one("{'loss': 2.1, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.01}").values["loss"] == 2.1
    swift = one(
        "{'loss': 0.0019, 'learning_rate': 1e-07, 'iteration': '99/100', 'elapsed_time': '5h 48m 0s'}"
    )
    assert (swift.iteration, swift.total, swift.form) == (99, 100, "swift")
    step = one("{'loss': 0.3, 'grad_norm': 1.7, 'global_step/max_steps': '5/16', 'percentage': '31.25%'}")
    assert (step.iteration, step.total) == (5, 16)
    assert one("{'eval_loss': 2.2, 'eval_runtime': 1.0, 'epoch': 1.0}").kind == "eval"
    assert one("{'train_runtime': 10.5, 'train_loss': 2.0, 'epoch': 1.0}").kind == "done"


def test_a_bar_at_zero_is_a_start_not_a_step() -> None:
    assert one(BAR).iteration == 12
    assert one("  0%|          | 0/1890 [00:00<?, ?it/s]").kind == "start"


def test_text_glued_to_a_bar_is_handed_on() -> None:
    events, rest = extract_progress(records(BAR + "[rank1]: Traceback (most recent call last):"), 0)
    assert len(events) == 1
    assert len(rest) == 1


def test_a_scheduler_line_glued_to_an_iteration_is_handed_on() -> None:
    events, rest = extract_progress(records(MEGATRON + "slurmstepd: error: *** JOB 1 ON a CANCELLED"), 0)
    assert len(events) == 1
    assert len(rest) == 1


@pytest.mark.parametrize(
    "line",
    [
        "  eval_iters ...................................... 100",
        "  loss_scale ...................................... 1.0",
        "  train_iters ..................................... 500000",
        "  --train-iters 500000 --log-interval 10 --lr 0.0001 \\",
        "Namespace(step=10, loss=1.0, lr=0.1)",
        "WARNING: step 10: loss scale 0.5 is low",
        "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 1 at iteration #5 loss 1",
        "RuntimeError: step 12 loss nan",
        "Loading checkpoint shards: 100%|██████████| 4/4 [00:10<00:00,  2.51s/it]",
        "Map: 100%|██████████| 1000/1000 [00:10<00:00, 100.00 examples/s]",
        "Generating train split: 10%|█ | 1000/10000 [00:10<00:00, 100.00 examples/s]",
        "model.safetensors:  45%|████▌     | 723/1602 [02:12<02:59, 12.28MB/s]",
        "    loss, grad_norm = train_step(config, step=10, lr=1)",
        "> total number of epochs: 1",
        '[rank0]:   File "train.py", line 12, in step',
        "skipping step 10 with loss 12",
    ],
)
def test_settings_sentences_and_other_bars_are_no_progress(line: str) -> None:
    assert none(line)


def mllog(key: str, value: str = "null", metadata: str = '"lineno": 3') -> str:
    return (
        ':::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": "POINT_IN_TIME", '
        f'"key": "{key}", "value": {value}, "metadata": {{{metadata}}}}}'
    )


def test_mllog_run_stop_carries_its_status_and_its_own_time() -> None:
    assert one(mllog("run_stop", metadata='"status": "success", "lineno": 1')).kind == "success"
    got = one(mllog("run_stop", metadata='"status": "aborted"'))
    assert got.kind == "aborted"
    assert got.when.at is not None
    assert got.when.at.utc
    assert got.when.at.seconds == 1700000000.123


def test_mllog_cut_by_srun_still_counts_and_settings_do_not() -> None:
    assert one(mllog("tracked_stats", '{"train_step_time": 0.5}', '"step": 31')).iteration == 31
    assert one(mllog("epoch_start")[:150]).kind == "iteration"
    assert none(mllog("global_batch_size", "512"))


@given(st.text(max_size=300))
def test_any_text_is_read_without_a_crash_and_never_lost(text: str) -> None:
    stream = records(text)
    events, rest = extract_progress(stream, 0)
    assert len(events) + len(rest) >= len(stream)


@pytest.mark.parametrize(
    "unit",
    ["a", "1 ", "0%|", "step ", "loss ", "'loss': ", "[", "iteration 1/1 |", "Epoch: [1] ", ":::MLLOG {"],
)
def test_long_hostile_lines_take_linear_time(unit: str) -> None:
    began = time.process_time()
    extract_progress(records(unit * (400_000 // len(unit))), 0)
    assert time.process_time() - began < 1.0
