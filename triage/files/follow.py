"""One log that is followed: read on from where it was left, however it was truncated, rotated or replaced meanwhile."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence

from triage.core.analysis import SourceFeed
from triage.core.values import dataclass, field

BLOCK = 1 << 20
TAIL = 64 << 10
"""Last bytes that are kept of a log, for the case that its next attempt truncates it."""
_STEP = 64 << 10
"""Bytes between two places of which the line number is known."""


@dataclass(slots=True)
class Followed:
    """A file of a path, until the path holds another one or starts anew."""

    path: str
    feed: SourceFeed
    identity: tuple[int, int]
    """Device and inode."""
    offset: int = 0
    modified: float = 0.0
    """When it was last written to, by the file server's clock."""
    vanished: bool = False
    tail: deque[bytes] = field(default_factory=deque)
    """The last bytes."""
    keeps_tail: bool = False
    _lines: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    """Places with the line breaks before them."""
    _breaks: int = 0

    def read(self, size: int, most: int) -> list[bytes]:
        """Feeds what was written since, up to the size that the file had; returns the new bytes. Raises OSError."""
        pieces = []
        with open(self.path, "rb", buffering=0) as file:
            if (status := os.fstat(file.fileno())).st_ino != self.identity[1] or status.st_size < self.offset:
                return []
            file.seek(self.offset)
            end = min(size, self.offset + most)
            while self.offset < end and (piece := file.read(min(BLOCK, end - self.offset))):
                self._take(piece)
                pieces.append(piece)
        return pieces

    def _take(self, piece: bytes) -> None:
        self.feed.feed(piece)
        self._breaks += piece.count(b"\n")
        self.offset += len(piece)
        if self.offset - self._lines[-1][0] >= _STEP:
            self._lines.append((self.offset, self._breaks))
        if self.keeps_tail:
            self.tail.append(piece[-TAIL:])
            while len(self.tail) > 1 and sum(map(len, self.tail)) - len(self.tail[0]) >= TAIL:
                self.tail.popleft()

    def line_numbers(self, offsets: Sequence[int]) -> list[int]:
        """The 1-based line of each offset: from the nearest known place a little is read once more. Of a file that is
        gone the place itself must do."""
        return [self._line(offset) for offset in offsets]

    def _line(self, offset: int) -> int:
        at, breaks = next(place for place in reversed(self._lines) if place[0] <= offset)
        try:
            with open(self.path, "rb") as file:
                if (status := os.fstat(file.fileno())).st_ino != self.identity[
                    1
                ] or status.st_size < self.offset:
                    return breaks + 1
                file.seek(at)
                between = file.read(offset - at)
        except OSError:
            return breaks + 1
        return breaks + between.count(b"\n") + 1
