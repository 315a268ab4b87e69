"""`$(( ))` over whole numbers, with C's operators and bash's 64 bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from triage.core.values import dataclass

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+(?:#\w+)?)|([A-Za-z_]\w*(?:\[[^\[\]]{0,60}\])?)|(\+\+|--|<<=|>>=|[-+*/%&|^]=|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>!~?:&|^=,]))",
    re.ASCII,
)
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_CHANGED = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)",
    re.ASCII,
)
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"))  # fmt: skip
_MOST_TOKENS = 400
_DEEP = 60


@dataclass(frozen=True, slots=True)
class Result:
    """What an expression gives, and what it leaves in variables (`i++`, `x = 1`)."""

    value: int
    assigned: Mapping[str, int]


def changed(text: str) -> frozenset[str]:
    """The variables that an expression may assign."""
    return frozenset(match[1] or match[2] for match in _CHANGED.finditer(text))


def arithmetic(text: str, lookup: Callable[[str], int | None]) -> Result | None:
    """The outcome of an expression, `None` where a part is unknown or it is none that is understood here.

    `lookup` gives the values of names and of elements (`A[0]`).
    """
    tokens: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or len(tokens) >= _MOST_TOKENS or len(match[0]) > 80:
            return None
        tokens.append(match[0].strip())
        position = match.end()
    if not tokens:
        return Result(0, {})
    reader = _Reader(tokens, lookup)
    try:
        value = reader.sequence()
    except _Unreadable:
        return None
    return Result(value, reader.assigned) if reader.position == len(tokens) else None


class _Unreadable(Exception):
    pass


class _Reader:
    def __init__(self, tokens: list[str], lookup: Callable[[str], int | None]) -> None:
        self.tokens = tokens
        self.lookup = lookup
        self.position = 0
        self.assigned: dict[str, int] = {}
        self.changes = 0

    def take(self, *marks: str) -> str | None:
        if self.position < len(self.tokens) and self.tokens[self.position] in marks:
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def name(self) -> str | None:
        """The name that stands here, if one does."""
        token = self.tokens[self.position] if self.position < len(self.tokens) else ""
        return token if token.partition("[")[0].isidentifier() else None

    def value(self, name: str) -> int:
        found = self.assigned[name] if name in self.assigned else self.lookup(name)
        if found is None:
            raise _Unreadable
        return found

    def assign(self, name: str, value: int) -> int:
        if not name.isidentifier():
            raise _Unreadable
        self.assigned[name] = _wrap(value)
        self.changes += 1
        return self.assigned[name]

    def sequence(self) -> int:
        value = self.assignment(0)
        while self.take(","):
            value = self.assignment(0)
        return value

    def assignment(self, depth: int) -> int:
        name = self.name()
        operator = self.tokens[self.position + 1] if self.position + 1 < len(self.tokens) else ""
        if name is None or operator not in _ASSIGNS or depth > _DEEP:
            return self.ternary(depth)
        self.position += 2
        right = self.assignment(depth + 1)
        return self.assign(name, right if operator == "=" else _apply(operator[:-1], self.value(name), right))

    def ternary(self, depth: int) -> int:
        condition = self.binary(0, depth + 1)
        if not self.take("?"):
            return condition
        changes = self.changes
        yes = self.ternary(depth + 1)
        if not self.take(":"):
            raise _Unreadable
        no = self.ternary(depth + 1)
        if self.changes != changes:
            raise _Unreadable
        return yes if condition else no

    def binary(self, level: int, depth: int) -> int:
        if depth > _DEEP:
            raise _Unreadable
        if level == len(_LEVELS):
            return self.power(depth)
        left = self.binary(level + 1, depth)
        while operator := self.take(*_LEVELS[level]):
            changes = self.changes
            right = self.binary(level + 1, depth)
            if operator in ("||", "&&") and self.changes != changes:
                raise _Unreadable
            left = _apply(operator, left, right)
        return left

    def power(self, depth: int) -> int:
        base = self.unary(depth + 1)
        if not self.take("**"):
            return base
        exponent = self.power(depth + 1)
        if not 0 <= exponent <= 64:
            raise _Unreadable
        return _wrap(base**exponent)

    def unary(self, depth: int) -> int:
        if depth > _DEEP:
            raise _Unreadable
        if step := self.take("++", "--"):
            if (name := self.name()) is None:
                raise _Unreadable
            self.position += 1
            return self.assign(name, self.value(name) + (1 if step == "++" else -1))
        operator = self.take("-", "+", "!", "~")
        if operator is None:
            return self.atom(depth + 1)
        value = self.unary(depth + 1)
        return {"-": -value, "+": value, "!": int(not value), "~": ~value}[operator]

    def atom(self, depth: int) -> int:
        if self.take("("):
            value = self.assignment(depth + 1)
            if not self.take(")"):
                raise _Unreadable
            return value
        if (name := self.name()) is not None:
            self.position += 1
            value = self.value(name)
            if step := self.take("++", "--"):
                self.assign(name, value + (1 if step == "++" else -1))
            return value
        if self.position >= len(self.tokens):
            raise _Unreadable
        token = self.tokens[self.position]
        self.position += 1
        found = number(token) if token[0].isdigit() else None
        if found is None:
            raise _Unreadable
        return found


def number(text: str) -> int | None:
    """A number as bash writes it: `8`, `010` (octal), `0x10`."""
    text = text.strip()
    if not text.isascii() or len(text) > 20:
        return None
    try:
        if text[:2].lower() == "0x":
            return int(text, 16)
        return int(text, 8) if len(text) > 1 and text[0] == "0" and text.isdigit() else int(text)
    except ValueError:
        return None


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise _Unreadable
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise _Unreadable
        return _wrap(left << right if operator == "<<" else left >> right)
    table: dict[str, int | bool] = {
        "||": bool(left or right), "&&": bool(left and right), "|": left | right, "^": left ^ right,
        "&": left & right, "==": left == right, "!=": left != right, "<": left < right, ">": left > right,
        "<=": left <= right, ">=": left >= right, "+": left + right, "-": left - right, "*": left * right,
    }  # fmt: skip
    return _wrap(int(table[operator]))


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
