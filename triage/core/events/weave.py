"""Finds zones where several processes wrote tracebacks at once, and cuts their lines into pieces.

A zone is woven when no single process can have written it: a header before the last traceback got its exception, a
frame or header behind other text on a line, a frame after an exception without a header between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from triage.core.events.frames import (
    FRAME_RE,
    HEADER,
    SUMMARY_RE,
    Lines,
    exception_at,
    frame_at,
    is_exception_name,
    separator_at,
)
from triage.core.lazy import lazy
from triage.core.values import dataclass

_PIECE_RE = lazy(re.escape(HEADER) + "|" + FRAME_RE.pattern)
_GROUP_RE = lazy(r"\s*(?:\|(?: |\Z)|\+[- ])")
_LOOSE_RE = lazy(r"Call stack:|ray::|.*ray::")
_GAP = 40
_AFTER = 12
MAX_ZONE = 20_000
_SHORTEST = 6


@dataclass(slots=True)
class Budget:
    """States that searches in one stream may still look at; a hostile stream must not cost more."""

    left: int = 600_000


@dataclass(frozen=True, slots=True)
class Zone:
    """Lines `[start, end)` in which tracebacks stand close together."""

    start: int
    end: int
    woven: bool


def zone_at(lines: Lines, start: int, indent: int = 0) -> Zone:
    """The zone whose first header or frame stands at `start`; clean tracebacks before woven ones end it.

    `indent` is how far a whole traceback is indented there.
    """
    base = lines.kinds[start]
    waiting, woven, loose, cut = False, False, True, False
    opened, raised, restart = 0, 0, start
    last, gap, index = start, 0, start
    while index < min(len(lines.texts), start + MAX_ZONE):
        text = lines.texts[index]
        if indent and text[:indent].isspace():
            text = text[indent:]
        evidence = False
        if _GROUP_RE.match(text):
            waiting, loose, last, gap = False, True, index, 0
        elif HEADER in text:
            if HEADER + "\\n" in text or (cut and (waiting or woven)):
                break
            if (woven and not waiting and raised >= opened) or (index > start and SUMMARY_RE.match(text)):
                break
            if not waiting and not woven:
                restart, opened, raised = index, 0, 0
            glued = text.count(HEADER) > 1 or (index > start and _glued(text, text.find(HEADER)))
            evidence = glued or waiting
            opened += text.count(HEADER)
            waiting, loose, last, gap = True, False, index, 0
        elif 'File "' in text and (found := FRAME_RE.search(text)):
            first = frame_at(text) is not None
            evidence = FRAME_RE.search(text, found.end()) is not None
            evidence |= not first and waiting and _glued_frame(text[: found.start()])
            evidence |= first and not waiting and not loose
            if first or waiting:
                last, gap, cut = index, 0, False
        elif not text.strip() or text[0] in " \t":
            gap += 1
        elif separator_at(text):
            loose = True
        elif _LOOSE_RE.match(text):
            loose, waiting = True, False
        elif _raises(lines, index, text, base):
            raised += _count(text)
            waiting, gap, last = False, 0, index
            loose |= "ray::" in text
        elif lines.foreign(index, base):
            if not waiting and not (woven and raised < opened):
                break
            cut = True
            gap += 1
        else:
            gap += 1
        if evidence and not woven:
            if restart > start:
                return Zone(start, restart, woven=False)
            woven = True
        if gap > (_GAP if waiting or woven else _AFTER):
            break
        index += 1
    end = _tail(lines, last + 1, base) if woven else last + 1
    return Zone(start, max(end, start + 1), woven)


def _glued(text: str, position: int) -> bool:
    """Whether a header stands behind another process's text; blanks alone are the indent of its source line."""
    before = text[:position]
    return (before.strip() == "" and len(before) >= 4) or before.rstrip().endswith(("(", ")", ","))


def _glued_frame(before: str) -> bool:
    """Whether a frame stands behind a source line or an exception; in a sentence it is only quoted."""
    return before.strip() != "" and (before.endswith("  ") or before.rstrip().endswith(("(", ")", ",")))


def _raises(lines: Lines, index: int, text: str, base: object) -> bool:
    found = exception_at(text)
    if found is None or lines.kinds[index] not in (None, base):
        return False
    if found[2]:
        return True
    for following in lines.texts[index + 1 : index + 3]:
        if HEADER in following:
            return True
        if frame_at(following):
            return False
    return True


def _count(text: str) -> int:
    """How many exceptions a line names at its start: two when two processes wrote them there."""
    name = exception_at(text)
    return max(1, len(re.findall(r"(?:Error|Exception|Exit|Interrupt)(?=[A-Z:]|\Z)", name[0]))) if name else 0


