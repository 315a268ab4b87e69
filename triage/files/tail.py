"""All logs of a job, followed into one analysis: new bytes are read once, and the verdict is there when it is asked for.

Files may appear late, shrink (a requeued job truncates its log), be rotated or replaced; thousands of them are looked at
with one `stat` each.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence

from triage.core.analysis import Analysis, Choice, SourceFeed
from triage.core.cause.explain import Explained
from triage.core.cause.verdict import Skipped, Verdict
from triage.core.events.model import Progress
from triage.core.live import is_telling, newest_progress
from triage.core.values import dataclass, replace
from triage.errors import InputError
from triage.files.folders import Folders
from triage.files.follow import Followed
from triage.files.inputs import Input
from triage.files.marks import Mark, mark_of
from triage.files.open import Unreadable, chunks
from triage.files.walk import collect

MOST_AT_ONCE = 64 << 20
"""Bytes that one call reads at most, so that whoever follows stays responsive."""
_PROGRESS_READ = 8
"""Pieces of new text that one look searches for progress."""
MANY = 256
"""With more logs than this a quick look reads closely only those that tell something."""
_QUICK = 2.0
"""Seconds that a quick look reads closely at most, the first tellers first; the next one goes on."""
_OVERLAP = 64
"""Bytes of the last piece that a word may begin in."""
KEEPS_TAIL = 64
"""So many logs keep their last bytes: those that Slurm truncates are few."""
_UNSETTLED = 2
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at the logs brought."""

    size: int = 0
    """New bytes."""
    telling: bool = False
    """Something in them may tell of a failure or an end: it is worth asking for the verdict."""
    truncated: tuple[str, ...] = ()
    more: bool = False
    """There is more to read at once."""


