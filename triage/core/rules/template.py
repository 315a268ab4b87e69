"""Filling `{name}` in the sentences of a rule."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)\}")
"""Only lower-case names are placeholders, so shell text such as `${MASTER_ADDR}` needs no escaping."""

_MAX_VALUE = 300


def names(template: str) -> tuple[str, ...]:
    """The placeholders of all alternatives of a template, each once, in order."""
    return tuple(dict.fromkeys(_NAME.findall(template)))


def fill(template: str, values: Mapping[str, object]) -> str | None:
    """The first line of `template` whose names all have a value, filled; None when there is none.

    A value of None counts as unknown. Floats are shown with two decimals, long texts are cut.
    """
    for line in template.split("\n"):
        if all(values.get(name) is not None for name in _NAME.findall(line)):
            return _NAME.sub(lambda m: _shown(values[m[1]]), line)
    return None


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    text = " ".join(str(value).split())
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 3] + "..."
