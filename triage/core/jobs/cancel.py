"""Whether and how to end a job early: the next step, from all that is known. Pure; only `triage.watch` acts.

The steps have one order: the intent is stored, a veto is waited for, requeueing is switched off, the job is looked at
again, and only if the same attempt still runs it is asked to end. Whatever is not known holds the act back.
"""

from __future__ import annotations

import enum

from triage.core.jobs.attempt import Attempt, Succession, succession
from triage.core.values import dataclass

REPEAT = 30.0
"""Seconds after which an act whose outcome is unknown may be repeated."""
LOST = 600.0
"""Seconds after which an act that did nothing is taken to be lost; a frozen controller may carry it out minutes later."""
GRACEFUL = 90.0
"""Seconds that a script gets to end itself before the job is cancelled."""


class Cause(enum.Enum):
    ARTIFACT = "artifact"
    FAILURE = "failure"
    HANG = "hang"


class Stage(enum.Enum):
    """How far an action has come, as the store knows it."""

    NONE = "none"
    INTENDED = "intended"
    """The evidence is on disk."""
    FENCED = "fenced"
    """Requeueing was switched off."""
    ASKED = "asked"
    """The script was asked to end itself."""
    SENT = "sent"
    """scancel was sent; whatever it answered, the outcome is unknown."""
    DONE = "done"
    ABANDONED = "abandoned"

    @property
    def is_over(self) -> bool:
        return self in (Stage.DONE, Stage.ABANDONED)


@dataclass(frozen=True, slots=True)
class Fresh:
    """The scheduler's latest answer about the job."""

    listed: bool
    """The queue still has it."""
    running: bool = False
    attempt: Attempt | None = None
    requeue: bool | None = None
    """Whether Slurm may start it again; `None`: not told."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that the next step depends on. `None` is: not known."""

    cause: Cause
    stage: Stage
    attempt: Attempt
    """That the decision was made on."""
    now: float
    since: float
    """When the stage was reached."""
    fresh: Fresh | None = None
    """`None`: the scheduler did not answer, or was not asked since the stage was reached."""
    grace: float = 0.0
    own: bool = True
    """The job is this user's."""
    held: bool = False
    stopped: bool = False
    """The kill-switch file is there."""
    leader: bool = True
    """This watcher has the job's lease."""
    rows: int = 1
    """Rows of the queue that the id stands for."""
    whole_array: bool = False
    harmed: tuple[str, ...] | None = None
    """Dependents that a cancel would harm; `None`: they could not be read."""
    break_dependents: bool = False
    graceful: bool = False
    """The script offers to end itself, or the user named a signal."""
    brake: str | None = None
    holds: bool | None = True
    """The reason, looked at again; `None`: a second look will tell."""
    allowed: bool = True
    """This watcher was asked to end the job for that cause."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again later."""

    why: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """This job is not ended early; nothing was changed."""

    why: str


@dataclass(frozen=True, slots=True)
class Abandon:
    """What was meant is gone: undo the fence, and never act on this intent."""

    why: str
    restore: bool


class Act(enum.Enum):
    """What to do now."""

    STORE = "store the evidence and the intent"
    FENCE = "switch requeueing off"
    LOOK = "ask the scheduler again"
    ASK = "ask the script to end itself"
    CANCEL = "scancel"
    FINISH = "write down that the job is gone"


Step = Act | Wait | Refuse | Abandon


def decide(s: Situation) -> Step:
    """The next step of ending a job early."""
    if s.stage in (Stage.ASKED, Stage.SENT):
        return _after_act(s)
    obstacle = _obstacle(s)
    if s.stage is Stage.NONE:
        return Act.STORE if obstacle is None else obstacle
    if obstacle is not None:
        return Abandon(obstacle.why, s.stage is Stage.FENCED) if isinstance(obstacle, Refuse) else obstacle
    lost = _lost(s)
    if lost is not None:
        return lost
    if s.stage is Stage.INTENDED:
        if s.now - s.since < s.grace:
            return Wait(f"a veto is possible for {s.grace:.0f} s (`triage hold`)")
        return _checked(s) or Act.FENCE
    if s.stage is Stage.FENCED:
        return _checked(s) or _fenced(s)
    return Wait("it is over")


