"""Words of a shell script: quoting and expansions taken apart, as bash 5 reads them (its manual, "Quoting").

All loops run over the text once: what is never closed reaches to its end.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from triage.core.script.tree import Part, Word

_BARE = re.compile(r"[^\s'\"\\$`;&|<>()]+")
_IN_DOUBLE = re.compile(r'[^"\\$`]+')
_IN_HERE = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_STOP = re.compile(r"[\\'\"`(){}]|\$[({]|(?<=\s)#|<<(?!<)")
_STOP_DOUBLE = re.compile(r'[\\"`]|\$[({]')
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.-]+))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,6})|([0-7]{1,3})|(.))", re.DOTALL
)


class Lines:
    """Line numbers of positions in a text that itself begins in some line of the script."""

    def __init__(self, text: str, first: int) -> None:
        self._starts = [match.end() for match in re.finditer("\n", text)]
        self._first = first

    def at(self, position: int) -> int:
        return self._first + bisect_right(self._starts, position)


def closing(text: str, start: int, opened: str) -> int:
    """Where what was opened in front of `start` (`(`, `{`, `"` or a backtick) is closed, else the text's end."""
    stack, position = [opened], start
    while stack:
        top = stack[-1]
        if top == "`":
            position = _backtick(text, position)
            stack.pop()
            continue
        match = (_STOP_DOUBLE if top == '"' else _STOP).search(text, position)
        if match is None:
            return len(text)
        position, mark = match.end(), match[0]
        if mark == "\\":
            position += 1
        elif mark in ("$(", "${", "`") or (mark == '"' and top != '"'):
            stack.append(mark[-1])
        elif mark == '"' or (mark == ")" and top == "(") or (mark == "}" and top == "{"):
            stack.pop()
        elif mark == "(" and top == "(":
            stack.append("(")
        elif mark == "'" and not (top == "{" and '"' in stack):
            position = _find(text, "'", position) + 1
        elif mark == "#" and top == "(":
            position = _find(text, "\n", position)
        elif mark == "<<" and top == "(" and (here := _HERE.match(text, match.start())):
            position = _behind_here(text, here)
    return min(position, len(text) + 1) - 1


def _find(text: str, mark: str, position: int) -> int:
    found = text.find(mark, position)
    return len(text) if found < 0 else found


def _backtick(text: str, position: int) -> int:
    while (found := _find(text, "`", position)) < len(text) and text[found - 1] == "\\":
        position = found + 1
    return found + 1


def _behind_here(text: str, here: re.Match[str]) -> int:
    """Behind a here-document's body; behind its mark if it has no end (`1 << 4` in an arithmetic)."""
    delimiter = next(item for item in here.groups()[1:] if item is not None)
    end = re.compile(rf"\n[ \t]*{re.escape(delimiter)}[ \t]*(?=\n|\)|$)").search(text, here.end())
    return here.end() if end is None else end.end()


def read_word(text: str, position: int, lines: Lines) -> tuple[Word, int]:
    """The word that begins at `position`, and where it ends."""
    parts: list[Part] = []
    while position < len(text):
        char, line = text[position], lines.at(position)
        if match := _BARE.match(text, position):
            parts.append(Part("text", match[0], False, line))
            position = match.end()
        elif char == "\\":
            if text[position + 1 : position + 2] != "\n":
                parts.append(Part("text", text[position + 1 : position + 2], True, line))
            position += 2
        elif char == "'":
            end = _find(text, "'", position + 1)
            parts.append(Part("text", text[position + 1 : end], True, line))
            position = end + 1
        elif char == '"':
            inner, position = _double(text, position + 1, lines, _IN_DOUBLE)
            parts += inner or [Part("text", "", True, line)]
            position += 1
        elif char in "$`":
            part, position = _expansion(text, position, lines, quoted=False)
            parts.append(part)
        else:
            break
    return tuple(parts), min(position, len(text))


def read_here(text: str, first: int) -> Word:
    """The body of an unquoted here-document."""
    return tuple(_double(text, 0, Lines(text, first), _IN_HERE)[0])


def _double(text: str, position: int, lines: Lines, plain: re.Pattern[str]) -> tuple[list[Part], int]:
    """The parts up to the closing double quote; with `_IN_HERE` up to the end."""
    parts: list[Part] = []
    here = plain is _IN_HERE
    while position < len(text):
        line = lines.at(position)
        if match := plain.match(text, position):
            parts.append(Part("text", match[0], True, line))
            position = match.end()
        elif text[position] == "\\":
            following = text[position + 1 : position + 2]
            if following and following in ("$`\\\n" if here else '$`"\\\n'):
                if following != "\n":
                    parts.append(Part("text", following, True, line))
            else:
                parts.append(Part("text", "\\" + following, True, line))
            position += 2
        elif text[position] == '"':
            break
        else:
            part, position = _expansion(text, position, lines, quoted=True)
            parts.append(part)
    return parts, position


def _expansion(text: str, position: int, lines: Lines, *, quoted: bool) -> tuple[Part, int]:
    """What a `$` or a backtick begins, and where it ends."""
    line = lines.at(position)
    if text[position] == "`":
        end = _backtick(text, position + 1)
        body = re.sub(r"\\([\\`$])", r"\1", text[position + 1 : end - 1])
        return Part("command", body, quoted, line), end
    following = text[position + 1 : position + 2]
    if following == "(":
        end = closing(text, position + 2, "(")
        body = text[position + 2 : end]
        if body.startswith("(") and body.endswith(")"):
            return Part("arithmetic", body[1:-1], quoted, line), end + 1
        return Part("command", body, quoted, line), end + 1
    if following == "{":
        end = closing(text, position + 2, "{")
        return Part("parameter", text[position + 2 : end], quoted, line), end + 1
    if following == "[":
        end = _find(text, "]", position + 2)
        return Part("arithmetic", text[position + 2 : end], quoted, line), end + 1
    if match := _NAME.match(text, position + 1):
        return Part("parameter", match[0], quoted, line), match.end()
    if not quoted and following == "'":
        return _ansi(text, position + 2, line)
    if not quoted and following == '"':
        return Part("text", "", True, line), position + 1
    return Part("text", "$", quoted, line), position + 1


def _ansi(text: str, position: int, line: int) -> tuple[Part, int]:
    """`$'...'`."""
    end = position
    while (end := _find(text, "'", end)) < len(text) and _odd_backslashes(text, position, end):
        end += 1
    return Part("text", _ANSI.sub(_escape, text[position:end]), True, line), end + 1


def _odd_backslashes(text: str, start: int, end: int) -> bool:
    count = 0
    while end - count > start and text[end - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def _escape(match: re.Match[str]) -> str:
    for digits, base in ((match[1], 16), (match[2], 16), (match[3], 16), (match[4], 8)):
        if digits is not None:
            code = int(digits, base)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _ESCAPES.get(match[5], match[5] if match[5] in "\\'\"?" else "\\" + match[5])


def read_argument(text: str, line: int) -> Word:
    """The word behind an operator inside `${}`, which may hold blanks."""
    if not any(mark in text for mark in "$`\\'\""):
        return (Part("text", text, True, line),)
    parts: list[Part] = []
    lines, position = Lines(text, line), 0
    while position < len(text):
        more, after = read_word(text, position, lines)
        parts += more
        if after == position:
            parts.append(Part("text", text[position], False, line))
            after += 1
        position = after
    return tuple(parts)
