"""What holds back the cancelling of jobs that hang or have failed: a stall of the file system looks like both."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.jobs.state import State
from triage.core.values import dataclass

MOST_CANCELS = 2
PERIOD = 600.0
"""At most so many cancels within so many seconds, for each user."""
MOST_STALLED = 0.2
"""Share of the watched jobs that may stall at once before it is taken for a fault of the site."""
FEWEST_WATCHED = 3
"""With fewer jobs than this a share says nothing."""


@dataclass(frozen=True, slots=True)
class Stall:
    """What a cancel for a hang or failure is judged by."""

    state: State
    quiet: float
    """Seconds without a sign of life, counted only while the job ran and its file system answered."""
    limit: float
    storage_answers: bool
    """A file could be written and read back on the logs' file system just now."""
    recent: Sequence[float] = ()
    """When this user's last cancels of this kind were, seconds ago."""
    stalled: int = 0
    watched: int = 1
    restarts_left: bool = False
    """torchrun or Slurm will start it again by itself."""


def brake(stall: Stall) -> str | None:
    """Why nothing may be cancelled now; `None` if nothing holds it back."""
    if stall.state is not State.RUNNING:
        return f"the job is {stall.state.value}, not RUNNING"
    if not stall.storage_answers:
        return "the file system of the logs does not answer: their silence says nothing about the job"
    if stall.quiet < stall.limit:
        return f"it is quiet for {stall.quiet:.0f} s, not yet {stall.limit:.0f} s"
    if stall.restarts_left:
        return "its launcher has restarts left"
    if stall.watched >= FEWEST_WATCHED and stall.stalled > MOST_STALLED * stall.watched:
        return f"{stall.stalled} of {stall.watched} watched jobs stall at once: that is a fault of the site, not of the jobs"
    if sum(1 for ago in stall.recent if ago < PERIOD) >= MOST_CANCELS:
        return f"{MOST_CANCELS} jobs were cancelled for this reason within {PERIOD / 60:.0f} minutes"
    return None


@dataclass(frozen=True, slots=True)
class Quiet:
    """Silence, measured only while it means something."""

    since: float | None = None
    """Last moment of which the time is counted."""
    seconds: float = 0.0

    def after(self, now: float, *, alive: bool, counts: bool) -> Quiet:
        """A sign of life starts again; a moment that does not count adds nothing. A clock set back adds nothing."""
        if alive:
            return Quiet(now)
        if not counts or self.since is None:
            return Quiet(now, self.seconds)
        return Quiet(now, self.seconds + min(max(0.0, now - self.since), LONGEST_GAP))


LONGEST_GAP = 120.0
"""Seconds that count at most between two looks: a suspended laptop or a clock set forward is no silence of the job."""
