"""Which byte ranges of a stream a bundle keeps: all of a small one, else what the engine reads closely and some around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triage.core.logs.regions import Anchors, RegionFinder
from triage.core.values import dataclass
from triage.files.inputs import Input
from triage.files.open import chunks

Range = tuple[int, int]
"""First byte, and the one behind the last."""

BUDGET = 64 << 20
"""Bytes of all logs that are kept: what can still be attached to an issue when it is packed."""
_WHOLE = 256 << 10
_ENDS = 32 << 10
"""Of a longer stream, the first and the last bytes are kept: what a later version reads there may be more."""
_AROUND = 2 << 10
"""The same around each region."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes of a stream, whole lines where they are not longer than a region may be."""

    offset: int
    line: int
    """Line breaks before them."""
    data: bytes
    torn: tuple[bool, bool]
    """Whether they begin, and end, inside a line."""


def kept_ranges(inputs: Sequence[Input], anchors: Anchors, cited: frozenset[str]) -> list[list[Range]]:
    """What is kept of each input; where the budget is too small for all, those that the verdict cites come first."""
    tight = [_read_closely(one, anchors) for one in inputs]
    wide = [
        [(0, ranges[-1][1])]
        if ranges and ranges[-1][1] <= _WHOLE
        else _merged((max(0, a - _AROUND), b + _AROUND) for a, b in (*ranges, *_ends(ranges)))
        for ranges in tight
    ]
    if sum(map(_bytes, wide)) <= BUDGET:
        return wide
    sizes = [_bytes(ranges) for ranges in tight]
    first = [i for i, one in enumerate(inputs) if one.source.path in cited]
    rest = [i for i, one in enumerate(inputs) if one.source.path not in cited]
    left = BUDGET
    for group in (first, rest):
        share = _share([sizes[i] for i in group], left)
        for i in group:
            tight[i] = list(_ends_of(tight[i], share))
            left -= _bytes(tight[i])
    return tight


def _read_closely(one: Input, anchors: Anchors) -> list[Range]:
    """The regions of a stream, of which the last reaches its end."""
    finder = RegionFinder(anchors)
    found: list[Range] = []
    for chunk in chunks(one):
        finder.feed(chunk)
        found += [(region.offset, region.end) for region in finder.take()]
    finder.close()
    found += [(region.offset, region.end) for region in finder.take()]
    if one.source.kind != "log" and finder.size <= _WHOLE_FILE:
        return [(0, finder.size)] if finder.size else []
    return _merged(found)


_WHOLE_FILE = 4 << 20
"""A file that is one piece of JSON says nothing in parts."""


def _ends(ranges: Sequence[Range]) -> Iterator[Range]:
    if ranges:
        size = ranges[-1][1]
        yield 0, min(size, _ENDS)
        yield max(0, size - _ENDS), size


def _merged(ranges: Iterable[Range]) -> list[Range]:
    out: list[Range] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def _bytes(ranges: Iterable[Range]) -> int:
    return sum(end - start for start, end in ranges)


def _share(sizes: Sequence[int], budget: int) -> int:
    """The largest size to which all can be cut so that they fit."""
    left = max(0, budget)
    for number, size in enumerate(sorted(sizes)):
        if size * (len(sizes) - number) > left:
            return left // (len(sizes) - number)
        left -= size
    return max(sizes, default=0)


def _ends_of(ranges: Sequence[Range], share: int) -> Iterator[Range]:
    """The first and the last of the ranges, as many bytes of each as half the share."""
    if _bytes(ranges) <= share:
        yield from ranges
        return
    front: list[Range] = []
    back: list[Range] = []
    left = share // 2
    for start, end in ranges:
        if left <= 0:
            break
        front.append((start, min(end, start + left)))
        left -= end - start
    left = share - share // 2
    for start, end in reversed(ranges):
        if left <= 0:
            break
        back.append((max(start, end - left), end))
        left -= end - start
    yield from _merged([*front, *back])


def cut(one: Input, ranges: Sequence[Range]) -> list[Cut]:
    """The bytes of these ranges, of which the last reaches the stream's end; the other ends are moved inwards to line
    borders where one is near."""
    out: list[Cut] = []
    left = list(reversed(ranges))
    position = lines = 0
    held: list[bytes] = []
    before = b"\n"
    """The byte in front of what is held."""
    for chunk in chunks(one):
        at = 0
        while left and left[-1][0] < position + len(chunk):
            start, end = left[-1]
            if not held and start >= position + at:
                lines += chunk.count(b"\n", at, start - position)
                before = chunk[start - position - 1 : start - position] if start > position else before
                at = start - position
            stop = min(end - position, len(chunk))
            held.append(chunk[at:stop])
            at = max(at, stop)
            if end > position + len(chunk):
                break
            data = b"".join(held)
            out.append(_on_lines(start, lines, data, before, len(left) == 1))
            lines += data.count(b"\n")
            before, held = data[-1:] or before, []
            left.pop()
        if not left:
            break
        if not held:
            lines += chunk.count(b"\n", at)
            before = chunk[-1:]
        position += len(chunk)
    if held and left:
        out.append(_on_lines(left[-1][0], lines, b"".join(held), before, True))
    return [one for one in out if one.data]


def _on_lines(offset: int, line: int, data: bytes, before: bytes, is_last: bool) -> Cut:
    starts_torn = before != b"\n"
    if starts_torn and 0 < (first := data.find(b"\n", 0, _AROUND) + 1) < len(data):
        offset, line, data, starts_torn = offset + first, line + 1, data[first:], False
    if is_last:
        return Cut(offset, line, data, (starts_torn, False))
    whole = data.rfind(b"\n", max(0, len(data) - _AROUND)) + 1
    data = data[:whole] if whole else data
    return Cut(offset, line, data, (starts_torn, not data.endswith(b"\n")))
