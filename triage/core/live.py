"""What a new piece of a growing log shows at once, before anybody asks for a verdict."""

from __future__ import annotations

from triage.core.events.extract import events_of
from triage.core.events.model import Progress
from triage.core.logs.regions import Anchors, Region

_LINE = 4096
"""Bytes of a progress line that are looked at."""


def is_telling(anchors: Anchors, piece: bytes) -> bool:
    """Whether it holds a word with which a closer look begins: a failure or an end may be told here."""
    return bool(anchors.search(piece))


def newest_progress(anchors: Anchors, piece: bytes) -> Progress | None:
    """The last iteration that the piece tells of."""
    for _, at, end in reversed(anchors.progress(piece)[-8:]):
        first = piece.rfind(b"\n", max(0, at - _LINE), at) + 1
        stop = piece.find(b"\n", end, end + _LINE)
        line = piece[first : stop if stop >= 0 else end + _LINE]
        found = [event for event in events_of(0, [Region(0, line + b"\n")]) if isinstance(event, Progress)]
        if found and stop >= 0 and found[-1].iteration is not None:
            return found[-1]
    return None
