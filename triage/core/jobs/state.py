"""Slurm's states of a job, total: every word that it prints has a meaning, and any other is UNKNOWN.

Source: SchedMD/slurm src/common/slurm_protocol_defs.c (`job_state_string`), 22.05 to 26.05. A printed state is one word:
a flag hides the base state below it. sacct adds who cancelled (`CANCELLED by 1000`), other programs print lists of
words (`RUNNING,CONFIGURING`).
"""

from __future__ import annotations

import enum
import re

from triage.core.values import dataclass


class State(enum.Enum):
    """Slurm's base states, and UNKNOWN."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    UNKNOWN = "UNKNOWN"


class Flag(enum.Enum):
    """What Slurm says on top of a base state, and often instead of it."""

    COMPLETING = "COMPLETING"
    CONFIGURING = "CONFIGURING"
    EXPEDITING = "EXPEDITING"
    LAUNCH_FAILED = "LAUNCH_FAILED"
    POWER_UP_NODE = "POWER_UP_NODE"
    RECONFIG_FAIL = "RECONFIG_FAIL"
    REQUEUED = "REQUEUED"
    REQUEUE_FED = "REQUEUE_FED"
    REQUEUE_HOLD = "REQUEUE_HOLD"
    RESIZING = "RESIZING"
    RESV_DEL_HOLD = "RESV_DEL_HOLD"
    REVOKED = "REVOKED"
    SIGNALING = "SIGNALING"
    SPECIAL_EXIT = "SPECIAL_EXIT"
    STAGE_OUT = "STAGE_OUT"
    STOPPED = "STOPPED"
    UPDATE_DB = "UPDATE_DB"


class Phase(enum.Enum):
    """Where a job is in its life; what the commands that follow a job branch on."""

    WAITING = "waiting"
    """No nodes are its own yet, or none any more and it will get new ones."""
    ACTIVE = "active"
    """It holds its nodes."""
    ENDING = "ending"
    """Its processes are over or being ended, the nodes are not free yet."""
    ENDED = "ended"
    UNKNOWN = "unknown"


_WAITING = frozenset({
    Flag.REQUEUED, Flag.REQUEUE_FED, Flag.REQUEUE_HOLD, Flag.RESV_DEL_HOLD, Flag.SPECIAL_EXIT,
})  # fmt: skip
_ENDING = frozenset({Flag.COMPLETING, Flag.STAGE_OUT, Flag.EXPEDITING})
_ACTIVE = frozenset({Flag.CONFIGURING, Flag.RESIZING, Flag.SIGNALING, Flag.STOPPED, Flag.POWER_UP_NODE})
_PHASES = {
    State.PENDING: Phase.WAITING,
    State.RUNNING: Phase.ACTIVE,
    State.SUSPENDED: Phase.ACTIVE,
    State.UNKNOWN: Phase.UNKNOWN,
}
_IMPLIED = {
    Flag.REQUEUED: State.PENDING, Flag.REQUEUE_FED: State.PENDING, Flag.REQUEUE_HOLD: State.PENDING,
    Flag.RESV_DEL_HOLD: State.PENDING, Flag.SPECIAL_EXIT: State.PENDING,
    Flag.CONFIGURING: State.RUNNING, Flag.RESIZING: State.RUNNING, Flag.SIGNALING: State.RUNNING,
    Flag.STOPPED: State.SUSPENDED,
}  # fmt: skip
"""The base state below a flag that hides it, where the flag leaves only one."""
_CANCELLER = re.compile(r"CANCELLED by (\d{1,10})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reading:
    """A printed state, understood."""

    state: State
    flags: frozenset[Flag] = frozenset()
    cancelled_by: int | None = None
    """User id of who cancelled it."""

    @property
    def phase(self) -> Phase:
        """A job that runs at its sibling (REVOKED) has not ended here; where it is, only the sibling knows."""
        if Flag.REVOKED in self.flags:
            return Phase.UNKNOWN
        if self.flags & _ENDING:
            return Phase.ENDING
        if self.flags & _WAITING:
            return Phase.WAITING
        if self.flags & _ACTIVE and self.state in (State.UNKNOWN, State.RUNNING, State.SUSPENDED):
            return Phase.ACTIVE
        return _PHASES.get(self.state, Phase.ENDED)

    @property
    def is_running(self) -> bool:
        """Plainly running: the only state in which start time, attempt and a signal mean anything."""
        return self.state is State.RUNNING and not self.flags & (_ENDING | _WAITING | {Flag.CONFIGURING})


UNKNOWN = Reading(State.UNKNOWN)


def read_state(text: str) -> Reading:
    """A state as squeue, sacct or scontrol prints it, or a list of its words; never fails."""
    text = text.strip()
    canceller = _CANCELLER.fullmatch(text)
    if canceller is not None:
        return Reading(State.CANCELLED, cancelled_by=int(canceller[1]))
    base: State | None = None
    flags = set()
    for word in re.split(r"[,\s]+", text):
        if word in Flag.__members__:
            flags.add(Flag[word])
        elif word in State.__members__ and base is None:
            base = State[word]
        else:
            return UNKNOWN
    if base is None:
        implied = {_IMPLIED[flag] for flag in flags if flag in _IMPLIED}
        base = implied.pop() if len(implied) == 1 else State.UNKNOWN
    return Reading(base, frozenset(flags))
