"""What Slurm's programs print, as values: pure functions, each made for hostile names, comments and command lines.

A row that cannot be read is never skipped in silence: the answer is then not whole, and absence from it proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId, parse_job
from triage.core.jobs.state import Phase, State, read_state
from triage.core.jobs.witness import Sighting, whole_sighting
from triage.core.script.site import Partition
from triage.core.values import dataclass, replace
from triage.schedulers.interface import Details
from triage.schedulers.slurm.columns import (
    AccountRow,
    AssociationRow,
    PartitionRow,
    QueueRow,
    Unreadable,
    columns_of,
    read_exit,
    read_name,
    read_number,
    read_span,
    read_time,
)

Row = TypeVar("Row")
_ID = re.compile(
    r"(?:Submitted batch job )?(\d{1,10})(?:;([\w.-]{1,128}))?(?: on cluster ([\w.-]{1,128}))?", re.A
)
_SECONDS = re.compile(r"(\d{1,9}) sec", re.A)
_GRES = re.compile(r"gpu(?::([\w.-]+?))?(?::(\d{1,5}))?(?:\([^)]*\))?", re.A)
_KEY = re.compile(r"([A-Za-z][\w:/.]*)=")
_NO_LIST = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """The rows of an answer."""

    rows: tuple[Row, ...]
    whole: bool = True
    """False if a row could not be read: then a job that is not listed may be there all the same."""


def rows_of(text: str, kind: type[Row], *, free: int | None = None) -> Listing[Row]:
    """Rows of columns separated by `|`; column number `free` may hold the separator itself."""
    columns = columns_of(kind).values()
    rows, whole = [], True
    for line in text.split("\n"):
        if not line or line.startswith("CLUSTER: "):
            continue
        parts = line.split("|")
        surplus = len(parts) - len(columns)
        if surplus > 0 and free is not None:
            parts[free : free + surplus + 1] = ["|".join(parts[free : free + surplus + 1])]
        try:
            values = [item.read(part) for item, part in zip(columns, parts, strict=True)]
        except ValueError:
            whole = False
            continue
        rows.append(kind(*values))
    return Listing(tuple(rows), whole)


_REASON = list(columns_of(QueueRow)).index("reason")


def read_queue(text: str) -> Listing[QueueRow]:
    """squeue's poll."""
    return rows_of(text, QueueRow, free=_REASON)


def read_accounts(text: str) -> Listing[AccountRow]:
    """sacct's rows; a reason, the last column, may hold the separator."""
    return rows_of(text, AccountRow, free=len(columns_of(AccountRow)) - 1)


def seen_in_queue(row: QueueRow) -> Sighting:
    return Sighting(row.state, row.reason, row.submitted, row.started)


def incarnations(rows: Sequence[AccountRow], job: JobId) -> tuple[Sighting, ...]:
    """Every run of one job that sacct has, each with the exit of its batch step."""
    found: list[Sighting] = []
    steps = _batch_steps(rows)
    for row in rows:
        name = parse_job(row.job)
        if name is None or (name.number, name.task, name.component) != (job.number, job.task, job.component):
            continue
        batch = next((step for step in steps.get(row.raw, ()) if _within(step, row)), None)
        found.append(
            Sighting(
                row.state, row.reason, row.submitted, row.started, row.ended, None, row.exit,
                batch.exit if batch is not None else None, row.nodes,
                row.state.state is State.PENDING and row.node_count == 0,
            )
        )  # fmt: skip
    return tuple(found)


def _batch_steps(rows: Sequence[AccountRow]) -> Mapping[str, list[AccountRow]]:
    found: dict[str, list[AccountRow]] = {}
    for row in rows:
        if row.raw.endswith(".batch"):
            found.setdefault(row.raw.removesuffix(".batch"), []).append(row)
    return found


def _within(step: AccountRow, job: AccountRow) -> bool:
    """A requeued job has several batch steps of one id; a step's submit time is its start."""
    return step.started is not None and step.started == job.started


def parts_of(jobs: Iterable[JobId], number: int) -> tuple[JobId, ...]:
    """The array tasks or heterogeneous components among the jobs that belong to this number."""
    return tuple(job for job in jobs if job.number == number and (job.task, job.component) != (None, None))


def jobs_of(rows: Sequence[AccountRow]) -> tuple[JobId, ...]:
    """The jobs that sacct's rows are about; steps and ranges of pending tasks left out."""
    return tuple(dict.fromkeys(job for row in rows if (job := parse_job(row.job)) is not None))


def read_submitted(text: str) -> JobId | None:
    """sbatch's answer: `ID` or `ID;CLUSTER` on a line of its own; plugins of a site may print around it."""
    for line in reversed(text.split("\n")):
        match = _ID.fullmatch(line.strip())
        if match is not None:
            return JobId(int(match[1]), cluster=match[2] or match[3])
    return None


