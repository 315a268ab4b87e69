"""Looks at results on disk: a second look at the same path, some time after the first, makes a result complete.

On a network file system attributes are cached for seconds, and a new file may read as empty at first: there, each look
opens the file, and the second comes much later than on a local one.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from triage.core.jobs.artifact import (
    LARGEST,
    LATER,
    NO_CHECKPOINT,
    Complete,
    Entry,
    Kind,
    Look,
    NotYet,
    Seen,
    Target,
    judge,
    judge_one,
)
from triage.core.values import dataclass, field, replace
from triage.errors import UsageError
from triage.files.marks import Mark, mark_of
from triage.files.network import is_on_network

APART_LOCAL = 0.1
APART_NETWORK = 3.0
"""Seconds between two looks."""
TRACKER = "latest_checkpointed_iteration.txt"
"""Source: Megatron-LM megatron/training/checkpointing.py, `get_checkpoint_tracker_filename`."""
MOST_MATCHES = 1000
MOST_ENTRIES = 100_000
_PLACE = re.compile(r"\{(\w*)\}")
_MAGIC = re.compile(r"[*?\[]")


def expand(target: Target, values: Mapping[str, str], folder: str) -> Target:
    """The target for one attempt of a job: `{job_id}` and its like filled in, relative paths from the job's folder.

    Raises UsageError for what can never be found.
    """

    def fill(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise UsageError(f"--artifact {target}: `{match[0]}` is not known; there are {', '.join(f'{{{name}}}' for name in values)}")  # fmt: skip
        return glob.escape(values[match[1]]) if _MAGIC.search(target.path) else values[match[1]]

    path = os.path.join(folder, os.path.expanduser(_PLACE.sub(fill, target.path)))
    if any(len(part.encode("utf-8", "surrogateescape")) > 255 for part in path.split("/")):
        raise UsageError(f"--artifact {target}: a part of the path is longer than any file name may be")
    _possible(target, path)
    return Target(target.kind, os.path.normpath(path), target.iteration)


def _possible(target: Target, path: str) -> None:
    """Raises UsageError where what is there already rules a result out."""
    front = path[: match.start()] if (match := _MAGIC.search(path)) else path
    parent = os.path.dirname(front)
    while parent != "/" and not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    if os.path.exists(parent) and not os.path.isdir(parent):
        raise UsageError(f"--artifact {target}: {parent} is a file, so nothing can ever lie below it")
    if target.kind is not Kind.CHECKPOINT and not _MAGIC.search(path) and os.path.isdir(path):
        raise UsageError(f"--artifact {target}: {path} is a folder; for a checkpoint write ckpt:{path}")
    if target.kind is Kind.CHECKPOINT and os.path.exists(path) and not os.path.isdir(path):
        raise UsageError(f"--artifact {target}: {path} is no folder")


def look(target: Target, path: str, at: float) -> Look:
    """One look at one path; never raises for what the file system does."""
    try:
        if target.kind is Kind.CHECKPOINT:
            return _look_at_checkpoint(path, at)
        return _look_at_file(target.kind, path, at)
    except FileNotFoundError:
        return Look(path, at, "does not exist yet")
    except PermissionError:
        return Look(path, at, "cannot be read: permission denied")
    except (OSError, ValueError) as error:
        return Look(path, at, f"cannot be read: {getattr(error, 'strerror', None) or error}")


def _look_at_file(kind: Kind, path: str, at: float) -> Look:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Look(path, at, "is no file")
        if not status.st_size:
            return Look(path, at, "is empty")
        if kind is Kind.LINES:
            os.lseek(descriptor, max(0, status.st_size - LARGEST), os.SEEK_SET)
        elif status.st_size > LARGEST:
            return Look(path, at, f"has {status.st_size} bytes: a result of more than {LARGEST} is not read")
        data = _read(descriptor, min(status.st_size, LARGEST))
        after = os.fstat(descriptor)
        if (after.st_size, after.st_mtime_ns) != (status.st_size, status.st_mtime_ns) or len(data) < min(status.st_size, LARGEST):  # fmt: skip
            return Look(path, at, "is being written")
    finally:
        os.close(descriptor)
    return Look(path, at, None, status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), data)


def _read(descriptor: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.read(descriptor, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _look_at_checkpoint(path: str, at: float) -> Look:
    try:
        tracker = _look_at_file(Kind.JSON, os.path.join(path, TRACKER), at)
    except FileNotFoundError:
        return Look(path, at, NO_CHECKPOINT)
    if tracker.problem is not None:
        return Look(path, at, NO_CHECKPOINT if tracker.problem in LATER else f"{TRACKER} {tracker.problem}")
    said = tracker.data.strip().decode("ascii", "replace")[:20]
    folder = os.path.join(path, f"iter_{int(said):07d}" if said.isdecimal() else "release")
    entries = sorted(_entries(folder), key=lambda entry: entry.name) if os.path.isdir(folder) else []
    return Look(
        path, at, None, tracker.size, tracker.modified, tracker.inode, tracker.data, tuple(entries), folder
    )


def _entries(folder: str) -> Iterator[Entry]:
    count = 0
    for here, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(here, name)
            status = os.stat(full)
            yield Entry(os.path.relpath(full, folder), status.st_size, status.st_mtime_ns)
            count += 1
            if count >= MOST_ENTRIES:
                return


def _place(target: Target) -> str | None:
    """What a result cannot come or change without changing; `None` where a closer look is always needed."""
    path = target.path
    if target.kind is Kind.CHECKPOINT:
        return os.path.join(path, TRACKER)
    if not _MAGIC.search(path):
        return path
    folder = os.path.dirname(path)
    return None if _MAGIC.search(folder) else folder


@dataclass(slots=True)
class Observer:
    """Looks at the paths of some targets again and again; each path has its own pace."""

    targets: Sequence[Target]
    """Expanded."""
    network: Callable[[str], bool] = is_on_network
    _first: dict[str, Look] = field(default_factory=dict)
    """The look that the next one is compared with."""
    _seen: dict[str, Seen | None] = field(default_factory=dict)
    """JSON lines as they were at the very first look."""
    _second_due: float | None = None
    _apart: dict[str, float] = field(default_factory=dict)
    _marks: dict[str, Mark] | None = None

    def step(self, now: float) -> tuple[dict[Target, list[Complete | NotYet]], float | None]:
        """What there is of each target, and when to look again sooner than the usual pace, if a second look is due."""
        self._second_due = None
        self._marks = {}
        found = {}
        for target in self.targets:
            place = _place(target)
            mark = mark_of(place, fresh=self._is_remote(place)) if place is not None else None
            paths = self._paths(target)
            begun = mark and target.kind is Kind.CHECKPOINT
            if place is None or mark is None or begun or paths != [target.path]:
                self._marks = None
            elif self._marks is not None:
                self._marks[place] = mark
            found[target] = [self._observe(target, path, now) for path in paths]
        return found, self._second_due

    def marks(self) -> tuple[dict[str, Mark], dict[str, Mark]] | None:
        """What the latest step depended on, on local file systems and on others; `None` where that is not enough."""
        if self._marks is None:
            return None
        remote = {place: mark for place, mark in self._marks.items() if self._is_remote(place)}
        return {place: mark for place, mark in self._marks.items() if place not in remote}, remote

    def _is_remote(self, path: str) -> bool:
        return self._gap(path) == APART_NETWORK

    def _paths(self, target: Target) -> list[str]:
        if target.kind is Kind.CHECKPOINT or not _MAGIC.search(target.path):
            return [target.path]
        matches = sorted(glob.iglob(target.path, recursive=True, include_hidden=False))[:MOST_MATCHES]
        return matches or [target.path]

    def _observe(self, target: Target, path: str, now: float) -> Complete | NotYet:
        first = self._first.get(path)
        if first is not None and now < first.at:
            first = None
        if first is not None and now - first.at < self._gap(path):
            self._want(first.at + self._gap(path))
            return NotYet(path, "is looked at a second time", True)
        second = look(target, path, now)
        if target.kind is Kind.LINES:
            self._remember(path, second)
        if second.problem is not None:
            self._first.pop(path, None)
            return NotYet(path, second.problem, second.problem not in LATER)
        single = judge_one(target, second)
        if isinstance(single, NotYet):
            self._first.pop(path, None)
            return single
        if first is not None and isinstance(found := judge(target, first, second), Complete):
            line = found.line
            return found if line is None else replace(found, line=replace(line, first=self._seen.get(path)))
        self._first[path] = second
        self._want(now + self._gap(path))
        return NotYet(path, "is being written" if first is not None else "is looked at a second time", True)

    def _remember(self, path: str, now: Look) -> None:
        """A file that was replaced or cut is another one than was seen first."""
        seen = self._seen.get(path)
        if now.problem is None:
            if path not in self._seen or (
                seen is not None and (seen.inode != now.inode or now.size < seen.size)
            ):
                self._seen[path] = Seen(now.size, now.modified, now.inode)
        elif now.problem in LATER:
            self._seen.setdefault(path, None)

    def _gap(self, path: str) -> float:
        if path not in self._apart:
            self._apart[path] = APART_NETWORK if self.network(path) else APART_LOCAL
        return self._apart[path]

    def _want(self, at: float) -> None:
        self._second_due = at if self._second_due is None else min(self._second_due, at)
