"""Submissions that are under way: what is known of each lies in the user's state folder until its outcome is told.

A call that is killed leaves its entry there, so that the next one finds it. A lock, which ends with its process, tells
one that was killed from one that is still at work.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from triage.core.values import dataclass
from triage.errors import StoreError
from triage.schedulers.once import Journal
from triage.submit.record import FILE_NAME, Record, read_record, write_record

_FOLDER = "submissions"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """One entry; this process holds its lock."""

    path: Path
    record: Record
    lock: int

    def journal(self) -> Journal:
        return Journal.open(self.path / "journal")

    def finish(self) -> None:
        """The outcome was told: nobody need look for it any more."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)

    def leave(self) -> None:
        """For the next call, which will look again."""
        os.close(self.lock)


def begin(state: str, record: Record) -> Unfinished:
    """On disk when it returns; raises `StoreError` if it is not: then nothing may be sent."""
    path = Path(state) / _FOLDER / record.token
    try:
        path.mkdir(parents=True)
        lock = _lock(path)
        assert lock is not None
        write_record(record, path / FILE_NAME)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}; nothing was submitted: make room, or set TRIAGE_STATE to"
            " another folder"
        ) from error
    return Unfinished(path, record, lock)


def interrupted(state: str, source: str | None = None) -> Iterator[Unfinished]:
    """Entries whose process is gone, the oldest first; of one source or of all. The caller ends each."""
    folder = Path(state) / _FOLDER
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in folder.iterdir():
            record = read_record(path / FILE_NAME)
            if record is not None and source in (None, record.source):
                found.append((record.asked, path))
    for _, path in sorted(found):
        with contextlib.suppress(FileNotFoundError):
            lock = _lock(path)
            record = read_record(path / FILE_NAME)
            if lock is not None and record is not None:
                yield Unfinished(path, record, lock)
            elif lock is not None:
                os.close(lock)


def _lock(path: Path) -> int | None:
    """`None` where another process holds it. On a file system without locks everybody gets it."""
    descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        pass
    return descriptor
