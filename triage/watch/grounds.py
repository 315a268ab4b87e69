"""What speaks for ending a job now: its result, its failure, its silence. Looked at again before every act."""

from __future__ import annotations

import os
from dataclasses import field

from triage.core.cause.verdict import Verdict
from triage.core.jobs.attempt import Attempt, Succession, succession
from triage.core.jobs.brakes import Quiet
from triage.core.jobs.state import State
from triage.core.values import dataclass
from triage.schedulers.interface import Details
from triage.watch.options import Options
from triage.watch.reasons import Quietness, Reason, Site, for_failure, for_hang, for_result
from triage.watch.results import Proven
from triage.watch.storage import Storage
from triage.watch.world import World

_WORKS_AGAIN = 2
"""Looks with progress after which a failure is overcome; one may show what was written before it."""


@dataclass(slots=True)
class Grounds:
    """Of one attempt of a job."""

    world: World
    options: Options
    quiet: Quiet = field(default_factory=Quiet)
    proven: Proven | None = None
    """Its result, if it was there at the latest look."""
    failed: Verdict | None = None
    """The latest verdict that says it has failed."""
    _worked: int = 0
    """Looks with progress since then."""
    _storage: Storage = field(default_factory=Storage)

    def begin(self, now: float) -> None:
        """Another attempt runs."""
        self.quiet, self.failed = Quiet(now), None

    def over(self) -> None:
        """What was seen was of an attempt that is over."""
        self.proven, self.failed = None, None

    def judged(self, verdict: Verdict) -> None:
        self.failed, self._worked = verdict if verdict.failed else None, 0

    def looked(self, now: float, details: Details | None, *, alive: bool, running: bool, acts: bool) -> None:
        """Silence says something only while the job runs and its logs could be written; nearer to an act that is asked
        more often."""
        self._worked += alive
        watches = self.options.stall_after is not None or self.options.on_fail
        counts = running and (not watches or self._storage_answers(now, details, acts))
        self.quiet = self.quiet.after(now, alive=alive, counts=counts)

    @property
    def stalls(self) -> bool:
        """Its logs have been silent for too long."""
        return self.options.stall_after is not None and self.quiet.seconds >= self.options.stall_after

    def reason(
        self, now: float, attempt: Attempt, state: State, details: Details, verdict: Verdict | None, end: float | None,
        site: Site, *, acts: bool,
    ) -> Reason | None:  # fmt: skip
        """A result before a failure before a hang; `end` is when the job would end by itself."""
        if self.proven is not None and succession(self.proven.attempt, attempt) is Succession.SAME:
            return for_result(self.proven, attempt, end)
        hangs = self.options.cancel_hung and self.stalls
        if not self.options.on_fail and not hangs:
            return None
        answers = self._storage_answers(now, details, acts)
        quiet = Quietness(state, self.quiet.seconds, answers, details.script, site)
        if self.options.on_fail and self.failed is not None and self._worked < _WORKS_AGAIN:
            failed = for_failure(self.failed, attempt, quiet, end)
            if failed is not None:
                return failed
        if hangs and self.options.stall_after is not None:
            return for_hang(self.options.stall_after, verdict, attempt, quiet, end)
        return None

    def _storage_answers(self, now: float, details: Details | None, acts: bool) -> bool:
        """Whether the file system of the logs can be written and read."""
        if details is None or not details.output:
            return False
        return self._storage.answers(os.path.dirname(details.output), now, self.world.clock, acts=acts)
