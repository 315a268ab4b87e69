"""`[ ... ]` and `[[ ... ]]` on values that are known; else the answer is `None`, and both branches are considered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triage.core.script.arithmetic import number
from triage.core.script.holes import known
from triage.core.script.patterns import fits

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": int.__eq__, "-ne": int.__ne__, "-lt": int.__lt__, "-le": int.__le__, "-gt": int.__gt__, "-ge": int.__ge__,
}  # fmt: skip
_FILES = frozenset(f"-{letter}" for letter in "abcdefghkprstuwxLSGNOv")
_DEEP = 30


def condition(words: Sequence[str], *, double: bool) -> bool | None:
    """The truth of a test; `double` is `[[`, in which the right of `==` is a pattern."""
    return _Reader(list(words), double=double).all()


class _Reader:
    def __init__(self, words: list[str], *, double: bool) -> None:
        self.words = words
        self.double = double
        self.position = 0

    def all(self) -> bool | None:
        value = self.either(0)
        return value if self.position == len(self.words) else None

    def take(self, *marks: str) -> str | None:
        if self.position < len(self.words) and self.words[self.position] in marks:
            self.position += 1
            return self.words[self.position - 1]
        return None

    def either(self, depth: int) -> bool | None:
        value = self.both(depth)
        while self.take("||", "-o"):
            other = self.both(depth)
            value = True if value or other else None if None in (value, other) else False
        return value

    def both(self, depth: int) -> bool | None:
        value = self.single(depth)
        while self.take("&&", "-a"):
            other = self.single(depth)
            value = False if value is False or other is False else None if None in (value, other) else True
        return value

    def single(self, depth: int) -> bool | None:
        if depth > _DEEP:
            self.position = len(self.words) + 1
            return None
        if self.take("!"):
            value = self.single(depth + 1)
            return None if value is None else not value
        rest = self.words[self.position :]
        if rest[:1] == ["("] and len(rest) > 2:
            self.position += 1
            value = self.either(depth + 1)
            self.take(")")
            return value
        if len(rest) >= 3 and rest[1] in _BINARY:
            self.position += 3
            return self.binary(rest[0], rest[1], rest[2])
        if len(rest) >= 2 and rest[0] in ("-z", "-n", *_FILES):
            self.position += 2
            return self.unary(rest[0], rest[1])
        if not rest:
            return False
        self.position += 1
        return rest[0] != "" if known(rest[0]) else None

    def unary(self, operator: str, value: str) -> bool | None:
        if operator not in ("-z", "-n") or not known(value):
            return None
        return (value == "") == (operator == "-z")

    def binary(self, left: str, operator: str, right: str) -> bool | None:
        if not known(left) or not known(right):
            return None
        if operator in _NUMBERS:
            first, second = number(left), number(right)
            return None if first is None or second is None else _NUMBERS[operator](first, second)
        if operator in ("=", "=="):
            return fits(right, left) if self.double else left == right
        if operator == "!=":
            same = fits(right, left) if self.double else left == right
            return None if same is None else not same
        return None


_BINARY = frozenset({"=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef", *_NUMBERS})
