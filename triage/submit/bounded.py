"""A template's evaluation with an end: its turns and what it writes are counted, and powers and repetitions limited.

A site's template is code that someone else wrote: a loop over `range(10**12)` must end in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

MOST = 200_000
"""Turns of all loops together, and values written."""
LONGEST = 8 * 1024 * 1024
"""Characters that are written, characters of a repeated text, elements of a repeated list."""
_EXPONENT = 64
_WIDE_FILTERS = ("center", "format", "indent", "wordwrap")
_WIDE_METHODS = frozenset({"format", "format_map", "center", "ljust", "rjust", "zfill", "expandtabs"})
"""They take a width, or make much of little: a template of a batch script needs none of them."""


def _refused(*_: object, **__: object) -> str:
    raise SecurityError("it uses a filter or function that makes much of little")


class Bounded(SandboxedEnvironment):
    """A Jinja environment for one rendering."""

    intercepted_binops = frozenset({"**", "*", "+", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.left = MOST
        self.room = LONGEST
        self.filters |= {"counted": self._counted, "spent": self._spent}
        self.filters |= dict.fromkeys(_WIDE_FILTERS, _refused)
        self.globals["lipsum"] = _refused

    def spend(self, characters: int = 0) -> None:
        """One turn, or one value that is written. Raises `SecurityError` where nothing is left."""
        self.left -= 1
        self.room -= characters
        if self.room < 0:
            raise SecurityError(f"it writes more than {LONGEST} characters")
        if self.left < 0:
            raise SecurityError(f"its loops take more than {MOST} turns")

    def _counted(self, values: Iterable[object]) -> Iterator[object]:
        for value in values:
            self.spend()
            yield value

    def _spent(self, value: Any) -> Any:
        """A text that was put together counts as if it were written: many of them double."""
        if hasattr(value, "__len__"):
            self.spend(len(value))
        return value

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, str | bytes) and attribute in _WIDE_METHODS:
            raise SecurityError(f"it uses {attribute} of a text, which takes a width")
        return super().getattr(obj, attribute)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in [*tree.find_all(nodes.For)]:
            loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
        for joined in [*tree.find_all(nodes.Concat)]:
            parts = nodes.Concat(joined.nodes, lineno=joined.lineno)
            joined.nodes = [nodes.Filter(parts, "spent", [], [], None, None, lineno=joined.lineno)]
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and not (isinstance(right, int | float) and abs(right) <= _EXPONENT):
            raise SecurityError(f"its exponents go beyond {_EXPONENT}")
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if hasattr(one, "__len__") and isinstance(other, int) and len(one) * other > LONGEST:
                    raise SecurityError(f"it repeats a value beyond {LONGEST} characters")
        if operator == "%" and isinstance(left, str | bytes):
            raise SecurityError("it formats with %")
        found = super().call_binop(context, operator, left, right)
        return self._spent(found) if operator == "+" else found
