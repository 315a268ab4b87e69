"""What the tests of real jobs share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.minislurm.cluster import MiniSlurm
from tests.watch.real import RealSite
from triage.schedulers.slurm.client import Slurm


@pytest.fixture
def site(mini_slurm: MiniSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealSite:
    """The watchers' commands go through it."""
    real = RealSite(mini_slurm, tmp_path)

    def connect(_: str, environment: Mapping[str, str]) -> Slurm:
        return Slurm(environment, real.runner)

    monkeypatch.setattr("triage.cli.following.connect", connect)
    return real
