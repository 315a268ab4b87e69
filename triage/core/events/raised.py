"""Exceptions of a woven zone: their names and messages, both possibly glued or apart."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from triage.core.events.chain import MAX_BYTES
from triage.core.events.codes import Key
from triage.core.events.frames import cut_tail
from triage.core.events.weave import Piece, balanced, collapse, known_names
from triage.core.lazy import lazy

_COLONS_RE = lazy(r"\A(?:\s*:(?=\s|\Z))+|(?:\s*:\s*)+\Z")


@dataclass(slots=True, eq=False)
class Raised:
    """An exception's name as it was printed, and what was found of its message."""

    name: str
    line: int
    message: str | None = None
    colon: bool = False
    """The colon that a message follows has been seen."""
    lines: list[int] = field(default_factory=list)


class Raises:
    """Reads exception names and their messages, both possibly glued, in the order of their appearance."""

    def __init__(self, cut: list[Piece], codes: dict[Key, str]) -> None:
        self.cut = cut
        names = known_names(cut)
        self.full = {name.rpartition(".")[2]: name for name in reversed(names) if "." in name}
        self.names = sorted({*names, *self.full}, key=len, reverse=True)[:64]
        known = {code for code in codes.values() if len(code) > 5}
        known |= {p.text for p in cut if self._is_code(p)}
        self.codes = sorted(known, key=len, reverse=True)[:400]
        self.found: list[Raised] = []
        self.waiting: list[Raised] = []
        pattern = "|".join(re.escape(name) for name in self.names)
        modules = r"(?:[^\W\d]\w*\.)*?"
        self.name_re = re.compile(rf"(?<![\w.])({modules})({pattern})(?![(,)\]'\"])") if pattern else None

    def _is_code(self, piece: Piece) -> bool:
        """Whether a piece looks like a source line: a call that stands alone."""
        text = piece.text
        if piece.kind not in ("code", "text") or len(text) < 6 or not text.endswith((")", "(")):
            return False
        if text.startswith(tuple(self.names)) or ": " in text:
            return False
        return piece.kind == "code" or (
            balanced(text) and re.match(r"(?:return |[\w.]+ = )?[\w.]+\(", text) is not None
        )

    def read(self) -> list[Raised]:
        for piece in self.cut:
            if piece.kind not in ("code", "text"):
                continue
            if self.name_re is not None and self.name_re.search(piece.text) and self._names(piece):
                continue
            if self.found and piece.kind == "text":
                self._text(piece.text, piece.line)
        self._fill()
        return self.found

    def _without_codes(self, text: str) -> str:
        for code in self.codes:
            if code in text:
                text = text.replace(code, " ")
        return text

    def _names(self, piece: Piece) -> bool:
        """Reads a piece that names exceptions; False when it only quotes their names."""
        text = piece.text
        if piece.kind == "code" and re.match(r"(?:raise|except|assert|return|if|with|from|import)\b", text):
            return False
        text = self._spread(self._without_codes(text))
        starts = (
            [m for m in self.name_re.finditer(text) if self._stands_alone(text, m)] if self.name_re else []
        )
        if not starts:
            return False
        before = text[: starts[0].start()].strip()
        if before and self.found:
            self._text(before, piece.line)
        for match, following in zip(starts, [*starts[1:], None], strict=True):
            name = collapse(match[1] + match[2])
            raised = Raised(self.full.get(name, name), piece.line, lines=[piece.line])
            self.found.append(raised)
            self.waiting.append(raised)
            rest = text[match.end() : following.start() if following else len(text)]
            if rest.startswith(":"):
                raised.colon = True
                units = _units(_COLONS_RE.sub("", rest))
                if units:
                    raised.message = units[0]
                    self.waiting.remove(raised)
                self._colons(rest[1:])
                self._messages(units[1:], piece.line)
            elif rest.strip():
                self._text(rest, piece.line)
        return True

    def _text(self, text: str, line: int) -> None:
        text = self._without_codes(text).strip()
        self._colons(text)
        self._messages(_units(_COLONS_RE.sub("", text)), line)

    def _colons(self, text: str) -> None:
        """A colon that stands apart ends the name of the first exception that has none yet."""
        lead, trail = re.match(r"(?:\s*:(?=\s|\Z))*", text), re.search(r"(?:'\s*:\s*)\Z", text)
        count = (lead[0].count(":") if lead else 0) + (trail is not None)
        for raised in self.waiting:
            if count and not raised.colon:
                raised.colon = True
                count -= 1

    def _messages(self, units: list[str], line: int) -> None:
        for unit in units:
            ready = next((raised for raised in self.waiting if raised.colon), None)
            last = self.found[-1]
            if ready is not None:
                ready.message = unit
                ready.lines.append(line)
                self.waiting.remove(ready)
            elif (
                last.message is not None and line - last.lines[-1] in (0, 1) and len(last.message) < MAX_BYTES
            ):
                if unit not in last.message:
                    last.message += "\n" + unit
                last.lines.append(line)

    def _fill(self) -> None:
        """An exception whose message was lost gets what others of its name said."""
        common: dict[str, Counter[str]] = {}
        for raised in self.found:
            if raised.message:
                common.setdefault(raised.name, Counter())[raised.message] += 1
        for raised in self.waiting:
            if raised.name in common:
                raised.message = common[raised.name].most_common(1)[0][0]

    def _spread(self, text: str) -> str:
        """Puts a blank between names that stand glued: `KeyErrorKeyError: : ` becomes two names."""
        for name in self.names:
            text = re.sub(rf"({re.escape(name)})(?=[^\W\d])", r"\1 ", text)
        return text

    def _stands_alone(self, text: str, match: re.Match[str]) -> bool:
        rest, before = text[match.end() :], text[: match.start()]
        if re.search(r"\b(?:raise|except|from|import|isinstance)\s*\Z", before):
            return False
        if rest[:1] not in ("", ":", " "):
            return False
        if rest[:1] == " " and rest.strip() and not rest.lstrip().startswith(":"):
            return (
                self.name_re is not None and self.name_re.match(rest.lstrip()) is not None
            ) or not before.strip()
        first = self.name_re.search(before) if self.name_re else None
        if first is None or not before.strip():
            return True
        glued = before[first.end() :].strip(" :")
        return (
            not glued
            or not before.endswith(" ")
            or match[2].rpartition(".")[2] == first[2].rpartition(".")[2]
        )


def _units(text: str) -> list[str]:
    """A message that stands several times in a row, once per occurrence."""
    text = cut_tail(text).strip()
    if not text:
        return []
    head = text[:16]
    if len(head) < 16:
        half, odd = divmod(len(text), 2)
        return [text[:half]] * 2 if not odd and half > 3 and text[:half] == text[half:] else [text]
    units, position = [], 0
    while True:
        following = text.find(head, position + len(head))
        unit = text[position : following if following >= 0 else len(text)]
        units.append(re.sub(r"(?:\s*:)*\s*\Z", "", unit) if following >= 0 else unit.strip())
        if following < 0 or len(units) > 64:
            return units
        position = following
