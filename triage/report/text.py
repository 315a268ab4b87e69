"""The verdict for a terminal: the answer in the first lines, then the evidence for it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from triage.core.cause.verdict import Downstream
from triage.core.lazy import lazy
from triage.report.view import Options, View, effect_lines, frame_text, lines_text

_LABEL = 12
_UNDER = 2
"""Columns by which what stands under a label is indented."""
_NARROW = 60
"""Below this width a label stands on a line of its own."""
_WIDEST = 120
"""Longer lines are hard to read."""
_MESSAGE_LINES = 8
_BOLD_RED, _BOLD_GREEN, _BOLD_YELLOW, _DIM, _BOLD = "1;31", "1;32", "1;33", "2", "1"


def render(view: View, options: Options) -> str:
    """The report; no line is wider than `options.width` columns (at least 20)."""
    page = _Page(max(20, min(options.width, _WIDEST)), options.color)
    verdict, root = view.verdict, view.verdict.root
    page.headline(view)
    page.block("where", [view.where])
    if root is not None:
        page.place(view.evidence_name, lines_text(root.evidence))
        page.block("exception" if root.exception else "message", _message(view.exception))
        page.path("frame", frame_text(root.frame))
        page.block("chain", [_link(link.exception, link.message) for link in root.chain[:6]], bullet="- ")
    page.block("time", [view.time])
    page.block("attempt", [view.attempt])
    page.block("job", [view.job])
    page.block("slurm", [view.scheduler])
    page.effects("downstream", verdict.downstream)
    page.effects("unexplained", verdict.unexplained)
    page.block("facts", view.facts)
    page.block("why", verdict.reasons, bullet="- ")
    page.block("next steps", verdict.next_steps, bullet="- ")
    page.block("scanned", [view.scanned])
    page.block("skipped", view.skipped)
    return page.text()


def _message(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) > _MESSAGE_LINES:
        return [*lines[:_MESSAGE_LINES], f"... ({len(lines) - _MESSAGE_LINES} more lines)"]
    return [line if len(line) <= 1000 else f"{line[:1000]} ..." for line in lines]


def _link(exception: str | None, message: str) -> str:
    first = next((line for line in message.splitlines() if line.strip()), "")
    return f"{exception or '(cut off)'}: {first[:200]}" if first else exception or "(cut off)"


class _Page:
    """Lines of the report, laid out for one width."""

    def __init__(self, width: int, color: bool) -> None:
        self._width = width
        self._color = color
        self._indent = _UNDER if width < _NARROW else _LABEL
        self._lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def headline(self, view: View) -> None:
        verdict = view.verdict
        code = (
            _BOLD_GREEN
            if not verdict.failed
            else _BOLD_YELLOW
            if verdict.category == "unknown"
            else _BOLD_RED
        )
        self._lines += [self._paint(line, code) for line in wrapped(view.headline, self._width)]
        self._lines += [self._paint(line, _BOLD) for line in wrapped(" | ".join(view.tags), self._width)]
        self._lines.append("")

    def block(self, label: str, paragraphs: Iterable[str], bullet: str = "") -> None:
        """A label and its wrapped paragraphs; nothing where all are empty."""
        lines: list[str] = []
        room = self._width - self._indent - len(bullet)
        for paragraph in paragraphs:
            for number, line in enumerate(wrapped(paragraph, room)):
                lines.append((bullet if number == 0 else " " * len(bullet)) + line)
        self._labelled(label, lines)

    def path(self, label: str, text: str) -> None:
        """A label and a path that stays on one line, shortened where it must be."""
        self._labelled(label, [shortened(text, self._width - self._indent)] if text else [])

    def place(self, label: str, text: str) -> None:
        """A label and a file's path, to be opened: below the label where it needs the whole width, and shortened only
        where even that is too narrow."""
        if columns(text) <= self._width - self._indent:
            self.path(label, text)
        else:
            self._lines += [self._paint(label, _DIM), self._long(text)]

    def effects(self, label: str, effects: Iterable[Downstream]) -> None:
        """What followed from the root, each with the place where it shows first."""
        lines: list[str] = []
        room = self._width - self._indent
        for text, place in effect_lines(effects):
            if place and columns(text) + 2 + columns(place) <= room:
                lines.append(f"{text}  {place}")
                continue
            lines += wrapped(text, room)
            if place and columns(place) + 2 > room:
                self._labelled(label, lines)
                self._lines.append(self._long(place))
                label, lines = "", []
            elif place:
                lines.append("  " + place)
        self._labelled(label, lines)

    def _long(self, path: str) -> str:
        return " " * _UNDER + shortened(path, self._width - _UNDER)

    def _labelled(self, label: str, lines: list[str]) -> None:
        if not lines:
            return
        if self._width < _NARROW:
            self._lines += [self._paint(label, _DIM)] if label else []
            self._lines += [" " * _UNDER + line for line in lines]
            return
        self._lines.append(self._paint(label.ljust(_LABEL), _DIM) + lines[0])
        self._lines += [" " * _LABEL + line for line in lines[1:]]

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._color else text


def columns(text: str) -> int:
    """Terminal columns: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; a word that is wider is cut; no line for empty text.

    A command between backquotes stays on one line; one that is wider goes on with a backslash, ready to paste.
    """
    lines: list[str] = []
    line, used = "", 0
    for word in _WORD.findall(text):
        pieces = _continued(word, width) if " " in word and columns(word) > width else [*_cut(word, width)]
        for number, piece in enumerate(pieces):
            size = columns(piece)
            if line and (used + 1 + size > width or (number > 0) or (len(pieces) > 1 and " " in word)):
                lines.append(line)
                line, used = piece, size
            else:
                line, used = (f"{line} {piece}", used + 1 + size) if line else (piece, size)
    return [*lines, line] if line else lines


_WORD = lazy(r"[^\s`]*`[^`\n]*`[^\s`]*|\S+")
"""A word, or a command between backquotes with what is glued to it."""


_ARGUMENT = lazy(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"]|['\"])+")


def _continued(command: str, width: int) -> list[str]:
    """A command over several lines, as a shell reads it: broken outside of quotes only, and wide where that is all."""
    lines: list[str] = []
    line = ""
    for word in _ARGUMENT.findall(command):
        if line and columns(line) + columns(word) + 3 > width:
            lines.append(line + " \\")
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _cut(word: str, width: int) -> Iterator[str]:
    while columns(word) > width:
        cut = _fitting(word, width)
        cut = word.rfind("/", cut // 2, cut) + 1 or cut
        yield word[:cut]
        word = word[cut:]
    if word:
        yield word


def _fitting(text: str, width: int) -> int:
    """How many characters of the text fit into the width; at least one."""
    used = 0
    for number, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return max(1, number)
    return len(text)


def shortened(path: str, width: int) -> str:
    """A path cut from the left to `width` columns, at a slash where there is one: its end tells file and line."""
    path = " ".join(path.split())
    if columns(path) <= width:
        return path
    room = max(1, width - 3)
    end = path[len(path) - _fitting(path[::-1], room) :]
    slash = end.find("/")
    return "..." + (end[slash:] if 0 <= slash < len(end) // 2 else end)
