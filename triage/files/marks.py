"""What files show without being read: as long as that stays the same, nobody has written to them."""

from __future__ import annotations

import os
from collections.abc import Mapping

Mark = tuple[int, ...]
"""Empty where there is no file."""


def mark_of(path: str, *, fresh: bool = False) -> Mark:
    """`fresh`: by opening it, for only that asks a network file system anew."""
    try:
        if not fresh:
            status = os.stat(path)
            return status.st_ino, status.st_size, status.st_mtime_ns
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        status = os.fstat(descriptor)
        return status.st_ino, status.st_size, status.st_mtime_ns
    finally:
        os.close(descriptor)


def hold(marks: Mapping[str, Mark], fresh: Mapping[str, Mark]) -> bool:
    """All of these files are as they were; those of `fresh` are opened for it."""
    stat = os.stat
    for path, mark in marks.items():
        try:
            status = stat(path)
        except OSError:
            if mark:
                return False
            continue
        if mark != (status.st_ino, status.st_size, status.st_mtime_ns):
            return False
    return all(mark_of(path, fresh=True) == mark for path, mark in fresh.items())
