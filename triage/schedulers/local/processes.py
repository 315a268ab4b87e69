"""The processes below this one: a job's end must reach those that left its group or lost their parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """On Linux, processes whose parent ended become this one's children instead of init's."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Children of children too; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(stat.parent.name))
    found, pending = [], [pid]
    while pending:
        for child in children.get(pending.pop(), []):
            found.append(child)
            pending.append(child)
    return found


def signal_all(number: signal.Signals, group: int) -> bool:
    """Signals a group and every descendant outside of it, each once; False if there was none.

    The group comes first and as one: a process that is just being forked must not be missed.
    """
    found = False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        found = True
    for pid in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != group:
                os.kill(pid, number)
            found = True
    return found


def end_all(patience: float, group: int, *, reap: Callable[[], object]) -> None:
    """SIGTERM, and SIGKILL to what is left after `patience` seconds."""
    until = time.monotonic() + patience
    if patience > 0 and signal_all(signal.SIGTERM, group):
        while time.monotonic() < until:
            reap()
            if not descendants(os.getpid()):
                break
            time.sleep(0.05)
    for _ in range(100):
        reap()
        if not signal_all(signal.SIGKILL, group):
            break
        time.sleep(0.02)
