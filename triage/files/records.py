"""`triage-JOBID.json` beside the logs: what the watcher knew and decided, for whoever explains the job later."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from triage.errors import InputError

LARGEST = 4 << 20


def record_name(job: str) -> str:
    return f"triage-{job}.json"


def write_record(folder: str, job: str, record: Mapping[str, Any]) -> str:
    """Its path; on disk when it returns. Raises OSError."""
    path = os.path.join(folder, record_name(job))
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
    return path


def read_record(path: str) -> Mapping[str, Any]:
    """Raises InputError for what is no JSON object of bearable size."""
    value = parse_record(read_text(path))
    if value is None:
        raise InputError(
            f"{path} is no record of triage: give one that `triage watch` wrote, triage-JOBID.json"
        )
    return value


def read_text(path: str) -> str:
    """Raises InputError for what cannot be read, or is larger than any record."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise InputError(f"{path} is no record of one job: it has more than {LARGEST >> 20} MiB")
    return data.decode("utf-8", "replace")


def parse_record(text: str) -> Mapping[str, Any] | None:
    """`None` for what is no JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
