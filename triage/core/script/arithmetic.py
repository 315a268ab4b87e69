"""`$(( ))` over whole numbers, with C's operators and bash's 64 bits."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+(?:#\w+)?)|([A-Za-z_]\w*)|(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>!~?:&|^]))",
    re.ASCII,
)
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"))  # fmt: skip
_MOST_TOKENS = 400
_DEEP = 60


def arithmetic(text: str, lookup: Callable[[str], int | None]) -> int | None:
    """The value of an expression, `None` where a part is unknown or it is none that is understood here.

    `lookup` gives the values of names; assignments (`i++`, `x = 1`) are left to the caller.
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
        return 0
    reader = _Reader(tokens, lookup)
    try:
        value = reader.ternary(0)
    except _Unreadable:
        return None
    return value if reader.position == len(tokens) else None


class _Unreadable(Exception):
    pass


class _Reader:
    def __init__(self, tokens: list[str], lookup: Callable[[str], int | None]) -> None:
        self.tokens = tokens
        self.lookup = lookup
        self.position = 0

    def take(self, *marks: str) -> str | None:
        if self.position < len(self.tokens) and self.tokens[self.position] in marks:
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def ternary(self, depth: int) -> int:
        condition = self.binary(0, depth + 1)
        if not self.take("?"):
            return condition
        yes = self.ternary(depth + 1)
        if not self.take(":"):
            raise _Unreadable
        no = self.ternary(depth + 1)
        return yes if condition else no

    def binary(self, level: int, depth: int) -> int:
        if depth > _DEEP:
            raise _Unreadable
        if level == len(_LEVELS):
            return self.power(depth)
        left = self.binary(level + 1, depth)
        while operator := self.take(*_LEVELS[level]):
            left = _apply(operator, left, self.binary(level + 1, depth))
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
        operator = self.take("-", "+", "!", "~")
        if operator is None:
            return self.atom(depth + 1)
        value = self.unary(depth + 1)
        return {"-": -value, "+": value, "!": int(not value), "~": ~value}[operator]

    def atom(self, depth: int) -> int:
        if self.take("("):
            value = self.ternary(depth + 1)
            if not self.take(")"):
                raise _Unreadable
            return value
        if self.position >= len(self.tokens):
            raise _Unreadable
        token = self.tokens[self.position]
        self.position += 1
        found = (
            number(token) if token[0].isdigit() else self.lookup(token) if token[0].isidentifier() else None
        )
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
