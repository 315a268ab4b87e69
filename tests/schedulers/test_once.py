"""Never two jobs, never a lost one: the driver against a controller that fails in every way, killed at every step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId
from triage.core.jobs.submission import (
    Accepted,
    Began,
    Done,
    Looked,
    Lost,
    NotSent,
    Outcome,
    Refused,
    Step,
    Tried,
)
from triage.core.jobs.witness import JobStatus
from triage.core.script.site import Site
from triage.errors import RefusedError, SchedulerError, StoreError
from triage.schedulers.interface import Details, Request
from triage.schedulers.once import Journal, new_token, submit_once

TIMEOUT = 10.0
REQUEST = Request(Path("run.sh"), Path("/lustre/run"), "0123456789abcdef")


class Killed(BaseException):
    """kill -9."""


@dataclass(slots=True)
class World:
    """A controller, a clock and a tool that dies where it is told to.

    Each request meets the next behaviour: `ok`; `refused`; `down` (nothing arrives); `lost` (accepted, the answer is
    not seen); `late` (accepted only after the sender gave up); `dropped` (neither accepted nor answered).
    """

    behaviours: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    """`ok` or `down`, then always `ok`."""
    kill_at: int | None = None
    """The tool dies at this step of its work, once; while a request is under way it dies at its start."""
    now: float = 1000.0
    jobs: dict[int, float] = field(default_factory=dict)
    """When each job appears."""
    step: int = 0

    name = "world"

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _live(self) -> None:
        self.step += 1
        if self.step == self.kill_at:
            raise Killed

    def argv(self, request: Request) -> tuple[str, ...]:
        raise NotImplementedError

    def submit(self, request: Request, *, limit: float) -> Outcome:
        assert request is REQUEST
        self._live()
        behaviour = self.behaviours.pop(0) if self.behaviours else "ok"
        start = self.now
        outcome = self._answer(behaviour, limit)
        try:
            self._live()
        except Killed:
            self.now = start + 0.1
            raise
        return outcome

    def _answer(self, behaviour: str, limit: float) -> Outcome:
        if behaviour in ("ok", "lost", "late"):
            job = len(self.jobs) + 1
            taken = limit if behaviour == "late" else 1.0
            self.jobs[job] = self.now + taken + (2 * TIMEOUT - 1 if behaviour == "late" else 0)
            self.now += taken
            return Accepted(JobId(job)) if behaviour == "ok" else Lost("no answer")
        self.now += 4
        answers: dict[str, Outcome] = {
            "down": NotSent("down"), "refused": Refused("change --account"), "dropped": Lost("no answer"),
        }  # fmt: skip
        return answers[behaviour]

    def find(self, token: str, since: float, cluster: str | None = None) -> Looked:
        assert cluster is None
        assert token == REQUEST.token
        assert since <= self.now
        self._live()
        if self.looks and self.looks.pop(0) == "down":
            self.now += 4
            return Looked(self.now, (), whole=False)
        return Looked(self.now, tuple(JobId(job) for job, at in self.jobs.items() if at <= self.now))

    def message_timeout(self) -> float:
        return TIMEOUT

    def status(self, jobs: Sequence[JobId], since: float | None = None) -> Mapping[JobId, JobStatus]:
        raise NotImplementedError

    def named(self, job: JobId) -> JobId:
        return job

    def details(self, job: JobId) -> Details | None:
        raise NotImplementedError

    def past(self, job: JobId) -> Details | None:
        raise NotImplementedError

    def cancel(self, job: JobId) -> None:
        raise NotImplementedError

    def signal(self, job: JobId, name: str) -> None:
        raise NotImplementedError

    def set_requeue(self, job: JobId, allowed: bool) -> None:
        raise NotImplementedError

    def waiting(self, cluster: str | None = None) -> tuple[Waiting, ...] | None:
        raise NotImplementedError

    def comment(self, job: JobId, text: str) -> None:
        raise NotImplementedError

    def mine(self) -> tuple[JobId, ...]:
        raise NotImplementedError

    def site(self) -> Site | None:
        raise NotImplementedError


def submit(world: World, journal: Path) -> Done:
    """As the user does: started again with the same journal when it was killed."""
    while True:
        try:
            return submit_once(world, REQUEST, Journal.open(journal), clock=world.clock, sleep=world.sleep)
        except Killed:
            world.kill_at = None
            world.now += 1


def test_plain_success_sends_once(tmp_path: Path) -> None:
    world = World()
    assert submit(world, tmp_path / "journal") == Done(JobId(1))
    assert len(world.jobs) == 1


def test_a_finished_submission_is_not_sent_again(tmp_path: Path) -> None:
    world = World()
    submit(world, tmp_path / "journal")
    assert submit(world, tmp_path / "journal") == Done(JobId(1))
    assert len(world.jobs) == 1


@pytest.mark.parametrize("behaviour", ["lost", "late"])
def test_answer_lost_after_acceptance_is_found(tmp_path: Path, behaviour: str) -> None:
    world = World([behaviour])
    assert submit(world, tmp_path / "journal") == Done(JobId(1))
    assert len(world.jobs) == 1


def test_request_that_vanished_is_sent_again_only_after_two_looks_far_apart(tmp_path: Path) -> None:
    world = World(["dropped"])
    assert submit(world, tmp_path / "journal") == Done(JobId(1))
    looks = [step.at for step in Journal.open(tmp_path / "journal").steps if isinstance(step, Looked)]
    assert len(looks) == 2
    assert looks[1] - looks[0] >= 2 * TIMEOUT


def test_controller_back_after_a_while(tmp_path: Path) -> None:
    world = World(["down"] * 4)
    assert submit(world, tmp_path / "journal") == Done(JobId(1))
    assert world.now - 1000 < 180


def test_each_try_that_came_to_nothing_is_told_while_it_goes_on(tmp_path: Path) -> None:
    world, heard = World(["down", "lost"]), list[str]()
    submit_once(
        world, REQUEST, Journal.open(tmp_path / "journal"), clock=world.clock, sleep=world.sleep,
        on_trouble=lambda trouble: heard.append(trouble.sentence),
    )  # fmt: skip
    assert heard == ["down", "no answer"]


def test_controller_that_stays_down_is_given_up_with_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(SchedulerError, match="down") as caught:
        submit(World(["down"] * 100), tmp_path / "journal")
    assert caught.value.transient


def test_refusal_is_told_at_once(tmp_path: Path) -> None:
    world = World(["refused"])
    with pytest.raises(RefusedError, match="--account"):
        submit(world, tmp_path / "journal")
    assert world.now < 1010


def test_nobody_to_ask_after_a_lost_answer_ends_in_doubt(tmp_path: Path) -> None:
    world = World(["lost"], looks=["down"] * 1000)
    with pytest.raises(SchedulerError, match="may or may not exist") as caught:
        submit(world, tmp_path / "journal")
    assert not caught.value.transient
    assert len(world.jobs) == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    behaviours=st.lists(st.sampled_from(["down", "lost", "late", "dropped", "ok"]), max_size=4),
    looks=st.lists(st.sampled_from(["ok", "down"]), max_size=5),
    kill_at=st.none() | st.integers(1, 12),
)
def test_whatever_fails_and_wherever_it_is_killed_there_is_one_job(
    tmp_path: Path, behaviours: list[str], looks: list[str], kill_at: int | None
) -> None:
    world = World(list(behaviours), list(looks), kill_at)
    journal = tmp_path / new_token()
    done = submit(world, journal)
    assert list(world.jobs) == [done.job.number]


def test_the_simulation_can_make_two_jobs() -> None:
    """The oracle of the test above: a sender that does not look makes them."""
    world = World(["lost", "ok"])
    for _ in range(2):
        world.submit(REQUEST, limit=30)
    assert len(world.jobs) == 2


def test_nothing_is_sent_when_the_journal_cannot_be_written(tmp_path: Path) -> None:
    world = World()
    with pytest.raises(StoreError, match="nothing was submitted"):
        submit(world, tmp_path / "no" / "such" / "folder")
    assert world.jobs == {}


def test_a_job_is_not_lost_when_the_disk_is_full_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Journal._write

    def full(self: Journal, step: Began | Tried | Looked) -> None:
        if isinstance(step, Tried):
            raise OSError(28, "No space left on device")
        real(self, step)

    monkeypatch.setattr(Journal, "_write", full)
    journal = Journal.open(tmp_path / "journal")
    world = World()
    assert submit_once(world, REQUEST, journal, clock=world.clock, sleep=world.sleep) == Done(JobId(1))
    assert journal.failure is not None
    monkeypatch.undo()
    assert submit(world, tmp_path / "journal") == Done(JobId(1))
    assert len(world.jobs) == 1


def test_every_step_survives_the_disk(tmp_path: Path) -> None:
    steps: list[Step] = [
        Began(1.5, 60.0), Tried(2.0, NotSent("down")), Tried(3.0, Lost("gone", again=False)), Tried(4.0, Refused("x\ny")),
        Tried(5.0, Accepted(JobId(7, 2, None, "west"))), Looked(6.0, (JobId(7), JobId(8)), whole=False),
    ]  # fmt: skip
    journal = Journal.open(tmp_path / "journal")
    for step in steps:
        if isinstance(step, Began):
            journal.begin(step)
        else:
            journal.add(step)
    assert Journal.open(tmp_path / "journal").steps == steps


@pytest.mark.parametrize("torn", ['{"step": "began", "at": 1.0', "null", "[]", '{"step": "tried"}', '{"step": "looked", "at": 1.0, "found": ["x"], "whole": true}', "\x00\x00"])  # fmt: skip
def test_a_torn_line_is_no_step_and_hides_none(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "journal"
    path.write_text(torn)
    journal = Journal.open(path)
    assert journal.steps == []
    journal.begin(Began(5.0, 60.0))
    assert Journal.open(path).steps == [Began(5.0, 60.0)]


def test_tokens_differ_and_fit_a_job_name() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(token.isalnum() for token in tokens)
    assert json.dumps(sorted(tokens))
