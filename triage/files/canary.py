"""A small file, written and read back: whether a file system answers, and what time it is there."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable

from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Canary:
    """The file system answers."""

    now: float
    """Its time, epoch seconds."""
    skew: float
    """How far that is from the clock of this machine."""


def sing(folder: str, clock: Callable[[], float]) -> Canary | None:
    """`None` if the folder cannot be written, or if what is read is not what was written."""
    path = os.path.join(folder, f".triage-canary-{socket.gethostname()}-{os.getpid()}")
    text = os.urandom(8).hex().encode()
    try:
        before = clock()
        with open(path, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            modified = os.fstat(file.fileno()).st_mtime
        after = clock()
        with open(path, "rb") as file:
            if file.read() != text:
                return None
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    if before <= modified <= after:
        return Canary(modified, 0.0)
    return Canary(modified, modified - (before if modified < before else after))
