"""Several processes that failed at the same place print the same stack: finds the one path they all print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from triage.core.events.codes import Key
from triage.core.events.weave import Budget, Piece

MAX_STACKS = 64
MAX_FRAMES = 4_000
BEAM = 1_000


def common_path(cut: Sequence[Piece], budget: Budget) -> list[Key] | None:
    """The stack of which every header of the zone starts one copy; None where the frames are no such shuffle."""
    headers = sum(piece.kind == "header" for piece in cut)
    counts = Counter(piece.frame for piece in cut if piece.frame is not None)
    total = sum(counts.values())
    if not 2 <= headers <= MAX_STACKS or not total or total > MAX_FRAMES:
        return None
    if any(count % headers for count in counts.values()):
        return None
    moves = [piece.frame for piece in cut if piece.frame is not None or piece.kind == "header"]
    return _replay(moves, total // headers, budget)


class _Paths:
    """Paths as numbers: each is a shorter one and a frame."""

    def __init__(self) -> None:
        self.parents: list[int] = [0]
        self.frames: list[Key | None] = [None]
        self.lengths: list[int] = [0]
        self.numbers: dict[tuple[int, Key], int] = {}

    def extended(self, path: int, frame: Key) -> int:
        number = self.numbers.get((path, frame))
        if number is None:
            number = self.numbers[path, frame] = len(self.frames)
            self.parents.append(path)
            self.frames.append(frame)
            self.lengths.append(self.lengths[path] + 1)
        return number

    def listed(self, path: int) -> list[Key]:
        found: list[Key] = []
        while (frame := self.frames[path]) is not None:
            found.append(frame)
            path = self.parents[path]
        return found[::-1]


def _replay(moves: Sequence[Key | None], length: int, budget: Budget) -> list[Key] | None:
    """The path under which the frames are copies of it written at once, with the fewest changes between writers.

    A beam search: a state is the path so far, how far each copy has come, and which one wrote last; every frame moves
    one copy on, and only the foremost may lengthen the path.
    """
    paths = _Paths()
    at: dict[int, list[Key]] = {0: []}
    states: dict[tuple[int, tuple[int, ...], int], int] = {(0, (), 0): 0}
    for frame in moves:
        budget.left -= len(states)
        if budget.left < 0:
            return None
        following: dict[tuple[int, tuple[int, ...], int], int] = {}
        for (path, depths, last), cost in states.items():
            if frame is None:
                _keep(following, (path, tuple(sorted((*depths, 0))), 0), cost)
                continue
            listed = at[path]
            for depth in set(depths):
                if depth < len(listed):
                    if listed[depth] != frame:
                        continue
                    longer = path
                elif len(listed) < length:
                    longer = paths.extended(path, frame)
                    if longer not in at:
                        at[longer] = [*listed, frame]
                else:
                    continue
                moved = list(depths)
                moved.remove(depth)
                state = (longer, tuple(sorted((*moved, depth + 1))), depth + 1)
                _keep(following, state, cost + (depth != last))
        states = dict(sorted(following.items(), key=lambda item: item[1])[:BEAM])
        if len(at) > 4 * BEAM:
            alive = {path for path, _, _ in states}
            at = {path: listed for path, listed in at.items() if path in alive}
    done = [
        (cost, path) for (path, depths, _), cost in states.items()
        if paths.lengths[path] == length and all(depth == length for depth in depths)
    ]  # fmt: skip
    return paths.listed(min(done)[1]) if done else None


def _keep(
    states: dict[tuple[int, tuple[int, ...], int], int], state: tuple[int, tuple[int, ...], int], cost: int
) -> None:
    if cost < states.get(state, cost + 1):
        states[state] = cost
