"""Where each key and each element of a list stands in a TOML text; `tomllib` does not say."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field

from triage.core.values import dataclass

Path = tuple[str, ...]
"""Keys from the outside in; an element of a list by its number."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'", re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a key, from 1."""

    line: int
    last: int
    whole: bool
    """The lines hold nothing else, so that they can be taken out."""


@dataclass(slots=True)
class _Scanner:
    text: str
    at: int = 0
    found: dict[Path, Place] = field(default_factory=dict)

    def scan(self) -> None:
        table: Path = ()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return
            start = self._line()
            if self.text[self.at] == "[":
                double = self.text.startswith("[[", self.at)
                self.at += 1 + double
                table = self._key()
                self.at += 1 + double
                self._add(table, start, whole=False)
                continue
            path = table + self._key()
            self.at += 1
            self._value(path)
            self._add(path, start, whole=True)

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        opening = self.text[self.at]
        if opening in "[{":
            self.at += 1
            self._members(path, "]" if opening == "[" else "}")
        elif opening in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_SCALAR)

    def _members(self, path: Path, closing: str) -> None:
        number = 0
        while True:
            self._skip(_BLANK)
            if self.text[self.at] == closing:
                self.at += 1
                return
            start = self._line()
            own = (*path, str(number))
            if closing == "}":
                own = path + self._key()
                self.at += 1
            self._value(own)
            self._add(own, start, whole=False)
            number += 1
            self._skip(_BLANK)
            self.at += self.text[self.at] == ","

    def _key(self) -> Path:
        """A dotted key up to the sign behind it."""
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            pattern = _STRING if self.text[self.at] in "\"'" else _BARE_KEY
            parts.append(_plain(self._skip(pattern)))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return tuple(parts)
            self.at += 1

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise IndexError(self.at)
        self.at = match.end()
        return match[0]

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _add(self, path: Path, start: int, *, whole: bool) -> None:
        self.found.setdefault(path, Place(start, self._line(), whole))


def _plain(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 0")))


def places(text: str) -> Mapping[Path, Place]:
    """Of a text that `tomllib` reads; empty or cut short for any other."""
    scanner = _Scanner(text.replace("\r\n", " \n"))
    with contextlib.suppress(IndexError, tomllib.TOMLDecodeError):
        scanner.scan()
    return scanner.found
