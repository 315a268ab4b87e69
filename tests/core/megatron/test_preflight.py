from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.core.megatron.finding import Finding, Severity
from triage.core.megatron.framework import recognise
from triage.core.megatron.launch import UNKNOWN, Argument, Framework, Launch, Setting, Value, Word, arguments
from triage.core.megatron.options import FLAGS, KNOWN, LISTS, SINGLES
from triage.core.megatron.preflight import CHECKS, LEFT_OUT, NAMED, OTHERS, preflight

MODEL = (
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 "
)
BLOOM = (
    "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 --num-layers 70 --hidden-size 14336 "
    "--num-attention-heads 112 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 "
    "--rampup-batch-size 192 16 9_765_625 --global-batch-size 2048 --deepspeed --zero-stage 0 "
)


def launch(options: str, nodes: int | None = 2, **fields: object) -> Launch:
    words = [
        Word(UNKNOWN, i, True) if word == "$" else Word(word, i) for i, word in enumerate(options.split(), 1)
    ]
    known = {"gpus_per_node": 8, "gpu": "b200", "program": "pretrain_gpt.py", **fields}
    return Launch(nodes, args=arguments(words), **known)  # type: ignore[arg-type]


def said(options: str, nodes: int | None = 2, **fields: object) -> list[tuple[str, str]]:
    return [(found.severity.value, found.check) for found in preflight(launch(options, nodes, **fields))]


def test_a_dense_models_world_is_told_once() -> None:
    assert said(f"{MODEL} --pipeline-model-parallel-size 3") == [
        ("error", "parallel/world-size"),
        ("error", "pipeline/layers"),
    ]


def test_a_right_launch_is_right() -> None:
    assert said(MODEL) == []


@pytest.mark.parametrize(
    ("options", "check"),
    [
        ("--tensor-model-parallel-size 3", "parallel/world-size"),
        ("--context-parallel-size 4 --seq-length 4100", "sequence/context-parallel"),
        ("--expert-model-parallel-size 32 --num-experts 32", "parallel/expert-world-size"),
        ("--expert-model-parallel-size 4 --num-experts 6", "moe/expert-parallel"),
        ("--expert-model-parallel-size 4", "moe/expert-parallel"),
        ("--num-attention-heads 30 --hidden-size 3840 --tensor-model-parallel-size 4", "model/heads"),
        ("--num-attention-heads 24", "model/hidden-size"),
        ("--group-query-attention --num-query-groups 6 --tensor-model-parallel-size 4", "model/query-groups"),
        ("--num-layers 30 --pipeline-model-parallel-size 4", "pipeline/layers"),
        ("--num-layers-per-virtual-pipeline-stage 4", "pipeline/virtual-needs-pipeline"),
        (
            "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3",
            "pipeline/virtual-layers",
        ),
        (
            "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3",
            "pipeline/uneven-split",
        ),
        ("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et*30|tt|L", "pipeline/layout"),
        ("--hybrid-layer-pattern M*|M*|M* --pipeline-model-parallel-size 2", "hybrid/segments"),
        ("--global-batch-size 60", "batch/global"),
        ("--eval-global-batch-size 60", "batch/evaluation"),
        ("--max-position-embeddings 2048", "sequence/positions"),
        ("--tp-comm-overlap", "sequence/comm-overlap"),
        ("--tp-comm-overlap --sequence-parallel", "sequence/comm-overlap"),
        ("--num-experts 8 --tensor-model-parallel-size 2", "moe/bias"),
        ("--use-torch-fsdp2", "fsdp/torch"),
        ("--use-megatron-fsdp", "fsdp/megatron"),
        ("--ckpt-format torch_dcp", "checkpoint/torch-dcp"),
        ("--ckpt-format fsdp_dtensor", "checkpoint/fsdp-dtensor"),
        ("--fp16", "training/precision"),
        ("--save /lustre/x", "training/save-interval"),
        ("--train-iters 9 --train-samples 9", "training/schedule"),
        ("--tensor-model-parallel-size 0", "arguments/number"),
        ("--tensor-model-parallel-size two", "arguments/number"),
    ],
)
def test_one_mistake_is_an_error_of_its_own(options: str, check: str) -> None:
    assert ("error", check) in said(MODEL + options)


