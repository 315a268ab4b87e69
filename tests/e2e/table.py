"""The lab's rows as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.e2e.fault import Fault

HEAD = "| fault | right | verdict | confidence | exit | seconds | explain says the same |\n|---|---|---|---|---|---|---|"


def markdown(faults: Sequence[Fault], rows: Iterable[dict[str, Any]]) -> str:
    """A row for each fault with its rounds side by side, and how many were judged as what."""
    of_fault: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of_fault.setdefault(row["fault"], []).append(row)
    lines = [_line(fault, of_fault.get(fault.name, [])) for fault in faults]
    judged = [row["judged"] for found in of_fault.values() for row in found]
    counts = ", ".join(f"{judged.count(kind)} {kind}" for kind in sorted(set(judged)))
    return "\n".join([HEAD, *lines, "", f"{len(judged)} runs: {counts}."])


def _line(fault: Fault, rows: Sequence[dict[str, Any]]) -> str:
    right = _place("/".join(fault.right.categories), fault.right.rank)
    ran = [row for row in rows if "category" in row]
    cells = [
        _each([_verdict(row) for row in ran] or [row["judged"] for row in rows]),
        _each([row["confidence"] for row in ran]),
        _each([str(row["exit"]) for row in ran]),
        ", ".join("?" if row["seconds"] is None else f"{row['seconds']:.1f}" for row in ran),
        _each(["yes" if row["same"] else "**no**" for row in ran]),
    ]
    return f"| {fault.name} | {right} | " + " | ".join(cells) + " |"


def _place(category: str, rank: int | None) -> str:
    return category if rank is None else f"{category}, rank {rank}"


def _verdict(row: dict[str, Any]) -> str:
    said = _place(row["category"], row["rank"])
    if row["category"] == "none":
        said = f"none ({row['outcome']})"
    return said if row["judged"] == "right" else f"**{said}: {row['judged']}**"


def _each(words: Sequence[str]) -> str:
    """Once where all rounds say the same."""
    return "; ".join(dict.fromkeys(words)) or "not run"
