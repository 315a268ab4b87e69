"""A cluster of the imagination: jobs that do what a test says, in a time that passes only when somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tests.support import engine, ruleset
from triage.core.analysis import Analysis
from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase, read_state
from triage.core.jobs.submission import Looked, Outcome
from triage.core.jobs.witness import Exit, JobStatus, Program, Sighting, Witness, merge
from triage.core.script.site import Site
from triage.errors import SchedulerError
from triage.schedulers.interface import Details, Request
from triage.store.database import Database
from triage.watch.events import Event
from triage.watch.loop import Loop
from triage.watch.options import Options
from triage.watch.poller import Poller
from triage.watch.watcher import Watcher
from triage.watch.world import World

T = TypeVar("T")
START = 1_796_000_000.0


@dataclass(slots=True)
class Job:
    """What the controller knows of a job."""

    state: str = "RUNNING"
    restarts: int = 0
    submitted: float = START - 20
    started: float = START - 10
    requeue: bool = True
    listed: bool = True
    code: int = 0
    uid: int = 0
    limit: float = 3600.0
    reason: str | None = None


@dataclass(slots=True)
class Cluster:
    """A scheduler that does what it is told, and keeps what was asked of it."""

    folder: Path
    now: float = START
    jobs: dict[JobId, Job] = field(default_factory=dict)
    dependents: tuple[Waiting, ...] | None = ()
    down: bool = False
    ends_on_signal: bool = True
    acts: list[str] = field(default_factory=list)
    calls: int = 0
    before: Callable[[str], None] = lambda _: None
    """Runs before every call: a test may change the cluster there, or kill the watcher."""

    @property
    def name(self) -> str:
        return "scripted"

    def clock(self) -> float:
        return self.now

    def output(self, job: JobId) -> Path:
        return self.folder / f"train-{job.number}.out"

    def status(self, jobs: Sequence[JobId], since: float | None = None) -> dict[JobId, JobStatus]:  # noqa: ARG002
        self._called("status")
        if self.down:
            return {job: merge([Witness(Program.SQUEUE, self.now, (), answered=False)]) for job in jobs}
        return {job: self._merged(job) for job in jobs}

    def _merged(self, job: JobId) -> JobStatus:
        one = self.jobs.get(job)
        if one is None:
            return merge([Witness(Program.SQUEUE, self.now), Witness(Program.SACCT, self.now)])
        sighting = replace(self._sighting(one), restarts=None)
        if one.listed:
            return merge([Witness(Program.SQUEUE, self.now, (sighting,))])
        return merge([Witness(Program.SQUEUE, self.now), Witness(Program.SACCT, self.now, (sighting,))])

    def _sighting(self, one: Job) -> Sighting:
        reading = read_state(one.state)
        over = reading.phase is Phase.ENDED
        return Sighting(
            reading, one.reason, one.submitted, one.started, self.now if over else one.started + one.limit, one.restarts,
            Exit(one.code, 0), nodes="gpu1",
        )  # fmt: skip

    def details(self, job: JobId) -> Details | None:
        self._called("details")
        self._answers()
        one = self.jobs.get(job)
        if one is None:
            return None
        return Details(
            job, self._sighting(one), "train", "gpu", str(self.folder), str(self.folder / "run.sh"), str(self.output(job)),
            str(self.output(job)), None, job.number, one.uid, one.requeue, 8, one.limit,
        )  # fmt: skip

    def named(self, job: JobId) -> JobId:
        return job

    def past(self, job: JobId) -> Details | None:
        raise NotImplementedError

    def cancel(self, job: JobId) -> None:
        self._called("cancel")
        self._answers()
        one = self.jobs[job]
        self.acts.append(f"cancel attempt {one.restarts}")
        if one.state == "RUNNING":
            one.state, one.listed = "CANCELLED by 0", False

    def signal(self, job: JobId, name: str) -> None:
        self._called("signal")
        self._answers()
        one = self.jobs[job]
        self.acts.append(f"{name} attempt {one.restarts}")
        if self.ends_on_signal and one.state == "RUNNING":
            one.state, one.listed = "COMPLETED", False

    def set_requeue(self, job: JobId, allowed: bool) -> None:
        self._called("set_requeue")
        self._answers()
        self.jobs[job].requeue = allowed

    def waiting(self, cluster: str | None = None) -> tuple[Waiting, ...] | None:  # noqa: ARG002
        self._called("waiting")
        return None if self.down else self.dependents

    def comment(self, job: JobId, text: str) -> None:  # noqa: ARG002
        self._called("comment")

    def mine(self) -> tuple[JobId, ...]:
        self._answers()
        return tuple(job for job, one in self.jobs.items() if one.listed)

    def site(self) -> Site | None:
        return None

    def message_timeout(self) -> float:
        return 5.0

    def argv(self, request: Request) -> tuple[str, ...]:
        raise NotImplementedError

    def submit(self, request: Request, *, limit: float) -> Outcome:
        raise NotImplementedError

    def find(self, token: str, since: float, cluster: str | None = None) -> Looked:
        raise NotImplementedError

    def requeue(self, job: JobId) -> None:
        """Slurm starts the job again, unless it may not."""
        one = self.jobs[job]
        if one.requeue and one.listed:
            self.jobs[job] = replace(
                one, state="RUNNING", restarts=one.restarts + 1, submitted=self.now, started=self.now + 1
            )

    def _called(self, what: str) -> None:
        self.calls += 1
        self.before(what)

    def _answers(self) -> None:
        if self.down:
            raise SchedulerError("Unable to contact slurm controller", transient=True)


class AtOnce:
    """An executor without a thread."""

    def submit(self, function: Callable[[], T], /) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)
        return future


class NoEvents:
    """A waker that never hears of anything."""

    def watch(self, folders: object) -> None:
        pass

    def wake(self) -> None:
        pass

    def changed(self) -> frozenset[str]:
        return frozenset()


@dataclass(slots=True)
class Stage:
    """A cluster, a store and a watcher of one job."""

    cluster: Cluster
    job: JobId
    options: Options = field(default_factory=Options)
    told: list[Event] = field(default_factory=list)
    holder: str = "here:1:a"
    host: str = "here"
    network: bool = False

    def database(self) -> Database:
        return Database(str(self.cluster.folder / "state"), self.network)

    def loop(self) -> Loop:
        """A new watcher, as after a start of the program."""
        world = World(
            self.cluster, self.database(), self.told.append, self.cluster.clock, lambda: 0.5,
            lambda: Analysis(ruleset(), engine()), 0, self.host, self.holder, lambda _: False,
        )  # fmt: skip
        loop = Loop(world, Poller(self.cluster, AtOnce(), self.cluster.clock), NoEvents(), wait=self._wait)  # type: ignore[arg-type]
        loop.add(Watcher(world, self.job, self.options))
        return loop

    def _wait(self, seconds: float) -> None:
        self.cluster.now += max(0.01, seconds)

    def run(self, loop: Loop, seconds: float, then: Callable[[], bool] = lambda: False) -> Watcher:
        """Turns until the job is over, `then` is true, or the time has passed."""
        end = self.cluster.now + seconds
        watcher = loop.watchers[self.job]
        while not watcher.is_over and not then() and self.cluster.now < end:
            loop.rest(loop.turn())
        return watcher

    def kinds(self) -> list[str]:
        return [event.kind for event in self.told]

    def said(self) -> str:
        return "\n".join(event.message for event in self.told)
