"""Names that differ in their rank alone: what the first of them says, all of them say, each with its own rank."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.lazy import lazy
from triage.core.logs.source import Source
from triage.core.values import replace

_BEHIND = lazy(r"([-_.=]?)([1-9]\d{0,5})((?:[-_.][A-Za-z][^/]*)?)")
"""Behind the word: the rank, and then nothing that could belong to its number."""
_NUMBER = lazy(r"\d+")

Key = tuple[str, str, str, int]
"""What a name is without its rank, and the digits that this has: some numbers are told by their width."""


def led(paths: Sequence[str]) -> dict[int, int]:
    """The number of each path that differs from an earlier one in its rank alone, and that one's number."""
    first: dict[Key, int] = {}
    numbers: dict[Key, frozenset[int]] = {}
    found: dict[int, int] = {}
    for at, path in enumerate(paths):
        parts = _parts(path)
        if parts is None:
            continue
        key, rank = parts
        if key not in first:
            first[key] = at
            numbers[key] = frozenset(map(int, _NUMBER.findall(key[0] + key[2])))
            if rank in numbers[key]:
                del first[key]
        elif rank not in numbers[key]:
            found[at] = first[key]
    return found


def leads(leader: Source) -> bool:
    """Whether the path of a source says its rank, and nothing else by that number."""
    parts = _parts(leader.path)
    return parts is not None and leader.rank == parts[1] and "rank" not in (leader.node or "").lower()


def of_rank(leader: Source, path: str) -> Source:
    """The source of a path that is led by another one's."""
    parts = _parts(path)
    return leader if parts is None else replace(leader, path=path, rank=parts[1])


def _parts(path: str) -> tuple[Key, int] | None:
    before, word, behind = path.rpartition("rank")
    match = _BEHIND.fullmatch(behind) if word else None
    if match is None or "rank" in before.lower():
        return None
    return (before, match[1], match[3], len(match[2])), int(match[2])
