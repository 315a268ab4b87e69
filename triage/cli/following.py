"""Wires a watcher: the user's scheduler, store, rules and clock, and where events are told."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TextIO

from triage.cli.state import open_store
from triage.core.analysis import Analysis
from triage.core.jobs.identity import JobId
from triage.errors import InputError, SchedulerError
from triage.files.rules import load
from triage.files.waker import Waker
from triage.report.mask import safe
from triage.schedulers.interface import connect
from triage.store.database import Database
from triage.watch.ending import EXIT_CODES
from triage.watch.events import Event, Tell
from triage.watch.loop import Loop
from triage.watch.options import Options
from triage.watch.poller import Answer, Poller, ask
from triage.watch.watcher import Watcher
from triage.watch.world import World

_TRIES = 3
_PAUSE = 1.0
"""A job that nobody knows is asked for so often, so many seconds apart: accounting lags."""


def teller(form: str, stream: TextIO) -> Tell:
    """Prints each event as it comes."""

    def tell(event: Event) -> None:
        line = event.to_json() if form == "json" else safe(event.line())
        with contextlib.suppress(BrokenPipeError, ValueError):
            stream.write(line.replace("\n", " ") + "\n")
            stream.flush()

    return tell


def make_world(environment: Mapping[str, str], scheduler: str, database: Database, tell: Tell) -> World:
    @cache
    def rules() -> Analysis:
        return Analysis(load(environment, []))

    def analysis() -> Analysis:
        """The rules are compiled once for all jobs."""
        first = rules()
        return Analysis(first.ruleset, first.engine, anchors=first.anchors)

    return World(connect(scheduler, environment), database, tell, time.time, random.random, analysis)


@contextlib.contextmanager
def loop_of(world: World) -> Iterator[Loop]:
    """A loop with its threads, which end with it."""
    waker = Waker()
    pool = ThreadPoolExecutor(1)
    try:
        yield Loop(world, Poller(world.scheduler, pool, world.clock), waker)
    finally:
        waker.close()
        pool.shutdown(wait=False, cancel_futures=True)


def follow_jobs(
    environment: Mapping[str, str],
    scheduler: str,
    jobs: Sequence[JobId],
    options: Options,
    tell: Tell,
    give_up: float,
    *,
    turned: Callable[[Sequence[Watcher]], None] = lambda _: None,
) -> int:
    """Until all have ended; the code of the last one that did not end well, else 0. `turned` sees them on every turn."""
    database = open_store(environment)
    world = make_world(environment, scheduler, database, tell)
    with loop_of(world) as loop:
        for job in jobs:
            loop.add(Watcher(world, job, options))
        try:
            first_sight(world, loop, time.sleep)
            while not all(watcher.is_over for watcher in loop.watchers.values()):
                rest = loop.turn()
                turned(list(loop.watchers.values()))
                loop.rest(rest)
                _give_up(loop, world.clock(), give_up)
        except BaseException:
            for watcher in loop.watchers.values():
                watcher.leave()
            raise
    codes = [EXIT_CODES[w.ending.outcome] for w in loop.watchers.values() if w.ending is not None]
    return next((code for code in reversed(codes) if code), 0)


def first_sight(world: World, loop: Loop, sleep: Callable[[float], None]) -> None:
    """Asks once before anything is followed: an id that nobody knows is an error, not a job that is waited for."""
    for turn in range(_TRIES):
        questions = {
            job: watcher.question() for job, watcher in loop.watchers.items() if watcher.life.status is None
        }
        answers = ask(world.scheduler, questions, world.clock)
        if answers.failure is not None and not answers.failure.transient:
            raise answers.failure
        for job in [job for job, answer in answers.jobs.items() if not answer.status.answered]:
            _fail_for_good(world, job)
        unknown = [job for job, answer in answers.jobs.items() if _is_unknown(answer)]
        if not unknown or turn == _TRIES - 1:
            break
        sleep(_PAUSE)
    if unknown:
        for job in unknown:
            _refuse_raw_number(world, job)
        names = ", ".join(str(job) for job in unknown)
        raise InputError(
            f"no job {names}: the queue does not list it and accounting has no row of it;"
            " check the number, and name the cluster (`18;CLUSTER`) if it is another one"
        )
    loop.take(answers, world.clock())


def _refuse_raw_number(world: World, job: JobId) -> None:
    """Slurm acts on a task by its index in the array alone."""
    name = world.scheduler.named(job)
    if name != job:
        raise InputError(f"{job} is the number that job {name} knows itself by: name it {name}")


def _fail_for_good(world: World, job: JobId) -> None:
    """A status does not tell why nobody answered: asked for details, a scheduler that will never answer says so."""
    try:
        world.scheduler.details(job)
    except SchedulerError as error:
        if not error.transient:
            raise


def _is_unknown(answer: Answer) -> bool:
    return answer.status.answered and not answer.status.known


def _give_up(loop: Loop, now: float, patience: float) -> None:
    silent = [w.life.silent for w in loop.watchers.values() if not w.is_over]
    if silent and all(since is not None and now - since > patience for since in silent):
        raise SchedulerError(
            "the scheduler has not answered for too long: nothing is known about the job", transient=True
        )