class Tail:
    """The logs that paths, folders and patterns name, now and later."""

    def __init__(self, paths: Sequence[str], analysis: Analysis, folders: Folders | None = None) -> None:
        """`folders` may be shared by many jobs, whose logs lie beside one another."""
        self.paths = list(paths)
        self.attempt = 0
        """Restarts of the job; what was read before a truncation belongs to the attempt before."""
        self.progress: Progress | None = None
        """The latest iteration of this attempt that any log tells of."""
        self._analysis = analysis
        self._current: dict[str, Followed] = {}
        """By path."""
        self._all: list[Followed | Input] = []
        """In the order of the analysis' sources."""
        self._skipped: tuple[Skipped, ...] = ()
        self._listing: frozenset[str] = frozenset()
        self._places = _places(self.paths)
        self._deep = any(map(_is_deep, self.paths))
        self._folders: dict[str, int] = {}
        """The folders that were listed, with their times of change: what did not change is not listed again."""
        self._shared = folders or Folders()
        self._unsettled = 0
        """So many more looks are for new files: some file systems tell the time of a change in whole seconds."""
        self._edges: dict[str, bytes] = {}
        self._leader = ""
        """The log that told of the latest progress."""
        self._budget = 0
        self._tellers: dict[int, None] = {}
        """Sources in which something telling was written, in the order in which it was seen."""
        self.is_behind = False
        """In the latest verdict of a quick look not every source that tells something was read to its end."""

    @property
    def files(self) -> list[Followed]:
        return list(self._current.values())

    def discover(self) -> int:
        """Looks for new files; how many there are. A path that is not there yet is no error."""
        if not self.may_have_new():
            return 0
        before = _changes_of([*self._folders, *self._places])
        names, below = self._names()
        listing = frozenset(names)
        changes = {**_changes_of(below), **before}
        self._unsettled = self._unsettled - 1 if changes == self._folders else _UNSETTLED
        self._folders = changes
        if listing == self._listing:
            return 0
        self._listing = listing
        there = [path for path in self.paths if os.path.lexists(path) or any(c in path for c in "*?[")]
        try:
            collected = collect(there) if there else None
        except InputError:
            collected = None
        if collected is None:
            return 0
        self._skipped = collected.skipped
        known = {one.identity: path for path, one in self._current.items() if not one.vanished}
        new = 0
        for one in collected.inputs:
            if one.open not in self._current:
                new += self._add(one, known)
        return new

    def may_have_new(self) -> bool:
        """Some folder has changed, or cannot tell; else a look for new files would find none."""
        changes = _changes_of([*self._folders, *self._places])
        return changes != self._folders or self._unsettled > 0 or not self._listing or self._deep

    def marks(self) -> dict[str, Mark] | None:
        """What every log shows as long as nobody writes to it; `None` where that was done since the latest look."""
        found = {path: mark_of(path) for path in self._current}
        behind = (mark and mark[1] != self._current[path].offset for path, mark in found.items())
        return None if any(behind) else found

    def look(self) -> Seen:
        """Reads what was written since the last look."""
        size, telling, more = 0, False, False
        self._budget = _PROGRESS_READ
        truncated = []
        for path, one in list(self._current.items()):
            try:
                status = os.stat(path)
            except OSError:
                one.vanished = True
                continue
            one.vanished = False
            if (status.st_dev, status.st_ino) != one.identity or status.st_size < one.offset:
                truncated.append(path)
                one = self._anew(path, one, (status.st_dev, status.st_ino))
            one.modified = status.st_mtime
            if status.st_size == one.offset:
                continue
            try:
                pieces = one.read(status.st_size, max(0, MOST_AT_ONCE - size))
            except OSError:
                continue
            size += sum(map(len, pieces))
            more = more or one.offset < status.st_size
            telling = self._is_telling(path, pieces) or telling
        return Seen(size, telling, tuple(truncated), more)

    def explained(self, job: str | None = None, *, quick: bool = False) -> Explained:
        """The verdict on what was read so far; for a quick one, of thousands of logs those are read closely in which
        something was told, and the others are as `catch_up` left them. Raises InputError where nothing was read."""
        quick = quick and len(self._all) > MANY
        self.is_behind = quick and not self.catch_up(_QUICK)
        analysis = self._analysis.so_far(() if quick else None)
        if not any(feed.size for feed in analysis.feeds):
            raise InputError("the logs are empty so far")
        try:
            explained = analysis.explained(self._locate, Choice(job=job))
        except InputError:
            explained = analysis.explained(self._locate)
        return replace(explained, verdict=self._with_skipped(explained.verdict))

    def catch_up(self, seconds: float, *, everything: bool = False) -> bool:
        """Reads closely, for about so long, what was written to logs that tell something, then to the others; whether
        that was all. What is read now does not have to be when the job has ended."""
        leader = self._current.get(self._leader)
        wanted = [*self._tellers, *([leader.feed.index] if leader is not None else [])]
        feeds = [self._analysis.feeds[index] for index in wanted] + (
            self._analysis.feeds if everything else []
        )
        end = time.monotonic() + seconds
        stale = [feed for feed in feeds if feed.is_stale]
        for count, feed in enumerate(stale, 1):
            feed.as_if_ended()
            if time.monotonic() > end and count < len(stale):
                return False
        return True

    def keep_tails(self, folder: str, attempt: int) -> list[str]:
        """Copies the last bytes of the batch logs, which the next attempt may truncate; the paths. Raises OSError."""
        made = []
        for one in self._current.values():
            if one.tail:
                target = os.path.join(folder, f"attempt-{attempt}", os.path.basename(one.path))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.writelines(one.tail)
                made.append(target)
        return made

    def _add(self, one: Input, known: dict[tuple[int, int], str]) -> int:
        try:
            status = os.stat(one.open)
        except OSError:
            return 0
        identity = (status.st_dev, status.st_ino)
        if identity in known:
            self._moved(known[identity], one.open)
            return 0
        feed = self._analysis.open(one.source)
        if one.open.endswith(_COMPRESSED):
            self._read_whole(one, feed)
            return 1
        followed = Followed(one.open, feed, identity, keeps_tail=len(self._current) < KEEPS_TAIL)
        self._current[one.open] = followed
        self._all.append(followed)
        return 1

    def _read_whole(self, one: Input, feed: SourceFeed) -> None:
        """A compressed log is not followed: nobody appends to it."""
        self._all.append(one)
        try:
            for chunk in chunks(one):
                feed.feed(chunk)
        except Unreadable as error:
            self._skipped = (*self._skipped, Skipped(one.source.path, str(error)))

    def _moved(self, old: str, new: str) -> None:
        """A log was renamed, as logrotate does: its rest is read under the new name."""
        one = self._current.pop(old)
        one.path = new
        self._current[new] = one
        self._listing = frozenset()

    def _anew(self, path: str, old: Followed, identity: tuple[int, int]) -> Followed:
        """The path starts again: what was read so far stays, as the attempt before this one."""
        source = old.feed.source
        number = source.attempt if source.attempt is not None else max(0, self.attempt - 1)
        if self.attempt > number:
            old.feed.source = replace(source, attempt=number)
            source = replace(source, attempt=self.attempt)
        followed = Followed(path, self._analysis.open(source), identity, keeps_tail=old.keeps_tail)
        self._current[path] = followed
        self._all.append(followed)
        return followed

    def _is_telling(self, path: str, pieces: list[bytes]) -> bool:
        """Whether the new bytes hold one of the words that a closer look begins with."""
        found = False
        for piece in pieces:
            text = self._edges.get(path, b"") + piece
            found = found or is_telling(self._analysis.anchors, text)
            self._edges[path] = piece[-_OVERLAP:]
            self._follow_progress(path, piece)
        if found:
            self._tellers[self._current[path].feed.index] = None
        return found

    def _follow_progress(self, path: str, piece: bytes) -> None:
        """Of many logs few tell of progress, mostly the last rank's: that one is read closely, the others in turn."""
        if path != self._leader and self._budget <= 0:
            return
        self._budget -= 1
        step = newest_progress(self._analysis.anchors, piece)
        if step is not None and (
            self.progress is None or (step.iteration or 0) >= (self.progress.iteration or 0)
        ):
            self.progress, self._leader = step, path

    def _locate(self, source: int, offsets: Sequence[int]) -> Sequence[tuple[str, int]]:
        one = self._all[source]
        if isinstance(one, Followed):
            return [(one.feed.source.path, number) for number in one.line_numbers(offsets)]
        from triage.files.lines import places

        return places(one, offsets)

    def _names(self) -> tuple[set[str], set[str]]:
        """Every file below the paths, by name alone: cheap enough to be asked for often; and every folder."""
        found: set[str] = set()
        folders: set[str] = set()
        for path in self.paths:
            if not os.path.lexists(path) and any(c in path for c in "*?["):
                found.update(self._shared.matches(path))
            elif os.path.isdir(path):
                for folder, _, names in os.walk(path):
                    folders.add(folder)
                    found.update(f"{folder}/{name}" for name in names)
            elif os.path.lexists(path):
                found.add(path)
        return found, folders

    def _with_skipped(self, verdict: Verdict) -> Verdict:
        return replace(verdict, scanned=replace(verdict.scanned, skipped=self._skipped))


def _places(paths: Sequence[str]) -> frozenset[str]:
    """Where a path that is missing may appear, and the paths themselves, which may be folders."""
    return frozenset({os.path.dirname(path) or "." for path in paths} | set(paths))


def _changes_of(places: Iterable[str]) -> dict[str, int]:
    """When each folder changed; of a file only that it is there: it changes with every line."""
    found = {}
    for place in set(places):
        try:
            status = os.stat(place)
            found[place] = status.st_mtime_ns if stat.S_ISDIR(status.st_mode) else 1
        except OSError:
            found[place] = 0
    return found


def _is_deep(pattern: str) -> bool:
    """Its folders are patterns too: which ones it means cannot be told without listing them."""
    return any(c in os.path.dirname(pattern) for c in "*?[") and not os.path.lexists(pattern)
