"""Versions of the programs that a run used, as far as its logs and launch manifests tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from triage.core.lazy import lazy

_VERSION = r"(\d{1,4}(?:\.\d{1,6}){1,3}[\w.+-]{0,40})"
_FORMS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("nccl", "NCCL version ", lazy(r"NCCL version " + _VERSION)),
    ("python", "/python3.", lazy(r"/python(3\.\d{1,2})/")),
    ("torch", "orch version", lazy(r"(?i:\b(?:py)?torch) version ?[:=]? ?" + _VERSION)),
    ("torch", "torch==", lazy(r"\btorch==" + _VERSION)),
    ("cuda", "cudaDriverVersion ", lazy(r"cudaDriverVersion (\d{4,6})")),
    ("megatron-core", "megatron-core", lazy(r"\bmegatron-core(?:==| version:? ?)" + _VERSION)),
    (
        "transformer-engine",
        "ransformer",
        lazy(r"(?i:\btransformer[-_ ]engine)(?:==| version:? ?)" + _VERSION),
    ),
)
"""Name, a text that stands in the form, and the form; the first that is found for a name counts."""


def versions(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By name; from (kind of the log, text)."""
    found: dict[str, str] = {}
    for kind, text in texts:
        if kind == "manifest":
            for name, version in _said_by_manifest(text):
                found.setdefault(name, version)
            continue
        for name, word, form in _FORMS:
            if name not in found and word in text and (match := form.search(text)):
                found[name] = match[1]
    return dict(sorted(found.items()))


def _said_by_manifest(text: str) -> Iterator[tuple[str, str]]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return
    said = table.get("versions") if isinstance(table, dict) else None
    if isinstance(said, dict):
        yield from ((name, value) for name, value in said.items() if isinstance(value, str))
