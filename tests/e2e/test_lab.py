"""Real trainings that break, from `triage submit --watch` to the verdict: each must be the one that was stated before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.fault import TWIN, Fault
from tests.e2e.faults import FAST
from tests.e2e.outcome import RIGHT
from tests.e2e.run import run
from tests.e2e.torchpython import find
from tests.minislurm.cluster import MiniSlurm


@pytest.fixture(scope="session")
def python() -> Path:
    found, why = find("torch")
    if found is None:
        pytest.skip(why)
    return found


@pytest.mark.parametrize("fault", FAST, ids=[fault.name.replace(" ", "-") for fault in FAST])
def test_fault_gets_the_verdict_that_was_stated_before_it_ran(
    python: Path, mini_slurm: MiniSlurm, tmp_path: Path, fault: Fault
) -> None:
    found = run(mini_slurm, python, TWIN, fault, tmp_path)
    assert found.judged == RIGHT, found
    assert found.same, f"`triage explain` says something else than the watcher: {found}"
