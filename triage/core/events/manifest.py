"""A node's launch manifest (`launch.json`, schema triage.launch/1), which the rendered batch script writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triage.core.events.model import Manifest, Span

SCHEMA = "triage.launch/1"
_MOST = 4096
"""Characters of a value that are compared and shown."""
_VALUES = 2000


def manifest_of(index: int, text: str) -> Manifest | None:
    """`None` for anything but a whole manifest."""
    import json

    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match data:
        case {
            "schema": "triage.launch/1",
            "host": str(host),
            "node_rank": int(node_rank),
            "nodes": int(nodes),
            "processes_per_node": int(processes),
        } if 0 <= node_rank < nodes <= 100_000 and 0 < processes <= 1024 and host:
            first = node_rank * processes
            return Manifest(
                Span(index, 0, len(text.encode())),
                values={"nnodes": nodes, "nproc_per_node": processes},
                origin="command",
                placed=((host, tuple(range(first, first + processes))),),
                host=host,
                node_rank=node_rank,
                said=dict(_said(data)),
            )
    return None


def _said(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What all nodes should have in common, by a name for people."""
    for name in ("command", "commit", "dirty", "directory"):
        if data.get(name) is not None:
            yield name, _text(data[name])
    for kind in ("environment", "versions"):
        table = data.get(kind)
        if isinstance(table, dict):
            yield from ((f"{kind} {name}", _text(value)) for name, value in list(table.items())[:_VALUES])


def _text(value: object) -> str:
    if value is None:
        return "missing"
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:_MOST]
