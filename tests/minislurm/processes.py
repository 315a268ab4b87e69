"""Daemons by their pid files, and the processes that Slurm started on a node."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "USER": "root", "LC_ALL": "C"}
"""What the daemons are started with: a mini-Slurm behaves the same whoever starts it."""


class MiniSlurmError(Exception):
    """A daemon did not come up; the message holds the end of its log."""


def call(
    argv: Sequence[str], environment: Mapping[str, str], *, timeout: float = 30
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
    )


def wait_until(what: str, happened: Callable[[], bool], *, seconds: float, log: Path | None = None) -> None:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            tail = log.read_text(errors="replace")[-2000:] if log is not None and log.exists() else ""
            raise MiniSlurmError(f"{what}: not within {seconds:g} s\n{tail}")
        time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [int(item.getsockname()[1]) for item in sockets]


def pid_in(path: Path) -> int | None:
    """The living process that a pid file names."""
    try:
        pid = int(path.read_text())
    except (OSError, ValueError):
        return None
    return pid if alive(pid) else None


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def end(pid: int, *, number: signal.Signals = signal.SIGTERM, patience: float = 10) -> None:
    """Signals one process and waits until it is gone, with SIGKILL at the end of the patience."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    until = time.monotonic() + patience
    while alive(pid):
        if time.monotonic() > until:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def of_slurm(conf: Path, node: str | None = None) -> Iterator[int]:
    """The processes of jobs, and the step daemons above them, that run under this `SLURM_CONF` (on one node)."""
    for folder, words in _environments():
        if f"SLURM_CONF={conf}".encode() not in words or not any(
            w.startswith(b"SLURM_JOB_ID=") for w in words
        ):
            continue
        if node is not None and f"SLURMD_NODENAME={node}".encode() not in words:
            continue
        if alive(int(folder.name)):
            yield int(folder.name)
        parent = _parent(folder)
        if parent is not None and is_step_daemon(parent):
            yield parent


def of_daemons(mark: str) -> Iterator[int]:
    """The processes whose environment holds the mark."""
    return (int(folder.name) for folder, words in _environments() if mark.encode() in words)


def _environments() -> Iterator[tuple[Path, list[bytes]]]:
    """The folder in /proc of every process, and the words of its environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield folder, (folder / "environ").read_bytes().split(b"\0")


def _parent(folder: Path) -> int | None:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def is_step_daemon(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("slurmstepd")
    except OSError:
        return False
