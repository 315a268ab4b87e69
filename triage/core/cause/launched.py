"""What the ways of launchers tell about who wrote a line that carries no rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from triage.core.events.model import Event, Exit

_NODES = frozenset({2, 4, 8, 16})
"""Processes of a node, by which all ranks of one are told from those without the first."""


def spoken_through(events: Iterable[Event]) -> dict[int, int]:
    """Source -> the one rank whose output its launcher lets through as it comes.

    MosaicML's launcher writes the output of all but its node's first process to files, and repeats them under a heading
    when the run has failed (composer/cli/launcher.py, `_launch_processes`). Which rank the first one is follows from the
    ranks whose ends the launcher tells: rank 0 among them, or all of a node.
    """
    told: dict[int, set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event, Exit) and event.by == "composer" and event.rank is not None:
            told[event.span.source].add(event.rank)
    found: dict[int, int] = {}
    for source, ranks in told.items():
        first, count = min(ranks), len(ranks)
        whole = count in _NODES and max(ranks) - first + 1 == count and first % count == 0
        if first == 0 or whole:
            found[source] = first
    return found
