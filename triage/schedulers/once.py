"""Submits a job exactly once: does what `triage.core.jobs.submission.decide` says and writes every step down first.

The journal is what makes it survive being killed: started again with the same journal and token, it goes on where it
was, looks before it sends, and never sends twice while an answer is open.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, assert_never

import tenacity

from triage.core.jobs.identity import JobId, parse_job
from triage.core.jobs.submission import (
    Accepted,
    Began,
    Done,
    GiveUp,
    Look,
    Looked,
    Lost,
    NotSent,
    Policy,
    Refused,
    Step,
    Submit,
    Tried,
    decide,
)
from triage.core.values import dataclass
from triage.errors import AbsentError, RefusedError, SchedulerError, StoreError
from triage.schedulers.interface import Request, Scheduler

_OUTCOMES: Mapping[str, type[Refused] | type[NotSent] | type[Lost]] = {
    "refused": Refused,
    "not-sent": NotSent,
    "lost": Lost,
}


def new_token() -> str:
    """Sixteen letters and digits that no other submission has."""
    return os.urandom(8).hex()


@dataclass(slots=True)
class Journal:
    """The steps of one submission on disk, one JSON line each; a line that was not finished is ignored."""

    path: Path
    steps: list[Step] = field(default_factory=list)
    failure: str | None = None
    """Why a step could not be written. The submission goes on, because a job that exists must not be lost."""

    @classmethod
    def open(cls, path: Path) -> Journal:
        """An existing journal is read back."""
        try:
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        lines = text.split("\n")
        return cls(path, [step for line in lines if (step := _read_step(line)) is not None])

    def begin(self, step: Began) -> None:
        """On disk before it returns; raises `StoreError` if it is not: then nothing may be sent."""
        try:
            self._write(step)
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written: {error.strerror}; nothing was submitted"
            ) from error
        self.steps.append(step)

    def add(self, step: Tried | Looked) -> None:
        self.steps.append(step)
        try:
            self._write(step)
        except OSError as error:
            self.failure = f"{self.path} cannot be written: {error.strerror}"

    def _write(self, step: Step) -> None:
        line = json.dumps(_step(step), sort_keys=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
            file.flush()
            os.fsync(file.fileno())


def submit_once(
    scheduler: Scheduler,
    request: Request,
    journal: Journal,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    patience: float = 180.0,
    on_trouble: Callable[[NotSent | Lost], None] = lambda _: None,
) -> Done:
    """The job of this request, submitted now or found again; `on_trouble` hears of each try that came to nothing yet.

    A scheduler that takes no requests is tried for `patience` seconds. Raises `RefusedError` where the request itself
    must change, else `SchedulerError`, which says whether a job may exist; `StoreError` before anything is sent.
    """
    turns = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda done: done is None),
        wait=tenacity.wait_exponential_jitter(initial=1, max=20),
        sleep=sleep,
    )
    done: Done | None = turns(
        _until_turned_away, scheduler, request, journal, clock, sleep, patience, on_trouble
    )
    assert done is not None
    return done


def recover(
    scheduler: Scheduler,
    request: Request,
    journal: Journal,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Done | None:
    """The job of a submission whose sender was killed, `None` if there is none and will be none. Sends nothing.

    Raises `SchedulerError` as long as nobody can tell.
    """
    looked = False
    while True:
        action = decide(journal.steps, Policy(message_timeout=scheduler.message_timeout()))
        match action:
            case Done():
                return action
            case GiveUp(sentence) if action.uncertain and looked:
                raise SchedulerError(sentence, transient=False)
            case GiveUp() if action.uncertain:
                _look(scheduler, request, journal, 0.0, sleep)
            case Submit() | GiveUp():
                return None
            case Look(at):
                _look(scheduler, request, journal, max(0.0, at - clock()), sleep)
            case _:
                assert_never(action)
        looked = True


def _look(
    scheduler: Scheduler, request: Request, journal: Journal, wait: float, sleep: Callable[[float], None]
) -> None:
    sleep(wait)
    since = min(step.at for step in journal.steps)
    journal.add(scheduler.find(request.token, since, request.cluster))


def _until_turned_away(
    scheduler: Scheduler,
    request: Request,
    journal: Journal,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    patience: float,
    on_trouble: Callable[[NotSent | Lost], None],
) -> Done | None:
    """Step by step, until there is a job or an error; `None` when the scheduler does not take requests now."""
    while True:
        timeout = scheduler.message_timeout()
        action = decide(journal.steps, Policy(message_timeout=timeout, patience=patience))
        match action:
            case Done():
                return action
            case GiveUp(sentence):
                if action.refused:
                    raise AbsentError(sentence) if _is_absent(journal.steps[-1]) else RefusedError(sentence)
                raise SchedulerError(sentence, transient=not action.uncertain)
            case Look(at):
                _look(scheduler, request, journal, max(0.0, at - clock()), sleep)
            case Submit():
                limit = 3 * timeout + 30 if timeout else 0.0
                journal.begin(Began(clock(), limit))
                outcome = scheduler.submit(request, limit=limit)
                journal.add(Tried(clock(), outcome))
                if isinstance(outcome, NotSent | Lost):
                    on_trouble(outcome)
                if isinstance(outcome, NotSent) and isinstance(
                    decide(journal.steps, Policy(timeout, patience)), Submit
                ):
                    return None
            case _:
                assert_never(action)


def _is_absent(step: Step) -> bool:
    return isinstance(step, Tried) and isinstance(step.outcome, Refused) and step.outcome.absent


def _step(step: Step) -> dict[str, Any]:
    match step:
        case Began():
            return {"step": "began", "at": float(step.at), "limit": float(step.limit)}
        case Looked(at, found, whole):
            return {"step": "looked", "at": float(at), "found": [str(job) for job in found], "whole": whole}
        case Tried(at, Accepted(job)):
            return {"step": "tried", "at": float(at), "outcome": "accepted", "job": str(job)}
        case Tried(at, outcome):
            name = next(name for name, kind in _OUTCOMES.items() if isinstance(outcome, kind))
            return {"step": "tried", "at": float(at), "outcome": name, **asdict(outcome)}


def _read_step(line: str) -> Step | None:
    """`None` for a line that is no step: torn by a crash, or empty."""
    try:
        values = json.loads(line)
        match values:
            case {"step": "began", "at": float(at), "limit": float(limit)}:
                return Began(at, limit)
            case {"step": "looked", "at": float(at), "found": list(found), "whole": bool(whole)}:
                return Looked(at, tuple(_job(text) for text in found), whole)
            case {"step": "tried", "at": float(at), "outcome": "accepted", "job": str(text)}:
                return Tried(at, Accepted(_job(text)))
            case {"step": "tried", "at": float(at), "outcome": "lost", "sentence": str(sentence)}:
                return Tried(at, Lost(sentence, bool(values.get("again", True))))
            case {"step": "tried", "at": float(at), "outcome": str(name), "sentence": str(sentence)}:
                return Tried(at, _OUTCOMES[name](sentence))
    except (ValueError, KeyError):
        return None
    return None


def _job(text: str) -> JobId:
    job = parse_job(text)
    if job is None:
        raise ValueError(text)
    return job
