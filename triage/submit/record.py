"""What is kept of a submission: written down before anything is sent, and again with the job when there is one."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from triage.core.jobs.identity import JobId, parse_job
from triage.core.values import dataclass
from triage.errors import StoreError
from triage.schedulers.interface import Request

SCHEMA = "triage.submission/1"
FILE_NAME = "submission.json"


@dataclass(frozen=True, slots=True)
class Record:
    """One submission. Paths are absolute; times are epoch seconds."""

    token: str
    scheduler: str
    source: str
    """What the user named: a script or a configuration."""
    script: str
    """What is submitted: the user's own script, or the one that was rendered."""
    config: str | None
    """The configuration as it was, kept beside the rendered script."""
    folder: str
    """Where it is submitted from."""
    logs: str
    """The folder that holds the logs and, in `.triage`, what is kept of each submission."""
    name: str
    output: str
    """The scheduler's own log, with the patterns of its name."""
    error: str | None
    asked: float
    digest: str
    """Of the script, the folder, the options and the arguments: whether two calls ask for the same."""
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    comment: str = ""
    cluster: str | None = None
    artifacts: tuple[str, ...] = ()
    """Patterns of what the run leaves when it is done."""
    argv: tuple[str, ...] = ()
    """The command that submitted it."""
    job_id: str | None = None
    submitted: float | None = None

    @property
    def kept(self) -> Path:
        """The folder of this submission."""
        return Path(self.logs) / ".triage" / self.token

    @property
    def path(self) -> Path:
        return self.kept / FILE_NAME

    @property
    def job(self) -> JobId | None:
        return None if self.job_id is None else parse_job(self.job_id)

    def request(self) -> Request:
        return Request(
            Path(self.script), Path(self.folder), self.token, None, self.comment, self.options, self.arguments,
            self.cluster,
        )  # fmt: skip


def digest_of(script: str, folder: str, options: Sequence[str], arguments: Sequence[str]) -> str:
    text = json.dumps([script, folder, list(options), list(arguments)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def to_json(record: Record) -> dict[str, Any]:
    return {"schema": SCHEMA, **dataclasses.asdict(record)}


def write_record(record: Record, path: Path) -> None:
    """Whole or not at all. Raises `OSError`."""
    write_whole(path, json.dumps(to_json(record), indent=2) + "\n")


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """A file that is on disk when this returns, and of which nobody ever sees a part. Raises `OSError`.

    Several calls, on several hosts, may write it at once.
    """
    part = path.with_name(f"{path.name}.part-{os.urandom(4).hex()}")
    try:
        with open(part, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_record(path: Path) -> Record | None:
    """`None` where there is none. Raises `StoreError` for a file that is no record."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return _record(values)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path} is no record of a submission ({error}): move it away") from error


def _record(values: Mapping[str, Any]) -> Record:
    if values["schema"] != SCHEMA:
        raise ValueError(f"schema {values['schema']!r}")
    known = {field.name for field in dataclasses.fields(Record)}
    lists = ("options", "arguments", "artifacts", "argv")
    told: dict[str, Any] = {
        name: tuple(value) if name in lists else value for name, value in values.items() if name in known
    }
    return Record(**told)
