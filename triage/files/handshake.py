"""The rendered script's files of a job's attempts: the start marker is read, the request for an early end is written."""

from __future__ import annotations

import contextlib
import os
import re

from triage.core.jobs.handshake import MARKER, REQUEST, Started, read_marker, request_text, run_folder
from triage.core.values import dataclass

_ATTEMPT = re.compile(r"attempt-(\d{1,5})", re.A)


@dataclass(frozen=True, slots=True)
class Marked:
    """An attempt that left a start marker."""

    started: Started
    folder: str
    """Without symbolic links."""
    at: float
    """When the marker was written, by the file server's clock."""


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


def _marked(folder: str) -> Marked | None:
    try:
        with open(os.path.join(folder, MARKER), "rb") as file:
            text = file.read(500).decode("utf-8", "replace")
            modified = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    started = read_marker(text)
    return Marked(started, folder, modified) if started is not None else None


def request_end(marked: Marked, reason: str) -> None:
    """Asks the attempt's script to end itself as soon as it gets its signal. Raises OSError."""
    path = os.path.join(marked.folder, REQUEST)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(request_text(marked.started, reason))
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