def _tail(lines: Lines, index: int, base: object) -> int:
    """Past the last exception of a woven zone stand the rests of messages."""
    stop = min(index + 12, len(lines.texts))
    while index < stop and not lines.foreign(index, base):
        index += 1
    while index > 0 and not lines.texts[index - 1].strip():
        index -= 1
    return index


@dataclass(slots=True)
class Piece:
    """One piece of a woven zone."""

    kind: str
    """`header`, `frame`, `code`, `raise` (an exception's name), `text` (a message or a part of one)."""
    line: int
    text: str
    frame: tuple[str, int, str] | None = None


def pieces(lines: Lines, zone: Zone) -> list[Piece]:
    """The zone's lines cut at every header, at every frame and where two source lines are glued together."""
    base = lines.kinds[zone.start]
    cut: list[Piece] = []
    for index in range(zone.start, zone.end):
        text, position = lines.texts[index], 0
        if HEADER not in text and lines.foreign(index, base):
            continue
        for match in _PIECE_RE.finditer(text):
            cut += _texts(index, text[position : match.start()], position)
            position = match.end()
            if match[0] == HEADER:
                cut.append(Piece("header", index, ""))
            else:
                cut.append(
                    Piece("frame", index, "", (match["file"], int(match["line"]), match["function"] or ""))
                )
        cut += _texts(index, text[position:], position)
    return _unglue(cut)


def _texts(index: int, text: str, position: int) -> Iterator[Piece]:
    stripped = text.strip()
    if not stripped or not stripped.strip("~^ "):
        return
    indented = text[:1] == " " and position == 0
    for part in re.split(r"(?<=\S) {4,}(?=[^\s#])", stripped):
        yield Piece("code" if indented else "text", index, part.strip())


def _unglue(cut: list[Piece]) -> list[Piece]:
    """Cuts `main()main()` and the like, written without a blank between, where the parts are known by themselves."""
    known: dict[str, list[str]] = {}
    for text in {p.text for p in cut if p.kind in ("code", "text") and len(p.text) >= _SHORTEST}:
        if text[-1] not in "(),:" or not balanced(text):
            continue
        known.setdefault(text[:_SHORTEST], []).append(text)
    parts: dict[str, list[str]] = {}
    result: list[Piece] = []
    for piece in cut:
        if piece.kind not in ("code", "text"):
            result.append(piece)
            continue
        if piece.text not in parts:
            parts[piece.text] = _segments(piece.text, known)
        result += [Piece(piece.kind, piece.line, part) for part in parts[piece.text]]
    return result


def balanced(text: str) -> bool:
    """Whether a source line closes no more brackets than it opens, and none behind its first call's end."""
    depth = 0
    for number, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (depth == 0 and letter == ")" and text[number + 1 : number + 2].isidentifier()):
            return False
    return True


def _segments(text: str, known: dict[str, list[str]]) -> list[str]:
    """`text` as a row of known source lines with at most a rest at its end; itself where it is none."""
    found: list[str] = []
    position = 0
    while position < len(text) and len(found) < 64:
        fitting = [
            code for code in known.get(text[position : position + _SHORTEST], ())[:64]
            if len(code) < len(text) and text.startswith(code, position)
        ]  # fmt: skip
        if not fitting:
            break
        whole = [code for code in fitting if position + len(code) == len(text)]
        best = whole[0] if whole else min(fitting, key=len)
        found.append(best)
        position += len(best)
    rest = text[position:].strip()
    if (
        not found
        and (following := text.find(text[:12], 12)) > 0
        and text == text[:following] * (len(text) // following)
    ):
        return [text[:following]] * (len(text) // following)
    if not found or (rest and not re.match(r"[^\W\d]", rest)):
        return [text]
    return [*found, rest] if rest else found


def known_names(cut: list[Piece]) -> list[str]:
    """Names of exceptions that stand at the start of some piece, longest first."""
    names: set[str] = set()
    for piece in cut:
        if piece.kind not in ("code", "text"):
            continue
        found = exception_at(piece.text)
        dotted = found is not None and piece.kind == "text" and "." in found[0]
        if found is not None and (dotted or is_exception_name(found[0])):
            names.add(collapse(found[0]))
    return sorted(names, key=len, reverse=True)


def collapse(name: str) -> str:
    """`torch.cuda.torch.cuda.OutOfMemoryError`, as two processes print it together, is one name."""
    name = re.sub(r"\A((?:[^\W\d]\w*\.)+?)\1+", r"\1", name)
    return re.sub(r"\A(.*?([A-Z]\w*?(?:Error|Exception|Exit|Interrupt)))(?:\2)+\Z", r"\1", name)