@pytest.mark.parametrize(
    "options",
    [
        "--num-attention-heads 24 --kv-channels 128",
        "--num-query-groups 3 --tensor-model-parallel-size 2",
        "--num-layers 30 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 6",
        "--num-layers 31 --pipeline-model-parallel-size 4 --account-for-loss-in-pipeline-split",
        "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et*8|(t*8|)*2,t*8L",
        "--num-experts 8 --tensor-model-parallel-size 2 --expert-tensor-parallel-size 1 --disable-bias-linear",
        "--num-experts 0 --tensor-model-parallel-size 2",
        "--seq-length 4095",
        "--save /lustre/x --persistent-save-interval 10",
        "--tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards 4",
    ],
)
def test_what_lifts_or_meets_a_rule_is_no_error(options: str) -> None:
    assert [check for severity, check in said(MODEL + options) if severity == "error"] == []


def test_an_option_that_may_hide_what_lifts_a_rule_makes_it_a_warning() -> None:
    assert ("warning", "model/hidden-size") in said(MODEL + "--num-attention-heads 24 $")
    assert ("error", "model/heads") in said(MODEL + "--tensor-model-parallel-size 3 $", 3)


def test_a_world_that_no_multiple_of_what_is_known_can_fit_is_an_error_even_if_more_hides() -> None:
    assert ("error", "parallel/world-size") in said(MODEL + "--tensor-model-parallel-size 3 $")


def test_an_unknown_world_is_silent_about_the_world_and_no_more() -> None:
    found = said(MODEL + "--tensor-model-parallel-size 3 --global-batch-size 7", None)
    assert found == [("error", "model/heads")]


def test_the_finding_says_its_numbers_and_its_line() -> None:
    (found, *_) = preflight(launch("--tensor-model-parallel-size 3 " + MODEL))
    assert found == Finding(
        Severity.ERROR,
        "parallel/world-size",
        "the world of 16 processes (2 nodes x 8) is no multiple of TP 3 x PP 1 x CP 1 = 3",
        "megatron/training/arguments.py:432",
        1,
    )


def test_sizes_from_a_checkpoint_are_no_certain_errors() -> None:
    found = said(MODEL + "--num-attention-heads 30 --use-checkpoint-args")
    assert ("warning", "model/hidden-size") in found
    assert "error" not in {severity for severity, _ in found}


def test_a_misspelt_option_is_a_warning_with_the_right_name() -> None:
    (found,) = preflight(launch(MODEL + "--tensor-model-paralel-size 2"))
    assert (found.severity, found.check) == (Severity.WARNING, "arguments/unknown")
    assert "did you mean --tensor-model-parallel-size?" in found.message


def test_a_fork_keeps_arithmetic_as_errors_and_version_rules_as_warnings() -> None:
    options = MODEL + "--my-fork-option --num-layers 30 --pipeline-model-parallel-size 4 --fp16"
    assert recognise(launch(options)) is Framework.FORK
    found = said(options)
    assert ("error", "pipeline/layers") in found
    assert ("warning", "training/precision") in found


def test_a_fork_that_spells_options_with_underscores_keeps_its_arithmetic() -> None:
    options = MODEL + "--pipeline-model-parallel-size 5 --its-own-switch"
    options = options.replace("-", "_").replace("__", "--")
    found = said(options, 5, program="finetune.py")
    assert ("error", "pipeline/layers") in found
    assert "arguments/unknown" not in {check for _, check in found}
    one = MODEL.replace("--num-layers", "--num_layers")
    assert "arguments/unknown" in {item.check for item in preflight(launch(one))}


def test_one_wrong_batch_is_one_error_in_every_framework() -> None:
    for more in ("", "--my-fork-option ", "--deepspeed "):
        found = [
            check for severity, check in said(MODEL + more + "--global-batch-size 60") if severity == "error"
        ]
        assert found == ["batch/global"], more


def test_a_ramp_up_lifts_the_rule_only_where_it_is_obeyed() -> None:
    options = MODEL + "--global-batch-size 80 --rampup-batch-size 16 32 1000 --micro-batch-size 2 "
    assert ("error", "batch/global") in said(options, 3)
    fork = said(options + "--my-fork-option", 3)
    assert ("error", "batch/global") not in fork
    assert ("error", "batch/rampup") in fork


