"""What a shell knows at one point of the script, and how two branches come together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from triage.core.script.holes import Holes, Value
from triage.core.script.tree import Node
from triage.core.values import dataclass, field

_T = TypeVar("_T")
_MOST_CHOICES = 8
_LONGEST_CHOICE = 1 << 14


@dataclass(frozen=True, slots=True)
class Field:
    """One word of a command after expansion."""

    text: str
    """May hold holes (`holes.py`)."""
    line: int
    many: bool = False
    """Nothing but an unquoted hole: it may as well be no word or several."""


@dataclass(frozen=True, slots=True)
class Outer:
    """A variable as it was before a function made its name local."""

    value: Value | None
    line: int
    exported: bool
    removed: bool


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
    input_line: int = 0
    """In which line that begins."""
    opaque: bool = False
    """Something was sourced that may have set anything."""
    exports_all: bool = False
    """`set -a`."""
    references: dict[str, str] = field(default_factory=dict)
    """Names that stand for another variable (`local -n`)."""
    integers: set[str] = field(default_factory=set)
    """Names declared with `-i`."""
    scope: dict[str, Outer] | None = None
    """What the current function made local, as it was before; `None` outside of functions."""
    dead: str = ""
    """`exit`, `return`, `break` or `continue`, where one was reached."""

    def copy(self) -> State:
        return State(
            dict(self.variables), set(self.exported), set(self.removed), dict(self.lines), dict(self.functions),
            dict(self.files), self.arguments, self.directory, self.input, self.input_line, self.opaque, self.exports_all,
            dict(self.references), set(self.integers), None if self.scope is None else dict(self.scope), self.dead,
        )  # fmt: skip

    @property
    def size(self) -> int:
        return len(self.variables) + len(self.lines) + len(self.functions) + 8

    def localize(self, name: str) -> None:
        """Makes a name local to the current function: what it holds there ends with it."""
        if self.scope is not None and name not in self.scope:
            self.scope[name] = Outer(
                self.variables.get(name), self.lines.get(name, 0), name in self.exported, name in self.removed
            )

    def leave_scope(self) -> None:
        """The end of a function: its locals are again what they were."""
        for name, outer in (self.scope or {}).items():
            self.variables.pop(name, None)
            if outer.value is not None:
                self.variables[name] = outer.value
            self.lines[name] = outer.line
            for held, names in ((outer.exported, self.exported), (outer.removed, self.removed)):
                (names.add if held else names.discard)(name)

    def assign(self, name: str, value: Value, line: int) -> None:
        name = self.references.get(name, name)
        self.variables[name] = value
        self.lines[name] = line
        self.removed.discard(name)
        if self.exports_all:
            self.exported.add(name)

    def unset(self, name: str) -> None:
        self.variables.pop(name, None)
        self.functions.pop(name, None)
        self.exported.discard(name)
        self.integers.discard(name)
        self.removed.add(name)

    def become(self, other: State) -> None:
        """Takes over everything of another state."""
        for name in State.__slots__:
            setattr(self, name, getattr(other, name))


def plain_path(text: str) -> str:
    """A path as the script's own files are called."""
    return text.removeprefix("./")


def merge(states: list[State], holes: Holes, line: int, *, choices: bool = True) -> State:
    """One state for what comes behind several branches of which any one may have run.

    `choices` notes what each branch left, in their order; not for loops, whose body may run any number of times.
    """
    alive = [state for state in states if not state.dead]
    if not alive:
        return states[0].copy()
    result = alive[0].copy()
    names = dict.fromkeys(name for state in alive for name in state.variables)
    for name in names:
        values = [state.variables.get(name) for state in alive]
        if any(value != values[0] for value in values):
            result.variables[name] = _merged(values, name, holes, line, choices=choices)
            result.lines[name] = max(state.lines.get(name, 0) for state in alive)
    for other in alive[1:]:
        result.exported |= other.exported
        result.integers |= other.integers
        result.removed &= other.removed
        result.functions = _common(result.functions, other.functions)
        result.files = _common(result.files, other.files)
        result.opaque |= other.opaque
        result.references = _common(result.references, other.references)
        result.scope = {**(other.scope or {}), **result.scope} if result.scope is not None else None
        if result.directory != other.directory:
            result.directory = holes.unknown(f"the folder differs between the branches of line {line}")
    return result


def _merged(values: list[Value | None], name: str, holes: Holes, line: int, *, choices: bool) -> Value:
    """What all branches begin and end with, and a hole between: `CMD="$CMD --wandb"` in one hides only what it adds."""
    reason = f"{name} differs between the branches of line {line}"
    arrays = [value for value in values if isinstance(value, tuple)]
    if any(isinstance(value, dict) for value in values):
        return holes.unknown(reason)
    unset = holes.unknown(f"{name} is not set in every branch of line {line}")
    whole = " ".join
    lists: list[Sequence[str]] = [
        value.split(" ") if isinstance(value, str) else [unset] if value is None else value
        for value in values
        if not isinstance(value, dict)
    ]
    if arrays and len(arrays) < len(values):
        return (holes.unknown(reason),)
    front, back = _ends(lists)
    middles = tuple(whole(item[front : len(item) - back]) for item in lists)
    spaced = arrays and any(" " in word for item in lists for word in item)
    offered = (
        choices and not spaced and len(middles) <= _MOST_CHOICES and sum(map(len, middles)) < _LONGEST_CHOICE
    )
    hole = holes.unknown(reason, middles if offered else ())
    ends = lists[0]
    joined = (*ends[:front], hole, *(ends[len(ends) - back :] if back else ()))
    return joined if arrays else whole(joined)


def _ends(lists: list[Sequence[str]]) -> tuple[int, int]:
    """How many words all lists begin with alike, and how many of the rest they end with alike."""
    first, shortest = lists[0], min(map(len, lists))
    front = next((i for i in range(shortest) if any(item[i] != first[i] for item in lists)), shortest)
    rest = shortest - front
    back = next((i for i in range(rest) if any(item[-1 - i] != first[-1 - i] for item in lists)), rest)
    return front, back


def _common(first: dict[str, _T], second: dict[str, _T]) -> dict[str, _T]:
    return {name: value for name, value in first.items() if second.get(name) == value}
