"""Expansion: the parts of a word with the variables of a state, to fields as bash would split them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from triage.core.script import operators
from triage.core.script.arithmetic import arithmetic, changed, number
from triage.core.script.holes import FIRST_HOST, HOSTS, Holes, Sparse, Value, elements, flat, known, symbols
from triage.core.script.limits import DEPTH, VALUE, Budget
from triage.core.script.splitting import DEFAULT, cuts, ends_empty, separators
from triage.core.script.state import Field, State
from triage.core.script.tree import DECLARES, Part, Word
from triage.core.script.words import read_argument

_PARAMETER = re.compile(
    r"(!|#(?=[A-Za-z_0-9@*]))?([A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[([^\]]*)\])?(.*)", re.DOTALL | re.ASCII
)
_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|:|@", re.DOTALL)
_RANGE = re.compile(r"(.*?)\{(-?\d{1,6})\.\.(-?\d{1,6})\}(.*)", re.DOTALL)
_PLAIN = re.compile(r"\w*")
_MOST_RANGE = 256
_NESTED = 4
"""Variables that hold expressions of other such variables (`A=B*2; $((A))`)."""
_SINGLE = frozenset({HOSTS})
"""Symbols that stand for several words; all others are one."""
_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)


class Expander:
    """Expands words. Knows the world outside the script only through `outside` and `run`."""

    def __init__(
        self,
        holes: Holes,
        budget: Budget,
        outside: Callable[[str], str | None],
        run: Callable[[str, State, int], str],
    ) -> None:
        self.holes = holes
        self.budget = budget
        self.outside = outside
        """What a variable holds that the script does not set (`SLURM_NNODES`), `None` if that is not known."""
        self.run = run
        """What a command substitution gives."""
        self.depth = 0
        """Expansions around the current one."""

    def fields(self, words: tuple[Word, ...], state: State) -> list[Field]:
        """The fields of some words, unquoted expansions split."""
        found: list[Field] = []
        for word in words:
            found += self._fields(word, state)
        return found

    def command(self, words: tuple[Word, ...], state: State) -> list[Field]:
        """The words of a command. What `export A=$B` assigns is not split, as little as in `A=$B`."""
        first = words[0][0] if words and len(words[0]) == 1 else None
        if first is None or first.kind != "text" or first.text not in DECLARES:
            return self.fields(words, state)
        found: list[Field] = []
        for word in words:
            if word and word[0].kind == "text" and not word[0].quoted and _ASSIGNS.match(word[0].text):
                found.append(Field(self.text(word, state), word[0].line))
            else:
                found += self.fields((word,), state)
        return found

    def text(self, word: Word, state: State) -> str:
        """A word as one text, as on the right of an assignment: nothing is split."""
        pieces = []
        for part in word:
            values, _ = self._part(part, state)
            pieces.append((self._joint(state) if _is_joined(part) else " ").join(values))
        return self.bounded("".join(pieces))

    def _joint(self, state: State) -> str:
        """What stands between the elements of `"${A[*]}"`."""
        marks = separators(state.variables.get("IFS"))
        return self.holes.unknown("IFS is not known") if marks is None else marks[:1]

    def bounded(self, text: str) -> str:
        self.budget.spend(len(text) + 1)
        return text if len(text) <= VALUE else self.holes.unknown("the value is too long")

    def _fields(self, word: Word, state: State) -> list[Field]:
        found: list[Field] = []
        current: str | None = None
        quoted, line = False, word[0].line if word else 0
        marks = separators(state.variables.get("IFS"))
        lists = len(word) == 1 and word[0].kind == "parameter" and word[0].text.endswith(("[@]", "@"))
        """`"${A[@]}"`: quoted, and yet any number of words."""

        def finish() -> None:
            nonlocal current, quoted
            if current is not None:
                many = (lists or not quoted) and self.many(current)
                found.append(Field(self.bounded(current), line, many))
            current, quoted = None, False

        for part in word:
            values, source = self._part(part, state)
            if part.quoted:
                values = (self._joint(state).join(values),) if _is_joined(part) else values
                for index, value in enumerate(values):
                    if index:
                        finish()
                    current, quoted = (current or "") + value, True
                    line = source if index or len(word) == 1 else line
                continue
            for index, value in enumerate(values):
                if index:
                    finish()
                if part.kind == "text":
                    current = (current or "") + value
                    continue
                for piece, mark in self._cut(value, marks):
                    if piece:
                        line = source if current is None else line
                        current = (current or "") + piece
                    if mark:
                        current = "" if current is None and ends_empty(mark, marks or "") else current
                        finish()
            line = line if current is not None else part.line
        finish()
        return self._ranges(found)

    def _cut(self, text: str, marks: str | None) -> Iterable[tuple[str, str]]:
        """An unquoted value at the separators of IFS."""
        if marks is not None:
            return cuts(text, marks)
        return ((text if _PLAIN.fullmatch(text) else self.holes.unknown("IFS is not known"), ""),)

    def many(self, text: str) -> bool:
        marks = symbols(text)
        return (
            len(marks) > 0
            and all(mark in marks for mark in text)
            and not (len(text) == 1 and ord(text) < 0xF0040 and text not in _SINGLE)
        )

    def _ranges(self, found: list[Field]) -> list[Field]:
        """`{0..7}`, alone of bash's braces: others are seldom meant in arguments of programs."""
        result: list[Field] = []
        for item in found:
            match = _RANGE.fullmatch(item.text) if "{" in item.text else None
            if match is None or abs(int(match[3]) - int(match[2])) >= _MOST_RANGE:
                result.append(item)
                continue
            low, high = int(match[2]), int(match[3])
            step = 1 if high >= low else -1
            result += [
                Field(f"{match[1]}{value}{match[4]}", item.line) for value in range(low, high + step, step)
            ]
        return result

    def _part(self, part: Part, state: State) -> tuple[tuple[str, ...], int]:
        """The values of a part (several only for arrays), and the line where they come from."""
        if part.kind == "text":
            return (part.text,), part.line
        if self.depth >= DEPTH:
            return (self.holes.unknown("expansions are nested too deeply"),), part.line
        self.depth += 1
        expanded = self._expanded(part, state)
        self.depth -= 1
        return expanded

    def _expanded(self, part: Part, state: State) -> tuple[tuple[str, ...], int]:
        if part.kind == "parameter":
            values = self.parameter(part.text, state, part.line)
            match = _PARAMETER.match(part.text)
            return values, state.lines.get(match[2], part.line) if match else part.line
        if part.kind == "arithmetic":
            return (self.arithmetic(part.text, state, part.line),), part.line
        if part.kind == "command":
            return (self.bounded(self.run(part.text, state, part.line)),), part.line
        return (self.holes.unknown("a process substitution"),), part.line

    def arithmetic(self, text: str, state: State, line: int) -> str:
        """The value of an expression; what it assigns is assigned, to what is not known where it cannot be told."""
        expanded = self.text(read_argument(text, line), state)
        missing: list[str] = []

        def lookup(name: str, depth: int = 0) -> int | None:
            value = self.parameter(name, state, line)[0] if "[" in name else self.variable(name, state)
            found = 0 if value == "" else number(value)
            if found is None and known(value) and depth < _NESTED:
                inner = arithmetic(value, lambda inside: lookup(inside, depth + 1))
                found = None if inner is None or inner.assigned else inner.value
            if found is None:
                missing.append(value)
            return found

        result = arithmetic(expanded, lookup) if known(expanded) else None
        if result is not None:
            for name, value in result.assigned.items():
                state.assign(name, str(value), line)
            return str(result.value)
        for name in changed(expanded):
            state.assign(name, self.holes.unknown(f"{name} is computed in line {line}"), line)
        reason = self.holes.reason(missing[0]) if missing else ""
        if not known(expanded):
            reason = self.holes.reason(expanded)
        return self.holes.unknown(reason or f"$(({expanded[:60]})) is not understood")

    def variable(self, name: str, state: State) -> str:
        """What `$NAME` gives."""
        value = self.value(name, state)
        return self.unset(name) if value is None else flat(value)

    def unset(self, name: str) -> str:
        if name in ("@", "*") or name.isdigit():
            return self.holes.unknown("it is an argument of the script")
        return self.holes.unknown(f"{name} is not set in the script")

    def value(self, name: str, state: State) -> Value | None:
        """What a variable holds, `None` where the script does not set it."""
        name = state.references.get(name, name)
        if name in state.variables:
            return state.variables[name]
        if name in state.removed:
            return ""
        if name == "IFS":
            return DEFAULT
        if name == "PWD":
            return state.directory or self.outside("SLURM_SUBMIT_DIR")
        if name in ("@", "*") or name.isdigit():
            return self._positional(name, state)
        if name == "#":
            return None if state.arguments is None else str(len(state.arguments))
        return self.outside(name)

    def _positional(self, name: str, state: State) -> Value | None:
        if state.arguments is None or name == "0":
            return None
        if name in ("@", "*"):
            return state.arguments
        index = int(name[:6])
        return state.arguments[index - 1] if index <= len(state.arguments) else ""

    def parameter(self, inner: str, state: State, line: int) -> tuple[str, ...]:
        """`${...}`, given what stands between the braces."""
        match = _PARAMETER.fullmatch(inner.strip() if inner[:1].isspace() else inner)
        if match is None:
            return (self.holes.unknown(f"${{{inner[:40]}}} is not understood"),)
        mark, name, index, rest = match.groups()
        every = index in ("@", "*") or (name in ("@", "*") and mark != "#")
        value = self.value(name, state)
        if mark == "!":
            return self._indirect(name, index, value, state)
        if mark == "#":
            return (self._length(value, every=index in ("@", "*") or name in ("@", "*")),)
        whole = value
        if index is not None and not every:
            value = self._element(value, index, state, line)
        if not rest:
            if value is None:
                return (self.unset(name) if whole is None else "",)
            return tuple(elements(value)) if every else (flat(value),)
        operator = _OPERATOR.match(rest)
        if operator is None:
            return (self.holes.unknown(f"${{{inner[:40]}}} is not understood"),)
        argument = rest[operator.end() :]
        if operator[0].strip(":") in ("-", "=", "+", "?") and operator[0] != ":":
            missing = value is None and whole is not None
            return self._default(
                name, value, operator[0], argument, state, line, every=every, missing=missing
            )
        if value is None:
            return (self.unset(name) if whole is None else "",)
        if operator[0] == ":" and every:
            return operators.part(self, value, name, argument, state, line)
        values = elements(value) if every else (flat(value),)
        return tuple(operators.changed(self, item, operator[0], argument, state, line) for item in values)

    def _indirect(self, name: str, index: str | None, value: Value | None, state: State) -> tuple[str, ...]:
        if index in ("@", "*") and value is not None:
            return (
                tuple(value)
                if isinstance(value, dict)
                else tuple(map(str, range(len(tuple(elements(value))))))
            )
        target = None if value is None else flat(value)
        if target is None or not known(target) or not target.isidentifier():
            return (self.holes.unknown(f"${{!{name}}}"),)
        return (self.variable(target, state),)

    def _length(self, value: Value | None, *, every: bool) -> str:
        if value is None:
            return self.holes.unknown("a length of what is not known")
        if not every:
            text = flat(value)
            return str(len(text)) if known(text) else self.holes.unknown(self.holes.reason(text))
        items = tuple(elements(value))
        if len(items) == 1 and HOSTS in items[0]:
            return self.outside("SLURM_NNODES") or self.holes.unknown("the number of nodes")
        unsure = next((item for item in items if self.many(item)), None)
        return str(len(items)) if unsure is None else self.holes.unknown(self.holes.reason(unsure))

    def _element(self, value: Value | None, index: str, state: State, line: int) -> Value | None:
        """`${A[i]}`."""
        if value is None:
            return None
        if isinstance(value, dict) and not isinstance(value, Sparse):
            key = self.text(read_argument(index, line), state)
            if known(key):
                return value.get(key)
            return self.holes.unknown(self.holes.reason(key))
        name = index.strip('${}"')
        given = self.variable(name, state) if name.isidentifier() else ""
        if places := self.holes.choices(given):
            found = tuple(flat(self._element(value, item, state, line) or "") for item in places)
            return self.holes.unknown(self.holes.reason(given), found)
        text = self.arithmetic(index, state, line)
        place = number(text) if known(text) else None
        if place is None:
            return self.holes.unknown(self.holes.reason(text) or "an element that is not known")
        if isinstance(value, Sparse):
            return value.at(place)
        items = tuple(elements(value))
        if place == 0 and items and items[0] in (HOSTS, FIRST_HOST):
            return FIRST_HOST
        before = items[: place + 1] if place >= 0 else items[place:]
        if any(self.many(item) for item in before):
            return self.holes.unknown("an element of a list that is not known")
        return items[place] if -len(items) <= place < len(items) else None

    def _default(
        self,
        name: str,
        value: Value | None,
        operator: str,
        argument: str,
        state: State,
        line: int,
        *,
        every: bool,
        missing: bool,
    ) -> tuple[str, ...]:
        """`${X:-d}` and its kin. A variable that nothing in the script sets counts as not set."""
        text = None if value is None else flat(value)
        if value is None and state.opaque and not missing:
            return (self.holes.unknown(f"{name} may be set by what the script sources"),)
        empty = text is None or (operator[0] == ":" and text == "")
        if name in state.removed and operator[0] != ":":
            empty = True
        if operator[-1] == "+":
            return ("",) if empty else (self.text(read_argument(argument, line), state),)
        if not empty:
            return tuple(elements(value)) if every and value is not None else (text or "",)
        if operator[-1] == "?":
            return (self.unset(name),)
        result = self.text(read_argument(argument, line), state)
        if operator[-1] == "=" and name.isidentifier():
            state.assign(name, result, line)
        return (result,)


def _is_joined(part: Part) -> bool:
    """`$*`, `${A[*]}`, `${A[*]@Q}`: one text of all elements where nothing is split."""
    match = _PARAMETER.match(part.text) if part.kind == "parameter" else None
    return match is not None and match[1] != "#" and "*" in (match[2], match[3])
