"""The parts of a shell script as they are written."""

from __future__ import annotations

from typing import NamedTuple

from triage.core.values import dataclass


class Part(NamedTuple):
    """A piece of a word."""

    kind: str
    """`text`, `parameter` (inside of `${}`), `command` (inside of `$()`) or `arithmetic`."""
    text: str
    quoted: bool
    line: int


Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    index: Word | None
    """`A[i]=...`."""
    append: bool
    """`+=`."""
    value: Word | tuple[tuple[Word | None, Word], ...]
    """A text, or the elements of `(...)`, each with its `[key]=` if it has one."""
    is_array: bool
    line: int


@dataclass(frozen=True, slots=True)
class Redirect:
    operator: str
    target: Word
    """The file; with `<<` and `<<<` what is read from it."""
    descriptor: str = ""


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments in front, words, redirections."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    line: int
    arrays: tuple[Assignment, ...] = ()
    """`A=(...)` behind `declare`, `local`, `export` and their kin."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`(( ... ))`."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    commands: tuple[Node, ...]
    negated: bool
    line: int


@dataclass(frozen=True, slots=True)
class AndOr:
    first: Node
    rest: tuple[tuple[str, Node], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Background:
    node: Node
    line: int


@dataclass(frozen=True, slots=True)
class If:
    arms: tuple[tuple[Block, Block], ...]
    """Condition and body of `if` and each `elif`."""
    otherwise: Block
    line: int


@dataclass(frozen=True, slots=True)
class For:
    name: str
    items: tuple[Word, ...] | None
    """`None` for `select` and `for X` over the arguments."""
    body: Block
    line: int


@dataclass(frozen=True, slots=True)
class While:
    condition: Block
    body: Block
    line: int
    until: bool = False
    step: Block = ()
    """What `for ((...; ...; step))` does behind each turn."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of `case`."""

    patterns: tuple[Word, ...]
    body: Block
    end: str
    """`;;`, `;&` (the next body runs too) or `;;&` (the next patterns are tried too)."""


@dataclass(frozen=True, slots=True)
class Case:
    subject: Word
    arms: tuple[Arm, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Node
    line: int


@dataclass(frozen=True, slots=True)
class Group:
    """`{ ...; }`, or with `subshell` `( ... )`."""

    body: Block
    subshell: bool
    redirects: tuple[Redirect, ...]
    line: int


Node = Simple | Arithmetic | Pipeline | AndOr | Background | If | For | While | Case | Function | Group
Block = tuple[Node, ...]
DECLARES = frozenset({"declare", "local", "export", "readonly", "typeset"})
"""Builtins whose words are assignments, also of arrays."""
