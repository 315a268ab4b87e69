"""Cases as bytes in memory, and verdicts of them that can be compared."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from triage.core.analysis import Analysis
from triage.core.cause.places import Locate
from triage.core.cause.verdict import Verdict
from triage.core.logs.source import Source
from triage.core.rules.engine import Engine
from triage.core.rules.ruleset import RuleSet
from triage.files.layout import sources_of
from triage.files.open import chunks
from triage.files.parts import parts_of
from triage.files.rules import load
from triage.files.walk import collect

CASES = Path(__file__).parent.parent / "fixtures" / "cases"

Pieces = Callable[[bytes], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Log:
    """One file of a job's folder."""

    path: str
    data: bytes


@cache
def ruleset() -> RuleSet:
    return load({})


@cache
def engine() -> Engine:
    """One for all: compiling patterns is slow. Its time limit is long, so that a busy machine changes no verdict."""
    return Engine(ruleset(), timeout_s=20.0)


@cache
def case_logs(name: str) -> tuple[Log, ...]:
    """A case's files as the tool reads them: decompressed, in the order of their paths."""
    folder = os.fspath(CASES / name / "logs")
    return tuple(Log(one.source.path, b"".join(chunks(one))) for one in collect([folder]).inputs)


def case_names() -> list[str]:
    return sorted(path.parent.name for path in CASES.glob("*/case.toml"))


def verdict_of(logs: Sequence[Log], *, naive: bool = False, pieces: Pieces | None = None) -> Verdict:
    """The verdict on logs fed in this order, each in the given pieces (whole where none are given)."""
    analysis = Analysis(ruleset(), engine(), naive=naive)
    fed = []
    for source, log in in_one_piece(logs):
        fed.append(log)
        feed = analysis.open(source)
        for piece in pieces(log.data) if pieces else blocks(log.data):
            feed.feed(piece)
        feed.close()
    return analysis.verdict(locating(fed))


def locating(logs: Sequence[Log]) -> Locate:
    """Where in the logs, which are the sources of an analysis in this order, the evidence stands."""
    return lambda source, offsets: [
        (logs[source].path, logs[source].data.count(b"\n", 0, offset) + 1) for offset in offsets
    ]


def in_one_piece(logs: Sequence[Log]) -> Iterator[tuple[Source, Log]]:
    """The logs with what their paths say, those that were cut put together."""
    paths = [log.path for log in logs]
    parts = parts_of(paths)
    by_whole: dict[str, list[tuple[int, Source, Log]]] = {}
    for source, log in zip(sources_of(paths), logs, strict=True):
        part = parts.get(log.path)
        whole, place = (part.whole, part.place) if part is not None else (log.path, 0)
        by_whole.setdefault(whole, []).append((place, source, log))
    for members in by_whole.values():
        members.sort(key=lambda member: member[0])
        _, source, first = members[0]
        yield source, Log(first.path, b"".join(log.data for _, _, log in members))


def blocks(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 1 << 20):
        yield data[at : at + (1 << 20)]


def comparable(verdict: Verdict, logs: Sequence[Log]) -> dict[str, Any]:
    """The verdict without `scanned` and without the paths and line numbers of evidence, also those in sentences."""
    plain = verdict.to_json()
    del plain["scanned"]
    if plain["root"]:
        plain["root"]["evidence"] = None
    for name in ("downstream", "unexplained"):
        for one in plain[name]:
            one["first"] = None
    names = sorted({log.path for log in logs}, key=len, reverse=True)
    place = re.compile("(?:" + "|".join(map(re.escape, names)) + r")(?::\d+(?:-\d+)?)?")
    for name in ("reasons", "next_steps"):
        plain[name] = [place.sub("<place>", text) for text in plain[name]]
    plain["summary"] = place.sub("<place>", plain["summary"])
    return plain


def differences(left: dict[str, Any], right: dict[str, Any], at: str = "") -> dict[str, tuple[Any, Any]]:
    """Dotted names of the fields in which two verdicts differ, for a failure that can be read."""
    found: dict[str, tuple[Any, Any]] = {}
    for name in sorted(left.keys() | right.keys()):
        a, b = left.get(name), right.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            found |= differences(a, b, f"{at}{name}.")
        elif a != b:
            found[at + name] = (a, b)
    return found
