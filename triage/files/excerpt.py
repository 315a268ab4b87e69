"""A stream of which only pieces are there, as a bundle keeps it: the gaps are filled with what says nothing.

A piece stands at the distance from its neighbours that it had in the whole stream, because distances count when lines
are read together. Of a long gap whole blocks are left out, so that a piece stays at its place within a block.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from triage.core.logs.regions import BLOCK
from triage.core.values import dataclass

_FILL = b"~"


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a stream that are there."""

    offset: int
    """Where they began in the whole stream."""
    line: int
    """Line breaks of the whole stream before them."""
    at: int
    """Where they begin in the file that holds them."""
    size: int


class Excerpt:
    """The pieces of one stream, in order."""

    def __init__(self, pieces: Sequence[Piece], held: BinaryIO) -> None:
        self._pieces = pieces
        self._held = held
        self._starts = list(_starts(pieces))
        self.size = self._starts[-1] + pieces[-1].size if pieces else 0
        """Bytes of the stream with its gaps as they are filled."""

    def chunks(self, size: int) -> Iterator[bytes]:
        """The stream, in pieces of at most `size` bytes."""
        position = 0
        for start, piece in zip(self._starts, self._pieces, strict=True):
            if start > position:
                yield from _sliced(_FILL * (start - position - 1) + b"\n", size)
            yield from _sliced(self._read(piece), size)
            position = start + piece.size

    def line_numbers(self, offsets: Sequence[int]) -> list[int]:
        """The 1-based line in the whole stream of each offset of this one; in a gap, that of the piece before it."""
        numbers = [1] * len(offsets)
        if not self._pieces:
            return numbers
        latest, data = -1, b""
        for index in sorted(range(len(offsets)), key=offsets.__getitem__):
            which = max(0, bisect_right(self._starts, offsets[index]) - 1)
            piece = self._pieces[which]
            if which != latest:
                latest, data = which, self._read(piece)
            inside = min(offsets[index] - self._starts[which], max(0, piece.size - 1))
            numbers[index] = piece.line + data.count(b"\n", 0, inside) + 1
        return numbers

    def _read(self, piece: Piece) -> bytes:
        return os.pread(self._held.fileno(), piece.size, piece.at)


def _starts(pieces: Sequence[Piece]) -> Iterator[int]:
    """Where each piece stands in the filled stream."""
    position = left_out = 0
    for piece in pieces:
        gap = piece.offset - left_out - position
        if gap >= 2 * BLOCK:
            left_out += (gap // BLOCK - 1) * BLOCK
        position = max(position, piece.offset - left_out)
        yield position
        position += piece.size


def _sliced(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]
