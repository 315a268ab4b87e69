"""Patterns of exceptions that are mere lists of names: they are looked up instead of compiled."""

from __future__ import annotations

from triage.core.lazy import lazy

_PREFIX = "(?:.*\\.)?"
_LIST = lazy(r"\(\?:(\w+(?:\|\w+)*)\)|(\w+)")


def listed(pattern: str) -> frozenset[str] | None:
    """The names of `(?:.*\\.)?(?:ValueError|KeyError)` and the like, None for patterns of any other form.

    For these "the whole name or its last part fits" is the same as "its last part is one of them".
    """
    found = _LIST.fullmatch(pattern.removeprefix(_PREFIX))
    return frozenset((found[1] or found[2]).split("|")) if found else None
