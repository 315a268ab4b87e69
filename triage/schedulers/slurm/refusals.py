"""What Slurm's programs say when they fail, and what to do about it.

Source: SchedMD/slurm src/common/slurm_errno.c and src/sbatch/sbatch.c, 22.05 to 26.05. Whether a request for a new job
can have arrived decides whether it may be sent again: only a failed connection and a plain "not now" are certain.
"""

from __future__ import annotations

import re

from triage.core.jobs.submission import Accepted, Lost, NotSent, Outcome, Refused
from triage.core.values import dataclass
from triage.errors import SchedulerError
from triage.schedulers.process import Answer
from triage.schedulers.slurm.parse import read_submitted


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message and what to change."""

    text: str
    advice: str


_NOT_CONFIGURED = "Could not establish a configuration source"
"""Behind lines on name servers and files that were tried, which tell nothing more."""
REFUSALS: tuple[Refusal, ...] = tuple(Refusal(*row) for row in (
    ("Invalid partition name specified", "the partition does not exist: `sinfo -o %R` lists them; change --partition"),
    ("No partition specified or system default partition", "the site has no default partition: add --partition"),
    ("User's group not permitted to use this partition", "your group may not use this partition: change --partition"),
    ("Required partition not available", "the partition is down or drained: wait, or change --partition"),
    ("Requested partition configuration not available now", "the partition cannot give this now or is limited below it: compare --time and --nodes with `scontrol show partition`"),
    ("Invalid account or account/partition combination", "the account is not yours or may not use this partition: `sacctmgr show assoc user=$USER format=account,partition` lists yours; change --account"),
    ("Invalid qos specification", "the QOS does not exist or is not yours: `sacctmgr show assoc user=$USER format=account,qos` lists yours; change --qos"),
    ("Requested time limit is invalid", "the time limit is missing or above what is allowed: `sinfo -o '%R %l'` shows the limits; change --time"),
    ("Job violates accounting/QOS policy", "a limit of your account or QOS is reached (jobs, size or time): `sacctmgr show assoc user=$USER` and `sacctmgr show qos` show them; ask for less or wait for other jobs"),
    ("Node count specification invalid", "the number of nodes is not allowed here: `scontrol show partition` shows the limits; change --nodes"),
    ("Requested node configuration is not available", "no node has what is asked for: `sinfo -o '%R %D %G %c %m'` shows nodes, GPUs, processors and memory; change --nodes, --gres, --gpus-per-node, --cpus-per-task or --mem"),
    ("More processors requested than permitted", "more processors are asked for than the nodes have: change --cpus-per-task or --ntasks"),
    ("Requested nodes not in this partition", "a named node is not in this partition: change --nodelist or --partition"),
    ("Invalid node name specified", "a named node does not exist: `sinfo -N` lists them; change --nodelist or --exclude"),
    ("Invalid generic resource (gres) specification", "the resource does not exist: `sinfo -o '%R %G'` lists them; change --gres or --gpus-per-node"),
    ("Invalid GRES specification (with and without type", "GPUs are asked for with a type and without: write the type in every option or in none"),
    ("Invalid Trackable RESource (TRES) specification", "the resource does not exist: `sinfo -o '%R %G'` lists them; change --gres or --gpus-per-node"),
    ("Memory required by task is not available", "no node has that much memory: `sinfo -o '%R %m'` shows it; change --mem"),
    ("Memory specification can not be satisfied", "no node has that much memory: `sinfo -o '%R %m'` shows it; change --mem"),
    ("Invalid feature specification", "no node has this feature: `sinfo -o '%R %f'` lists them; change --constraint"),
    ("Requested reservation is invalid", "the reservation does not exist or is over: `scontrol show reservation` lists them; change --reservation"),
    ("Access denied to requested reservation", "the reservation is not for you: change --reservation"),
    ("Job dependency problem", "the job it depends on is unknown or the dependency is malformed: change --dependency"),
    ("Invalid job array specification", "the array's indices are malformed or above the site's MaxArraySize: change --array"),
    ("Invalid license specification", "the licence does not exist: `scontrol show lic` lists them; change --licenses"),
    ("Access/permission denied", "the site does not let you submit this: check --account, --partition and --qos, or ask your site"),
    ("Invalid user id", "the controller does not know your user: ask your site"),
    ("Pathname of a file, directory or other parameter too long", "a path or parameter is too long: shorten it"),
    ("Unable to open file", "the script cannot be read: check its path"),
    ("This does not look like a batch script", "the script's first line must be `#!` and an interpreter, `#!/bin/bash`"),
    ("Batch script contains DOS line breaks", "the script has Windows line ends: `sed -i 's/\\r$//' SCRIPT`"),
    ("Batch script is empty", "the script is empty"),
    ("Batch script contains only whitespace", "the script is empty"),
    ("contain a NULL character", "the script contains a NUL byte: it is damaged or not a script"),
    ("is too big", "the script is larger than the site allows: move data out of it"),
    ("is too large", "the script is larger than the site allows: move data out of it"),
    ("unrecognized option", "sbatch does not know this option: take it out (`sbatch --help` lists all)"),
    ("invalid option --", "sbatch does not know this option: take it out (`sbatch --help` lists all)"),
    ("requires an argument", "an option of sbatch lacks its value: write `--option=VALUE`"),
    ("is ambiguous", "an option of sbatch is shortened too far: write its full name"),
    (_NOT_CONFIGURED, "Slurm is not configured on this machine: run this on a login node, or set SLURM_CONF"),
    ("No cluster", "the cluster does not exist: `sacctmgr list clusters` lists them; change --clusters"),
))  # fmt: skip
"""Permanent: asking again changes nothing."""
_INVALID = re.compile(r"(?:error: )?Invalid (?:numeric value .{0,80} for )?(--[\w-]+)")
_NOT_SENT = (
    "(connect failure)", "Connection refused", "Communication connection failure", "Slurm backup controller in standby mode",
    "Controller is in standby mode", "Rate limit exceeded", "Resource temporarily unavailable", "Slurm job queue full",
    "MaxJobCount limit reached", "Requested nodes are busy", "Job creation temporarily disabled",
    "Slurm temporarily unable to accept job", "Connection timed out establishing", "Unable to create job record, try again",
    "Failed to connect to authentication agent",
)  # fmt: skip
"""The request did not arrive or was turned away for now."""
_LOST = (
    "Socket timed out", "Zero Bytes were transmitted", "(send failure)", "(receive failure)", "(shutdown failure)",
    "Message receive failure", "Message send failure", "Communication shutdown failure", "Unexpected message received",
    "Connection timed out reading", "Connection timed out writing", "Connection reset by peer", "Broken pipe",
    "Transport endpoint is not connected", "I/O error writing script/environment to file", "Insane message length",
    "Header lengths are longer than data received",
)  # fmt: skip
"""The request may have been worked on."""
_UNKNOWN_JOB = ("Invalid job id specified",)
_NOT_FOUND = 127
"""`timeout`, which sbatch runs under, found no sbatch."""
_MOST = 400


def submission(answer: Answer) -> Outcome:
    """What a call of sbatch came to. An id counts even if sbatch was killed after it printed it."""
    job = read_submitted(answer.out)
    if job is not None:
        return Accepted(job)
    if answer.missing or answer.code == _NOT_FOUND:
        return Refused(_MISSING.format(program="sbatch"), absent=True)
    said = quote(answer.err or answer.out)
    if answer.timed_out or answer.cut or answer.code in (None, 124, 137, -9, -15):
        return Lost(f"sbatch did not answer in time{said}")
    if answer.code == 0:
        return Lost(f"sbatch ended without an error and without a job id{said}", again=False)
    text = answer.err
    if any(item in text for item in _LOST):
        return Lost(f"Slurm's answer was lost{said}")
    refused = _advice(text)
    if refused is not None:
        return Refused(f"{refused}{said}", absent=_NOT_CONFIGURED in text)
    if any(item in text for item in _NOT_SENT):
        return NotSent(f"Slurm does not take jobs now{said}")
    return Refused(f"sbatch refused the job{said}")


def failure(program: str, answer: Answer) -> SchedulerError:
    """The error of a program that asks."""
    if answer.missing:
        return SchedulerError(_MISSING.format(program=program), transient=False)
    said = quote(answer.err or answer.out)
    if answer.timed_out:
        return SchedulerError(f"{program} did not answer in time: ask again later{said}", transient=True)
    if answer.cut:
        return SchedulerError(f"{program} printed more than can be read: ask for fewer jobs", transient=False)
    permanent = _advice(answer.err)
    if permanent is not None:
        return SchedulerError(f"{permanent}{said}", transient=False)
    if "accounting storage is disabled" in answer.err.lower():
        return SchedulerError(
            "this cluster keeps no accounting: a job's end cannot be looked up", transient=False
        )
    later = any(item in answer.err for item in (*_NOT_SENT, *_LOST, "Problem talking to the database"))
    advice = "Slurm does not answer now: ask again later" if later else f"{program} failed"
    return SchedulerError(f"{advice}{said}", transient=later)


def is_unknown_job(answer: Answer) -> bool:
    """The controller answered that it does not know the job (any more)."""
    return answer.whole and answer.code != 0 and any(item in answer.err for item in _UNKNOWN_JOB)


_MISSING = (
    "there is no `{program}` here: run this where Slurm's commands are installed, or use the local scheduler"
)


def _advice(text: str) -> str | None:
    for refusal in REFUSALS:
        if refusal.text in text:
            return refusal.advice
    match = _INVALID.search(text)
    return f"sbatch cannot read the value of {match[1]}: change it" if match is not None else None


def quote(text: str) -> str:
    """What the program itself said, for the end of a sentence: its lines without their prefix and control characters.
    Of a search for a configuration only its end counts, which the sentence tells."""
    if _NOT_CONFIGURED in text:
        return ""
    lines = [re.sub(r"^\w+: (?:error|fatal): ", "", line.strip()) for line in text.split("\n")]
    said = "; ".join(line for line in lines if line and not line.startswith("Try "))[:_MOST]
    clean = "".join(char if char.isprintable() else " " for char in said)
    return f" (Slurm says: {clean})" if clean else ""
