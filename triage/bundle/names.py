"""The names that stand in a bundle, gathered from all of it before any is replaced."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator
from typing import Any

from triage.bundle.identities import HOST, OTHER, Identities
from triage.bundle.pack import KeptText
from triage.bundle.pseudonyms import Pseudonyms
from triage.bundle.vocabulary import Vocabulary
from triage.core.cause.record import Record
from triage.core.logs.line import decode_lines
from triage.core.logs.records import to_records
from triage.core.logs.source import Source


def names_of(texts: Iterable[KeptText], vocabulary: Vocabulary, record: Record | None) -> Pseudonyms:
    """What replaces the names in these logs and in what the scheduler said."""
    identities = Identities(vocabulary)
    for text in texts:
        if text.source.node:
            identities.add(HOST, text.source.node)
        identities.add_path(text.source.path)
        if job := _job_name(text.source):
            identities.add(OTHER, job)
        for cut in text.cuts:
            if text.is_json:
                _add_json(cut.data, identities)
            else:
                _add_log(cut.data, identities)
    if record is not None:
        identities.add(HOST, str((record.slurm or {}).get("nodes") or ""))
        for line in _lines_of([record.slurm, record.early]):
            identities.add_line(line)
    return Pseudonyms(identities)


def _job_name(source: Source) -> str:
    """What stands before the job's number in the name of a log: Slurm's `%x-%j`."""
    name, number, _ = posixpath.basename(source.path).partition(source.job or "\0")
    return name.strip("-_.") if number else ""


def _add_log(data: bytes, identities: Identities) -> None:
    """What its lines state, and whom their prefixes name."""
    lines = decode_lines(data, 0)
    for line in dict.fromkeys(line.text for line in lines):
        identities.add_line(line)
    for node in {record.tags.node for record in to_records(lines)} - {None}:
        identities.add(HOST, str(node))


def _add_json(data: bytes, identities: Identities) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        _add_log(data, identities)
        return
    for line in _lines_of(value):
        identities.add_line(line)


def _lines_of(value: Any, name: str = "") -> Iterator[str]:
    """The texts of a JSON value, each with its name, as a line of a log would have them."""
    if isinstance(value, str):
        first, *rest = value.split("\n")
        yield f"{name}={first}" if name else first
        yield from rest
    elif isinstance(value, list):
        for item in value:
            yield from _lines_of(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _lines_of(item, key)
