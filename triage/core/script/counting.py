"""`(( ... ))` and `let`: counters."""

from __future__ import annotations

import re

from triage.core.script.expand import Expander
from triage.core.script.holes import known
from triage.core.script.state import State

_CHANGES = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%]?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)", re.ASCII)


def count(text: str, expander: Expander, state: State, line: int) -> bool | None:
    """Assigns what the expression assigns, and gives its truth; `None` where that is not known."""
    changes = list(_CHANGES.finditer(text))
    if not changes:
        value = expander.arithmetic(text, state, line)
        return value != "0" if known(value) else None
    first = changes[0]
    name = first[1] or first[2]
    value = expander.holes.unknown(f"{name} is computed in line {line}")
    if len(changes) == 1 and first[1] and text.strip().startswith(first[0]):
        value = _assigned(first[0], name, text.strip()[len(first[0]) :], expander, state, line) or value
    for change in changes:
        state.assign(change[1] or change[2], value, line)
    return None


def _assigned(head: str, name: str, rest: str, expander: Expander, state: State, line: int) -> str | None:
    """`i++`, `i = x`, `i += x`."""
    operator = head[len(name) :].strip()
    if operator in ("++", "--"):
        return expander.arithmetic(f"{name} {operator[0]} 1", state, line) if not rest.strip() else None
    if operator == "=":
        return expander.arithmetic(rest, state, line)
    return expander.arithmetic(f"{name} {operator[0]} ({rest})", state, line)
