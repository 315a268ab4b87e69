"""A reader for the few forms of TOML that rule files are written in; anything else goes to `tomllib`.

`tomllib` walks through strings character by character, which for a hundred rule files costs more than all the rest of
a run's start. Here whole strings are taken by one pattern. Whatever this reader does not know for certain, mistakes
included, it leaves to `tomllib`, which is also its oracle in tests.
"""

from __future__ import annotations

import re
from typing import Any

_BLANK = r"(?:[ \t\n]+|#[^\n\x00-\x08\x0b-\x1f\x7f]*(?=\n|\Z))*"
_SPACE = re.compile(_BLANK)
_TABLE = re.compile(r"\[\[([A-Za-z_]+)\]\][ \t]*(?=\n|\Z)")
_KEY = re.compile(r"([A-Za-z_]+)[ \t]*=[ \t]*")
_VALUE = re.compile(
    r"'''\n?(?P<block>(?:[^'\r\x00-\x08\x0b-\x1f\x7f]++|'(?!''))*+'{0,2})'''(?!')"
    r"|'(?P<literal>[^'\n\r\x00-\x08\x0b-\x1f\x7f]*+)'(?!')"
    r'|"(?P<basic>(?:[^"\\\n\r\x00-\x08\x0b-\x1f\x7f]++|\\[nt"\\])*+)"(?!")'
    r"|(?P<bool>true|false)(?![\w.\-])"
    r"|(?P<int>0|[1-9][0-9]{0,15})(?![\w.:\-])"
)
_LINE_END = re.compile(rf"[ \t]*(?:#[^\n\x00-\x08\x0b-\x1f\x7f]*)?(?:\n{_BLANK}|\Z)")
_COMMA = re.compile(rf"{_BLANK}(?:(,){_BLANK})?")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

MAX_NESTING = 4


class _Unknown(Exception):
    """A form that this reader leaves to tomllib."""


def loads(text: str) -> dict[str, Any]:
    """The same as `tomllib.loads`, TOMLDecodeError included."""
    try:
        return _document(text)
    except _Unknown:
        import tomllib

        return tomllib.loads(text)


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    table = document
    tables_of: dict[str, list[dict[str, Any]]] = {}
    position, end = _skip(text, 0), len(text)
    while position < end:
        if text[position] == "[":
            found = _TABLE.match(text, position)
            if found is None or (found[1] in document and found[1] not in tables_of):
                raise _Unknown
            table = {}
            document[found[1]] = tables_of.setdefault(found[1], [])
            tables_of[found[1]].append(table)
            position = _skip(text, found.end())
        else:
            found = _KEY.match(text, position)
            if found is None or found[1] in table:
                raise _Unknown
            table[found[1]], position = _value(text, found.end(), 0)
            after = _LINE_END.match(text, position)
            if after is None:
                raise _Unknown
            position = after.end()
    return document


def _value(text: str, position: int, depth: int) -> tuple[Any, int]:
    if text.startswith("[", position):
        return _array(text, position + 1, depth + 1)
    found = _VALUE.match(text, position)
    if found is None:
        raise _Unknown
    kind, value = found.lastgroup, found[found.lastgroup or 0]
    if kind == "basic":
        return (_ESCAPE.sub(lambda m: _ESCAPED[m[1]], value) if "\\" in value else value), found.end()
    if kind == "bool":
        return value == "true", found.end()
    return (int(value) if kind == "int" else value), found.end()


def _array(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    if depth > MAX_NESTING:
        raise _Unknown
    values: list[Any] = []
    position, more = _skip(text, position), True
    while not text.startswith("]", position):
        if not more:
            raise _Unknown
        value, position = _value(text, position, depth)
        values.append(value)
        if after := _COMMA.match(text, position):
            position, more = after.end(), after[1] is not None
    return values, position + 1


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
