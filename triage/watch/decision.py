"""The decision to end a job early, as it stands on disk: every step of it is written down before it is taken."""

from __future__ import annotations

from typing import Any

from triage.core.jobs.cancel import Stage
from triage.core.values import dataclass
from triage.schedulers.interface import Details
from triage.store.actions import Action, actions_of, intend, reach
from triage.store.jobs import KnownJob
from triage.watch.ending import leave_record
from triage.watch.reasons import Reason
from triage.watch.world import World


@dataclass(slots=True)
class Decision:
    """Of one job; of its attempts only the latest has one that is not abandoned."""

    world: World
    job: KnownJob
    action: Action | None = None

    @property
    def is_under_way(self) -> bool:
        return self.action is not None and not self.action.stage.is_over

    @property
    def was_sent(self) -> bool:
        return self.action is not None and self.action.stage in (Stage.ASKED, Stage.SENT, Stage.DONE)

    @property
    def is_unsent(self) -> bool:
        return self.action is not None and self.action.stage in (Stage.INTENDED, Stage.FENCED)

    @property
    def is_fenced(self) -> bool:
        return self.action is not None and self.action.stage is Stage.FENCED

    @property
    def is_forgotten(self) -> bool:
        """The store no longer has the job of an action that is under way."""
        return self.is_under_way and not actions_of(self.world.database, self.job.number)

    def load(self) -> None:
        """What another watcher, or this one before it was killed, has begun or brought to its end."""
        actions = actions_of(self.world.database, self.job.number)
        begun = [action for action in actions if not action.dry and action.stage is not Stage.ABANDONED]
        self.action = begun[-1] if begun else None

    def make(self, now: float, reason: Reason, gpus: int | None) -> Action:
        """An intent that an interrupted watcher left is not this one's: its grace began with other evidence."""
        for left in actions_of(self.world.database, self.job.number):
            if left.stage is Stage.INTENDED and not left.dry:
                why = f"{left.why}; its watcher was interrupted"
                reach(self.world.database, left, Stage.ABANDONED, now, why=why)
        self.action = self._intend(now, reason, gpus, dry=False)
        return self.action

    def pretend(self, now: float, reason: Reason, gpus: int | None) -> Action | None:
        """What a dry run would have done, once for each attempt."""
        actions = actions_of(self.world.database, self.job.number)
        if any(one.attempt == reason.attempt and one.dry for one in actions):
            return None
        return self._intend(now, reason, gpus, dry=True)

    def _intend(self, now: float, reason: Reason, gpus: int | None, *, dry: bool) -> Action:
        return intend(
            self.world.database, self.job.number, reason.attempt, reason.cause, now, reason.why, reason.evidence, dry=dry,
            gpus=gpus, planned_end=reason.planned_end,
        )  # fmt: skip

    def reach(self, stage: Stage, now: float, details: Details | None, **more: Any) -> bool:
        """False where another watcher has moved the action on, which is that one's then, or where the job was
        forgotten: the step must not be taken."""
        assert self.action is not None
        reached = reach(self.world.database, self.action, stage, now, **more)
        if reached is None:
            if not self.is_forgotten:
                self.load()
            return False
        self.action = reached
        self.record(reached, details)
        return True

    def record(self, action: Action, details: Details | None) -> str | None:
        """Beside the logs too; where that folder cannot be written the store has it, and why is returned."""
        return leave_record(self.job.job, self.job.uid, details, None, action)
