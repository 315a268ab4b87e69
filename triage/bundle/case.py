"""A bundle as a labelled case to be: the folder that tests read, with the label left open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from triage.bundle.make import Made
from triage.bundle.manifest import KeptLog
from triage.core.cause.record import SCHEMA, Record


def case_files(name: str, made: Made) -> Iterator[tuple[str, bytes]]:
    """Path below the case's folder and content: `case.toml`, the logs, and what the scheduler said."""
    yield "case.toml", _case_toml(name, made).encode("utf-8", "replace")
    for log, data in made.logs:
        yield log.member, _joined(log, data)
    if made.manifest.record is not None:
        yield (
            f"logs/triage-{made.manifest.record.job or 0}.json",
            json.dumps(_record(made.manifest.record)).encode(),
        )


def _joined(log: KeptLog, data: bytes) -> bytes:
    """The pieces without the notes between them; lines that are cut off end."""
    parts = [data[piece.at : piece.at + piece.size] for piece in log.pieces]
    for index, part in enumerate(parts[:-1]):
        if not part.endswith(b"\n"):
            parts[index] = part + b"\n"
    return b"".join(parts)


def _record(record: Record) -> Mapping[str, Any]:
    """As `triage watch` leaves it beside the logs."""
    early = {"cause": "artifact", "stage": "done", "why": record.early}
    return {
        "schema": SCHEMA,
        "job": record.job,
        "slurm": record.slurm,
        "early": early if record.early is not None else None,
    }


def _case_toml(name: str, made: Made) -> str:
    told = "\n".join(f"# {line}".rstrip() for line in _answer(made.manifest.verdict))
    left_out = "".join(f"# Left out of {path}: {size} bytes\n" for path, size in _gaps(made))
    return f"""\
id = {_text(name)}
source = ""  # the public report, or "lab"
stack = ""
layout = ""
notes = ""

{left_out}# NOT REVIEWED: what triage {made.manifest.made_by} says. Write [expect] from what the logs show, then delete this.
{told}
"""


def _gaps(made: Made) -> Iterator[tuple[str, int]]:
    for log, _ in made.logs:
        end = log.pieces[-1].offset + log.pieces[-1].size if log.pieces else 0
        if (size := end - sum(piece.size for piece in log.pieces)) > 0:
            yield log.member, size


def _answer(verdict: Mapping[str, Any]) -> Iterator[str]:
    """A verdict as a label would say it."""
    root = verdict.get("root") or {}
    yield "[expect]"
    yield f"class = {_text(verdict['category'])}"
    if root.get("rank") is not None:
        yield f"rank = {root['rank']}"
    for key, name in (("host", "node"), ("exception", "exception"), ("message_contains", "message")):
        if root.get(name):
            yield f"{key} = {_text(root[name].splitlines()[0][:200])}"
    frame = root.get("frame")
    if frame:
        line = f":{frame['line']}" if frame["line"] is not None else ""
        yield f"frame = {_text(frame['file'] + line + (' in ' + frame['function'] if frame['function'] else ''))}"
    if root.get("phase"):
        yield f"phase = {_text(root['phase'])}"
    facts = {key: value for key, value in (verdict.get("facts") or {}).items() if value is not None}
    if facts:
        yield ""
        yield "[expect.facts]"
        yield from (f"{key} = {value}" for key, value in facts.items())


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
