"""Which daemons use the store, so that `triage daemon status` can tell whether anybody watches."""

from __future__ import annotations

from triage.core.values import dataclass
from triage.store.database import Database

GONE = 120.0
"""Seconds without a sign of life after which a daemon counts as gone."""


@dataclass(frozen=True, slots=True)
class Daemon:
    holder: str
    host: str
    pid: int
    started: float
    beat: float
    address: str | None
    """Of its HTTP server."""


def beat(database: Database, daemon: Daemon) -> None:
    """It is alive; those that have been silent for long are forgotten."""
    with database.transaction() as db:
        db.execute("DELETE FROM daemons WHERE beat < ?", (daemon.beat - 10 * GONE,))
        db.execute(
            "INSERT INTO daemons (holder, host, pid, started, beat, address) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (holder) DO UPDATE SET beat = excluded.beat, address = excluded.address",
            (daemon.holder, daemon.host, daemon.pid, daemon.started, daemon.beat, daemon.address),
        )


def leave(database: Database, holder: str) -> None:
    with database.transaction() as db:
        db.execute("DELETE FROM daemons WHERE holder = ?", (holder,))


def living(database: Database, now: float) -> list[Daemon]:
    rows = database.rows("SELECT * FROM daemons WHERE beat >= ? ORDER BY started", now - GONE)
    return [Daemon(r["holder"], r["host"], r["pid"], r["started"], r["beat"], r["address"]) for r in rows]
