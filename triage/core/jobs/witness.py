"""What squeue, sacct and scontrol say about one job, merged into one status; absence is UNKNOWN, never success.

How these witnesses lag and disagree was measured on Slurm 22.05: squeue and scontrol speak for the controller and
outrank sacct while they know the job; sacct has a placeholder row at the start, and its rows trail the truth at the end.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from triage.core.jobs.state import UNKNOWN, Flag, Phase, Reading, State
from triage.core.values import dataclass, replace

OPEN_FAILED = 53
"""The signal in `0:53`: slurmstepd could not open the job's output file."""


@dataclass(frozen=True, slots=True)
class Exit:
    """Slurm's `code:signal`. sacct takes 128 off a code above 127: its `11:0` may be scontrol's `139:0`."""

    code: int
    signal: int

    @property
    def succeeded(self) -> bool:
        return self.code == 0 and self.signal == 0


class Program(enum.Enum):
    """Who said something about a job."""

    SQUEUE = "squeue"
    SCONTROL = "scontrol"
    SACCT = "sacct"
    LOCAL = "local"
    """The runner without Slurm: it knows its own jobs for good."""
    SAVED = "the saved record"
    """Whatever said it then, nobody is asked now."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One row about one job; fields that the program does not tell are `None`. Times are epoch seconds."""

    reading: Reading
    reason: str | None = None
    submitted: float | None = None
    started: float | None = None
    """An estimate unless the job runs or has run."""
    ended: float | None = None
    restarts: int | None = None
    exit: Exit | None = None
    batch_exit: Exit | None = None
    """Of the batch step: a job ended by scancel has 0:0 itself and 0:15 here."""
    nodes: str | None = None
    """As Slurm lists them, `gpu[1-2]`."""
    placeholder: bool = False
    """sacct's row before accounting has caught up with the start: no evidence of anything."""


