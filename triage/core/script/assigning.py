"""Assignments: `A=x`, `A+=x`, `A=(...)`, `A[i]=x`, `unset A[i]`, and what integers make of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from triage.core.script.arithmetic import number
from triage.core.script.expand import Expander
from triage.core.script.holes import Array, Sparse, Table, Value, elements, flat, known
from triage.core.script.state import State
from triage.core.script.tree import Assignment, Word

_ELEMENT = re.compile(r"([A-Za-z_]\w*)\[(.*)\]", re.DOTALL | re.ASCII)


def assign(expander: Expander, item: Assignment, state: State, *, table: bool = False) -> None:
    """Follows one assignment; `table` is `declare -A`."""
    before = expander.value(item.name, state) if item.append or item.index else None
    if item.is_array:
        current = state.variables.get(item.name)
        associative = table or (isinstance(current, dict) and not isinstance(current, Sparse))
        value = _array(expander, item.value, state, before, table=associative)  # type: ignore[arg-type]
        expander.budget.spend(len(value))
        state.assign(item.name, value, item.line)
        return
    text = expander.text(item.value, state)  # type: ignore[arg-type]
    if item.index is not None:
        _element(expander, item, text, before, state)
    elif item.append and isinstance(before, tuple):
        state.assign(item.name, (expander.bounded(flat(before) + text), *before[1:]), item.line)
    else:
        assign_text(expander, item.name, text, state, item.line, append=item.append)


def assign_text(
    expander: Expander, name: str, text: str, state: State, line: int, *, append: bool = False
) -> None:
    """A text under a name; of an integer (`declare -i`) the value that it has as an expression."""
    before = flat(expander.value(name, state) or "") if append else ""
    if name in state.integers:
        text = expander.arithmetic(f"{before or 0} + ({text})" if append else text, state, line)
    else:
        text = expander.bounded(before + text)
    state.assign(name, text, line)


def _array(
    expander: Expander,
    given: Sequence[tuple[Word | None, Word]],
    state: State,
    before: Value | None,
    *,
    table: bool,
) -> Array | Table:
    """What `(...)` gives, behind what was there before."""
    values = [*elements(before)] if before is not None and not isinstance(before, dict) else []
    keyed: dict[str, str] = dict(before) if isinstance(before, dict) else {}
    sparse = isinstance(before, Sparse) or not table
    if isinstance(before, Sparse):
        values = []
    for key, word in given:
        if key is None:
            words = [field.text for field in expander.fields((word,), state)]
            if sparse and keyed:
                _behind(keyed, words)
            else:
                values += words
            continue
        text = expander.text(key, state)
        if sparse:
            text = expander.arithmetic(text, state, word[0].line if word else 0)
            keyed = keyed or _numbered(values)
        keyed[text] = expander.text(word, state)
    if table:
        return keyed
    return Sparse(keyed) if keyed else tuple(values)


def _behind(keyed: dict[str, str], words: Sequence[str]) -> None:
    first = max((int(key) for key in keyed if key.isdigit()), default=-1) + 1
    keyed |= {str(first + index): word for index, word in enumerate(words)}


def _numbered(values: Sequence[str]) -> dict[str, str]:
    return {str(index): value for index, value in enumerate(values)}


def _element(expander: Expander, item: Assignment, text: str, before: Value | None, state: State) -> None:
    key = expander.text(item.index or (), state)
    current = state.variables.get(item.name)
    if isinstance(current, dict) and not isinstance(current, Sparse) and known(key):
        old = current.get(key, "") if item.append else ""
        state.assign(item.name, {**current, key: expander.bounded(old + text)}, item.line)
        expander.budget.spend(len(current))
        return
    held = current if current is not None else before
    place = number(expander.arithmetic(key, state, item.line)) if known(key) else None
    values = (
        dict(held)
        if isinstance(held, Sparse)
        else _numbered(tuple(elements(held)) if held is not None else ())
    )
    expander.budget.spend(len(values))
    if place is not None and place < 0:
        place += max(map(int, values), default=-1) + 1
    if place is None or place < 0:
        unsure = expander.holes.unknown(f"an element of {item.name} that is not known")
        state.assign(item.name, unsure, item.line)
        return
    old = values.get(str(place), "") if item.append else ""
    values[str(place)] = expander.bounded(old + text)
    state.assign(item.name, _dense(values), item.line)


def _dense(values: Mapping[str, str]) -> Array | Sparse:
    """An array without gaps where there is none."""
    ordered = sorted(values, key=int)
    if ordered == [str(index) for index in range(len(ordered))]:
        return tuple(values[key] for key in ordered)
    return Sparse({key: values[key] for key in ordered})


def unset_element(expander: Expander, text: str, state: State, line: int) -> None:
    """`unset 'A[0]'`."""
    match = _ELEMENT.fullmatch(text)
    value = state.variables.get(match[1]) if match is not None else None
    if match is None or value is None or isinstance(value, str):
        return
    if isinstance(value, dict) and not isinstance(value, Sparse):
        state.variables[match[1]] = {key: item for key, item in value.items() if key != match[2]}
        return
    values = dict(value) if isinstance(value, Sparse) else _numbered(value)
    place = number(expander.arithmetic(match[2], state, line))
    if place is None:
        state.assign(match[1], expander.holes.unknown(f"an element of {match[1]} is taken away"), line)
        return
    values.pop(str(place if place >= 0 else max(map(int, values), default=-1) + 1 + place), None)
    state.variables[match[1]] = _dense(values)
