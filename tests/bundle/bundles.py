"""Bundles of cases, made and explained with the tests' shared rules, and archives made by hand."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import engine, ruleset
from triage.api import collected_of
from triage.bundle.make import Asked, Made, made
from triage.bundle.pack import write
from triage.core.analysis import Analysis
from triage.core.cause.verdict import Verdict
from triage.core.logs.regions import Anchors
from triage.files.inputs import Collected, Input
from triage.files.lines import places
from triage.files.parts import joined
from triage.files.scan import scan


@cache
def anchors() -> Anchors:
    return Anchors(ruleset().literals())


def verdict_on(collected: Collected) -> Verdict:
    """As `api.explain_collected` answers, without reading the rules again."""
    logs = joined(collected.inputs)
    analysis = Analysis(ruleset(), engine(), anchors=anchors())
    scan(logs, analysis)
    return analysis.verdict(lambda source, offsets: places(logs[source], offsets))


def bundled(inputs: Sequence[Input], verdict: Verdict, into: Path, **options: Any) -> Made:
    packed = made(inputs, verdict, Asked(None, None, None), anchors(), **options)
    with into.open("wb") as file:
        write(file, packed.manifest, packed.logs)
    return packed


def bundle_of(folder: Path, into: Path, **options: Any) -> tuple[Made, Verdict]:
    """The bundle of a folder's logs, written, and the verdict of what was written."""
    collected = collected_of(folder)
    packed = bundled(collected.inputs, verdict_on(collected), into, **options)
    return packed, verdict_on(collected_of(into))


def manifest_with(*logs: dict[str, Any], **changes: Any) -> bytes:
    verdict = {"schema": "triage.verdict/1", "category": "none", "confidence": "low"}
    table = {
        "schema": "triage.bundle/1", "triage": "0.1.0", "anonymized": False, "job": None, "attempt": None,
        "verdict": verdict, "versions": {}, "own_rules": [], "record": None, "logs": list(logs),
    }  # fmt: skip
    return json.dumps(table | changes).encode()


def log_with(member: str, *pieces: list[int]) -> dict[str, Any]:
    return {"member": member, "path": member.removeprefix("logs/"), "pieces": list(pieces)}


def archive(
    members: Iterable[tuple[tarfile.TarInfo | str, bytes]], form: int = tarfile.USTAR_FORMAT
) -> bytes:
    """A packed tar archive, which may hold anything."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for head, data in members:
            info = tarfile.TarInfo(head) if isinstance(head, str) else head
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue())
