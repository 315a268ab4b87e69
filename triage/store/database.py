"""The SQLite file: where it lies, how it is opened and brought up to date, and its errors as sentences."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import field

from triage.core.values import dataclass
from triage.errors import StoreError
from triage.store.lock import held
from triage.store.schema import MIGRATIONS

NAME = "triage.sqlite"
KILL_SWITCH = "stop-all-actions"
"""While a file of this name lies beside the database, nothing is ever cancelled."""
_BUSY = 30.0
"""Seconds to wait for another process's transaction."""


@dataclass(slots=True)
class Database:
    """An open store. Every access is a transaction; processes on any host may share the file."""

    folder: str
    network: bool = False
    """It lies on a file system of several hosts: a rollback journal and a lock of our own instead of WAL."""
    _connection: sqlite3.Connection = field(init=False, repr=False)

    @property
    def path(self) -> str:
        return os.path.join(self.folder, NAME)

    def __post_init__(self) -> None:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the state folder {self.folder} cannot be made: {error.strerror}; set TRIAGE_STATE to a folder of yours"
            ) from error
        query = "?nolock=1" if self.network else ""
        uri = f"file:{_quoted(os.path.abspath(self.path))}{query}"
        with self._told():
            self._connection = sqlite3.connect(
                uri, _BUSY, isolation_level=None, check_same_thread=False, uri=True
            )
            self._connection.row_factory = sqlite3.Row
            with self._locked():
                self._connection.execute("PRAGMA foreign_keys = ON")
                self._connection.execute(f"PRAGMA journal_mode = {'DELETE' if self.network else 'WAL'}")
                self._connection.execute("PRAGMA synchronous = FULL")
        self._migrate()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it is on disk when it ends, or nothing of it is. Raises StoreError."""
        with self._told(), self._locked():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            try:
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """The answer to a question that changes nothing."""
        with self._told(), self._locked():
            return self._connection.execute(query, values).fetchall()

    @property
    def changes(self) -> int:
        """Another number after every transaction of somebody else; cheap to ask for."""
        return int(self.rows("PRAGMA data_version")[0][0])

    @property
    def stopped(self) -> bool:
        """The kill-switch file is there."""
        return os.path.lexists(os.path.join(self.folder, KILL_SWITCH))

    def close(self) -> None:
        self._connection.close()

    def _migrate(self) -> None:
        version = int(self.rows("PRAGMA user_version")[0][0])
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} was made by a newer triage: update triage, or set TRIAGE_STATE to another folder"
            )
        if version == len(MIGRATIONS):
            return
        with self.transaction() as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    if statement.strip():
                        db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        return held(f"{self.path}.lock") if self.network else contextlib.nullcontext()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {_advice(str(error), self.path)}") from error


def _advice(text: str, path: str) -> str:
    if "malformed" in text or "not a database" in text:
        return f"the database is damaged ({text}): move it away with `mv {path} {path}.damaged`; a new one is made"
    if "disk I/O" in text:
        return f"the disk is full or fails ({text}): make room, or set TRIAGE_STATE to another folder"
    if "disk is full" in text:
        return "the disk is full: make room; what was remembered before is still there"
    if "readonly" in text or "read-only" in text:
        return "the database cannot be written: check the folder's permissions, or set TRIAGE_STATE to another folder"
    if "unable to open" in text:
        return "the database cannot be opened: check the folder's permissions, or set TRIAGE_STATE to another folder"
    if "locked" in text:
        return "another process uses the database for too long: look for a triage that hangs"
    return f"the database cannot be used ({text}): set TRIAGE_STATE to another folder"


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