def read_waiting(text: str) -> Listing[Waiting]:
    """`%i|%E` of pending jobs; a line of another form makes the answer not whole."""
    rows = []
    whole = True
    for line in text.split("\n"):
        job, separator, dependency = line.partition("|")
        if line and not line.startswith("CLUSTER: "):
            whole = whole and bool(separator)
            rows.append(Waiting(job, dependency))
    return Listing(tuple(rows), whole)


def find_mark(text: str, mark: str) -> tuple[int, ...]:
    """Numbers of the jobs whose comment or command line, the last column, holds the mark as a word.

    The mark holds a random token, so only the job's own texts can contain it. A request that Slurm refused because no
    node fits leaves a record too, `FAILED` from the start: with the reason BadConstraints in squeue, without any node
    in sacct. It is no job.
    """
    found: dict[int, None] = {}
    word = re.compile(rf"(?<![\w:]){re.escape(mark)}(?!\w)")
    for line in text.split("\n"):
        head, state, detail, rest = (*line.split("|", 3), "", "", "")[:4]
        job = parse_job(re.sub(r"_\[[^\]]*\]$", "", head))
        refused = state == "FAILED" and detail in ("BadConstraints", "None assigned")
        if job is not None and not refused and word.search(rest):
            found[job.number] = None
    return tuple(found)


_LINES = {
    "JobId": (
        "JobId",
        "ArrayJobId",
        "ArrayTaskId",
        "ArrayTaskThrottle",
        "HetJobId",
        "HetJobOffset",
        "JobName",
    ),
    "UserId": ("UserId", "GroupId", "MCS_label"),
    "RunTime": ("RunTime", "TimeLimit", "TimeMin"),
    "TRES": ("TRES",),
    "JobState": ("JobState", "Reason", "FailedNode", "Dependency"),
    "Requeue": ("Requeue", "Restarts", "BatchFlag", "Reboot", "ExitCode"),
    "SubmitTime": ("SubmitTime", "EligibleTime"),
    "StartTime": ("StartTime", "EndTime", "Deadline"),
    "Partition": ("Partition", "AllocNode:Sid"),
    "NodeList": ("NodeList",),
}
"""The lines of `scontrol show job` that are read, with the keys that each may hold, in their order."""
_FREE = {"Command", "WorkDir", "StdErr", "StdIn", "StdOut"}
"""Lines of one key whose value goes to the end of the line."""


def read_details(text: str) -> tuple[Details, ...]:
    """`scontrol show job`: one record for a job, one per running task and one for the rest for an array.

    A job name with a newline can forge any line. The forged one makes its key appear twice, and a record with a key
    twice is refused (`Unreadable`).
    """
    found = []
    for block in re.split(r"\n[ \t]*\n(?=JobId=)", text.strip("\n")):
        if block.startswith("JobId="):
            found.append(_details(block))
    return tuple(found)


def meant(records: Sequence[Details], job: JobId) -> Details | None:
    """The one that is asked for. The bare id of an array, and every id of a heterogeneous job, mean all of its parts;
    a task that has not started may be told by the array's own record only."""
    own = [record for record in records if record.job.number == job.number]
    exact = (record for record in own if record.job.task == job.task and record.job.component is None)
    if not own or job.task is not None or (len(own) == 1 and own[0].job == JobId(job.number)):
        return next(exact, None) or next((record for record in own if record.job.task is None), None)
    together = any(record.job.component is not None for record in own)
    running = [record for record in own if record.sighting.reading.is_running]
    gpus = [record.gpus for record in running or own]
    fences = [record.requeue for record in own if record.sighting.reading.phase is not Phase.ENDED]
    return replace(
        (running or own)[0],
        sighting=whole_sighting([record.sighting for record in own], together=together),
        requeue=True if True in fences else None if None in fences or not fences else False,
        gpus=None if None in gpus else sum(number or 0 for number in gpus),
        numbers=tuple(record.raw for record in own if record.raw is not None),
    )


