"""Which byte ranges of a stream deserve a closer look.

A stream is searched in blocks that lie at fixed offsets, whatever pieces it arrives in, so the regions do not depend on
how it was cut. Around each hit a region keeps whole lines: a few around an ordinary hit, more around a traceback. Lines
that are alike are kept a few times and then only the last of them. The first and the last bytes of a stream, lines of
its head that state sizes and its last progress lines are regions too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator

import ahocorasick_rs

from triage.core.logs.alike import Alike, trace_end
from triage.core.logs.anchors import ANCHORS, EXITS, FRAME, HEADER, PROGRESS, SIZES
from triage.core.values import dataclass

BLOCK = 1 << 20
HEAD = 16 << 10
"""Sizes are read from lines of a stream's first bytes even where no anchor finds them."""
HEAD_WHOLE = 1 << 10
TAIL = 2 << 10
"""The last bytes are read whatever they hold."""
PROBE = 64 << 10
"""The last bytes in which progress lines are looked for first."""
QUICK_PROBE = 12 << 10
"""The same within a stream, where they hold enough of them."""
AROUND_TRACEBACK = 2 << 10
AFTER_FRAME = 8 << 10
AFTER_HIT = 512
NEAR = 1 << 10
"""A hit this close behind a region belongs to it: what failed says so in many lines at once."""
FIRST_LINES = 1
FIRST_TRACES = 8
FIRST_EXITS = FIRST_NEAR = 64
"""Of what is alike so many are read: of lines that stand alone, of tracebacks, of lines that tell of an end or a restart,
of lines near another hit."""
AFTER_DUMP = 128 << 10
"""A dump of all arguments may be this long."""
LARGEST = 2 << 20
"""A region that grows beyond this is handed over in pieces."""
LONGEST_LINE = 64 << 10
"""A line border is looked for this far; beyond it a region ends inside the line."""
EDGE = LONGEST_LINE + AROUND_TRACEBACK
"""What is judged at a place lies at most this far before it."""
KEPT_FIRST = 8 << 20
KEPT_LAST = 4 << 20
"""Bytes of regions read closely from the front and from the back of one stream; a storm's middle is counted only."""
LAST_STEPS, FEW_STEPS = 16, 4
"""Progress lines before the end of a stream that are kept, of each form; a few may be other lines with such words."""


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines of a stream, from byte `offset`."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


Hit = tuple[int, int, int]
"""Number of the literal, start, end."""
_SIMD = 64
"""So many literals of four or more bytes the search compares at once; it is several times slower with one more."""


class Anchors:
    """The compiled literals; one serves all streams."""

    def __init__(self, extra: tuple[str, ...] = ()) -> None:
        self.literals: tuple[str, ...] = ANCHORS + tuple(x for x in extra if not any(a in x for a in ANCHORS))
        self.longest = max(len(text.encode()) for text in self.literals)
        self.header = self.literals.index(HEADER)
        self.frame = self.literals.index(FRAME)
        self.dump = self.literals.index(" arguments -")
        self.special = frozenset((self.header, self.frame))
        """Literals that count beside another on the same line."""
        self.limits = [
            FIRST_TRACES if text == HEADER else FIRST_EXITS if text in EXITS else FIRST_LINES
            for text in self.literals
        ]
        """Of lines that are alike, and far from others, so many are read."""
        self.sizes = len(self.literals)
        self._fast = _compiled(self.literals[:_SIMD])
        self._more = _compiled(self.literals[_SIMD:]) if len(self.literals) > _SIMD else None
        self._sizes = _compiled(SIZES)
        self._progress = _compiled(PROGRESS)
        self._words = tuple(text.encode() for text in self.literals)
        self._progress_words = tuple(text.encode() for text in PROGRESS)

    def search(self, text: bytes | memoryview) -> list[Hit]:
        """All hits, in order of their starts."""
        hits: list[Hit] = self._fast.find_matches_as_indexes(text)
        if self._more is not None:
            more = [(which + _SIMD, at, end) for which, at, end in self._more.find_matches_as_indexes(text)]
            hits = _merged(hits, more)
        return hits

    def with_sizes(self, hits: list[Hit], text: bytes) -> list[Hit]:
        """The hits with those of words that state sizes, which count in a stream's head only."""
        sizes = [(self.sizes, at, end) for _, at, end in self._sizes.find_matches_as_indexes(text)]
        return _merged(hits, sizes)

    def has_any(self, text: bytes) -> bool:
        """Whether a short text holds a literal."""
        return any(word in text for word in self._words)

    def has_progress(self, text: bytes) -> bool:
        """Whether `progress` finds anything; likewise."""
        return any(word in text for word in self._progress_words)

    def progress(self, text: bytes | memoryview) -> list[Hit]:
        """Words of lines that show progress."""
        found: list[Hit] = self._progress.find_matches_as_indexes(text)
        return found


