"""Asks the scheduler about all watched jobs at once, on a thread of its own: logs are looked at meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import field
from typing import Protocol, TypeVar

from triage.core.jobs.identity import JobId
from triage.core.jobs.life import Life, enriched, worth_details
from triage.core.jobs.witness import JobStatus, Program, Witness, merge
from triage.core.values import dataclass
from triage.errors import SchedulerError
from triage.schedulers.interface import Details, Scheduler

T = TypeVar("T")


class Executor(Protocol):
    """Runs a function somewhere; `concurrent.futures` has such, and tests run it at once."""

    def submit(self, function: Callable[[], T], /) -> Future[T]: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A job to ask about."""

    life: Life
    submitted: float | None = None
    """Its first submit, where it is known."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: JobStatus
    details: Details | None = None
    """Asked for only where squeue cannot tell what happened."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One round."""

    jobs: Mapping[JobId, Answer]
    cost: float = 0.0
    """Seconds that it took."""
    failure: SchedulerError | None = None


def ask(scheduler: Scheduler, questions: Mapping[JobId, Question], clock: Callable[[], float]) -> Answers:
    """One squeue for all, sacct for those that left, scontrol where something changed."""
    began = time.monotonic()
    known = [q.submitted for q in questions.values()]
    since = min((s for s in known if s is not None), default=None) if None not in known else None
    try:
        statuses = scheduler.status(list(questions), since)
    except SchedulerError as error:
        silent = JobStatus(because=(str(error),), answered=False)
        return Answers(dict.fromkeys(questions, Answer(silent)), time.monotonic() - began, error)
    answers = {}
    for job, question in questions.items():
        status = statuses[job]
        details = _details(scheduler, job) if worth_details(question.life, status) else None
        told = (
            merge([Witness(Program.SCONTROL, clock(), (details.sighting,))]) if details is not None else None
        )
        answers[job] = Answer(enriched(status, told), details)
    return Answers(answers, time.monotonic() - began)


def _details(scheduler: Scheduler, job: JobId) -> Details | None:
    """`None` where the scheduler does not know it any more, or does not answer."""
    try:
        return scheduler.details(job)
    except SchedulerError:
        return None


@dataclass(slots=True)
class Poller:
    """At most one round is under way."""

    scheduler: Scheduler
    executor: Executor
    clock: Callable[[], float]
    _round: Future[Answers] | None = field(default=None)

    @property
    def is_asking(self) -> bool:
        return self._round is not None

    def start(self, questions: Mapping[JobId, Question], then: Callable[[], None]) -> None:
        """`then` is called when the answers are there."""
        if self._round is None and questions:
            self._round = self.executor.submit(lambda: ask(self.scheduler, questions, self.clock))
            self._round.add_done_callback(lambda _: then())

    def take(self) -> Answers | None:
        """The answers of a round that is over."""
        if self._round is None or not self._round.done():
            return None
        answers, self._round = self._round.result(), None
        return answers
