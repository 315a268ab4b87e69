"""`bundle.json`, the first file of a bundle (schema `triage.bundle/1`): what its logs are excerpts of, and what was known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from triage.core.cause.record import Record
from triage.core.jobs.state import read_state
from triage.core.logs.source import Source
from triage.core.values import dataclass, replace
from triage.errors import InputError
from triage.files.excerpt import Piece

SCHEMA = "triage.bundle/1"
NAME = "bundle.json"
LARGEST = 32 << 20
"""Bytes of a manifest."""
MOST_PIECES = 400_000
MOST_BYTES = 64 << 30
"""Of one stream with its gaps: no more is ever read of it."""

_WORDS = ("stream", "kind", "job", "node")
_NUMBERS = ("node_rank", "rank", "local_rank", "task", "attempt")
_KINDS = frozenset({"log", "error-file", "artifact", "manifest", "kernel"})


@dataclass(frozen=True, slots=True)
class KeptLog:
    """A file of the bundle that holds pieces of a log."""

    member: str
    source: Source
    pieces: tuple[Piece, ...]
    """`at` counts from the beginning of the member."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that a bundle says beside its logs."""

    made_by: str
    """Version of triage."""
    anonymized: bool
    verdict: Mapping[str, Any]
    """Of the logs themselves, as `triage explain --format json` prints it."""
    versions: Mapping[str, str]
    """Of the programs, as far as logs and launch manifests tell."""
    own_rules: tuple[str, ...]
    """Rules that the verdict was made with and that do not ship with triage."""
    record: Record | None
    job: str | None
    """What was asked for, where the logs hold several."""
    attempt: int | None
    logs: tuple[KeptLog, ...]
    """In the order in which they were read."""


def to_json(manifest: Manifest) -> dict[str, Any]:
    record = manifest.record
    return {
        "schema": SCHEMA,
        "triage": manifest.made_by,
        "anonymized": manifest.anonymized,
        "job": manifest.job,
        "attempt": manifest.attempt,
        "verdict": dict(manifest.verdict),
        "versions": dict(manifest.versions),
        "own_rules": list(manifest.own_rules),
        "record": None if record is None else {
            "job": record.job, "state": record.state.value, "slurm": record.slurm, "early": record.early,
            "log_failed": record.log_failed,
        },
        "logs": [_log_json(log) for log in manifest.logs],
    }  # fmt: skip


def _log_json(log: KeptLog) -> dict[str, Any]:
    told = {name: getattr(log.source, name) for name in (*_WORDS, *_NUMBERS)}
    return {
        "member": log.member,
        "path": log.source.path,
        **{name: value for name, value in told.items() if value not in (None, "") and (name, value) != ("kind", "log")},
        "pieces": [[p.offset, p.line, p.at, p.size] for p in log.pieces],
    }  # fmt: skip


def parse(data: bytes) -> Manifest:
    """Raises InputError for anything else than such a manifest."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"its {NAME} is no JSON") from None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        schema = value.get("schema") if isinstance(value, dict) else None
        raise InputError(f"its {NAME} has the schema {str(schema)[:60]!r}, and this version reads {SCHEMA}")
    try:
        return _manifest(value)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"its {NAME} is not as `triage schema bundle` says ({str(error)[:100]})") from None


def _manifest(value: dict[str, Any]) -> Manifest:
    logs = tuple(_log(one) for one in _list(value["logs"]))
    if sum(len(log.pieces) for log in logs) > MOST_PIECES:
        raise ValueError(f"more than {MOST_PIECES} pieces")
    record = value.get("record")
    return Manifest(
        _text(value["triage"]),
        value.get("anonymized") is True,
        _table(value["verdict"]),
        {name: _text(version) for name, version in _table(value.get("versions", {})).items()},
        tuple(_text(rule) for rule in _list(value.get("own_rules", []))),
        None if record is None else _record(_table(record)),
        _text_or_none(value.get("job")),
        _number_or_none(value.get("attempt")),
        logs,
    )


def _record(value: dict[str, Any]) -> Record:
    slurm = value.get("slurm")
    return Record(
        _text(value.get("job", "")),
        read_state(_text(value.get("state", ""))).state,
        None if slurm is None else _table(slurm),
        _text_or_none(value.get("early")),
        value.get("log_failed") is True,
    )


def _log(value: Any) -> KeptLog:
    told = _table(value)
    said: dict[str, Any] = {name: _text(told[name]) for name in _WORDS if name in told}
    said |= {name: _number(told[name]) for name in _NUMBERS if name in told}
    source = replace(Source(_text(told["path"])), **said)
    if source.kind not in _KINDS:
        raise ValueError(f"a log of the kind {source.kind[:40]!r}")
    return KeptLog(_text(told["member"]), source, tuple(_pieces(_list(told["pieces"]))))


def _pieces(value: list[Any]) -> Iterator[Piece]:
    """In order, none inside another."""
    offset = at = 0
    for one in value:
        piece = Piece(*(_number(number) for number in _list(one)))
        if piece.offset < offset or piece.at < at or not piece.size:
            raise ValueError("pieces that are not in order")
        offset, at = piece.offset + 1, piece.at + piece.size
        yield piece


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
        raise TypeError(f"{str(value)[:40]!r} is no number from 0")
    return value


def _number_or_none(value: Any) -> int | None:
    return None if value is None else _number(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{str(value)[:40]!r} is no list")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{str(value)[:40]!r} is no object")
    return value
