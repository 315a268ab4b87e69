"""Each column that is asked of Slurm, declared once: what it is called there, and how its text is read.

No free text is among them: names and comments may hold the separator, newlines, or `JobState=COMPLETED`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

from triage.core.jobs.identity import JobId, parse_job
from triage.core.jobs.state import Reading, read_state
from triage.core.jobs.witness import Exit
from triage.core.values import dataclass

_NONE = frozenset({"", "N/A", "None", "Unknown", "(null)", "NONE", "None assigned", "n/a"})
_EXIT = re.compile(r"(\d{1,10}):(\d{1,3})", re.ASCII)
_EPOCH = re.compile(r"-?\d{1,12}", re.ASCII)
_UNLIMITED = frozenset({"UNLIMITED", "INFINITE", "infinite", "unlimited"})
_SPAN = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,8}):(\d{1,2})", re.ASCII)


class Unreadable(ValueError):
    """A column does not hold what Slurm prints there."""


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a row: its name in the command's format, and its reader, which may raise `Unreadable`."""

    code: str
    read: Callable[[str], Any]


def columns_of(row: type[Any]) -> dict[str, Column]:
    """The columns of a row by the names of its fields, in order."""
    hints = get_type_hints(row, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


def codes(row: type[Any]) -> tuple[str, ...]:
    return tuple(item.code for item in columns_of(row).values())


def read_job(text: str) -> JobId:
    job = parse_job(text)
    if job is None:
        raise Unreadable(f"{text[:80]!r} is no job id")
    return job


def read_time(text: str) -> float | None:
    """Epoch seconds (`SLURM_TIME_FORMAT=%s`); `Unknown`, `None` and `N/A` are legal."""
    if text in _NONE:
        return None
    if not _EPOCH.fullmatch(text):
        raise Unreadable(f"{text[:80]!r} is no time in epoch seconds")
    return float(text) if int(text) > 0 else None


def read_exit(text: str) -> Exit | None:
    """`code:signal`; steps leave derived codes empty."""
    if text in _NONE:
        return None
    match = _EXIT.fullmatch(text)
    if match is None:
        raise Unreadable(f"{text[:80]!r} is no exit code")
    return Exit(int(match[1]), int(match[2]))


def read_number(text: str) -> int | None:
    if text in _NONE:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise Unreadable(f"{text[:80]!r} is no number")
    return int(text)


def read_count(text: str) -> int:
    """`8`, `8+` (at least), `4000`."""
    return read_number(text.rstrip("+")) or 0


def read_name(text: str) -> str | None:
    return None if text in _NONE else text


def read_word(text: str) -> str:
    return text


def read_span(text: str) -> float | None:
    """A time limit in seconds: `1:00`, `2:00:00`, `1-00:00:00`; `None` is unlimited or not told."""
    if text in _UNLIMITED or text in _NONE:
        return None
    match = _SPAN.fullmatch(text)
    if match is None:
        raise Unreadable(f"{text[:80]!r} is no time limit")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A row of the one poll of squeue."""

    job: Annotated[JobId, Column("%i", read_job)]
    parent: Annotated[int | None, Column("%F", read_number)]
    """The array's number, or the job's own."""
    task: Annotated[str, Column("%K", read_word)]
    raw: Annotated[int | None, Column("%A", read_number)]
    state: Annotated[Reading, Column("%T", read_state)]
    reason: Annotated[str | None, Column("%r", read_name)]
    """The only column that may hold the separator: a site's own reasons are free text."""
    submitted: Annotated[float | None, Column("%V", read_time)]
    started: Annotated[float | None, Column("%S", read_time)]
    uid: Annotated[int | None, Column("%U", read_number)]


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A row of sacct: a job or one of its steps."""

    job: Annotated[str, Column("JobID", read_word)]
    """`18`, `18_3`, `18_[4-7%2]`, with `.batch`, `.extern` or `.0` for a step."""
    raw: Annotated[str, Column("JobIDRaw", read_word)]
    state: Annotated[Reading, Column("State", read_state)]
    exit: Annotated[Exit | None, Column("ExitCode", read_exit)]
    derived: Annotated[Exit | None, Column("DerivedExitCode", read_exit)]
    submitted: Annotated[float | None, Column("Submit", read_time)]
    started: Annotated[float | None, Column("Start", read_time)]
    ended: Annotated[float | None, Column("End", read_time)]
    node_count: Annotated[int, Column("NNodes", read_count)]
    nodes: Annotated[str | None, Column("NodeList", read_name)]
    reason: Annotated[str | None, Column("Reason", read_name)]


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """A row of sinfo: the nodes of a partition that are alike."""

    name: Annotated[str, Column("%R", read_word)]
    availability: Annotated[str, Column("%a", read_word)]
    time_limit: Annotated[float | None, Column("%l", read_span)]
    nodes: Annotated[int, Column("%D", read_count)]
    gres: Annotated[str | None, Column("%G", read_name)]
    cpus: Annotated[int, Column("%c", read_count)]
    memory: Annotated[int, Column("%m", read_count)]
    marked: Annotated[str, Column("%P", read_word)]
    """The name once more, with `*` if it is the default."""


@dataclass(frozen=True, slots=True)
class AssociationRow:
    """What accounting lets a user name."""

    account: Annotated[str | None, Column("Account", read_name)]
    partition: Annotated[str | None, Column("Partition", read_name)]
    qos: Annotated[str | None, Column("QOS", read_name)]
    default_qos: Annotated[str | None, Column("DefaultQOS", read_name)]