def test_deepspeed_balances_seventy_layers_over_twelve_stages() -> None:
    assert recognise(launch(BLOOM)) is Framework.DEEPSPEED
    assert [check for severity, check in said(BLOOM, 48) if severity == "error"] == []
    assert "pipeline/layers" not in {check for _, check in said(BLOOM, 48)}
    assert ("warning", "pipeline/layers") in said(BLOOM.replace("70", "71"), 48)
    assert ("error", "model/heads") in said(BLOOM.replace("112", "110"), 48)
    assert ("error", "parallel/world-size") in said(BLOOM, 47)
    assert ("error", "batch/rampup") in said(BLOOM.replace("192 16", "192 12"), 48)


def test_nemo_overrides_are_read_and_what_its_file_may_hold_is_not_judged() -> None:
    nemo = "model.tensor_model_parallel_size=4 model.num_attention_heads=30 model.num_layers=30 trainer.devices=8"
    assert recognise(launch(nemo)) is Framework.NEMO
    assert said(nemo) == [("error", "model/heads")]


def test_a_program_that_is_not_of_the_family_is_not_judged() -> None:
    assert said("--num-layers 3 --lr 1e-4 --model-name x", program="train.py") == []
    assert said("", program="run_clm.py", framework=Framework.UNKNOWN) == []
    assert said("", program=None, framework=Framework.UNKNOWN) == []


def test_a_program_of_ones_own_on_megatron_core_has_no_certain_version_rules() -> None:
    found = said(MODEL.replace("--micro-batch-size 1", "") + "--fp16", program="train.py")
    assert found == [("warning", "training/precision")]


def test_no_option_stands_in_two_tables() -> None:
    assert len(FLAGS) + len(LISTS) + len(SINGLES) == len(KNOWN)


def test_rules_stand_once_and_what_is_left_out_is_one_of_them() -> None:
    checks = [rule.check for rule in CHECKS]
    assert len(set(checks)) == len(checks)
    assert {check for left in LEFT_OUT.values() for check in left} <= set(checks)
    assert not {rule.check for rules in OTHERS.values() for rule in rules} & set(checks)


def test_many_unknown_options_stay_cheap() -> None:
    args = tuple(Argument(f"--option-{i}", ("x" * 100,), i) for i in range(20_000))
    start = time.perf_counter()
    assert len(preflight(Launch(1, 8, "h100", args))) <= NAMED + 20
    assert time.perf_counter() - start < 5


VALUES: st.SearchStrategy[Value] = st.one_of(
    st.just(UNKNOWN),
    st.integers(-3, 70).map(str),
    st.sampled_from(["Et*999999|L", "(" * 50, "t*9*9*9*9*9", "M*|M/*", "full", "torch_dcp", "0:1"]),
    st.text(max_size=5),
)
ARGUMENTS = st.builds(
    Argument,
    st.one_of(st.none(), st.sampled_from(sorted(KNOWN))),
    st.lists(VALUES, max_size=3).map(tuple),
    st.one_of(st.none(), st.integers(1, 9)),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(ARGUMENTS, max_size=40).map(tuple),
    st.one_of(st.none(), st.integers(-1, 9)),
    st.sampled_from(Framework),
    st.one_of(st.none(), VALUES),
)
def test_no_launch_breaks_the_checks(
    args: tuple[Argument, ...], nodes: int | None, framework: Framework, value: Value | None
) -> None:
    env = {"CUDA_DEVICE_MAX_CONNECTIONS": Setting(value)}
    for finding in preflight(Launch(nodes, 8, "h100", args, env, framework=framework)):
        assert finding.message


def test_sizes_of_minus_one_are_the_checkpoints_unless_the_program_pretrains() -> None:
    sizes = "--num-layers -1 --hidden-size -1 --num-attention-heads -1 --seq-length -1 --max-position-embeddings -1"
    options = f"{sizes} --tensor-model-parallel-size 2 --micro-batch-size 1 --task_list x"
    assert ("error", "arguments/number") not in said(options, program="tasks/eval_harness/evaluate.py")
    assert ("error", "model/heads") not in said(options, program="tasks/eval_harness/evaluate.py")
    assert ("error", "arguments/number") in said(options)