@dataclass(frozen=True, slots=True)
class Witness:
    """What one program answered about one job."""

    program: Program
    asked: float
    """When the answer came, epoch seconds."""
    sightings: tuple[Sighting, ...] = ()
    """Of sacct every incarnation, the oldest first; else at most one."""
    answered: bool = True
    """False where the program failed, or its answer was cut off: then absence says nothing."""

    @property
    def of_controller(self) -> bool:
        return self.program is not Program.SACCT


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The merged truth about a job at one time."""

    reading: Reading = UNKNOWN
    reason: str | None = None
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    restarts: int | None = None
    exit: Exit | None = None
    batch_exit: Exit | None = None
    nodes: str | None = None
    released: bool = False
    """The scheduler no longer lists it, or tells its end: its nodes are free."""
    known: bool = False
    """Some witness has seen this job."""
    because: tuple[str, ...] = ()
    """Why this is the answer, in sentences."""
    answered: bool = True
    """The controller answered: that it does not know the job means something."""

    @property
    def state(self) -> State:
        return self.reading.state

    @property
    def phase(self) -> Phase:
        return self.reading.phase

    @property
    def output_failed(self) -> bool:
        """It ended before its first line: the folder of its output file is missing or not writable."""
        return any(item is not None and item.signal == OPEN_FAILED for item in (self.exit, self.batch_exit))


def merge(witnesses: Sequence[Witness]) -> JobStatus:
    """The status that the witnesses of one job add up to, whatever their order."""
    controllers = sorted((w for w in witnesses if w.of_controller), key=lambda w: w.asked)
    accounts = sorted((w for w in witnesses if not w.of_controller), key=lambda w: w.asked)
    rows = [row for w in accounts for row in w.sightings if not row.placeholder]
    last = _latest(rows)
    known = bool(rows) or any(w.sightings for w in witnesses)
    answered = [w for w in controllers if w.answered]
    seen = [w for w in answered if w.sightings]
    if seen and seen[-1] is answered[-1]:
        return _seen(seen[-1], last)
    ended = next((w for w in reversed(seen) if w.sightings[-1].reading.phase is Phase.ENDED), None)
    if ended is not None:
        return _seen(ended, last)
    if answered:
        return replace(_left(answered[-1].program.value, last), known=known)
    return replace(_unasked(last), known=known, answered=False)


_ORDER = (Phase.ACTIVE, Phase.ENDING, Phase.WAITING, Phase.UNKNOWN, Phase.ENDED)


def whole_job(parts: Sequence[JobStatus]) -> JobStatus:
    """An array or heterogeneous job from its tasks or components: it has ended when all have, well when all did well."""
    if not parts:
        return JobStatus(because=("nothing is known of its parts",))
    leading = min(parts, key=lambda part: (_ORDER.index(part.phase), part.state is State.COMPLETED))
    because = (f"{len(parts)} parts; this is the state of one of them", *leading.because)
    answered = all(part.answered for part in parts)
    return replace(leading, released=all(part.released for part in parts), because=because, answered=answered)


def whole_sighting(parts: Sequence[Sighting], *, together: bool = False) -> Sighting:
    """All that scontrol tells of an array's tasks, or of the components of a heterogeneous job, as one.

    It runs while every part runs, waits for its first start, or has ended: a part that is ending or waits for its next
    attempt keeps the whole from being acted on. The restarts of all parts count, so that a requeue of any is seen, unless
    they are started `together`; it was submitted when its last part was, and started when its first part was.
    """
    live = [part for part in parts if part.reading.phase is not Phase.ENDED]
    running = [part for part in live if part.reading.is_running]
    first = [part for part in live if part.reading.phase is Phase.WAITING and part.restarts == 0]
    between = [part for part in live if part not in running and part not in first]
    leading = (between or running or live or parts)[0]
    restarts = [part.restarts for part in parts]
    counted = max if together else sum
    began = [part.started for part in parts if part not in first and part.started is not None]
    return replace(
        leading,
        restarts=None if None in restarts else counted(number or 0 for number in restarts),
        submitted=max((part.submitted for part in parts if part.submitted is not None), default=None),
        started=min(began, default=leading.started),
    )


def _latest(rows: Sequence[Sighting]) -> Sighting | None:
    """The last incarnation: ids are reused and requeued jobs keep theirs, each with a submit time of its own."""
    return max(rows, key=lambda row: (row.submitted or 0, row.started or 0), default=None)


def _seen(witness: Witness, account: Sighting | None) -> JobStatus:
    """The controller knows the job; accounting may add how it ended."""
    row = witness.sightings[-1]
    reading, name = row.reading, witness.program.value
    because = [f"{name} says {_words(reading)}"]
    same = account if account is not None and _same_run(row, account) else None
    if reading.state is State.UNKNOWN and reading.phase is Phase.ENDING and same is not None:
        if same.reading.phase is Phase.ENDED:
            reading = Reading(same.reading.state, reading.flags, same.reading.cancelled_by)
            because.append(f"sacct says {_words(same.reading)}; its nodes are not free yet")
    elif same is not None and same.reading.state is reading.state and reading.cancelled_by is None:
        reading = replace(reading, cancelled_by=same.reading.cancelled_by)
    ran = (
        reading.is_running or reading.phase in (Phase.ENDING, Phase.ENDED) or reading.state is State.SUSPENDED
    )
    over = reading.phase in (Phase.ENDING, Phase.ENDED)
    extra = same if over else None
    return JobStatus(
        reading,
        row.reason,
        row.submitted,
        row.started if ran else None,
        (row.ended or (extra.ended if extra else None)) if over else None,
        row.restarts,
        (row.exit or (extra.exit if extra else None)) if over else None,
        (row.batch_exit or (extra.batch_exit if extra else None)) if over else None,
        row.nodes or (extra.nodes if extra else None),
        reading.phase is Phase.ENDED,
        True,
        tuple(because),
    )


def _same_run(row: Sighting, account: Sighting) -> bool:
    return row.submitted is None or account.submitted is None or abs(row.submitted - account.submitted) < 1


def _left(program: str, last: Sighting | None) -> JobStatus:
    """The controller answered and does not list the job: accounting must tell how it ended."""
    gone = f"{program} no longer lists it"
    if last is None:
        return JobStatus(because=(f"{program} does not list it and sacct has no row: nothing is known",))
    if Flag.REQUEUED in last.reading.flags or last.reading.phase is not Phase.ENDED:
        return JobStatus(
            submitted=last.submitted, because=(gone, f"sacct still says {_words(last.reading)}: it lags")
        )
    return _account(last, released=True, because=(gone, f"sacct says {_words(last.reading)}"))


def _unasked(last: Sighting | None) -> JobStatus:
    """The controller gave no answer: what accounting says is old news, and an end may have been followed by a requeue."""
    if last is None:
        return JobStatus(because=("the scheduler did not answer",))
    silent = "the controller did not answer"
    requeues = (State.PREEMPTED, State.NODE_FAIL, State.BOOT_FAIL)
    if last.reading.phase is not Phase.ENDED or last.reading.state in requeues:
        return JobStatus(
            submitted=last.submitted,
            because=(silent, f"sacct says {_words(last.reading)}, which may be over"),
        )
    return _account(last, released=False, because=(silent, f"sacct says {_words(last.reading)}"))


def _account(row: Sighting, *, released: bool, because: tuple[str, ...]) -> JobStatus:
    return JobStatus(
        row.reading, row.reason, row.submitted, row.started, row.ended, row.restarts, row.exit, row.batch_exit,
        row.nodes, released, True, because,
    )  # fmt: skip


def _words(reading: Reading) -> str:
    flags = sorted(flag.value for flag in reading.flags)
    base = [] if reading.state is State.UNKNOWN and flags else [reading.state.value]
    return "+".join([*base, *flags])
