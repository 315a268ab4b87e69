"""The jobs that the tool knows: submitted or watched by it. An id that a site gives out again is another job."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from triage.core.jobs.identity import JobId, overlap, parse_job
from triage.core.values import dataclass
from triage.errors import StoreError
from triage.store.database import Database

_SUBMITTING = 600.0
"""Seconds that may lie between a submit as it was remembered and as the scheduler tells it."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to remember."""

    job: JobId
    origin: str
    """`submit`, `watch` or `daemon`."""
    added: float
    uid: int | None = None
    submitted: float | None = None
    """Its first submit."""
    name: str = ""
    folder: str = ""
    script: str = ""
    output: str = ""
    error: str = ""
    token: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """How to watch it: `artifacts`, `when`, `min_age` ..., as `triage watch` names them."""
    scheduler: str | None = None
    """Whose job it is, `slurm` or `local`; each counts from 1."""


@dataclass(frozen=True, slots=True)
class KnownJob:
    """A job of the store."""

    number: int
    """In the store."""
    job: JobId
    origin: str
    added: float
    uid: int | None
    submitted: float | None
    name: str
    folder: str
    script: str
    output: str
    error: str
    token: str | None
    options: Mapping[str, Any]
    asked: Mapping[str, Any]
    """Of the options, those that its submit named."""
    watched: bool
    """The daemon watches it."""
    held: bool
    """`triage hold`: nothing may end it."""
    ended: float | None
    outcome: str | None
    """`completed`, `completed-early`, `failed`, `cancelled`, `unknown`; `None` while it lasts."""
    exit_code: int | None
    state: str | None
    """As a watcher saw it last."""
    seen: float | None
    said: str | None
    """The last thing told about it."""
    scheduler: str | None
    """`None` where it is not known yet."""


def remember(database: Database, new: NewJob) -> int:
    """The number of the job in the store; one that is there already and has not ended gets what is new about it.

    A hold outlives a job whose end nobody saw: whoever held the id may mean the job that has it now.
    """
    with database.transaction() as db:
        row = db.execute(
            "SELECT * FROM jobs WHERE cluster = ? AND job = ? ORDER BY number DESC LIMIT 1", _key(new.job)
        ).fetchone()
        another = row is not None and _is_another(row, new)
        held = False
        if row is not None and another and row["ended"] is None and row["scheduler"] in (None, new.scheduler):
            held = bool(row["held"])
            db.execute(
                "UPDATE jobs SET ended = ?, outcome = 'unknown', exit_code = 11, watched = 0 WHERE number = ?",
                (_before(new), row["number"]),
            )
        if row is not None and not another:
            known = _known(row)
            db.execute(
                "UPDATE jobs SET uid = ?, submitted = ?, name = ?, folder = ?, script = ?, output = ?, error = ?,"
                " token = ?, options = ?, asked = ?, scheduler = ? WHERE number = ?",
                (_or(known.uid, new.uid), _or(known.submitted, new.submitted), new.name or known.name,
                 new.folder or known.folder, new.script or known.script, new.output or known.output,
                 new.error or known.error, _or(known.token, new.token),
                 json.dumps({**known.options, **new.options}), json.dumps(dict(_asked(new) or known.asked)),
                 _or(known.scheduler, new.scheduler), known.number),
            )  # fmt: skip
            return known.number
        cursor = db.execute(
            "INSERT INTO jobs (cluster, job, uid, submitted, added, origin, name, folder, script, output, error, token,"
            " options, asked, scheduler, held) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*_key(new.job), new.uid, new.submitted, new.added, new.origin, new.name, new.folder, new.script,
             new.output, new.error, new.token, json.dumps(dict(new.options)), json.dumps(dict(_asked(new))), new.scheduler,
             held),
        )  # fmt: skip
        assert cursor.lastrowid is not None
        return cursor.lastrowid


def find_job(database: Database, job: JobId) -> KnownJob | None:
    """The latest job with this id."""
    rows = database.rows(
        "SELECT * FROM jobs WHERE cluster = ? AND job = ? ORDER BY number DESC LIMIT 1", *_key(job)
    )
    return _known(rows[0]) if rows else None


def is_same(
    known: KnownJob, scheduler: str, uid: int | None, submitted: float | None, restarts: int | None
) -> bool:
    """Whether the job that the scheduler has under this id is the known one; a requeue submits it later again."""
    if known.scheduler not in (None, scheduler):
        return False
    if known.uid is not None and uid is not None and known.uid != uid:
        return False
    if submitted is None or (known.ended is not None and submitted > known.ended):
        return False
    later = submitted - (known.submitted if known.submitted is not None else known.added)
    return later > -_SUBMITTING and (bool(restarts) or later < _SUBMITTING)


