"""Sets of ranks as people write them: `0-4,6-15`."""

from __future__ import annotations

from collections.abc import Iterable


def fold(numbers: Iterable[int]) -> str:
    """Sorted, with runs folded; the empty set is the empty string."""
    parts: list[str] = []
    first = last = None
    for n in sorted(set(numbers)):
        if first is not None and last is not None and n == last + 1:
            last = n
            continue
        if first is not None:
            parts.append(_part(first, last))
        first = last = n
    if first is not None:
        parts.append(_part(first, last))
    return ",".join(parts)


def _part(first: int, last: int | None) -> str:
    return str(first) if first == last else f"{first}-{last}"
