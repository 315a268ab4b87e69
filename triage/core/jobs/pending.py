"""Reasons for which a pending job will never start by itself.

Source: SchedMD/slurm src/common/slurm_protocol_defs.c (`job_reason_string`) and squeue(1), "JOB REASON CODES".
"""

from __future__ import annotations

import re

_NEVER: tuple[tuple[str, str], ...] = (
    ("PartitionTimeLimit", "its time limit is above the partition's: ask for less time or name another partition"),
    ("PartitionNodeLimit", "it asks for more nodes than the partition allows: ask for fewer or name another partition"),
    ("PartitionConfig", "the partition cannot give what it asks for: compare the request with `sinfo -p PARTITION`"),
    ("DependencyNeverSatisfied", "the job that it depends on cannot end as required: cancel it and submit it without"),
    ("BadConstraints", "no node fits its request: look at --constraint, --gres, --mem and --nodes"),
    ("InvalidAccount", "its account does not exist or may not use this partition: name another with --account"),
    ("AccountNotAllowed", "its account may not use this partition: name another account or partition"),
    ("InvalidQOS", "its QOS does not exist or is not yours: name another with --qos"),
    ("QOSNotAllowed", "its QOS may not use this partition: name another QOS or partition"),
    ("JobHeldAdmin", "an administrator holds it: ask your site"),
    ("JobHeldUser", "it is held: start it with `scontrol release JOB`"),
    ("JobHoldMaxRequeue", "it was requeued too often: find out why it fails, then `scontrol release JOB`"),
    ("ReservationDeleted", "its reservation is gone: submit it again without or with another one"),
    ("launch failed requeued held", "its launch failed and it is held: find out why, then `scontrol release JOB`"),
    ("MaxMemPerLimit", "it asks for more memory than the partition allows: ask for less with --mem"),
)  # fmt: skip
_LIMIT = re.compile(r"(?:Assoc|QOS)Max\w*Per(?:Job|Node)\w*|QOSMin\w+", re.ASCII)
"""Limits of one job. Those of a user, an account or a group (`PerUser`, `Grp`) pass when other jobs end."""


def never_starts(reason: str) -> str | None:
    """What to change, if a job that is pending for this reason will not start by itself; `None` if it may."""
    word = reason.strip("() ")
    for name, advice in _NEVER:
        if word.lower() == name.lower():
            return f"{name}: {advice}"
    if _LIMIT.fullmatch(word):
        return f"{word}: it asks for more than a limit of its account or QOS allows one job: ask for less"
    return None
