"""Rank sets for display; the verdict holds them folded (`0-4,6-15`)."""

from __future__ import annotations


def of_ranks(ranks: str, room: int = 60) -> str:
    """`rank 5`, `ranks 0-4,6-15`; a list with many gaps is cut after `room` characters. Empty for no rank."""
    if not ranks:
        return ""
    if ranks.isdecimal():
        return f"rank {ranks}"
    return f"ranks {shortened(ranks, room)}"


def shortened(ranks: str, room: int) -> str:
    """Cut at a comma, with `...` for the rest."""
    if len(ranks) <= room:
        return ranks
    cut = ranks.rfind(",", 0, max(1, room - 3))
    return f"{ranks[: cut if cut > 0 else room - 3]},..."
