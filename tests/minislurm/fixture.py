"""The mini-Slurm as pytest fixtures.

`mini_slurm` is one cluster for the whole test run, started by the first test that asks; a test gets it with an empty
queue and working nodes. Where Slurm cannot run the test is skipped with the reason, but under `CI=true` it fails: there,
a missing Slurm means that the checks are not made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.minislurm.cluster import MiniSlurm, missing, start
from tests.minislurm.processes import MiniSlurmError


@pytest.fixture(scope="session")
def mini_slurm_session() -> Iterator[MiniSlurm]:
    reason = missing()
    if reason is not None:
        _refuse(reason)
    try:
        mini = start()
    except MiniSlurmError as error:
        pytest.fail(f"the mini-Slurm did not start: {error}")
    yield mini
    mini.stop()


@pytest.fixture
def mini_slurm(mini_slurm_session: MiniSlurm) -> Iterator[MiniSlurm]:
    yield mini_slurm_session
    for daemon in ("slurmctld", "slurmdbd"):
        mini_slurm_session.thaw(daemon)
        mini_slurm_session.start_daemon(daemon)
    mini_slurm_session.clear()


def _refuse(reason: str) -> None:
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        pytest.fail(f"CI must run the tests on a real Slurm: {reason}")
    pytest.skip(reason)
