"""The tokens of a script: blanks, reserved words, words, redirections and the bodies of here-documents."""

from __future__ import annotations

import re

from triage.core.script.tree import Part, Redirect, Word
from triage.core.script.words import Lines, closing, read_here, read_word

_BLANK = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_KEYWORD = re.compile(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|[{}!])(?=[\s;&|<>()]|$)"
)
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\}|&(?=>))?(<<<|<<-?|<&|>&|<>|>>|>\||>|<)(?!\()", re.ASCII)
_DELIMITER = re.compile(r"(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s;&|<>()'\"]+))")


class Tokens:
    """A text and how far it is read."""

    def __init__(self, text: str, first_line: int, depth: int) -> None:
        self.text = text
        self.position = 0
        self.depth = depth
        self.lines = Lines(text, first_line)
        self.bodies: dict[int, int] = {}
        """Line ends behind which a here-document stands, and where it ends."""

    @property
    def line(self) -> int:
        return self.lines.at(self.position)

    def peek(self, mark: str) -> bool:
        return self.text.startswith(mark, self.position)

    def take(self, mark: str) -> bool:
        if self.peek(mark):
            self.position += len(mark)
            return True
        return False

    def blanks(self) -> None:
        if match := _BLANK.match(self.text, self.position):
            self.position = match.end()
        if self.peek("#") and (comment := _COMMENT.match(self.text, self.position)):
            self.position = comment.end()

    def newlines(self) -> None:
        """Over blank lines, comments and the bodies of here-documents."""
        while True:
            self.blanks()
            if not self.peek("\n"):
                return
            self.position = self.bodies.get(self.position, self.position + 1)

    def keyword(self) -> str:
        match = _KEYWORD.match(self.text, self.position)
        return match[0] if match else ""

    def expect(self, word: str) -> bool:
        self.newlines()
        if self.keyword() == word:
            self.position += len(word)
            return True
        return False

    def word(self) -> Word:
        """The next word, empty at an operator; a process substitution counts as one."""
        parts: Word = ()
        while True:
            more, self.position = read_word(self.text, self.position, self.lines)
            parts += more
            if not (self.peek("<(") or self.peek(">(")):
                return parts
            line = self.line
            end = closing(self.text, self.position + 2, "(")
            parts += (Part("process", self.text[self.position + 2 : end], True, line),)
            self.position = end + 1

    def redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while True:
            start = self.position
            self.blanks()
            item = self.redirect()
            if item is None:
                self.position = start
                return tuple(found)
            found.append(item)

    def redirect(self) -> Redirect | None:
        match = _REDIRECT.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        self.blanks()
        if match[2] in ("<<", "<<-"):
            return Redirect("<<", self.here_document(strip=match[2] == "<<-"))
        return Redirect(match[2], self.word(), match[1] or "")

    def here_document(self, *, strip: bool) -> Word:
        """Its body stands behind the line's end (or behind another body that is already there)."""
        match = _DELIMITER.match(self.text, self.position)
        if match is None:
            return ()
        self.position = match.end()
        literal = match[3] is None or match[0].startswith("\\")
        delimiter = next(item for item in match.groups() if item is not None)
        line_end = self.text.find("\n", self.position)
        if line_end < 0:
            return ()
        start = self.bodies.get(line_end, line_end + 1)
        tabs = r"\t*" if strip else ""
        end = re.compile(rf"^{tabs}{re.escape(delimiter)}\r?$", re.M).search(self.text, start)
        stop = len(self.text) if end is None else end.start()
        self.bodies[line_end] = len(self.text) if end is None else min(end.end() + 1, len(self.text))
        body = self.text[start:stop]
        if strip:
            body = re.sub(r"^\t+", "", body, flags=re.M)
        first = self.lines.at(start)
        return (Part("text", body, True, first),) if literal else read_here(body, first)
