"""Who acts on a job: of several watchers, on any host, the one that has its lease."""

from __future__ import annotations

from triage.store.database import Database

LENGTH = 60.0
"""Seconds; renewed at a third of it. A watcher that was killed is replaced after this time, at once on its own host."""


def acquire(
    database: Database, job: int, holder: str, host: str, now: float, *, dead: str | None = None
) -> bool:
    """Takes or renews the lease; `dead` is a holder that is known to be gone. A clock set back by more than the length of
    a lease makes it expired: it cannot have been given from the future."""
    with database.transaction() as db:
        row = db.execute("SELECT * FROM leases WHERE job = ?", (job,)).fetchone()
        free = row is None or row["holder"] in (holder, dead)
        if row is not None and not free:
            free = not now <= row["until"] <= now + 2 * LENGTH
        if free:
            db.execute(
                "INSERT INTO leases (job, holder, host, until) VALUES (?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET"
                " holder = excluded.holder, host = excluded.host, until = excluded.until",
                (job, holder, host, now + LENGTH),
            )
    return free


def holder_of(database: Database, job: int) -> tuple[str, str] | None:
    """(holder, host) of the lease, expired or not."""
    rows = database.rows("SELECT holder, host FROM leases WHERE job = ?", job)
    return (rows[0]["holder"], rows[0]["host"]) if rows else None


def release(database: Database, job: int, holder: str) -> None:
    with database.transaction() as db:
        db.execute("DELETE FROM leases WHERE job = ? AND holder = ?", (job, holder))
