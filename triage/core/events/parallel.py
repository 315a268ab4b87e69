"""Several processes that failed at the same place print the same stack: finds the one path they all print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from triage.core.events.codes import Key
from triage.core.events.weave import Piece

MAX_STACKS = 64
MAX_FRAMES = 20_000


def common_path(cut: Sequence[Piece]) -> list[Key] | None:
    """The stack of which every header of the zone starts one copy; None where the frames are no such shuffle."""
    headers = sum(piece.kind == "header" for piece in cut)
    counts = Counter(piece.frame for piece in cut if piece.frame is not None)
    total = sum(counts.values())
    if not 2 <= headers <= MAX_STACKS or not total or total > MAX_FRAMES:
        return None
    if any(count % headers for count in counts.values()):
        return None
    moves = [piece.frame for piece in cut if piece.frame is not None or piece.kind == "header"]
    for policy in ("recent", "shallow", "deep"):
        for extend_first in (False, True):
            path = _replay(moves, total // headers, policy, extend_first)
            if path is not None:
                return path
    return None


def _replay(moves: Sequence[Key | None], length: int, policy: str, extend_first: bool) -> list[Key] | None:
    """Moves one of the open copies forward per frame; the foremost one writes the path. None when one is left over."""
    path: list[Key] = []
    depths: list[int] = []
    for frame in moves:
        if frame is None:
            depths.append(0)
            continue
        fitting = [k for k, depth in enumerate(depths) if depth < len(path) and path[depth] == frame]
        ends = [k for k, depth in enumerate(depths) if depth == len(path)] if len(path) < length else []
        chosen: int | None = None
        if ends and (extend_first or not fitting):
            chosen = ends[-1]
            path.append(frame)
        elif fitting:
            if policy == "recent":
                chosen = fitting[-1]
            else:
                chosen = (max if policy == "deep" else min)(fitting, key=lambda k: depths[k])
        if chosen is None:
            return None
        depth = depths.pop(chosen) + 1
        depths.append(depth)
    return path if len(path) == length and all(depth == length for depth in depths) else None