def _obstacle(s: Situation) -> Wait | Refuse | None:
    """What forbids an act, whatever its stage."""
    if not s.own:
        return Refuse("it is another user's job")
    if not s.leader:
        return Wait("another watcher acts on this job")
    if s.stopped:
        return Refuse("the kill-switch file stops all actions")
    if s.held:
        return Refuse("it is held with `triage hold`")
    if s.rows > 1 and not s.whole_array:
        return Refuse(f"the id stands for {s.rows} tasks: name one, or give --whole-array")
    if s.brake is not None:
        return Refuse(s.brake)
    if s.harmed is None:
        return Wait("it is not known which jobs wait for it")
    if s.harmed and not s.graceful and not s.break_dependents:
        return Refuse(
            f"{_list(s.harmed)} would wait for ever or start by mistake, and its script cannot end itself:"
            " give --break-dependents to cancel it all the same"
        )
    return None


def _lost(s: Situation) -> Step | None:
    """`None` if what the intent rests on is still so: a job that works again is not ended."""
    fenced = s.stage is Stage.FENCED
    if not s.allowed:
        return Abandon("this watcher was not asked to end it", fenced)
    if s.holds is None and not fenced:
        return Wait("its reason is looked at again")
    return None if s.holds else Abandon("the reason for it no longer holds", fenced)


def _checked(s: Situation) -> Step | None:
    """`None` if the same attempt runs in an answer that is fresh."""
    if s.fresh is None:
        return Act.LOOK
    fenced = s.stage is Stage.FENCED
    if not s.fresh.listed:
        return Abandon("the job has left the queue by itself", restore=False)
    if not s.fresh.running:
        return Abandon("the job no longer runs", fenced)
    if s.fresh.attempt is None:
        return Act.LOOK
    if succession(s.attempt, s.fresh.attempt) is not Succession.SAME:
        return Abandon("another attempt runs now", fenced)
    return None


def _fenced(s: Situation) -> Step:
    if s.fresh is not None and s.fresh.requeue is not False:
        if s.now - s.since < REPEAT:
            return Act.FENCE
        return Abandon("Slurm did not switch requeueing off", restore=True)
    return Act.ASK if s.graceful else Act.CANCEL


def _after_act(s: Situation) -> Step:
    """The act may have worked, may work minutes from now, or not at all."""
    if s.fresh is None:
        return Act.LOOK
    if not s.fresh.listed:
        return Act.FINISH
    if not s.fresh.running:
        return Wait("the job is ending")
    if s.fresh.attempt is not None and succession(s.attempt, s.fresh.attempt) is not Succession.SAME:
        return Abandon("another attempt runs now", restore=False)
    if not s.leader:
        return Wait("nothing more is sent: another watcher acts")
    unwanted = _unwanted(s)
    if unwanted is not None:
        return unwanted if s.now - s.since < LOST else Abandon("what was sent did not end it", restore=True)
    if s.stage is Stage.ASKED:
        if s.now - s.since < GRACEFUL:
            return Wait("its script was asked to end itself")
        if s.harmed is None or (s.harmed and not s.break_dependents):
            return Wait("its script does not end itself, and a cancel would harm the jobs that wait for it")
        return Act.CANCEL if s.fresh.attempt is not None else Act.LOOK
    if s.now - s.since < REPEAT:
        return Wait("scancel was sent")
    return Act.CANCEL if s.fresh.attempt is not None else Act.LOOK


def _unwanted(s: Situation) -> Wait | None:
    """Why an act is not repeated although the same attempt still runs."""
    if s.stopped or s.held:
        return Wait("nothing more is sent: it is held or stopped")
    if not s.allowed or s.holds is False or s.brake is not None:
        return Wait("nothing more is sent: the reason for it no longer holds for this watcher")
    if s.fresh is not None and s.fresh.attempt is not None and s.fresh.requeue is not False:
        return Wait("nothing more is sent: it may be requeued again")
    return Wait("its reason is looked at again") if s.holds is None else None


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"job {name}" for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
