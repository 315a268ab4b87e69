from __future__ import annotations

import pytest

from triage.core.megatron.gpus import capability


@pytest.mark.parametrize(
    ("name", "major"),
    [
        ("h100", 9), ("NVIDIA-H100-80GB-HBM3", 9), ("h200sxm", 9), ("gh200", 9), ("a100_80gb", 8),
        ("A100-SXM4-40GB", 8), ("a100l", 8), ("b200", 10), ("gb200", 10), ("GB200NVL72", 10), ("b300", 10),
        ("tesla_v100", 7), ("rtx_a6000", 8), ("l40s", 8), ("geforce_rtx_2080ti", 7),
    ],
)  # fmt: skip
def test_names_of_schedulers_and_vendors(name: str, major: int) -> None:
    assert capability(name) == major


@pytest.mark.parametrize("name", [None, "", "gpu", "mi300x", "80gb", "node-100", "abc100", "a1000000"])
def test_a_name_that_says_nothing_is_not_guessed(name: str | None) -> None:
    assert capability(name) is None


def test_a_choice_on_one_side_of_blackwell_is_known_and_across_it_is_not() -> None:
    assert capability("a100|h100") == 9
    assert capability("h100|b200") is None


def test_a_huge_name_is_cut() -> None:
    assert capability("x" * 10**6 + " h100") is None
