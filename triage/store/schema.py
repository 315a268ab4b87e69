"""The tables, as numbered migrations: a released one is never changed, a new one is appended."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE jobs (
        number INTEGER PRIMARY KEY,
        cluster TEXT NOT NULL DEFAULT '',
        job TEXT NOT NULL,
        uid INTEGER,
        submitted REAL,
        added REAL NOT NULL,
        origin TEXT NOT NULL,
        name TEXT NOT NULL DEFAULT '',
        folder TEXT NOT NULL DEFAULT '',
        script TEXT NOT NULL DEFAULT '',
        output TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        token TEXT,
        options TEXT NOT NULL DEFAULT '{}',
        watched INTEGER NOT NULL DEFAULT 0,
        held INTEGER NOT NULL DEFAULT 0,
        ended REAL,
        outcome TEXT,
        exit_code INTEGER
    );
    CREATE INDEX jobs_by_id ON jobs (cluster, job, number);
    CREATE TABLE offsets (
        job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
        path TEXT NOT NULL,
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        PRIMARY KEY (job, path)
    );
    CREATE TABLE verdicts (
        job INTEGER PRIMARY KEY REFERENCES jobs (number) ON DELETE CASCADE,
        at REAL NOT NULL,
        body TEXT NOT NULL
    );
    CREATE TABLE actions (
        number INTEGER PRIMARY KEY,
        job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
        restarts INTEGER NOT NULL,
        submitted REAL NOT NULL,
        started REAL NOT NULL,
        cause TEXT NOT NULL,
        stage TEXT NOT NULL,
        at REAL NOT NULL,
        since REAL NOT NULL,
        why TEXT NOT NULL DEFAULT '',
        dry INTEGER NOT NULL DEFAULT 0,
        requeue INTEGER,
        evidence TEXT NOT NULL,
        gpus INTEGER,
        planned_end REAL,
        ended REAL
    );
    CREATE UNIQUE INDEX actions_of_attempt ON actions (job, restarts, submitted, dry) WHERE stage <> 'abandoned';
    CREATE TABLE leases (
        job INTEGER PRIMARY KEY REFERENCES jobs (number) ON DELETE CASCADE,
        holder TEXT NOT NULL,
        host TEXT NOT NULL,
        until REAL NOT NULL
    );
    """,
    """
    ALTER TABLE jobs ADD COLUMN state TEXT;
    ALTER TABLE jobs ADD COLUMN seen REAL;
    ALTER TABLE jobs ADD COLUMN said TEXT;
    CREATE TABLE daemons (
        holder TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        started REAL NOT NULL,
        beat REAL NOT NULL,
        address TEXT
    );
    """,
    """
    ALTER TABLE jobs ADD COLUMN scheduler TEXT;
    """,
    """
    ALTER TABLE jobs ADD COLUMN asked TEXT NOT NULL DEFAULT '{}';
    """,
    """
    DROP TABLE offsets;
    """,
)