def _compiled(literals: tuple[str, ...]) -> ahocorasick_rs.BytesAhoCorasick:
    return ahocorasick_rs.BytesAhoCorasick(
        [text.encode() for text in literals], ahocorasick_rs.MATCHKIND_LEFTMOST_FIRST
    )


def _merged(left: list[Hit], right: list[Hit]) -> list[Hit]:
    return sorted(left + right, key=lambda hit: hit[1:]) if right else left


class RegionFinder:
    """Feed it a stream's bytes in order, close it, and take the regions as they become complete."""

    def __init__(self, anchors: Anchors) -> None:
        self._anchors = anchors
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._previous = b""
        self._offset = 0
        """Offset of the first byte that was not searched yet."""
        self._want: tuple[int, int] | None = None
        """The open region, as offsets; its end may lie ahead of what was read."""
        self._open: list[bytes] = []
        self._open_start = 0
        self._reached = 0
        """Offset just after the open region's last kept byte."""
        self._line = 0
        """Hits before this offset lie on a line that was judged already."""
        self._trace = 0
        """Hits before this offset lie in a traceback that is only counted."""
        self._done: deque[Region] = deque()
        self._late: deque[Region] = deque()
        self._kept = 0
        self._late_bytes = 0
        self._taken: list[tuple[int, int]] = []
        """Offsets of all regions so far."""
        self._alike = Alike()
        self._steps: dict[int, bytes] = {}
        """The last progress lines by offset."""
        self._steps_in: tuple[bytes, int] | None = None
        """The latest window whose end has progress lines, and its offset."""
        self._closed = False
        self.size = 0
        self.passed_over = 0
        """Hits that were only counted."""

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        if not self._pending and len(data) == BLOCK:
            self._block(data)
            return
        self._pending.append(data)
        self._pending_size += len(data)
        if self._pending_size < BLOCK:
            return
        joined = b"".join(self._pending)
        start = 0
        while len(joined) - start >= BLOCK:
            self._block(joined[start : start + BLOCK])
            start += BLOCK
        self._pending = [joined[start:]] if start < len(joined) else []
        self._pending_size = len(joined) - start

    def close(self) -> None:
        """The stream's end. Only the regions are kept from then on: a call may have a hundred thousand streams."""
        rest = b"".join(self._pending)
        self._pending = []
        if rest:
            self._block(rest)
        window = self._previous
        start = self._offset - len(window)
        if self._steps_in is not None:
            where, begin = self._steps_in
            last = begin == start and len(window) > QUICK_PROBE
            self._steps = self._last_steps(where, begin, PROBE if last else QUICK_PROBE)
            self._steps_in = None
        elif self._anchors.has_progress(window):
            self._steps = self._last_steps(window, start, len(window))
        first = _line_start(window, max(0, len(window) - TAIL))
        self._extend(window, start, start + first, self._offset)
        self._finish_open()
        self._add_single_lines()
        self._closed = True
        self._previous, self._steps, self._taken, self._alike = b"", {}, [], Alike()

    def take(self) -> Iterator[Region]:
        """The regions that are complete, in order; after `close` also those of the stream's end."""
        while self._done:
            yield self._done.popleft()
        if self._closed:
            while self._late:
                yield self._late.popleft()

    def ready_bytes(self) -> int:
        return sum(len(r.data) for r in self._done)

    def _block(self, block: bytes) -> None:
        """Search one block. What lies near its start is judged together with the end of the one before."""
        anchors = self._anchors
        keep = self._previous[-EDGE:]
        hits = anchors.search(block)
        if not self._offset:
            self._extend(block, 0, 0, min(HEAD_WHOLE, len(block)))
            hits = anchors.with_sizes(hits, block[:HEAD])
        elif keep:
            hits = self._early(keep, block, hits)
        if hits:
            self._hits(block, self._offset, hits)
        self._offset += len(block)
        self._previous = block if len(block) >= EDGE else keep + block
        if any(anchors.has_progress(self._previous[-probe:]) for probe in (QUICK_PROBE, PROBE)):
            self._steps_in = (self._previous, self._offset - len(self._previous))

    def _early(self, keep: bytes, block: bytes, hits: list[Hit]) -> list[Hit]:
        """Judge the hits near the start of a block; returns the others."""
        border = self._anchors.longest - 1
        here = len(keep)
        joint = keep[-border:] + block[:border]
        across = [
            (which, here - border + at, here - border + end)
            for which, at, end in (self._anchors.search(joint) if self._anchors.has_any(joint) else ())
            if at < border < end
        ]
        count = 0
        while count < len(hits) and hits[count][1] < EDGE:
            count += 1
        waiting = self._want is not None and self._want[1] > self._reached
        if across or count or waiting:
            window = keep + block[: 2 * EDGE]
            start = self._offset - here
            if waiting and self._want is not None:
                self._extend(window, start, *self._want)
            self._hits(
                window, start, across + [(which, here + at, here + end) for which, at, end in hits[:count]]
            )
            if self._want is not None and self._want[1] > self._reached:
                self._extend(block, self._offset, *self._want)
        return hits[count:] if count else hits

    def _hits(self, window: bytes, start: int, hits: list[Hit]) -> None:
        """Make regions of the hits, whose lines and surroundings lie in the window from byte `start`."""
        anchors = self._anchors
        header, frame, special = anchors.header, anchors.frame, anchors.special
        line, trace = self._line - start, self._trace - start
        find, rfind, is_old = window.find, window.rfind, self._alike.is_old
        for which, at, end in hits:
            if end <= line and (end <= trace or which not in special):
                continue
            first = rfind(b"\n", max(0, at - LONGEST_LINE), at) + 1 or max(0, at - LONGEST_LINE)
            stop = find(b"\n", end, end + LONGEST_LINE) + 1 or min(len(window), end + LONGEST_LINE)
            if which == anchors.sizes:
                if not is_old(window[first:stop], start + first, FIRST_LINES):
                    self._extend(window, start, start + first, start + stop)
                continue
            wide = which == header
            if end <= trace:
                continue
            line = stop
            if which == frame:
                last = end + AFTER_FRAME
            elif which == anchors.dump and window[at - 6 : at] != b"end of":
                last = end + AFTER_DUMP
            else:
                if wide:
                    stop = trace_end(window, first, max(first, window.rfind(b"Traceback", first, at)))
                near = self._want is not None and start + first <= self._want[1] + NEAR
                if is_old(window[first:stop], start + first, FIRST_NEAR if near else anchors.limits[which]):
                    self.passed_over += 1
                    if wide:
                        trace = stop
                    continue
                last = end + AFTER_HIT
                if wide:
                    line = max(line, stop)
                    last = max(end + AROUND_TRACEBACK, stop + AFTER_HIT)
                    first = _line_start(window, max(0, at - AROUND_TRACEBACK))
                elif near:
                    first = max(0, self._reached - start)
                elif first:
                    first = _line_start(window, first - 1)
            self._extend(window, start, start + first, start + last)
        self._line, self._trace = line + start, trace + start

    def _extend(self, window: bytes, start: int, first: int, last: int) -> None:
        """Make the open region reach `last`, starting a new one at `first` where they do not touch."""
        if self._want is not None and first > max(self._want[1], self._reached):
            self._finish_open()
        if self._want is None:
            self._open_start = self._reached = max(first, self._reached)
            self._want = (first, last)
        elif last > self._want[1]:
            self._want = (self._want[0], last)
        if self._want[1] <= self._reached:
            return
        last = self._want[1] - start
        stop = len(window) if last >= len(window) else _line_end(window, last)
        if stop + start > self._reached:
            self._open.append(window[self._reached - start : stop])
            self._reached = stop + start
            if stop == len(window) and not window.endswith(b"\n"):
                self._want = (self._want[0], max(self._want[1], self._reached + 1))
            if self._reached - self._open_start >= LARGEST:
                self._split()

    def _split(self) -> None:
        """Hand over what the open region holds up to its last line border, and go on behind it."""
        want = self._want
        data = b"".join(self._open)
        cut = data.rfind(b"\n") + 1 or len(data)
        self._emit(Region(self._open_start, data[:cut]))
        self._open = [data[cut:]] if cut < len(data) else []
        self._open_start += cut
        self._want = want

    def _finish_open(self) -> None:
        data = b"".join(self._open)
        self._want = None
        self._open = []
        if data:
            self._emit(Region(self._open_start, data))

    def _emit(self, region: Region) -> None:
        self._taken.append((region.offset, region.end))
        if self._kept < KEPT_FIRST:
            self._kept += len(region.data)
            self._done.append(region)
            return
        self._late.append(region)
        self._late_bytes += len(region.data)
        while self._late_bytes > KEPT_LAST and len(self._late) > 1:
            self._late_bytes -= len(self._late.popleft().data)
            self.passed_over += 1

    def _last_steps(self, window: bytes, start: int, probe: int) -> dict[int, bytes]:
        """The last progress lines of this window's end by offset."""
        low = max(0, len(window) - probe)
        found: dict[int, bytes] = {}
        forms: dict[int, int] = {}
        first = len(window)
        for which, at, end in reversed(self._anchors.progress(window[low:])):
            if low + at >= first or forms.get(which, 0) >= LAST_STEPS:
                continue
            first = _line_start(window, low + at)
            if start + first not in found:
                forms[which] = forms.get(which, 0) + 1
                found[start + first] = window[first : _line_end(window, low + end)]
        if low and max(forms.values(), default=0) < (LAST_STEPS if probe < PROBE else FEW_STEPS):
            return self._last_steps(window, start, PROBE if probe < PROBE else len(window))
        return found

    def _add_single_lines(self) -> None:
        """The last progress lines and the last of lines that are alike, where no region holds them."""
        taken = sorted(self._taken)
        singles: dict[int, bytes] = {**dict(self._alike.last()), **self._steps}
        reached = 0
        added = []
        for offset in sorted(singles):
            end = offset + len(singles[offset])
            before = bisect_right(taken, (offset, self.size)) - 1
            held = before >= 0 and taken[before][1] > offset
            meets = before + 1 < len(taken) and taken[before + 1][0] < end
            if not held and not meets and offset >= reached:
                added.append(Region(offset, singles[offset]))
                reached = end
        self._done = deque(sorted([*self._done, *added], key=lambda r: r.offset))


def _line_start(window: bytes, at: int) -> int:
    return window.rfind(b"\n", max(0, at - LONGEST_LINE), at) + 1 or max(0, at - LONGEST_LINE)


def _line_end(window: bytes, at: int) -> int:
    if at > 0 and window[at - 1 : at] == b"\n":
        return at
    stop = window.find(b"\n", at, at + LONGEST_LINE)
    return stop + 1 if stop >= 0 else min(len(window), at + LONGEST_LINE)
