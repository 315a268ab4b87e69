"""GPU generations from the names that schedulers and vendors give them."""

from __future__ import annotations

import re

_GENERATIONS: tuple[tuple[int, str], ...] = (
    (6, r"p100|p40|pascal"),
    (7, r"v100s?|t4|rtx80\d\d|titanrtx|20[678]0(ti)?|volta|turing"),
    (
        8,
        r"a100[xl]?|a800|a30|a40|a10g?|a16|a[456]000|rtxa\d000|30[789]0(ti)?|40[789]0(ti)?|l4|l20|l40s?|ampere|ada",
    ),
    (9, r"h100|h200|h800|h20|h100nvl|gh200|hopper"),
    (10, r"g?b[123]00a?|blackwell"),
    (12, r"50[789]0(ti)?|gb10"),
)
"""Compute capability (major) with the words that mean it."""
_WORDS = tuple(
    (major, re.compile(rf"(?:rtx|gtx|dgx|hgx|tesla)?(?:{words})")) for major, words in _GENERATIONS
)
_MODEL = re.compile(r"(?:sxm\d?|pcie|nvl\d*|hbm\w*|(?<=00)x\d+)$")

BLACKWELL = 10
"""From this capability on, CUDA_DEVICE_MAX_CONNECTIONS has no effect (megatron/training/arguments.py:1454)."""


def capability(name: str | None) -> int | None:
    """Major compute capability of a GPU by its name (`h100`, `NVIDIA-A100-SXM4-80GB`, `gpu_b200`); `None` where the name
    says nothing, or what it names (`a100|b200`) lies on both sides of `BLACKWELL`."""
    if name is None:
        return None
    found = {major for word in re.split(r"[^a-z0-9]+", name[:200].lower()) if (major := _major(word))}
    return max(found) if len({major >= BLACKWELL for major in found}) == 1 else None


def _major(word: str) -> int | None:
    word = _MODEL.sub("", word)
    return next((major for major, pattern in _WORDS if pattern.fullmatch(word)), None)
