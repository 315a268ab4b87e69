"""What stands behind a name in `${}`: parts cut off, replaced or taken out of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage.core.script import patterns
from triage.core.script.arithmetic import number
from triage.core.script.holes import Value, elements, known
from triage.core.script.limits import VALUE
from triage.core.script.state import State
from triage.core.script.words import read_argument

if TYPE_CHECKING:
    from triage.core.script.expand import Expander


def changed(expander: Expander, text: str, operator: str, argument: str, state: State, line: int) -> str:
    """`${X%p}`, `${X/p/r}`, `${X^^}`, `${X:1:2}` of a known text; `${X@Q}` of any."""
    if operator == "@" and argument == "Q":
        return "'{}'".format(text.replace("'", "'\\''"))
    if not known(text):
        return expander.holes.unknown(expander.holes.reason(text))
    expander.budget.spend(len(text) + 1)
    result: str | None = None
    if operator in ("#", "##", "%", "%%"):
        pattern = expander.text(read_argument(argument, line), state)
        remove = patterns.without_prefix if operator[0] == "#" else patterns.without_suffix
        expander.budget.spend(len(text) * min(len(pattern), 200))
        result = remove(text, pattern, longest=len(operator) == 2) if known(pattern) else None
    elif operator in ("/", "//"):
        result = _replaced(expander, text, argument, state, line, every=operator == "//")
    elif operator in ("^^", ",,", "^", ","):
        change = str.upper if operator[0] == "^" else str.lower
        result = change(text) if len(operator) == 2 else change(text[:1]) + text[1:]
    elif operator == ":":
        bounds = _bounds(expander, argument, state, line)
        result = None if bounds is None else text[_slice(bounds, len(text))]
    elif operator == "@":
        result = text if argument == "E" and "\\" not in text else None
    return expander.holes.unknown("an expansion that is not understood") if result is None else result


def _replaced(
    expander: Expander, text: str, argument: str, state: State, line: int, *, every: bool
) -> str | None:
    old, _, new = argument.replace("\\/", "\0").partition("/")
    old = expander.text(read_argument(old.replace("\0", "/"), line), state)
    new = expander.text(read_argument(new.replace("\0", "/"), line), state)
    if not known(old) or any(mark in old for mark in "*?["):
        return None
    if old[:1] in ("#", "%") and not every:
        front, old = old[0] == "#", old[1:]
        fits = text.startswith(old) if front else text.endswith(old)
        rest = text[len(old) :] if front else text[: len(text) - len(old)]
        return (new + rest if front else rest + new) if fits else text
    if not old or len(text) * len(new) > VALUE:
        return text if not old else None
    return text.replace(old, new, -1 if every else 1)


def part(
    expander: Expander, value: Value, name: str, argument: str, state: State, line: int
) -> tuple[str, ...]:
    """`${A[@]:1:2}`, `${@:2}`: the arguments are counted from `$0`."""
    items = tuple(elements(value))
    if name in ("@", "*"):
        items = ("$0", *items)
    bounds = _bounds(expander, argument, state, line)
    unsure = next((index for index, item in enumerate(items) if expander.many(item)), len(items))
    if bounds is None or isinstance(value, dict):
        return (expander.holes.unknown(f"{name}[@]:{argument[:40]}"),)
    chosen = _slice(bounds, len(items))
    if unsure < len(items) and (chosen.start > unsure or chosen.stop != len(items) or bounds[0] < 0):
        return (expander.holes.unknown("a part of a list that is not known"),)
    return items[chosen]


def _bounds(expander: Expander, argument: str, state: State, line: int) -> tuple[int, int | None] | None:
    """Offset and length."""
    first, colon, second = argument.partition(":")
    start = number(expander.arithmetic(first, state, line))
    length = number(expander.arithmetic(second, state, line)) if colon else None
    return None if start is None or (colon and length is None) else (start, length)


def _slice(bounds: tuple[int, int | None], size: int) -> slice[int, int, None]:
    start, length = bounds
    start = max(0, size + start) if start < 0 else start
    stop = size if length is None else start + length if length >= 0 else max(start, size + length)
    return slice(start, min(stop, size))
