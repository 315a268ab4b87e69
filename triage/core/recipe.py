"""How a value follows from numbers, found out from three examples of it: what differs between the examples has to be one of
the numbers, in a text or as an integer.

The answer is compiled, for it is asked for thousands of sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from triage.core.logs.record import Stamp
from triage.core.logs.stamp import parse_stamp

_Value = TypeVar("_Value")
Recipe = Callable[..., _Value]
"""(integer, *numbers as texts) -> value."""

_NUMBER = re.compile(r"(?<![\d:.])\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?![\d:])|(?<=\b0x)[0-9a-f]+|\d+")


class Unexplained(Exception):
    """The examples differ in something else than the numbers."""


def recipe(
    examples: Sequence[_Value], integers: Sequence[int], numbers: Sequence[tuple[str, ...]]
) -> Recipe[_Value]:
    """From as many examples as there are `integers`; each row of `numbers` holds a number of each example.

    Raises `Unexplained`.
    """
    writer = _Writer(integers, numbers)
    result = writer.of(examples)
    arguments = ", ".join(("integer", *(f"number{n}" for n in range(len(numbers)))))
    body = "".join(f"    {line}\n" for line in (*writer.lines, f"return {result}"))
    exec(f"def made({arguments}):\n{body}", writer.scope)
    made: Recipe[_Value] = writer.scope["made"]
    explained = all(
        made(integer, *(row[which] for row in numbers)) == examples[which]
        for which, integer in enumerate(integers)
    )
    if not explained:
        raise Unexplained
    return made


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Stamp | None:
    """Of what ranks print alike, the times are often the same."""
    return parse_stamp(text)


class _Writer:
    """The lines of a function that makes the value. What is made twice is made once and shared."""

    def __init__(self, integers: Sequence[int], numbers: Sequence[tuple[str, ...]]) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"parsed": _parsed}
        self._known: dict[str, str] = {}
        """Expression -> the variable that holds it."""
        self._constants: dict[object, str] = {}
        self._texts = {texts: f"number{n}" for n, texts in enumerate(numbers)}
        self._integers = {tuple(integers): "integer"}
        for texts, name in self._texts.items():
            if all(text.isdecimal() for text in texts):
                self._integers[tuple(map(int, texts))] = f"int({name})"

    def of(self, examples: Sequence[Any]) -> str:
        """The name of what holds the value."""
        first = examples[0]
        kind = type(first)
        if any(type(other) is not kind for other in examples):
            raise Unexplained
        if all(other == first for other in examples):
            return self._constant(first)
        if kind is str:
            return self._held(self._text(examples))
        if kind is int:
            return self._held(self._known_integer(tuple(examples)))
        if kind is tuple:
            return self._held(f"({''.join(f'{part}, ' for part in self._parts(examples))})")
        if kind is Stamp:
            if any(parse_stamp(stamp.text) != stamp for stamp in examples):
                raise Unexplained
            return self._held(f"parsed({self.of([stamp.text for stamp in examples])})")
        if kind is dict:
            return self._dictionary(examples)
        return self._instance(kind, examples)

    def _instance(self, kind: type, examples: Sequence[Any]) -> str:
        """A value that says how it is made again, as for `copy`."""
        if "__reduce__" not in kind.__dict__:
            raise Unexplained
        made = [example.__reduce__() for example in examples]
        parts = self._parts([arguments for _, arguments in made])
        return self._held(f"{self._constant(made[0][0])}({', '.join(parts)})")

    def _dictionary(self, examples: Sequence[dict[Any, Any]]) -> str:
        keys = list(examples[0])
        if any(list(other) != keys for other in examples):
            raise Unexplained
        values = self._parts([tuple(example.values()) for example in examples])
        pairs = (f"{self._constant(key)}: {value}" for key, value in zip(keys, values, strict=True))
        return self._held(f"{{{', '.join(pairs)}}}")

    def _parts(self, examples: Sequence[tuple[Any, ...]]) -> list[str]:
        if any(len(other) != len(examples[0]) for other in examples):
            raise Unexplained
        return [self.of(column) for column in zip(*examples, strict=True)]

    def _known_integer(self, examples: tuple[int, ...]) -> str:
        if examples not in self._integers:
            raise Unexplained
        return self._integers[examples]

    def _text(self, examples: Sequence[str]) -> str:
        """An f-string: what stands between the numbers, and each number that differs."""
        between = [_NUMBER.split(text) for text in examples]
        if any(other != between[0] for other in between):
            raise Unexplained
        parts: list[str] = [between[0][0]]
        slots: list[str] = []
        numbers = zip(*(_NUMBER.findall(text) for text in examples), strict=True)
        for column, behind in zip(numbers, between[0][1:], strict=True):
            if all(number == column[0] for number in column):
                parts[-1] += column[0] + behind
            elif column in self._texts:
                slots.append(self._texts[column])
                parts.append(behind)
            else:
                raise Unexplained
        text = "".join(
            f"{{{self._constant(part)}}}{{{slot}}}" for part, slot in zip(parts, slots, strict=False)
        )
        return f'f"{text}{{{self._constant(parts[-1])}}}"'

    def _constant(self, value: Any) -> str:
        """The value itself, not a copy: what all sources have in common is kept once."""
        key = value if type(value) is str else id(value)
        name = self._constants.setdefault(key, f"constant{len(self._constants)}")
        self.scope[name] = value
        return name

    def _held(self, expression: str) -> str:
        if expression not in self._known:
            self._known[expression] = f"value{len(self._known)}"
            self.lines.append(f"{self._known[expression]} = {expression}")
        return self._known[expression]
