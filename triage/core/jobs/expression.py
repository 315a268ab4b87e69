"""The condition of `--when`: comparisons of an artifact's fields, combined with `and`, `or`, `not`.

A language of its own, so that no text from a command line or a file is ever evaluated as a program. A field that is
missing or of another type makes a comparison undecided, never true.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, assert_never

from triage.core.values import dataclass
from triage.errors import UsageError

MOST = 2000
"""Characters of a condition."""
DEEPEST = 50
"""Parentheses and `not` inside one another."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?)(?![\w.])"
    r"|(?P<text>\"[^\"\n]{0,500}\"|'[^'\n]{0,500}')"
    r"|(?P<name>[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d{1,6}\]|\[\"[^\"\n]{1,200}\"\]){0,20})"
    r"|`(?P<quoted>[^`\n]{1,200})`"
    r"|(?P<sign><=|>=|==|!=|<|>|\(|\)))",
    re.A,
)
_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d{1,6})\]|\[\"([^\"]*)\"\]", re.A)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_CONSTANTS: Mapping[str, object] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}  # fmt: skip
_WORDS = frozenset({"and", "or", "not", *_CONSTANTS})


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the artifact; names are keys, numbers are places in lists."""

    written: str
    path: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    value: object


@dataclass(frozen=True, slots=True)
class Compare:
    """`a < b <= c` holds if each pair does."""

    values: tuple[Field | Constant, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


Node = Field | Constant | Compare | Both | Either | Not


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a condition holds."""

    holds: bool | None
    """`None` is undecided: a field is missing or of another type."""
    missing: tuple[str, ...] = ()
    """The fields that decide and are not there, as written."""


@dataclass(frozen=True, slots=True)
class When:
    """A condition that was understood."""

    written: str
    root: Node

    def holds(self, value: object) -> Answer:
        """Over the JSON value of an artifact. A comparison with NaN leaves the whole undecided, whatever surrounds it."""
        try:
            return _judge(self.root, value)
        except _NotANumber:
            return Answer(None)


class _NotANumber(Exception):
    """A field that is compared is NaN: the run has diverged, or its writer has no value yet."""


class _Wrong(Exception):
    """Where the condition is not understood, and what was expected there."""


def parse_when(text: str) -> When:
    """Raises UsageError with the place that is not understood."""
    if len(text) > MOST:
        raise UsageError(f"the condition of --when is longer than {MOST} characters")
    tokens = _Tokens(text)
    try:
        root = _either(tokens, 0)
        tokens.end()
    except _Wrong as wrong:
        raise UsageError(
            f"--when: {wrong} in `{text}`; write for example `iteration >= 500 and lm_loss < 3`"
        ) from None
    return When(text, root)


class _Tokens:
    """The words of a condition, one ahead."""

    def __init__(self, text: str) -> None:
        self._found = list(_cut(text))
        self._at = 0

    @property
    def next(self) -> tuple[str, str]:
        return self._found[self._at] if self._at < len(self._found) else ("end", "the end")

    def take(self) -> tuple[str, str]:
        token = self.next
        self._at += 1
        return token

    def took(self, kind: str, *texts: str) -> str | None:
        found, text = self.next
        if found == kind and text in texts:
            self._at += 1
            return text
        return None

    def end(self) -> None:
        if self.next[0] != "end":
            raise _Wrong(f"`{self.next[1]}` is not expected")


