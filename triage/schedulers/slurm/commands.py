"""The command lines of Slurm's programs: pure functions to argv."""

from __future__ import annotations

import math
from collections.abc import Sequence

from triage.core.jobs.identity import JobId
from triage.schedulers.interface import Request
from triage.schedulers.slurm.columns import AccountRow, AssociationRow, PartitionRow, QueueRow, codes

MARK = "triage:"
"""What stands before the token in a job's comment."""
_TAIL = 8
"""Letters of the token at the end of a job's name."""

Argv = tuple[str, ...]


def mark_of(token: str) -> str:
    return f"{MARK}{token}"


def sbatch(request: Request) -> Argv:
    """The token stands in front, in the comment: there accounting keeps it on the first line of the command line.

    The options come before the script, so that none of its arguments can be taken for one.
    """
    comment = f"{request.comment} {mark_of(request.token)}".strip()
    name = () if request.name is None else (f"--job-name={request.name}-{request.token[:_TAIL]}",)
    return (
        "sbatch", "--parsable", f"--comment={comment}", *_cluster(request.cluster), *name, *request.options,
        str(request.script), *request.arguments,
    )  # fmt: skip


def bounded(argv: Argv, seconds: float) -> Argv:
    """The command under a time limit of its own, which holds even if this process is killed meanwhile."""
    return ("timeout", "--kill-after=2", str(math.ceil(seconds)), *argv)


def squeue(job: JobId | None = None, cluster: str | None = None) -> Argv:
    """All jobs in the queue, each array task on its own row; with `job` a request for that one only."""
    chosen = () if job is None else ("-j", job.local)
    return ("squeue", *_cluster(cluster), "-h", "-r", *chosen, "-o", "|".join(codes(QueueRow)))


def squeue_comments(cluster: str | None = None) -> Argv:
    """Number, state, reason and comment of each of the user's own jobs, those that ended a moment ago too."""
    return ("squeue", *_cluster(cluster), "-h", "--me", "-t", "all", "-o", "%F|%T|%r|%k")


def sacct(jobs: Sequence[JobId], since: float | None = None, cluster: str | None = None) -> Argv:
    """Every incarnation of the jobs; `since` keeps a reused id's former job out."""
    start = () if since is None else ("-S", _moment(since - 1))
    names = ",".join(job.local for job in jobs)
    return (
        "sacct", *_cluster(cluster), "-n", "-P", "-D", *start, "-j", names,
        f"--format={','.join(codes(AccountRow))}",
    )  # fmt: skip


def sacct_command_lines(user: str, since: float, cluster: str | None = None) -> Argv:
    """Id, state, nodes and command line of the user's jobs; without a start sacct begins at midnight.

    With one it leaves out jobs that are held since their submit: those are in the queue.
    """
    return (
        "sacct", *_cluster(cluster), "-n", "-P", "-X", "-D", "-u", user, "-S", _moment(since - 1),
        "--format=JobID,State,NodeList,SubmitLine",
    )  # fmt: skip


def sacct_field(job: JobId, field: str) -> Argv:
    """One field of free text of one job: a question of its own, because such text may hold any separator."""
    return ("sacct", *_cluster(job.cluster), "-n", "-P", "-X", "-j", job.local, f"--format={field}")


def scontrol_job(job: JobId) -> Argv:
    """Without `-o`: only line starts tell a key from free text."""
    return ("scontrol", *_cluster(job.cluster), "show", "job", _whole(job))


def scontrol_config(cluster: str | None = None) -> Argv:
    return ("scontrol", *_cluster(cluster), "show", "config")


def scontrol_partition(name: str, cluster: str | None = None) -> Argv:
    return ("scontrol", *_cluster(cluster), "show", "partition", name)


def scancel(job: JobId) -> Argv:
    return ("scancel", *_cluster(job.cluster), _whole(job))


def scancel_signal(job: JobId, name: str) -> Argv:
    """The batch script alone gets the signal."""
    return ("scancel", *_cluster(job.cluster), "--batch", f"--signal={name}", _whole(job))


def scontrol_update(job: JobId, key: str, value: str) -> Argv:
    return ("scontrol", *_cluster(job.cluster), "update", f"JobId={_whole(job)}", f"{key}={value}")


def squeue_waiting(cluster: str | None = None) -> Argv:
    """Every pending job of every user that can be seen, with its dependency; both are Slurm's own words."""
    return ("squeue", *_cluster(cluster), "-h", "-a", "-t", "PD", "-o", "%i|%E")


def squeue_mine() -> Argv:
    return ("squeue", "-h", "--me", "-o", "%i")


def sinfo(cluster: str | None = None) -> Argv:
    """Hidden partitions too: a job may name them."""
    return ("sinfo", *_cluster(cluster), "-h", "-a", "-o", "|".join(codes(PartitionRow)))


def associations(user: str) -> Argv:
    return (
        "sacctmgr", "-n", "-P", "show", "assoc", "where", f"user={user}",
        f"format={','.join(codes(AssociationRow))}",
    )  # fmt: skip


def _whole(job: JobId) -> str:
    """A component stands for its heterogeneous job: set for it alone, `Requeue=0` would not hold the others back."""
    return str(job.number) if job.component is not None else job.local


def _cluster(name: str | None) -> Argv:
    return () if name is None else ("-M", name)


def _moment(epoch: float) -> str:
    """Epoch seconds as every Slurm time option takes them, whatever the time zone (slurm parse_time.c)."""
    return f"uts{max(1_000_001, math.floor(epoch))}"
