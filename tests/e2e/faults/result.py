"""The result comes early, late, in part, or from another attempt."""

from __future__ import annotations

from tests.e2e.fault import Fault, Right
from tests.e2e.faults.cluster import requeue

METRICS = "--metrics results/metrics.json"
LONG = "--train-iters 30 --step-seconds 0.3"

FAULTS = (
    Fault("result is there and processes stay", Right("none", outcome="completed-early"), f"{METRICS} --linger 300", artifact=True, fast=True),
    Fault("result is early", Right("none", outcome="completed-early", step=30), f"{METRICS} --metrics-at 3 {LONG} --linger 300", artifact=True),
    Fault("result is late", Right("none", outcome="completed-early"), f"{METRICS} --metrics-mode slow --linger 300", artifact=True),
    Fault("result is partial", Right("unknown", 0, also=("python", "storage")), f"{METRICS} --metrics-mode partial", artifact=True),
    Fault("result of the attempt before", Right("none", outcome="completed-early", step=30), f"{METRICS} --metrics-at 2 {LONG} --linger 300", artifact=True, act=requeue, alone=True),
)  # fmt: skip
