"""`#SBATCH` lines, read as sbatch itself does.

Source: SchedMD/slurm src/sbatch/opt.c (`_opt_batch_script`, `get_argument`), alike from 22.05 to 24.11: the word must
stand at the line's start; reading ends at the first line that is neither empty nor a comment; blanks split, quotes and
backslashes join; an unquoted `#` ends the line wherever it stands; the last one of an option counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.core.script.holes import known
from triage.core.script.slurm_options import SBATCH_LONG, SBATCH_SHORT, Option, read_options
from triage.core.script.state import Field
from triage.core.values import dataclass, replace

_MAGIC = ("#SBATCH", "#SLURM")
_SEPARATOR = re.compile(r"(?:packjob|hetjob)(?=\s|$)", re.I)
_LOOKS = re.compile(
    r"\s*#+\s*(?:SBATCH|SBTACH|SBACTH|SBACH|SBATH|SABTCH|SBATCHE?S?)[:=]?\s+-{1,2}[A-Za-z]|\s*#(?:sbatch|Sbatch)\s+-"
)
_BLANK_LEFT = re.compile(r"<[^<>]*\s[^<>]*>|\{[^{}]*\s[^{}]*\}|\[[^\[\]]*\s[^\[\]]*\]")
"""A placeholder with blanks in it (`<your account>`)."""
_SHELL = re.compile(r"\$\{?[A-Za-z_(]|`")
_HERE = re.compile(r"(?<!<)<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_]\w*))", re.ASCII)
_MOST = 2000
"""Directive lines that are read."""


@dataclass(frozen=True, slots=True)
class Stray:
    """Something about a directive line that is not as its author meant it."""

    kind: str
    """`ignored` (behind the first command), `indented`, `not-a-directive`, `unmatched-quote`, `no-option`, `colon`,
    `placeholder`."""
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Directives:
    """All `#SBATCH` lines of a script, in order."""

    options: tuple[Option, ...] = ()
    """Those of the first component of a heterogeneous job."""
    strays: tuple[Stray, ...] = ()
    components: int = 1
    """More than one in a heterogeneous job: then the first does not tell the whole job."""
    first_command: int | None = None
    """The line at which sbatch stops reading."""
    dos: bool = False
    """Lines end in CR LF, which sbatch refuses."""
    shebang: str = ""
    first_line: int = 1

    @property
    def any(self) -> bool:
        return bool(self.options or self.strays)

    def get(self, name: str) -> Option | None:
        """The one that counts."""
        return next((item for item in reversed(self.options) if item.name == name), None)

    def outranked(self, options: Sequence[Option]) -> Directives:
        """With what sbatch is given on its command line, which counts more."""
        names = {item.name for item in options}
        kept = (item for item in self.options if item.name not in names)
        return replace(self, options=(*kept, *options))

    def text(self, name: str) -> str | None:
        option = self.get(name)
        return option.value.text if option is not None and option.value is not None else None


def read_directives(text: str, first_line: int = 1) -> Directives:
    """The directives of a script that begins in that line."""
    words: list[Field] = []
    strays: list[Stray] = []
    components, first_command, seen = 1, None, 0
    lines = text.split("\n")
    inner = _here_documents(lines, first_line)
    for number, line in enumerate(lines, first_line):
        if number in inner:
            continue
        magic = next((mark for mark in _MAGIC if line.startswith(mark)), None)
        if magic is None:
            stripped = line.strip()
            if stripped.startswith("#") and _LOOKS.match(line):
                strays.append(_lookalike(line, number, ignored=first_command is not None))
            elif stripped and not stripped.startswith("#") and first_command is None:
                first_command = number
            continue
        seen += 1
        if seen > _MOST:
            continue
        rest = line[len(magic) :].strip()
        if first_command is not None:
            strays.append(Stray("ignored", line.strip(), number))
        elif _SEPARATOR.match(rest):
            components += 1
        elif components == 1:
            found, problem = _arguments(rest, number)
            words += found
            strays += [problem] if problem else []
    options, position = read_options(words, SBATCH_LONG, SBATCH_SHORT)
    if position < len(words):
        word = words[position]
        left = _BLANK_LEFT.search(lines[word.line - first_line])
        strays.append(
            Stray("placeholder", left[0], word.line) if left else Stray("no-option", word.text, word.line)
        )
    dos, shebang = "\r\n" in text, lines[0] if lines else ""
    return Directives(tuple(options), tuple(strays), components, first_command, dos, shebang, first_line)


def _here_documents(lines: list[str], first_line: int) -> set[int]:
    """The lines inside of here-documents: text for another program, often another script for sbatch."""
    last = {line.strip(): number for number, line in enumerate(lines, first_line)}
    found: set[int] = set()
    waiting: list[tuple[str, str]] = []
    for number, line in enumerate(lines, first_line):
        if waiting:
            tabs, word = waiting[0]
            if (line.lstrip("\t") if tabs else line).rstrip("\r") == word:
                waiting.pop(0)
            else:
                found.add(number)
        elif "<<" in line and not line.lstrip().startswith("#"):
            marks = ((here[1], here[2] or here[3] or here[4]) for here in _HERE.finditer(line))
            waiting = [(tabs, word) for tabs, word in marks if last.get(word, 0) > number]
    return set() if waiting else found


def _lookalike(line: str, number: int, *, ignored: bool) -> Stray:
    if line.lstrip().startswith(_MAGIC):
        return Stray("ignored" if ignored else "indented", line.strip(), number)
    return Stray("not-a-directive", line.strip(), number)


def _arguments(text: str, line: int) -> tuple[list[Field], Stray | None]:
    """The words of one directive line (`get_argument`)."""
    found: list[Field] = []
    current: list[str] | None = None
    quote, escaped = "", False
    for char in text:
        if escaped:
            current = current or []
            current.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif quote:
            if char == quote:
                quote = ""
            else:
                current = current or []
                current.append(char)
        elif char in "\"'":
            quote = char
        elif char == "#":
            break
        elif char.isspace():
            if current is not None:
                found.append(_field(current, line))
            current = None
        elif char == ":" and current is None:
            return found, Stray("colon", text, line)
        else:
            current = current or []
            current.append(char)
    if current is not None:
        found.append(_field(current, line))
    return found, Stray("unmatched-quote", text, line) if quote else None


def _field(chars: list[str], line: int) -> Field:
    """A word; one that begins with something that is not known may as well be several options."""
    text = "".join(chars)
    return Field(text, line, many=not known(text[:1]))


def holds_variable(text: str) -> bool:
    """Whether a value counts on the shell, which never sees directives (`--job-name=$NAME`)."""
    return _SHELL.search(text) is not None
