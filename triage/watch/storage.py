"""Whether the file system of a job's logs answers: while it does not, silence says nothing about the job."""

from __future__ import annotations

from collections.abc import Callable

from triage.core.values import dataclass
from triage.files.canary import sing

_EVERY = 30.0
_BEFORE_AN_ACT = 5.0
"""Seconds for which an answer is believed."""


@dataclass(slots=True)
class Storage:
    """The latest answer of one file system."""

    _at: float = float("-inf")
    _answered: bool = False

    def answers(self, folder: str, now: float, clock: Callable[[], float], *, acts: bool) -> bool:
        """As of a few seconds ago; `acts`: a job may be ended on it."""
        if not 0 <= now - self._at < (_BEFORE_AN_ACT if acts else _EVERY):
            self._at, self._answered = now, sing(folder, clock) is not None
        return self._answered
