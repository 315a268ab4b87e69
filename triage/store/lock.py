"""A lock for file systems whose own locks cannot be relied on (NFS, Lustre): a file that names its host and process."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator

from triage.errors import StoreError

STALE = 60.0
"""Seconds after which a lock is taken over: it is held for one short transaction only."""
PATIENCE = 30.0
_PAUSE = 0.05


@contextlib.contextmanager
def held(
    path: str,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Holds the lock; raises StoreError if another one has it for too long."""
    mine = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
    end = clock() + PATIENCE
    while not _take(path, mine):
        if _is_stale(path):
            _break(path, mine)
        elif clock() > end:
            raise StoreError(f"{path} is held by {_holder(path)}: if that is gone, remove the file")
        else:
            sleep(_PAUSE)
    try:
        yield
    finally:
        if _holder(path) == mine:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _take(path: str, mine: str) -> bool:
    """A link is made or not made, on NFS too, where an exclusive open may be answered twice."""
    own = f"{path}.{mine}"
    try:
        with open(own, "w", encoding="utf-8") as file:
            file.write(mine)
        with contextlib.suppress(OSError):
            os.link(own, path)
        return os.stat(own).st_nlink == 2
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(own)


def _holder(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(200)
    except OSError:
        return "nobody"


def _is_stale(path: str) -> bool:
    """Its process is gone (only its own host can tell), or it is old by the file server's clock."""
    host, _, rest = _holder(path).partition(":")
    pid = rest.partition(":")[0]
    if host == socket.gethostname() and pid.isdigit():
        return not os.path.exists(f"/proc/{pid}") and os.path.isdir("/proc")
    probe = f"{path}.{os.getpid()}.now"
    try:
        with open(probe, "w", encoding="utf-8"):
            pass
        return os.stat(probe).st_mtime - os.stat(path).st_mtime > STALE
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(probe)


def _break(path: str, mine: str) -> None:
    """Of several that find it stale, one moves it away."""
    with contextlib.suppress(OSError):
        os.rename(path, f"{path}.stale.{mine}")
        os.unlink(f"{path}.stale.{mine}")
