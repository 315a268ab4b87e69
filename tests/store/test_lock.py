"""The host-stamped lock: one holder, and a dead one is replaced."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from triage.errors import StoreError
from triage.store.lock import PATIENCE, STALE, held


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_it_is_there_while_it_is_held_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held(str(path)):
        assert path.read_text().startswith(f"{socket.gethostname()}:{os.getpid()}:")
    assert list(tmp_path.iterdir()) == []


def test_a_living_holder_is_waited_for_and_named(tmp_path: Path) -> None:
    path, clock = tmp_path / "lock", Clock()
    with held(str(path)), pytest.raises(StoreError, match=socket.gethostname()):
        held(str(path), clock=clock, sleep=clock.sleep).__enter__()
    assert clock.now > PATIENCE


def test_a_dead_holder_of_this_host_is_replaced_at_once(tmp_path: Path) -> None:
    path, clock = tmp_path / "lock", Clock()
    path.write_text(f"{socket.gethostname()}:4194305:00")
    with held(str(path), clock=clock, sleep=clock.sleep):
        assert clock.now == 0.0
    assert list(tmp_path.iterdir()) == []


def test_of_another_host_only_the_age_tells(tmp_path: Path) -> None:
    path, clock = tmp_path / "lock", Clock()
    path.write_text("elsewhere:1:00")
    with pytest.raises(StoreError, match="elsewhere"):
        held(str(path), clock=clock, sleep=clock.sleep).__enter__()
    old = path.stat().st_mtime - STALE - 1
    os.utime(path, (old, old))
    with held(str(path), clock=clock, sleep=clock.sleep):
        pass
