"""A hybrid layer pattern (`M*M*|M*M*/MM`) draws the pipeline itself."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import ARGUMENTS, Finding, Severity
from triage.core.megatron.launch import Launch
from triage.core.megatron.layout import PP
from triage.core.megatron.pipeline import EMBEDDING, FIRST, HYBRID, LAST, LAYOUT, LOSS, PER_VIRTUAL, VIRTUAL


def conflicts(launch: Launch) -> Iterator[Finding]:
    """Nothing else may draw it (arguments.py:804-834)."""
    pattern = launch.text(*HYBRID)
    if pattern is None:
        return
    others = [(PER_VIRTUAL, 814), (VIRTUAL, 820), (LAYOUT, 825), (EMBEDDING, 829), (LOSS, 834)]
    if "|" in pattern.split("/")[0]:
        others = [(FIRST, 804), (LAST, 809), *others]
    for option, line in others:
        if launch.flag(option):
            yield Finding(
                Severity.ERROR,
                "hybrid/conflict",
                f"{option} cannot be combined with {HYBRID[0]}, which draws the pipeline itself",
                f"{ARGUMENTS}:{line}",
                launch.line(option),
            )


def segments(launch: Launch) -> Iterator[Finding]:
    """Its segments are a multiple of PP, or one (arguments.py:849)."""
    pattern, pp = launch.text(*HYBRID), launch.size(PP)
    if pattern is None:
        return
    count = pattern.split("/")[0].count("|") + 1
    if count > 1 and count % pp:
        yield Finding(
            Severity.ERROR,
            "hybrid/segments",
            f"{HYBRID[0]} has {count} segments, no multiple of PP {pp}",
            f"{ARGUMENTS}:849",
            launch.line(*HYBRID),
        )
