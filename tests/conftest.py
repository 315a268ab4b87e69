"""Fixtures that every test may ask for."""

from __future__ import annotations

from tests.minislurm.fixture import mini_slurm, mini_slurm_session

__all__ = ["mini_slurm", "mini_slurm_session"]
