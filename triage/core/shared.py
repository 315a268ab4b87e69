"""Equal texts and numbers as one value: the ranks of a job say the same, and what is kept of each stays in memory."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar, cast

_Value = TypeVar("_Value", str, int)


def shared(value: _Value) -> _Value:
    """The value that was made first of those equal to this one, as far as they are remembered."""
    return cast("_Value", _first(value))


@lru_cache(maxsize=4096, typed=True)
def _first(value: str | int) -> str | int:
    return value
