"""Slurm's own lines. slurmstepd's name and stamp go, srun's words stay whole (they are the message).

Source: slurm/src/common/log.c (prefixes), slurm/src/srun/libsrun/launch.c (task exit lines). slurmstepd is named
`slurmstepd`, `slurmstepd-<node>` (since 23.11), or not at all when only the stamp is printed, which collectors take off.
"""

from __future__ import annotations

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import STAMP, Dialect, Sample, Stripped
from triage.core.logs.record import NO_TAGS, Tags
from triage.core.logs.stamp import find_stamp

_STEPD = lazy(
    r"(?:slurmstepd(?:-([\w.-]{1,80}?))?: (?:(error|fatal|info|warning|debug\d?): ?)?|(error): (?=\*\*\* (?:STEP|JOB) \d))"
)
_STAMPED = lazy(r" (error|fatal): ?(?=\S)|(?= \*\*\* (?:STEP|JOB) )")
_SRUN = lazy(r"(?:srun|sbatch|salloc|scancel|slurmd|slurmctld): (?:(error|fatal|warning): )?")
_LEVELS = {"error": "E", "fatal": "F", "warning": "W", "info": "I"}


def _strip(text: str) -> Stripped | None:
    if text[0] == "[":
        return _stamped(text)
    match = _STEPD.match(text)
    if match is not None:
        return Stripped(
            text[match.end() :], Tags(node=match[1]), None, _LEVELS.get(match[2] or match[3] or "", "")
        )
    match = _SRUN.match(text)
    if match is not None:
        return Stripped(text, NO_TAGS, None, _LEVELS.get(match[1] or "", ""))
    return None


def _stamped(text: str) -> Stripped | None:
    if "T" not in text[5:13]:
        return None
    found = find_stamp(text)
    if found is None:
        return None
    match = _STAMPED.match(text, found[1])
    if match is None:
        return None
    return Stripped(
        text[match.end() :].removeprefix(" "), NO_TAGS, found[0], _LEVELS.get(match[1] or "error", "")
    )


SLURM = Dialect(
    name="slurm",
    first="se[",
    behind=STAMP,
    strip=_strip,
    samples=(
        Sample(
            "slurmstepd: error: *** STEP 186.13 ON gpu-999 CANCELLED AT 2025-04-30T06:00:49 DUE TO TIME LIMIT ***",
            "*** STEP 186.13 ON gpu-999 CANCELLED AT 2025-04-30T06:00:49 DUE TO TIME LIMIT ***",
            level="E",
        ),
        Sample(
            "error: *** JOB 186 ON gpu-999 CANCELLED AT 2025-04-30T06:00:49 DUE TO TIME LIMIT ***",
            "*** JOB 186 ON gpu-999 CANCELLED AT 2025-04-30T06:00:49 DUE TO TIME LIMIT ***",
            level="E",
        ),
        Sample(
            "slurmstepd-hgpu-15: error: Detected 1 oom_kill event in StepId=8027146.0.",
            "Detected 1 oom_kill event in StepId=8027146.0.",
            Tags(node="hgpu-15"),
            level="E",
        ),
        Sample(
            "[2025-10-09T09:17:21.003] error: *** STEP 10.12 ON n1 CANCELLED AT 2025-10-09T09:17:21 DUE TO TIME LIMIT ***",
            "*** STEP 10.12 ON n1 CANCELLED AT 2025-10-09T09:17:21 DUE TO TIME LIMIT ***",
            stamp="2025-10-09T09:17:21.003",
            level="E",
        ),
        Sample(
            "srun: error: gpu2: task 1: Exited with exit code 1",
            "srun: error: gpu2: task 1: Exited with exit code 1",
            level="E",
        ),
        Sample("srun: Terminating StepId=377204.0", "srun: Terminating StepId=377204.0"),
    ),
)
