"""Submitting exactly once: what to do next, from what was tried and seen so far. Pure.

A lost answer is the danger: the job may exist, appear late, or not exist at all. A second job is never submitted before
two complete looks, far enough apart, have not found the first one's token; and a job that was found is never lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.jobs.identity import JobId
from triage.core.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Accepted:
    """The scheduler said which job it is."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Refused:
    """It will not be accepted as it is; there is no job."""

    sentence: str
    """What to change."""
    absent: bool = False
    """Nobody was asked: this machine has no scheduler."""


@dataclass(frozen=True, slots=True)
class NotSent:
    """The request cannot have arrived or was turned away for now: there is no job, and trying again may help."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The answer was lost: nobody knows whether there is a job."""

    sentence: str
    again: bool = True
    """False: even if no job is found, another request would fare no better."""


Outcome = Accepted | Refused | NotSent | Lost


@dataclass(frozen=True, slots=True)
class Began:
    """Written down before the request is sent. Without an end behind it, its sender was killed."""

    at: float
    limit: float
    """Seconds after which the request's own program is surely gone, even if nobody ended it."""


@dataclass(frozen=True, slots=True)
class Tried:
    """How a request ended."""

    at: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Looked:
    """A search for the token."""

    at: float
    found: tuple[JobId, ...] = ()
    whole: bool = True
    """The scheduler answered completely: finding nothing means something."""


Step = Began | Tried | Looked


@dataclass(frozen=True, slots=True)
class Submit:
    """Send the request."""


@dataclass(frozen=True, slots=True)
class Look:
    """Search for the token, not before `at`."""

    at: float


@dataclass(frozen=True, slots=True)
class Done:
    """There is a job."""

    job: JobId
    others: tuple[JobId, ...] = ()
    """Further jobs with the same token. It must not happen; where it did, someone has to know."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """There is no job, and there will be none by itself; or nobody can tell (`uncertain`)."""

    sentence: str
    refused: bool = False
    uncertain: bool = False


Action = Submit | Look | Done | GiveUp


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient to be; seconds."""

    message_timeout: float = 10.0
    """Slurm's MessageTimeout: what a controller may take to work on a request that its sender has given up."""
    patience: float = 180.0
    """How long a scheduler that takes no requests, or loses each, is tried."""
    most_tries: int = 20
    latest_look: float = 900.0
    """How long after a lost answer complete looks are waited for."""
    pause: float = 5.0
    """Between looks where the last one was incomplete."""

    @property
    def apart(self) -> float:
        return 2 * self.message_timeout


@dataclass(slots=True)
class _Open:
    """A request whose answer is lost, and the complete looks since."""

    since: float
    """When the request's program was surely gone."""
    again: bool = True
    looks: list[float] = field(default_factory=list)
    """Those that count: complete, and not before `since`."""
    last: float | None = None
    """The last look of any kind."""
    answered: bool = False
    """That one was complete."""


def decide(steps: Sequence[Step], policy: Policy) -> Action:
    """What to do next; `steps` in the order in which they happened, read back from disk after a crash."""
    found = _jobs(steps)
    if found:
        return Done(found[0], found[1:])
    lost = _unresolved(steps, policy)
    if lost is not None:
        return lost
    tries = [step for step in steps if isinstance(step, Tried)]
    if not tries:
        return Submit()
    last = tries[-1]
    if isinstance(last.outcome, Refused):
        return GiveUp(last.outcome.sentence, refused=True)
    first = next(step.at for step in steps if isinstance(step, Began | Tried))
    over = last.at - first >= policy.patience or len(tries) >= policy.most_tries
    if over and isinstance(last.outcome, NotSent):
        return GiveUp(last.outcome.sentence)
    if over and isinstance(last.outcome, Lost):
        return GiveUp(f"{last.outcome.sentence}; looked for twice, there is no job")
    return Submit()


def _jobs(steps: Sequence[Step]) -> tuple[JobId, ...]:
    """Every job known to carry the token, the first one first."""
    found: dict[JobId, None] = {}
    for step in steps:
        if isinstance(step, Tried) and isinstance(step.outcome, Accepted):
            found[step.outcome.job] = None
        elif isinstance(step, Looked):
            found.update(dict.fromkeys(step.found))
    return tuple(found)


def _unresolved(steps: Sequence[Step], policy: Policy) -> Action | None:
    """What a lost answer still asks for; `None` where none is open."""
    lost = _open(steps)
    if lost is None:
        return None
    if lost.looks and lost.looks[-1] - lost.looks[0] >= policy.apart:
        return None if lost.again else GiveUp(_NO_ID, refused=True)
    if lost.last is None:
        return Look(steps[-1].at)
    if lost.last >= lost.since + policy.latest_look and not lost.answered:
        return GiveUp(_NOT_KNOWN, uncertain=True)
    earliest = lost.looks[0] + policy.apart if lost.looks else lost.since
    return Look(max(earliest, lost.last + policy.pause))


_NOT_KNOWN = (
    "the scheduler's answer was lost and it could not be asked since: the job may or may not exist;"
    " look with `squeue --me -o '%i %k'` before submitting again"
)
_NO_ID = (
    "sbatch ended without an error and without a job id, and no job with this token is found:"
    " take --test-only out of the options, or ask your site whether sbatch is a wrapper there"
)


def _open(steps: Sequence[Step]) -> _Open | None:
    """The last request whose answer is lost. Looks that began before its program was gone prove nothing."""
    current: _Open | None = None
    for step in steps:
        if isinstance(step, Began):
            current = _Open(step.at + step.limit)
        elif isinstance(step, Tried):
            lost = step.outcome if isinstance(step.outcome, Lost) else None
            current = _Open(step.at, lost.again) if lost is not None else None
        elif current is not None:
            current.last, current.answered = step.at, step.whole
            if step.whole and step.at >= current.since:
                current.looks.append(step.at)
    return current