def _details(block: str) -> Details:
    values: dict[str, str] = {}
    for line in block.split("\n"):
        match = _KEY.match(line.lstrip(" "))
        if match is None:
            continue
        first = match[1]
        if first in _FREE:
            pairs = {first: line.lstrip(" ")[match.end() :]}
        elif first in _LINES:
            pairs = _pairs(line.lstrip(" "), _LINES[first])
        else:
            continue
        twice = values.keys() & pairs.keys()
        if twice:
            raise Unreadable(
                f"`scontrol show job` has {', '.join(sorted(twice))} twice: its name or comment forges lines"
            )
        values.update(pairs)
    missing = {"JobState", "SubmitTime", "StartTime", "Restarts"} - values.keys()
    if missing:
        raise Unreadable(f"`scontrol show job` has no {', '.join(sorted(missing))}")
    sighting = Sighting(
        read_state(values["JobState"]),
        read_name(values.get("Reason", "")),
        read_time(values["SubmitTime"]),
        read_time(values["StartTime"]),
        read_time(values.get("EndTime", "")),
        read_number(values["Restarts"]),
        read_exit(values.get("ExitCode", "")),
        nodes=read_name(values.get("NodeList", "")),
    )
    return Details(
        _own_id(values), sighting, values.get("JobName", ""), values.get("Partition", ""),
        values.get("WorkDir", ""), read_name(values.get("Command", "")) or "", values.get("StdOut", ""),
        values.get("StdErr", ""), read_number(values.get("ArrayJobId", "")), read_number(values["JobId"]),
        _uid(values.get("UserId", "")), {"0": False, "1": True}.get(values.get("Requeue", "")),
        _gpus_of(values.get("TRES", "")), read_span(values.get("TimeLimit", "")),
    )  # fmt: skip


def _uid(text: str) -> int | None:
    """`name(1000)`."""
    match = re.search(r"\((\d{1,10})\)$", text, re.A)
    return int(match[1]) if match is not None else None


def _gpus_of(tres: str) -> int | None:
    """`cpu=8,gres/gpu=8,gres/gpu:h100=8`: the total, or the sum of the kinds."""
    found = dict(re.findall(r"gres/(gpu(?::[\w.-]+)?)=(\d{1,7})", tres, re.A))
    if "gpu" in found:
        return int(found["gpu"])
    return sum(map(int, found.values())) if found else None


def _pairs(line: str, keys: Sequence[str]) -> dict[str, str]:
    """`KEY=value KEY=value`, the keys in a known order; the last one's value goes to the end of the line."""
    starts = []
    position = 0
    for key in keys:
        at = line.find(f"{key}=", position)
        if at >= 0 and (at == 0 or line[at - 1] == " "):
            starts.append((key, at))
            position = at + len(key) + 1
    ends = [*(at - 1 for _, at in starts[1:]), len(line)]
    return {key: line[at + len(key) + 1 : end] for (key, at), end in zip(starts, ends, strict=True)}


def _own_id(values: Mapping[str, str]) -> JobId:
    array, task = values.get("ArrayJobId"), values.get("ArrayTaskId", "")
    if array and task.isdigit():
        return JobId(int(array), task=int(task))
    het, offset = values.get("HetJobId"), values.get("HetJobOffset", "")
    if het and offset.isdigit():
        return JobId(int(het), component=int(offset))
    return JobId(read_number(values["JobId"]) or 0)


def read_config(text: str) -> dict[str, str]:
    """`scontrol show config`: `KEY = value`."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        key, separator, value = line.partition(" = ")
        if separator:
            found.setdefault(key.strip(), value.strip())
    return found


def seconds_of(config: Mapping[str, str], key: str) -> float | None:
    """`5 sec` of a key of the configuration."""
    match = _SECONDS.fullmatch(config.get(key, ""))
    return float(match[1]) if match is not None else None


def read_partition(text: str) -> dict[str, str]:
    """`scontrol show partition`: its values hold no blanks."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def read_partitions(text: str) -> tuple[Listing[Partition], str | None]:
    """sinfo's rows and the name of the default partition."""
    listing = rows_of(text, PartitionRow)
    found = []
    for row in listing.rows:
        gpus, kind = _gpus(row.gres or "")
        found.append(
            Partition(
                row.name,
                row.availability == "up",
                row.time_limit,
                row.nodes,
                gpus,
                kind,
                row.cpus,
                row.memory,
            )
        )
    default = next((row.name for row in listing.rows if row.marked == f"{row.name}*"), None)
    return Listing(tuple(found), listing.whole), default


def _gpus(gres: str) -> tuple[int, str | None]:
    """`gpu:h100:8(S:0-1),nvme:1` as 8 of kind h100."""
    total, kinds = 0, set()
    for part in _NO_LIST.split(gres):
        match = _GRES.fullmatch(part.strip())
        if match is not None:
            name = None if match[1] is None or match[1].isdigit() else match[1]
            total += int(match[2] or (match[1] if match[1] and match[1].isdigit() else 1))
            kinds.add(name)
    return total, kinds.pop() if len(kinds) == 1 else None


def read_associations(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The accounts and the QOS that a user may name."""
    rows: Listing[Any] = rows_of(text, AssociationRow)
    accounts = dict.fromkeys(row.account for row in rows.rows if row.account)
    qos = dict.fromkeys(name for row in rows.rows for name in (row.qos or "").split(",") if name)
    return tuple(accounts), tuple(qos)
