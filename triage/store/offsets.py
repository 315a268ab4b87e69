"""How far each log was read, so that a truncation while nobody watched is seen as one."""

from __future__ import annotations

from collections.abc import Iterable

from triage.core.values import dataclass
from triage.store.database import Database


@dataclass(frozen=True, slots=True)
class Offset:
    path: str
    device: int
    inode: int
    offset: int
    attempt: int
    """Restarts of the job when it was read."""


def save_offsets(database: Database, job: int, offsets: Iterable[Offset]) -> None:
    with database.transaction() as db:
        db.executemany(
            "INSERT INTO offsets (job, path, device, inode, offset, attempt) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (job, path) DO UPDATE SET device = excluded.device, inode = excluded.inode,"
            " offset = excluded.offset, attempt = excluded.attempt",
            [(job, o.path, o.device, o.inode, o.offset, o.attempt) for o in offsets],
        )


def offsets_of(database: Database, job: int) -> dict[str, Offset]:
    rows = database.rows("SELECT * FROM offsets WHERE job = ?", job)
    return {row["path"]: Offset(row["path"], row["device"], row["inode"], row["offset"], row["attempt"]) for row in rows}  # fmt: skip