def _cut(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise UsageError(f"--when: `{text[at:].strip()[:20]}` is not understood in `{text}`")
        kind, word = match.lastgroup, match[match.lastgroup]
        yield ("word" if kind == "name" and word in _WORDS else kind, word)
        at = match.end()


def _either(tokens: _Tokens, depth: int) -> Node:
    parts = [_both(tokens, depth)]
    while tokens.took("word", "or"):
        parts.append(_both(tokens, depth))
    return parts[0] if len(parts) == 1 else Either(tuple(parts))


def _both(tokens: _Tokens, depth: int) -> Node:
    parts = [_not(tokens, depth)]
    while tokens.took("word", "and"):
        parts.append(_not(tokens, depth))
    return parts[0] if len(parts) == 1 else Both(tuple(parts))


def _not(tokens: _Tokens, depth: int) -> Node:
    if depth > DEEPEST:
        raise _Wrong("too many parentheses")
    if tokens.took("word", "not"):
        return Not(_not(tokens, depth + 1))
    if tokens.took("sign", "("):
        inner = _either(tokens, depth + 1)
        if tokens.took("sign", ")") is None:
            raise _Wrong(f"`)` is missing before `{tokens.next[1]}`")
        return inner
    values, signs = [_operand(tokens)], []
    while (sign := tokens.took("sign", *_COMPARE)) is not None:
        signs.append(sign)
        values.append(_operand(tokens))
    if signs:
        return Compare(tuple(values), tuple(signs))
    if isinstance(values[0], Constant):
        raise _Wrong("a constant alone is no condition")
    return values[0]


def _operand(tokens: _Tokens) -> Field | Constant:
    kind, text = tokens.take()
    match kind:
        case "number":
            return Constant(float(text) if re.search(r"[.eE]", text) else int(text))
        case "text":
            return Constant(text[1:-1])
        case "name":
            steps = (int(m[2]) if m[2] is not None else m[1] or m[3] for m in _STEP.finditer(text))
            return Field(text, tuple(steps))
        case "quoted":
            return Field(text, (text,))
        case "word" if text in _CONSTANTS:
            return Constant(_CONSTANTS[text])
    raise _Wrong(f"a field or a value is missing before `{text}`")


def _judge(node: Node, value: object) -> Answer:
    match node:
        case Field():
            found = lookup(value, node.path)
            return Answer(found if isinstance(found, bool) else None, () if isinstance(found, bool) else (node.written,))  # fmt: skip
        case Constant():
            return Answer(bool(node.value))
        case Compare():
            return _compare(node, value)
        case Not():
            inner = _judge(node.part, value)
            return Answer(None if inner.holds is None else not inner.holds, inner.missing)
        case Both():
            return _combine([_judge(part, value) for part in node.parts], decisive=False)
        case Either():
            return _combine([_judge(part, value) for part in node.parts], decisive=True)
    assert_never(node)


def _combine(answers: list[Answer], *, decisive: bool) -> Answer:
    """One decisive part decides; else an undecided part leaves the whole undecided."""
    if any(answer.holds is decisive for answer in answers):
        return Answer(decisive)
    missing = tuple(dict.fromkeys(name for answer in answers for name in answer.missing))
    undecided = any(answer.holds is None for answer in answers)
    return Answer(None if undecided else not decisive, missing)


_MISSING = object()


def _compare(node: Compare, value: object) -> Answer:
    sides = [side.value if isinstance(side, Constant) else lookup(value, side.path) for side in node.values]
    missing = tuple(
        side.written for side, found in zip(node.values, sides, strict=True)
        if isinstance(side, Field) and found is _MISSING
    )  # fmt: skip
    if missing:
        return Answer(None, missing)
    if any(isinstance(side, float) and math.isnan(side) for side in sides):
        raise _NotANumber
    for sign, left, right in zip(node.signs, sides, sides[1:], strict=False):
        if not _comparable(sign, left, right):
            return Answer(None, tuple(side.written for side in node.values if isinstance(side, Field)))
        if not _COMPARE[sign](left, right):
            return Answer(False)
    return Answer(True)


def _comparable(sign: str, left: object, right: object) -> bool:
    """Numbers with numbers, texts with texts; equality also of true, false and null with their like."""
    if _is_number(left) and _is_number(right):
        return True
    if isinstance(left, str) and isinstance(right, str):
        return True
    return sign in ("==", "!=") and isinstance(left, bool | None) and isinstance(right, bool | None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def lookup(value: object, path: tuple[str | int, ...]) -> object:
    """What lies at a path, or a value that is nothing else. A key with blanks or dashes answers to `_` too."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return _MISSING
            value = value[step]
        else:
            if not isinstance(value, dict):
                return _MISSING
            key = step if step in value else next((key for key in value if _plain(key) == step), None)
            if key is None:
                return _MISSING
            value = value[key]
    return value


def _plain(key: str) -> str:
    return re.sub(r"[ -]", "_", key)


def fields_of(value: object) -> tuple[str, ...]:
    """The names that a condition could use, for a message; those of the outermost object."""
    return tuple(_plain(key) for key in value)[:40] if isinstance(value, dict) else ()
