"""Tracebacks that rich prints as boxes: `path:line in function`, a few source lines, `❱` before the one that raised."""

from __future__ import annotations

import re

from triage.core.events.chain import MAX_BYTES, MAX_LINES
from triage.core.events.frames import FrameStack, Lines, cut_tail, exception_at, separator_at
from triage.core.events.model import Frame, Link
from triage.core.lazy import lazy
from triage.core.values import dataclass

_TOP_RE = lazy(r"\s*(?:╭─+|\+-{3,}|┌─+) Traceback \(most recent call last\)")
_BOTTOM_RE = lazy(r"\s*(?:╰─|\+-{10,}\+?\s*\Z|└─{10,})")
_ROW_RE = lazy(r"\s*[│|](?: (?P<inner>.*?))?\s?(?P<edge>[│|])?\s*\Z", re.DOTALL)
_SOURCE_RE = lazy(r"\s*(?P<mark>❱|>)?\s*\d+(?: (?P<code>.*)|\Z)")
_PLACE_RE = lazy(r"(?P<file>.{1,4096}?):(?P<line>\d{1,9})(?: in (?P<function>\S.*))?\Z")
_GUIDES_RE = lazy(r"[│|\s]*")
_INNER_BOX_RE = lazy(r"\s*[╭╰│┌└]")


@dataclass(slots=True)
class Box:
    links: list[Link]
    end: int
    complete: bool
    exception_line: int | None


def starts(text: str) -> bool:
    return _TOP_RE.match(text) is not None


def read_boxes(lines: Lines, start: int, base: object) -> Box:
    """The chain of boxes that starts at `start`, with the message below each box."""
    links: list[Link] = []
    relation, index, where = "", start, None
    while True:
        frames, width, index = _frames(lines, index)
        name, message, index, where = _below(lines, index, width, base)
        links.append(Link(name, message, frames, relation=relation))
        after = _skip_blank(lines, index)
        relation = separator_at(lines.texts[after]) if name and after < len(lines.texts) else ""
        following = _skip_blank(lines, after + 1)
        if not relation or following >= len(lines.texts) or not starts(lines.texts[following]):
            return Box(links, index, name is not None, where)
        index = following


def _skip_blank(lines: Lines, index: int) -> int:
    stop = min(index + 4, len(lines.texts))
    while index < stop and not lines.texts[index].strip():
        index += 1
    return index


def _frames(lines: Lines, start: int) -> tuple[tuple[Frame, ...], int, int]:
    """Frames of one box, its printed width, and the index after its bottom."""
    width = len(lines.texts[start].rstrip())
    stack, index, place = FrameStack(), start + 1, list[str]()
    while index < len(lines.texts):
        text = lines.texts[index]
        row = _ROW_RE.match(text)
        if row is None or starts(text):
            index += _BOTTOM_RE.match(text) is not None and not starts(text)
            break
        inner = (row["inner"] or "").rstrip()
        source = _SOURCE_RE.match(inner)
        if source is not None and not place and stack.last() is not None:
            _mark(stack, source)
        elif not inner or _INNER_BOX_RE.match(inner):
            _place(stack, place)
            place = []
        elif len(place) < 8:
            place.append(row["inner"] or "")
        index += 1
    _place(stack, place)
    return stack.frames(), width, index


def _mark(stack: FrameStack, source: re.Match[str]) -> None:
    last = stack.last()
    if source["mark"] and last is not None and not last.code:
        code = _GUIDES_RE.sub("", source["code"] or "", count=1).strip()
        stack.replace_last(Frame(last.file, last.line, last.function, code))


def _place(stack: FrameStack, place: list[str]) -> None:
    """`path:line in function`, which rich wraps at blanks, or inside a word that is longer than a row."""
    if not place:
        return
    widest = max(len(part) for part in place)
    text = ""
    for part in place:
        text += part.rstrip()
        text += (
            "" if len(part.rstrip()) == widest and widest == len(part) and " " not in part.strip() else " "
        )
    match = _PLACE_RE.match(" ".join(text.split())) or _PLACE_RE.match("".join(text.split()))
    if match is not None:
        stack.add(Frame(match["file"], int(match["line"]), (match["function"] or "").strip()))


def _below(lines: Lines, index: int, width: int, base: object) -> tuple[str | None, str, int, int | None]:
    """The exception and its message under a box; rows that rich wrapped are joined again."""
    found = exception_at(lines.texts[index]) if index < len(lines.texts) else None
    if found is None:
        return None, "", index, None
    where, name, first = index, found[0], found[1]
    index += 1
    if first is None:
        return name, "", index, where
    message, previous = cut_tail(first).rstrip(), len(lines.texts[where].rstrip())
    for _ in range(MAX_LINES):
        if index >= len(lines.texts) or len(message) > MAX_BYTES:
            break
        text = lines.texts[index]
        if not text.strip() or separator_at(text) or starts(text) or lines.foreign(index, base):
            break
        word = text.split(maxsplit=1)[0]
        if previous >= width or not message:
            joint = ""
        else:
            joint = " " if previous + 1 + len(word) > width else "\n"
        message += joint + text.rstrip()
        previous = len(text.rstrip())
        index += 1
    return name, message[:MAX_BYTES], index, where
