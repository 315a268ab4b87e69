"""Writes a commented `triage.toml`: every key with what it means, those without a value commented out."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from triage.submit.keys import KEYS, TABLES, Key, Kind
from triage.submit.template import argument_lines

Value = str | int | tuple[str, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def initial(
    values: Mapping[str, Value] | None = None,
    environment: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The text of a new file; `values` by key."""
    values = values or {}
    lines = ["# A training run. `triage check` finds mistakes, `triage render` shows the batch script,",
             "# `triage config` where each value comes from; `triage submit` starts it."]  # fmt: skip
    lines += [f"# Left out of the script: {' '.join(note.split())}" for note in notes]
    for key in KEYS:
        if not key.table and key.kind is not Kind.TABLE:
            lines += ["", *_entry(key, values)]
    for table in TABLES:
        lines += ["", f"[{table}]"]
        for key in KEYS:
            if key.table == table:
                lines += _entry(key, values)
    lines += ["", *_comment("Variables for all processes."), "[environment]"]
    lines += [f"{_name(name)} = {literal(value)}" for name, value in (environment or {}).items()]
    return "\n".join([*lines, ""])


def _entry(key: Key, values: Mapping[str, Value]) -> Iterator[str]:
    yield from _comment(key.about)
    value = values.get(key.name)
    if value is None:
        yield f"# {key.leaf} = {key.example}"
    elif key.name == "arguments" and isinstance(value, tuple) and value:
        yield f"{key.leaf} = ["
        for words in argument_lines(value):
            yield f"    {', '.join(map(literal, words))},"
        yield "]"
    else:
        yield f"{key.leaf} = {literal(value)}"


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, 100)]


def _name(text: str) -> str:
    return text if _BARE.fullmatch(text) else literal(text)


def literal(value: Value) -> str:
    """A value in TOML: JSON's texts are TOML's, but for the escape of DEL."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
