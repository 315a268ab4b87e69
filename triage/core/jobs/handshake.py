"""What the rendered batch script and the watcher agree on: folders, the start marker and the request for an early end.

The script's side is `triage/submit/templates/megatron.sbatch.j2`. A folder belongs to one attempt of one job, so a file
in it can be neither an older attempt's nor another job's.
"""

from __future__ import annotations

import posixpath
import re

from triage.core.values import dataclass

MARKER = "started"
"""File in the attempt's folder that the script writes first of all."""
REQUEST = "end-early"
"""File in the attempt's folder by which the watcher asks the script to end."""
SIGNAL = "USR2"
"""Makes the script look for the request; torchrun, Megatron-LM and NCCL leave it alone."""
_MARKER = re.compile(r"triage\.started/1 job=(\d{1,10}) attempt=(\d{1,5})(?: end=([A-Z0-9]{2,8}))?\s*", re.A)


@dataclass(frozen=True, slots=True)
class Started:
    """A start marker."""

    job: int
    """As the script knows it, `SLURM_JOB_ID`: of an array's task the raw number."""
    attempt: int
    signal: str | None = None
    """The signal on which the script ends itself; `None` if it does not offer that."""


def run_folder(output: str) -> str:
    """The folder of a job's runs: the path of its batch output without the suffix."""
    return posixpath.splitext(output)[0]


def attempt_folder(output: str, attempt: int) -> str:
    return posixpath.join(run_folder(output), f"attempt-{attempt}")


def read_marker(text: str) -> Started | None:
    """`None` for anything else than one whole marker line."""
    match = _MARKER.fullmatch(text)
    return Started(int(match[1]), int(match[2]), match[3]) if match is not None else None


def marker_text(started: Started) -> str:
    end = f" end={started.signal}" if started.signal is not None else ""
    return f"triage.started/1 job={started.job} attempt={started.attempt}{end}\n"


def request_text(started: Started, reason: str) -> str:
    """The script compares the first line with its own job and attempt; the rest is for people."""
    return f"job={started.job} attempt={started.attempt}\n{' '.join(reason.split())}\n"
