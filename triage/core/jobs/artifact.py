"""Whether a result is complete, from two looks at it. Pure: `triage.files.artifacts` looks.

A result counts when it says a whole thing (a JSON object or list; of JSON lines the last whole one; a checkpoint that
its tracker file names) and the second look finds it as the first did.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from typing import Any, assert_never

from triage.core.values import dataclass
from triage.errors import UsageError

LARGEST = 16 << 20
"""Bytes of a JSON result that is read; of JSON lines this much of the end."""
NO_CHECKPOINT = "holds no finished checkpoint yet"
LATER = ("does not exist yet", "is empty", NO_CHECKPOINT)
"""Problems that only mean that there is nothing so far."""
_ITERATION = re.compile(r"\s*(\d{1,12}|release)\s*", re.A)
_CHECKPOINT = re.compile(r"ckpt:(?P<folder>.+?)(?:@(?P<iteration>\d{1,12}))?", re.A | re.S)


class Kind(enum.Enum):
    JSON = "json"
    LINES = "lines"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Target:
    """What `--artifact` names: a path or pattern, or a checkpoint folder with the iteration to wait for."""

    kind: Kind
    path: str
    iteration: int | None = None

    def __str__(self) -> str:
        if self.kind is not Kind.CHECKPOINT:
            return self.path
        return f"ckpt:{self.path}" + (f"@{self.iteration}" if self.iteration is not None else "")


def parse_target(text: str) -> Target:
    """Raises UsageError for what names nothing."""
    if text.startswith("ckpt:"):
        match = _CHECKPOINT.fullmatch(text)
        if match is None:
            raise UsageError(f"--artifact {text}: write ckpt:FOLDER or ckpt:FOLDER@ITERATION")
        number = match["iteration"]
        return Target(Kind.CHECKPOINT, match["folder"], int(number) if number is not None else None)
    if not text.strip() or "\0" in text:
        raise UsageError("--artifact: name a file, a pattern or ckpt:FOLDER")
    lines = text.endswith((".jsonl", ".ndjson"))
    return Target(Kind.LINES if lines else Kind.JSON, text)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file below a checkpoint's folder."""

    name: str
    size: int
    modified: int
    """Nanoseconds, as the file server says."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at one path found."""

    path: str
    at: float
    """Epoch seconds of the looker."""
    problem: str | None = None
    """Why nothing can be said; a phrase that follows the path."""
    size: int = 0
    modified: int = 0
    inode: tuple[int, int] = (0, 0)
    data: bytes = b""
    """The file; of JSON lines its end, of a checkpoint its tracker file."""
    entries: tuple[Entry, ...] = ()
    """A checkpoint's files."""
    folder: str = ""
    """The checkpoint's folder that the tracker names."""


@dataclass(frozen=True, slots=True)
class NotYet:
    """No result so far."""

    path: str
    reason: str
    """A phrase that follows the path."""
    present: bool = False
    """Something is there, but it does not count (yet)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the attempt's first look found it."""

    size: int
    modified: int
    """Nanoseconds, as the file server says."""
    inode: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Line:
    """Where the line lies that decides: a file that is appended to may hold those of earlier jobs."""

    at: int
    """Its first byte in the file."""
    is_last: bool
    """Nothing follows it: what was written last is its end."""
    first: Seen | None = None
    """`None`: the file came after the first look."""


@dataclass(frozen=True, slots=True)
class Complete:
    """A result that is whole."""

    path: str
    kind: Kind
    digest: str
    """SHA-256 of what was looked at."""
    written: float
    """Epoch seconds by the file server's clock; of a checkpoint's files the oldest, so that all of it is as new."""
    size: int
    value: Any = None
    """The JSON value; of a checkpoint `{"iteration": N}`."""
    data: bytes = b""
    line: Line | None = None
    """Of JSON lines."""


def judge(target: Target, first: Look, second: Look) -> Complete | NotYet:
    """Whether two looks at one path, far enough apart, show a complete result."""
    for look in (first, second):
        if look.problem is not None:
            return NotYet(look.path, look.problem, look.problem not in LATER)
    if _identity(first) != _identity(second):
        return NotYet(second.path, "is being written", True)
    return judge_one(target, second)


def judge_one(target: Target, look: Look) -> Complete | NotYet:
    """Whether one look shows what could be a complete result; only a second, equal look makes it one."""
    if look.problem is not None:
        return NotYet(look.path, look.problem, look.problem not in LATER)
    match target.kind:
        case Kind.CHECKPOINT:
            return _checkpoint(target, look)
        case Kind.JSON:
            return _json(look, Kind.JSON, look.data)
        case Kind.LINES:
            whole, _, rest = look.data.rpartition(b"\n")
            last = whole.rpartition(b"\n")[2]
            if not last.strip():
                return NotYet(look.path, "holds no whole line yet", bool(look.data))
            line = Line(look.size - len(look.data) + len(whole) - len(last), not rest)
            return _json(look, Kind.LINES, last, line)
    assert_never(target.kind)


def _identity(look: Look) -> tuple[object, ...]:
    return (look.path, look.size, look.modified, look.inode, look.data, look.entries, look.folder)


def _json(look: Look, kind: Kind, data: bytes, line: Line | None = None) -> Complete | NotYet:
    """A bare number or text does not count: half of `35` is a whole `3`."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError, MemoryError):
        return NotYet(look.path, "is no complete JSON", True)
    if not isinstance(value, dict | list) or not value:
        return NotYet(look.path, "holds no JSON object or list with anything in it", True)
    digest = hashlib.sha256(data).hexdigest()
    return Complete(look.path, kind, digest, look.modified / 1e9, look.size, value, data, line)


def _checkpoint(target: Target, look: Look) -> Complete | NotYet:
    match = _ITERATION.fullmatch(look.data.decode("ascii", "replace"))
    if match is None:
        return NotYet(look.path, "has a tracker file that names no iteration", True)
    if match[1] == "release":
        if target.iteration is not None:
            return NotYet(look.path, "holds a release checkpoint, which has no iteration", True)
        iteration: int | None = None
    else:
        iteration = int(match[1])
        if target.iteration is not None and iteration < target.iteration:
            return NotYet(look.path, f"is at iteration {iteration}", True)
    if not look.entries:
        return NotYet(look.folder, "holds no file", True)
    empty = next((entry.name for entry in look.entries if entry.size == 0), None)
    if empty is not None:
        return NotYet(look.folder, f"holds an empty file, {empty}", True)
    listing = "\n".join(f"{e.name} {e.size} {e.modified}" for e in look.entries)
    digest = hashlib.sha256(look.data + listing.encode("utf-8", "surrogateescape")).hexdigest()
    oldest = min(look.modified, *(entry.modified for entry in look.entries))
    return Complete(
        look.folder, Kind.CHECKPOINT, digest, oldest / 1e9, sum(e.size for e in look.entries),
        {"iteration": iteration}, look.data,
    )  # fmt: skip
