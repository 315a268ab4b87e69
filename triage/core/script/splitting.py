"""Word splitting: how bash cuts a text where the characters of IFS stand (POSIX shell, 2.6.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from triage.core.script.holes import FIRST_REASON, Holes, Value, flat, known, symbols

DEFAULT = " \t\n"
"""IFS where nothing sets it."""


def separators(value: Value | None) -> str | None:
    """The characters that an IFS holds, `None` where they are not known."""
    text = DEFAULT if value is None else flat(value)
    return text if known(text) else None


def cuts(text: str, marks: str) -> Iterator[tuple[str, str]]:
    """Each piece with the separator behind it: empty at the end, blank, or one that ends even an empty piece."""
    start = 0
    pattern = _separator(marks)
    for match in pattern.finditer(text) if pattern is not None else ():
        yield text[start : match.start()], match[0]
        start = match.end()
    yield text[start:], ""


def split(text: str, marks: str) -> list[str]:
    """All pieces of a text on its own."""
    blanks = _blanks(marks)
    return [piece for piece, mark in cuts(text, marks) if piece or (mark.strip(blanks) if blanks else mark)]


def ends_empty(mark: str, marks: str) -> bool:
    """Whether a separator of `cuts` makes a word even of nothing: more than blanks."""
    return bool(mark.strip(_blanks(marks)) if _blanks(marks) else mark)


def read_values(text: str, marks: str, number: int, holes: Holes) -> list[str]:
    """What `read` gives so many names; the last one gets what is left. A hole hides what stands behind it too."""
    blanks = _blanks(marks)
    rest = text.strip(blanks) if blanks else text
    found: list[str] = []
    pattern = _separator(marks)
    while len(found) < number - 1:
        match = pattern.search(rest) if pattern is not None else None
        piece = rest if match is None else rest[: match.start()]
        if not known(piece) and (marks != DEFAULT or any(_unsure(mark) for mark in symbols(piece))):
            return [
                *found,
                *[holes.unknown(holes.reason(piece) or "a part of it is not known")] * (number - len(found)),
            ]
        found.append(piece)
        rest = "" if match is None else rest[match.end() :]
    last = split(rest, marks)
    return [*found, last[0] if len(last) == 1 else rest]


def _unsure(mark: str) -> bool:
    return ord(mark) >= FIRST_REASON


def _blanks(marks: str) -> str:
    return "".join(mark for mark in marks if mark in DEFAULT)


@lru_cache(maxsize=64)
def _separator(marks: str) -> re.Pattern[str] | None:
    if not marks:
        return None
    blank = re.escape(_blanks(marks))
    hard = re.escape("".join(mark for mark in marks if mark not in DEFAULT))
    if not hard:
        return re.compile(f"[{blank}]+")
    return re.compile(f"[{blank}]*[{hard}][{blank}]*|[{blank}]+" if blank else f"[{hard}]")
