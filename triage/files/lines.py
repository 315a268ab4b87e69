"""Files and line numbers of byte offsets, counted only for logs that hold evidence."""

from __future__ import annotations

import os
from collections.abc import Sequence

from triage.files.inputs import Input, clean
from triage.files.open import chunks


def line_numbers(source: Input, offsets: Sequence[int]) -> list[int]:
    """The 1-based number of the line that holds each byte offset of the decompressed stream.

    An offset past the end has the number of the last line. A carriage return alone ends no line.
    """
    if source.excerpt is not None:
        return source.excerpt.line_numbers(offsets)
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


def places(source: Input, offsets: Sequence[int], base: str | None = None) -> list[tuple[str, int]]:
    """The file that holds each byte offset of the log and the line there, whatever parts the log is cut into.

    Files are named from the argument that held them, or from the folder `base`.
    """
    if not source.rest:
        return [(_named(source, base), number) for number in line_numbers(source, offsets)]
    found: dict[int, tuple[str, int]] = {}
    start = 0
    for part in source.files:
        size = sum(map(len, chunks(part)))
        own = [o for o in offsets if start <= o < start + size or (o >= start and part is source.rest[-1])]
        for offset, number in zip(own, line_numbers(part, [o - start for o in own]), strict=True):
            found[offset] = (_named(part, base), number)
        start += size
    return [found[offset] for offset in offsets]


def _named(one: Input, base: str | None) -> str:
    """A file that does not lie below `base` is named as the user did: that can be opened too."""
    if base is None or one.held is not None or one.excerpt is not None:
        return one.source.path
    try:
        below, whole = os.path.join(os.path.abspath(base), ""), os.path.abspath(one.open)
    except OSError:  # the current folder is gone
        return clean(one.open)
    return clean(whole[len(below) :] if whole.startswith(below) else one.open)
