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
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    try:
        value = json.loads(data) if len(data) <= LARGEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(
            f"{path} is no record of triage: give one that `triage watch` wrote, triage-JOBID.json"
        )
    return value
