"""Where the logs of a job lie, from what the scheduler says about it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence

from triage.core.jobs.handshake import run_folder

_PATTERN = re.compile(r"%\d{0,2}[A-Za-z]|%%|\\")


def log_paths(output: str, error: str, ids: Sequence[str], extra: Sequence[str] = ()) -> list[str]:
    """Paths and patterns of the logs, there already or not.

    Beside the batch output lie the folder of its attempts, the kept ends of truncated logs, and what srun writes per
    node or task under the same name. A `%` that the scheduler left in stands for anything.
    """
    found: dict[str, None] = {}
    for path in (output, error):
        if path and path != "/dev/null":
            found[_with_wildcards(path)] = None
    if output and output != "/dev/null":
        found[_with_wildcards(run_folder(output))] = None
        found.update(dict.fromkeys(attempts_folder(output, job) for job in ids))
        folder, name = os.path.split(output)
        for job in ids:
            match = re.search(rf"(?<!\d){re.escape(job)}(?!\d)", name)
            if match is not None:
                found[os.path.join(glob.escape(folder), f"{glob.escape(name[: match.end()])}[!0-9]*")] = None
    found.update(dict.fromkeys(extra))
    return list(found)


def attempts_folder(output: str, job: str) -> str:
    """Where the ends of logs are kept that a later attempt truncates."""
    return os.path.join(os.path.dirname(output), f"triage-{job}.attempts")


def _with_wildcards(path: str) -> str:
    return _PATTERN.sub("*", glob.escape(path)) if _PATTERN.search(path) else path