def get_job(database: Database, number: int) -> KnownJob:
    rows = database.rows("SELECT * FROM jobs WHERE number = ?", number)
    if not rows:
        raise StoreError(f"job number {number} is no longer in the store")
    return _known(rows[0])


def all_jobs(database: Database, *, watched: bool = False) -> list[KnownJob]:
    """Every job, the latest first; with `watched` those that the daemon has and that have not ended."""
    only = "WHERE watched = 1 AND ended IS NULL" if watched else ""
    return [_known(row) for row in database.rows(f"SELECT * FROM jobs {only} ORDER BY number DESC")]


def set_watched(database: Database, number: int, watched: bool) -> None:
    with database.transaction() as db:
        db.execute("UPDATE jobs SET watched = ? WHERE number = ?", (watched, number))


@dataclass(frozen=True, slots=True)
class Note:
    """What a watcher saw and said last, for those who ask later."""

    seen: float
    said: str
    state: str | None = None
    """`None`: as it was."""


def note_states(database: Database, notes: Mapping[JobId, Note]) -> None:
    """All at once, each of the latest job with its id; one that nobody knows is left out."""
    with database.transaction() as db:
        db.executemany(
            "UPDATE jobs SET state = coalesce(?, state), seen = ?, said = ? WHERE number ="
            " (SELECT max(number) FROM jobs WHERE cluster = ? AND job = ?)",
            [(note.state, note.seen, note.said, *_key(job)) for job, note in notes.items()],
        )


def set_held(database: Database, number: int, held: bool) -> None:
    with database.transaction() as db:
        db.execute("UPDATE jobs SET held = ? WHERE number = ?", (held, number))


def is_held(database: Database, number: int, *names: JobId) -> bool:
    """Also by a hold on its array, on one of its tasks, or on another of its `names`; one on an ended job is over."""
    rows = database.rows("SELECT * FROM jobs WHERE held = 1 AND (ended IS NULL OR number = ?)", number)
    holds = [_known(row) for row in rows]
    return any(hold.number == number or any(overlap(hold.job, name) for name in names) for hold in holds)


def forget(database: Database, number: int) -> None:
    """All that is known about the job; the ledger of its actions goes with it."""
    with database.transaction() as db:
        db.execute("DELETE FROM jobs WHERE number = ?", (number,))


def end_job(
    database: Database, number: int, at: float, outcome: str, exit_code: int, verdict: Mapping[str, Any]
) -> bool:
    """Writes down the end and the verdict, once: False if they were there already."""
    with database.transaction() as db:
        made = db.execute(
            "INSERT INTO verdicts (job, at, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (number, at, json.dumps(verdict)),
        ).rowcount
        if made:
            db.execute(
                "UPDATE jobs SET ended = ?, outcome = ?, exit_code = ?, watched = 0 WHERE number = ?",
                (at, outcome, exit_code, number),
            )
    return bool(made)


def verdict_of(database: Database, number: int) -> Mapping[str, Any] | None:
    rows = database.rows("SELECT body FROM verdicts WHERE job = ?", number)
    return json.loads(rows[0]["body"]) if rows else None


def _key(job: JobId) -> tuple[str, str]:
    return job.cluster or "", job.local


def _asked(new: NewJob) -> Mapping[str, Any]:
    return new.options if new.origin == "submit" else {}


def _or(known: Any, new: Any) -> Any:
    return known if known is not None else new


def _is_another(row: sqlite3.Row, new: NewJob) -> bool:
    """Another scheduler's; or the known one has ended, or was submitted long before: the id was given out again.

    When a job of `triage submit` was submitted is only known by this machine's clock, which may be far off.
    """
    if None not in (row["scheduler"], new.scheduler) and row["scheduler"] != new.scheduler:
        return True
    if new.submitted is None:
        return False
    if row["ended"] is not None and new.submitted > row["ended"]:
        return True
    told = row["submitted"] if row["origin"] != "submit" else None
    return told is not None and new.submitted - told > _SUBMITTING


def _before(new: NewJob) -> float:
    """When the job that had the id before has ended at the latest; nobody saw it."""
    return new.added if new.submitted is None else min(new.added, new.submitted - 1)


def _known(row: sqlite3.Row) -> KnownJob:
    name = row["job"] + (f";{row['cluster']}" if row["cluster"] else "")
    job = parse_job(name)
    if job is None:
        raise StoreError(f"the store holds {name!r}, which is no job id: remove it with an SQLite tool")
    return KnownJob(
        row["number"], job, row["origin"], row["added"], row["uid"], row["submitted"], row["name"], row["folder"],
        row["script"], row["output"], row["error"], row["token"], json.loads(row["options"]), json.loads(row["asked"]), bool(row["watched"]),
        bool(row["held"]), row["ended"], row["outcome"], row["exit_code"], row["state"], row["seen"], row["said"],
        row["scheduler"],
    )  # fmt: skip
