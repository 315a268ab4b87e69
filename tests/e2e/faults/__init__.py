"""The faults of the lab, by what breaks."""

from __future__ import annotations

from tests.e2e.fault import Fault
from tests.e2e.faults import cluster, collective, launch, program, result, storage

FAULTS: tuple[Fault, ...] = (
    *program.FAULTS, *storage.FAULTS, *collective.FAULTS, *launch.FAULTS, *result.FAULTS, *cluster.FAULTS
)  # fmt: skip
FAST = tuple(fault for fault in FAULTS if fault.fast)
"""Run in CI, in torch alone."""
