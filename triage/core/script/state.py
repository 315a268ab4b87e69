"""What a shell knows at one point of the script, and how two branches come together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from triage.core.script.holes import Holes, Value
from triage.core.script.tree import Node

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Field:
    """One word of a command after expansion."""

    text: str
    """May hold holes (`holes.py`)."""
    line: int
    many: bool = False
    """Nothing but an unquoted hole: it may as well be no word or several."""


@dataclass(slots=True)
class State:
    """The variables of one shell process. Mutable: branches work on copies."""

    variables: dict[str, Value] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    """Names that `unset` took away and nothing set again."""
    lines: dict[str, int] = field(default_factory=dict)
    """Where a variable was last assigned."""
    functions: dict[str, Node] = field(default_factory=dict)
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Texts that the script writes into files with here-documents, and the lines where they begin."""
    arguments: tuple[str, ...] | None = None
    """`$1` and so on; `None` where they are those of the script itself."""
    directory: str = ""
    """Where `cd` led; empty is where the job starts."""
    input: str = ""
    """What stands on standard input (`<<`, `<<<`, a pipe), a hole where it is not known."""
    opaque: bool = False
    """Something was sourced that may have set anything."""
    exports_all: bool = False
    """`set -a`."""
    dead: str = ""
    """`exit`, `return`, `break` or `continue`, where one was reached."""

    def copy(self) -> State:
        return State(
            dict(self.variables), set(self.exported), set(self.removed), dict(self.lines), dict(self.functions),
            dict(self.files), self.arguments, self.directory, self.input, self.opaque, self.exports_all, self.dead,
        )  # fmt: skip

    @property
    def size(self) -> int:
        return len(self.variables) + len(self.lines) + len(self.functions) + 8

    def assign(self, name: str, value: Value, line: int) -> None:
        self.variables[name] = value
        self.lines[name] = line
        self.removed.discard(name)
        if self.exports_all:
            self.exported.add(name)

    def unset(self, name: str) -> None:
        self.variables.pop(name, None)
        self.functions.pop(name, None)
        self.exported.discard(name)
        self.removed.add(name)

    def become(self, other: State) -> None:
        """Takes over everything of another state."""
        for name in State.__slots__:
            setattr(self, name, getattr(other, name))


def merge(states: list[State], holes: Holes, line: int) -> State:
    """One state for what comes behind several branches of which any one may have run."""
    alive = [state for state in states if not state.dead]
    if not alive:
        return states[0].copy()
    result = alive[0].copy()
    for other in alive[1:]:
        _merge_variables(result, other, holes, line)
        result.exported |= other.exported
        result.removed &= other.removed
        result.functions = _common(result.functions, other.functions)
        result.files = _common(result.files, other.files)
        result.opaque |= other.opaque
        if result.directory != other.directory:
            result.directory = holes.unknown(f"the folder differs between the branches of line {line}")
    return result


def _merge_variables(result: State, other: State, holes: Holes, line: int) -> None:
    for name in result.variables.keys() | other.variables.keys():
        first, second = result.variables.get(name), other.variables.get(name)
        if first != second:
            hole = holes.unknown(f"{name} differs between the branches of line {line}")
            result.variables[name] = _common_value(first, second, hole)
            result.lines[name] = max(result.lines.get(name, 0), other.lines.get(name, 0))


def _common_value(first: Value | None, second: Value | None, hole: str) -> Value:
    """What two branches left in a variable: what both begin and end with, and a hole between.

    So that `CMD="$CMD --wandb"` in one branch hides only what it adds.
    """
    if isinstance(first, str) and isinstance(second, str):
        front, back = _ends(first.split(), second.split())
        return " ".join((*front, hole, *back)) if front or back else hole
    if isinstance(first, tuple) and isinstance(second, tuple):
        front, back = _ends(first, second)
        return (*front, hole, *back)
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: first[key] if first.get(key) == second.get(key) else hole
            for key in first.keys() | second.keys()
        }
    return (hole,) if isinstance(first, tuple) or isinstance(second, tuple) else hole


def _ends(first: Sequence[str], second: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The longest common beginning of two lists, and the longest common end of what is left."""
    shorter = min(len(first), len(second))
    front = next((index for index in range(shorter) if first[index] != second[index]), shorter)
    rest = shorter - front
    back = next((index for index in range(rest) if first[-1 - index] != second[-1 - index]), rest)
    return first[:front], first[len(first) - back :] if back else ()


def _common(first: dict[str, _T], second: dict[str, _T]) -> dict[str, _T]:
    return {name: value for name, value in first.items() if second.get(name) == value}
