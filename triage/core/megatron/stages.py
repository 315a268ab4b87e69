"""Reads a pipeline layout such as `Et*3|(tt|)*29,m|L` (megatron/core/transformer/pipeline_parallel_layer_layout.py:283)."""

from __future__ import annotations

import re

from triage.core.megatron.launch import Unresolved

_GROUP = re.compile(r"\(([^()]+)\)\*([0-9]+)")
_LETTER = re.compile(r"(.)\*([0-9]+)")
MOST = 100_000
"""Characters of a layout written out; beyond, nothing is said about it."""


def stages(text: str) -> list[str]:
    """The letters of each stage: `E` embedding, `t` a layer, `m` multi-token prediction, `L` loss. Raises `Unresolved`
    where it is no such text."""
    text = text.replace(",", "")
    for pattern in (_GROUP, _LETTER):
        text = _write_out(pattern, text)
    if not set(text) <= set("EtmL|"):
        raise Unresolved("layout")
    return text.split("|")


def _write_out(pattern: re.Pattern[str], text: str) -> str:
    length = len(text)
    for found in pattern.finditer(text):
        if len(found[2]) > 6:
            raise Unresolved("layout")
        length += len(found[1]) * int(found[2])
    if length > MOST:
        raise Unresolved("layout")
    return pattern.sub(lambda found: found[1] * int(found[2]), text)
