"""Megatron-LM's iteration stamp and memory report, and MLPerf's `:::MLLOG` time.

Source: Megatron-LM megatron/training/training.py (`training_log`) and utils.py (`report_memory`: `[Rank n]` is the global rank there).
"""

from __future__ import annotations

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import Dialect, Sample, Stripped
from triage.core.logs.record import NO_TAGS, Tags
from triage.core.logs.stamp import epoch_stamp, find_stamp

_MEMORY = lazy(r"\[Rank (\d{1,7})\] (?=\(after \d+ iterations\) memory)")
_TIME_MS = lazy(r'"time_ms": ?(\d{13})\b')


def _iteration(text: str) -> Stripped | None:
    if not text.startswith((" [", "[Rank ")):
        return None
    if text[0] == "[":
        memory = _MEMORY.match(text)
        return None if memory is None else Stripped(text[memory.end() :], Tags(rank=int(memory[1])))
    found = find_stamp(text, 1)
    if found is None or not text.startswith(" iteration", found[1]):
        return None
    return Stripped(text[found[1] + 1 :], NO_TAGS, found[0])


def _mllog(text: str) -> Stripped | None:
    if not text.startswith(":::ML"):
        return None
    match = _TIME_MS.search(text, 0, 400)
    return Stripped(text, NO_TAGS, None if match is None else epoch_stamp(match[1]))


MEGATRON = Dialect(
    name="megatron",
    first=" [",
    behind="R",
    strip=_iteration,
    samples=(
        Sample(
            " [2026-12-01 04:14:02.641200] iteration        3/       8 | consumed samples:           24 |",
            "iteration        3/       8 | consumed samples:           24 |",
            stamp="2026-12-01 04:14:02.641200",
        ),
        Sample(
            "[Rank 3] (after 5 iterations) memory (MB) | allocated: 1.0",
            "(after 5 iterations) memory (MB) | allocated: 1.0",
            Tags(rank=3),
        ),
        Sample("[Rank 3] hello", "[Rank 3] hello", taken=False),
    ),
)

MLLOG = Dialect(
    name="mllog",
    first=":",
    strip=_mllog,
    samples=(
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1683152345678, "key": "run_stop"}',
            ':::MLLOG {"namespace": "", "time_ms": 1683152345678, "key": "run_stop"}',
            stamp="1683152345678",
        ),
    ),
)
