"""Patterns that are compiled when they are first used.

The readers of events have some hundred patterns, of which one run needs a few: to compile all of them takes longer than
to explain a small folder.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_PARTS = (
    "search",
    "match",
    "fullmatch",
    "finditer",
    "findall",
    "sub",
    "subn",
    "split",
    "pattern",
    "groupindex",
)


class _Lazy:
    """Stands for a compiled pattern; after the first use its parts are that pattern's own."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for part in _PARTS:
            setattr(self, part, getattr(compiled, part))
        return getattr(compiled, name)


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`; a pattern that is wrong is found on its first use."""
    return cast("re.Pattern[AnyStr]", _Lazy(text, flags))
