"""`(( ... ))` and `let`: counters."""

from __future__ import annotations

from triage.core.script.expand import Expander
from triage.core.script.holes import known
from triage.core.script.state import State


def count(text: str, expander: Expander, state: State, line: int) -> bool | None:
    """Assigns what the expression assigns, and gives its truth; `None` where that is not known."""
    value = expander.arithmetic(text, state, line)
    return value != "0" if known(value) else None
