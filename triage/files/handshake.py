"""The rendered script's files of a job's attempts: the start marker is read, the request for an early end is written."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable

from triage.core.jobs.attempt import Attempt
from triage.core.jobs.handshake import MARKER, REQUEST, Started, read_marker, request_text, run_folder
from triage.core.jobs.ownership import is_older
from triage.core.values import dataclass
from triage.files.canary import sing

_ATTEMPT = re.compile(r"attempt-(\d{1,5})", re.A)
_HIGHEST = 100
"""Folders above a path that are looked into."""


@dataclass(frozen=True, slots=True)
class Marked:
    """An attempt that left a start marker."""

    started: Started
    folder: str
    """Without symbolic links."""
    at: float
    """When the marker was written, by the file server's clock."""
    device: int = 0
    """Of its file system."""


def marked_attempts(output: str, job: int) -> tuple[Marked, ...]:
    """The attempts of the job (its raw number) beside its batch output; what belongs to another job is left out."""
    base = os.path.realpath(run_folder(output))
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(base):
            match = _ATTEMPT.fullmatch(name)
            one = _marked(os.path.join(base, name)) if match is not None else None
            if (
                one is not None
                and match is not None
                and (one.started.job, one.started.attempt) == (job, int(match[1]))
            ):
                found.append(one)
    return tuple(sorted(found, key=lambda one: one.started.attempt))


def is_of(marked: Marked, attempt: Attempt, clock: Callable[[], float]) -> bool:
    """Whether the marker is this attempt's: an id that is given out again finds the marker of the job that had it before.

    The clocks are compared only where the marker seems older than the attempt.
    """
    if marked.started.attempt != attempt.restarts:
        return False
    if not is_older(marked.at, attempt, 0.0):
        return True
    canary = sing(marked.folder, clock)
    return canary is not None and not is_older(marked.at, attempt, canary.skew)


def marker_above(path: str) -> Started | None:
    """The start marker of the nearest folder above a path that has one."""
    folder = os.path.dirname(path)
    for _ in range(_HIGHEST):
        marked = _marked(folder)
        if marked is not None:
            return marked.started
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return None


def _marked(folder: str) -> Marked | None:
    try:
        descriptor = os.open(os.path.join(folder, MARKER), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            text = file.read(500).decode("utf-8", "replace")
    except OSError:
        return None
    started = read_marker(text)
    return Marked(started, folder, status.st_mtime, status.st_dev) if started is not None else None


def request_end(marked: Marked, reason: str) -> None:
    """Asks the attempt's script to end itself as soon as it gets its signal. Raises OSError."""
    path = os.path.join(marked.folder, REQUEST)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(request_text(marked.started, reason))
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
