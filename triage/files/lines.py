"""Line numbers of byte offsets, counted only for files that hold evidence."""

from __future__ import annotations

from collections.abc import Sequence

from triage.files.inputs import Input
from triage.files.open import chunks


def line_numbers(source: Input, offsets: Sequence[int]) -> list[int]:
    """The 1-based number of the line that holds each byte offset of the decompressed stream.

    An offset past the end has the number of the last line. A carriage return alone ends no line.
    """
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    numbers = [1] * len(offsets)
    start, lines, done = 0, 0, 0
    for chunk in chunks(source):
        end, at = start + len(chunk), 0
        while done < len(order) and offsets[order[done]] < end:
            cut = max(offsets[order[done]] - start, at)
            lines += chunk.count(b"\n", at, cut)
            numbers[order[done]] = lines + 1
            at, done = cut, done + 1
        if done == len(order):
            return numbers
        lines += chunk.count(b"\n", at)
        start = end
        last_is_break = chunk.endswith(b"\n")
    for index in order[done:]:
        numbers[index] = max(1, lines + (0 if start and last_is_break else 1))
    return numbers
