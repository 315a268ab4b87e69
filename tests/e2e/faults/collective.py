"""A rank does something else in a collective, or nothing."""

from __future__ import annotations

from tests.e2e.fault import MEGATRON, Fault, Right

TP = "--tensor-model-parallel-size 2"
SOON = "--distributed-timeout-seconds 10"

FAULTS = (
    Fault("collective is skipped", Right("nccl", 1, also=("hang",)), f"--fault skip-collective {TP} {SOON}", trainer=MEGATRON),
    Fault("collective of another size", Right("nccl", 1, also=("shape", "signal")), f"--fault short-collective {TP} {SOON}", trainer=MEGATRON),
    Fault("rank stopped", Right("nccl", 1, also=("hang",)), f"--fault stop {SOON}", trainer=MEGATRON),
    Fault("rank sleeps", Right("nccl", 1, also=("hang",)), f"--fault hang {SOON}"),
    Fault("rank leaves too early with exit code 0", Right("nccl", 1, also=("unknown",)), "--fault exit0", trainer=MEGATRON, fast=True),
)  # fmt: skip
