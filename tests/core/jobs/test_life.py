"""A watched job's life, from answer to answer: requeues, absence, outages, ids that are given out again."""

from __future__ import annotations

from triage.core.jobs.life import PATIENCE, Happening, Life, enriched, follow, worth_details
from triage.core.jobs.state import Phase, State, read_state
from triage.core.jobs.witness import JobStatus

SILENT = JobStatus(answered=False)
ABSENT = JobStatus()


def seen(
    state: str, submitted: float = 900.0, restarts: int | None = 0, reason: str | None = None
) -> JobStatus:
    reading = read_state(state)
    over = reading.phase is Phase.ENDED
    started = 1000.0 + (restarts or 0) * 1000 if reading.is_running else None
    return JobStatus(reading, reason, submitted, started, restarts=restarts, released=over, known=True)


def live(*answers: JobStatus, step: float = 10.0) -> tuple[Life, list[Happening]]:
    life = Life()
    told: list[Happening] = []
    for number, status in enumerate(answers):
        life, news = follow(life, status, number * step)
        told += news
    return life, told


def test_the_life_of_a_job_that_ends() -> None:
    life, told = live(
        seen("PENDING"),
        seen("PENDING"),
        seen("RUNNING"),
        seen("RUNNING"),
        seen("COMPLETING"),
        seen("COMPLETED"),
    )
    assert told == [Happening.FOUND, Happening.CHANGED, Happening.STARTED, Happening.CHANGED, Happening.ENDED]
    assert life.over is Happening.ENDED
    assert life.attempt is not None


def test_a_requeue_seen_while_it_waits_or_only_when_it_runs_again() -> None:
    again = seen("RUNNING", 1900.0, 1)
    _, told = live(seen("RUNNING"), seen("PENDING", 1900.0, None, "BeginTime"), again)
    assert told == [
        Happening.FOUND,
        Happening.STARTED,
        Happening.REQUEUED,
        Happening.CHANGED,
        Happening.STARTED,
    ]
    life, told = live(seen("RUNNING"), again)
    assert told == [Happening.FOUND, Happening.STARTED, Happening.REQUEUED, Happening.STARTED]
    assert (life.requeues, life.attempt and life.attempt.restarts) == (1, 1)


def test_a_new_submit_without_a_restart_is_another_job() -> None:
    life, told = live(seen("RUNNING"), seen("RUNNING", 5000.0))
    assert told[-1] is Happening.REUSED
    assert life.over is Happening.REUSED


def test_absence_is_waited_for_and_ends_as_unknown_and_never_as_success() -> None:
    life, told = live(seen("RUNNING"), *[ABSENT] * int(PATIENCE / 10))
    assert (told[-1], life.over) == (Happening.STARTED, None)
    life, told = live(seen("RUNNING"), *[ABSENT] * (int(PATIENCE / 10) + 1))
    assert (told[-1], life.over) == (Happening.LOST, Happening.LOST)


def test_accounting_that_comes_late_tells_the_end() -> None:
    life, told = live(seen("RUNNING"), ABSENT, ABSENT, seen("FAILED"))
    assert (told[-1], life.status and life.status.state) == (Happening.ENDED, State.FAILED)


def test_an_outage_is_told_once_and_changes_nothing() -> None:
    life, told = live(seen("RUNNING"), *[SILENT] * 100, seen("RUNNING"))
    assert told == [Happening.FOUND, Happening.STARTED, Happening.SILENT, Happening.BACK]
    assert life.over is None
    assert live(seen("RUNNING"), *[SILENT] * 100)[0].missing is None


def test_a_clock_set_back_does_not_end_a_wait_early() -> None:
    life, _ = follow(Life(), seen("RUNNING"), 100_000.0)
    life, _ = follow(life, ABSENT, 100_000.0)
    life, news = follow(life, ABSENT, 50.0)
    assert news == ()
    life, news = follow(life, ABSENT, 60.0)
    assert life.over is None


def test_nothing_happens_after_the_end() -> None:
    life, _ = live(seen("COMPLETED"))
    assert follow(life, seen("RUNNING"), 99.0) == (life, ())


def test_scontrol_is_asked_where_squeue_cannot_tell_and_not_every_time() -> None:
    life, _ = live(seen("RUNNING"))
    assert worth_details(Life(), seen("PENDING"))
    assert not worth_details(life, seen("RUNNING"))
    assert worth_details(life, seen("PENDING", 1900.0))
    assert worth_details(life, ABSENT)
    assert worth_details(life, seen("FAILED"))
    assert not worth_details(follow(life, ABSENT, 1.0)[0], ABSENT)
    assert worth_details(live(seen("PENDING"))[0], seen("RUNNING", restarts=None))
    assert not worth_details(life, SILENT)


def test_scontrol_tells_the_end_that_accounting_does_not_and_no_other_jobs_restarts() -> None:
    assert enriched(ABSENT, seen("FAILED")).state is State.FAILED
    assert enriched(seen("RUNNING", restarts=None), seen("RUNNING", restarts=2)).restarts == 2
    assert enriched(seen("RUNNING", restarts=None), seen("RUNNING", 5000.0, 2)).restarts is None
    assert enriched(ABSENT, seen("RUNNING")).phase is Phase.UNKNOWN
