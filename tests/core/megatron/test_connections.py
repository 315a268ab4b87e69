"""The table of CUDA_DEVICE_MAX_CONNECTIONS, row by row."""

from __future__ import annotations

import pytest

from triage.core.megatron.connections import NAME, Need, connections, need
from triage.core.megatron.finding import Finding, Severity
from triage.core.megatron.launch import UNKNOWN, Launch, Setting, Unresolved, Word, arguments

UNSET = "unset"


def launch(options: str, gpu: str | None, value: str | None = None, *, complete: bool = True) -> Launch:
    env = {} if value is None else {NAME: Setting(None if value == UNSET else value, 5)}
    args = arguments(Word(word) for word in options.split())
    return Launch(1, 8, gpu, args, env, complete)


def said(options: str, gpu: str | None, value: str | None = None) -> list[tuple[str, str]]:
    return [
        (found.severity.value, found.check.split("/")[1])
        for found in connections(launch(options, gpu, value))
    ]


TP, CP = "--tensor-model-parallel-size 2", "--context-parallel-size 2"
OVERLAP = "--overlap-moe-expert-parallel-comm"


@pytest.mark.parametrize("options", [TP, CP, f"{TP} {CP}"])
@pytest.mark.parametrize("gpu", ["a100", "h100", "v100"])
def test_cut_tensors_before_blackwell_need_exactly_one(options: str, gpu: str) -> None:
    assert said(options, gpu, "1") == []
    for wrong in (None, UNSET, "", "8", "32", " 1", "01"):
        assert said(options, gpu, wrong) == [("error", "one")], wrong


@pytest.mark.parametrize("fsdp", ["--use-torch-fsdp2", "--use-megatron-fsdp"])
@pytest.mark.parametrize("gpu", ["h100", "b200", None])
def test_fsdp_forbids_one_on_every_gpu(fsdp: str, gpu: str | None) -> None:
    assert said(fsdp, gpu, "1") == [("error", "not-one")]
    for right in (None, UNSET, "8", "32"):
        assert said(fsdp, gpu, right) == []


def test_fsdp_with_cut_tensors_on_hopper_is_a_conflict_and_on_blackwell_is_none() -> None:
    assert said(f"--use-torch-fsdp2 {TP}", "h100") == [("warning", "fsdp-conflict")]
    assert said(f"--use-torch-fsdp2 {TP}", "b200") == []


def test_overlapped_experts_want_thirty_two() -> None:
    assert said(OVERLAP, "h100", "32") == []
    assert said(OVERLAP, "h100", "1") == [("warning", "many")]
    assert said(OVERLAP, "h100") == [("warning", "many")]


@pytest.mark.parametrize("value", [None, "1", "32"])
def test_overlapped_experts_with_cut_tensors_are_a_trade_off_and_no_error(value: str | None) -> None:
    assert said(f"{OVERLAP} {TP}", "h100", value) == [("warning", "one-or-many")]


@pytest.mark.parametrize("options", ["", TP, OVERLAP, f"{OVERLAP} {TP}"])
def test_blackwell_needs_nothing_and_is_told_what_has_no_effect(options: str) -> None:
    assert said(options, "b200") == []
    assert said(options, "gb200", "8") == [("info", "no-effect")]


def test_nothing_cut_leaves_it_unset() -> None:
    assert said("", "h100") == []
    assert said("", "h100", "1") == [("warning", "none")]


def test_an_unknown_gpu_gets_both_answers_as_a_warning_never_an_error() -> None:
    (found,) = connections(launch(TP, "gpu"))
    assert found.severity is Severity.WARNING
    assert "Hopper" in found.message
    assert "Blackwell" in found.message
    assert said(TP, None, "1") == [("warning", "either")]


def test_a_value_that_is_not_known_is_not_judged() -> None:
    args = arguments([Word("--tensor-model-parallel-size"), Word("2")])
    with pytest.raises(Unresolved):
        list(connections(Launch(1, 8, "h100", args, {NAME: Setting(UNKNOWN)})))


def test_an_environment_that_others_may_set_makes_absence_a_warning() -> None:
    (found,) = connections(launch(TP, "h100", complete=False))
    assert found.severity is Severity.WARNING
    (found,) = connections(launch(TP, "h100", "8", complete=False))
    assert found.severity is Severity.ERROR


def test_the_finding_points_at_the_export() -> None:
    (found,) = connections(launch(TP, "h100", "8"))
    assert isinstance(found, Finding)
    assert (found.line, found.source) == (5, "megatron/training/arguments.py:1477")


def test_every_need_occurs() -> None:
    rows = {
        need(launch(options, gpu))
        for options in ("", TP, OVERLAP, f"{OVERLAP} {TP}", "--use-torch-fsdp2")
        for gpu in ("h100", "b200", None)
    }
    assert rows == set(Need)
