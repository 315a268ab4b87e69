"""The logs of a watched job: followed, and asked for a verdict when something telling was written."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field

from triage.core.analysis import Analysis
from triage.core.cause.verdict import Verdict
from triage.core.events.model import Progress
from triage.core.values import dataclass
from triage.errors import InputError
from triage.files.folders import Folders
from triage.files.joblogs import attempts_folder
from triage.files.marks import Mark
from triage.files.tail import Tail

_NEW_FILES = 1.0
_NEW_FILES_LATER = 10.0
"""Seconds between two looks for new files: in the first minutes, and later."""
_FIRST_MINUTES = 300.0
_SHARE = 5.0
"""A verdict that took a second of the processor is not asked for again for this many seconds, while the job runs. What
others take of the processor meanwhile does not count: it would delay verdicts where many jobs run."""
_AHEAD = 0.3
"""Seconds of each look in which thousands of logs of a job that has failed are read closely before it ends."""
CURVE = 240


@dataclass(slots=True)
class JobLogs:
    """The logs of one job."""

    job: str
    paths: Sequence[str]
    output: str
    """The batch log; its folder keeps the ends of logs that are truncated."""
    analysis: Callable[[], Analysis]
    since: float
    """When the job started, or else was first seen."""
    folders: Folders = field(default_factory=Folders)
    """Those of all watched jobs."""
    curve: deque[tuple[float, Progress]] = field(default_factory=lambda: deque(maxlen=CURVE))
    """The latest iterations with the time at which they were seen."""
    grew: bool = False
    """The latest look brought new bytes."""
    _tail: Tail | None = None
    _discovered: float | None = None
    _telling: bool = False
    _failed: bool = False
    """The latest verdict said so: the end is near, and what is read until then is not left for it."""
    _not_before: float = 0.0

    @property
    def progress(self) -> Progress | None:
        return self._tail.progress if self._tail is not None else None

    @property
    def tail(self) -> Tail:
        if self._tail is None:
            self._tail = Tail(self.paths, self.analysis(), self.folders)
        return self._tail

    def look(self, now: float) -> bool:
        """Reads what is new; whether the run has made progress."""
        tail = self.tail
        if self._is_time_for_new_files(now):
            tail.discover()
        before = tail.progress
        seen = tail.look()
        self.grew = seen.size > 0
        self._telling = self._telling or seen.telling
        if self._failed and not seen.telling:
            tail.catch_up(_AHEAD, everything=True)
        if tail.progress is not None and tail.progress is not before:
            self.curve.append((now, tail.progress))
            return before is None or tail.progress.iteration != before.iteration
        return False

    def marks(self) -> dict[str, Mark] | None:
        """What the logs show as long as nothing is written; `None` where something was, or is still to be told."""
        return None if self._tail is None or self.grew or self._telling else self._tail.marks()

    def may_have_new(self, now: float) -> bool:
        """Whether it is time to look for new files, and there may be some."""
        if not self._is_time_for_new_files(now) or not self.tail.may_have_new():
            return False
        self._discovered = None
        return True

    def _is_time_for_new_files(self, now: float) -> bool:
        pause = _NEW_FILES if now - self.since < _FIRST_MINUTES else _NEW_FILES_LATER
        if self._discovered is not None and 0 <= now - self._discovered < pause:
            return False
        self._discovered = now
        return True

    def new_attempt(self, number: int) -> None:
        self.tail.attempt = number
        self._failed = False
        self.tail.progress = None
        self.curve.clear()

    def keep_tails(self, attempt: int) -> list[str]:
        """Copies the ends of logs that the next attempt may truncate. Raises OSError."""
        return self.tail.keep_tails(attempts_folder(self.output, self.job), attempt) if self.output else []

    def early_verdict(self, now: float) -> Verdict | None:
        """The verdict, if something telling was written since the last one; it is asked for no more often than it is
        cheap."""
        if not self._telling or now < self._not_before:
            return None
        self._telling = False
        began = time.thread_time()
        verdict = self.verdict(quick=True)
        self._telling = self.tail.is_behind
        self._failed = verdict is not None and verdict.failed
        self._not_before = now + _SHARE * (time.thread_time() - began)
        return verdict

    def verdict(self, *, quick: bool = False) -> Verdict | None:
        """On all that was read; `None` where nothing was."""
        try:
            return self.tail.explained(self.job, quick=quick).verdict
        except InputError:
            return None

    def drain(self) -> None:
        """Reads to the end of what is there now."""
        self.tail.discover()
        while self.tail.look().more:
            pass
