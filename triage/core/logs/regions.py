"""Which byte ranges of a stream deserve a closer look.

A stream is searched in blocks that lie at fixed offsets, whatever pieces it arrives in, so the regions do not depend on
how it was cut. Around each hit a region keeps whole lines: a few after an ordinary hit, more around a traceback. The
start and the end of a stream and the last progress lines before the end are regions too.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ahocorasick_rs

from triage.core.logs.anchors import ANCHORS

BLOCK = 1 << 20
HEAD = 16 << 10
TAIL = 64 << 10
PROBE = 64 << 10
"""The last bytes of each block in which the latest progress line is looked for."""
AROUND_TRACEBACK = 2 << 10
AFTER_FRAME = 8 << 10
AFTER_HIT = 512
AFTER_DUMP = 128 << 10
"""A dump of all arguments may be this long."""
LARGEST = 2 << 20
"""A region that grows beyond this is handed over in pieces."""
LONGEST_LINE = 64 << 10
"""A line border is looked for this far; beyond it a region ends inside the line."""
SAME_LINES = 64
"""Hits on lines that differ only in digits are read closely this often in one stream, then only counted."""
KEPT_FIRST = 48 << 20
KEPT_LAST = 16 << 20
"""Bytes of regions read closely from the front and from the back of one stream; a storm's middle is counted only."""

PROGRESS_MARKS = (b"iteration ", b"'loss':", b"it/s", b"s/it", b"step")
_LEADING_TAG = re.compile(rb"[ \t]*(?:\d{1,7}: )?(?:\[[A-Za-z_./ -]{0,24}\d{1,7}\]:?)?")
_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines of a stream, from byte `offset`."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


Search = Callable[[bytes], list[tuple[int, int, int]]]


class Anchors:
    """The compiled literals; one serves all threads."""

    def __init__(self, extra: tuple[str, ...] = ()) -> None:
        self.literals: tuple[str, ...] = ANCHORS + tuple(x for x in extra if not any(a in x for a in ANCHORS))
        patterns = [text.encode() for text in self.literals]
        self._automaton = ahocorasick_rs.BytesAhoCorasick(patterns, ahocorasick_rs.MATCHKIND_LEFTMOST_FIRST)
        self.longest = max(map(len, patterns))
        self.header = self.literals.index("Traceback (m")
        self.frame = self.literals.index('", line ')
        self.dump = self.literals.index(" arguments -")
        self.search: Search = self._automaton.find_matches_as_indexes


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
        self._done: deque[Region] = deque()
        self._late: deque[Region] = deque()
        self._kept = 0
        self._late_bytes = 0
        self._seen: dict[tuple[bytes, bytes], int] = {}
        self._progress: Region | None = None
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
        rest = b"".join(self._pending)
        self._pending = []
        if rest:
            self._block(rest)
        window = self._previous
        start = self._offset - len(window)
        self._remember_progress(window, start, 0)
        tail = max(start, self._offset - TAIL)
        first = _line_start(window, max(0, tail - start)) + start
        self._take_progress(first)
        self._extend(window, start, first, self._offset)
        self._finish_open()
        self._closed = True

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
        keep = self._previous[-(LONGEST_LINE + AROUND_TRACEBACK) :]
        window = keep + block if keep else block
        start = self._offset - len(keep)
        begin = max(0, len(keep) - self._anchors.longest + 1)
        self._offset += len(block)
        if start <= 0 < HEAD:
            self._extend(window, start, 0, min(HEAD, self._offset))
        elif self._want is not None:
            self._extend(window, start, self._want[0], self._want[1])
        probe = memoryview(window)[begin:] if begin else window
        hits = self._anchors.search(probe)  # type: ignore[arg-type]
        if hits:
            self._hits(window, start, begin, len(keep), hits)
        self._remember_progress(window, start, max(0, len(window) - PROBE))
        self._previous = window if len(block) < LONGEST_LINE else block

    def _hits(
        self, window: bytes, start: int, begin: int, fresh: int, hits: list[tuple[int, int, int]]
    ) -> None:
        header, frame = self._anchors.header, self._anchors.frame
        covered = 0
        for which, at, end in hits:
            at += begin
            end += begin
            if end <= fresh:
                continue
            if which == header:
                first = _line_start(window, max(0, at - AROUND_TRACEBACK))
                last = end + AROUND_TRACEBACK
            elif which == self._anchors.dump and window[at - 6 : at] != b"end of":
                first, last = _line_start(window, at), end + AFTER_DUMP
            elif which == frame:
                first, last = _line_start(window, at), end + AFTER_FRAME
            else:
                if end <= covered:
                    continue
                first = _line_start(window, at)
                stop = window.find(b"\n", end, end + LONGEST_LINE)
                line = window[first : stop if stop >= 0 else end]
                covered = stop if stop >= 0 else min(len(window), end + LONGEST_LINE)
                if self._is_old(line):
                    self.passed_over += 1
                    continue
                last = end + AFTER_HIT
            self._extend(window, start, start + first, start + last)

    def _is_old(self, line: bytes) -> bool:
        tag = _LEADING_TAG.match(line)
        key = (tag.group() if tag else b"", line[:512].translate(None, _DIGITS))
        count = self._seen.get(key, 0)
        if count >= SAME_LINES:
            return True
        if len(self._seen) < 200_000:
            self._seen[key] = count + 1
        return False

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
        if self._kept < KEPT_FIRST:
            self._kept += len(region.data)
            self._done.append(region)
            return
        self._late.append(region)
        self._late_bytes += len(region.data)
        while self._late_bytes > KEPT_LAST and len(self._late) > 1:
            self._late_bytes -= len(self._late.popleft().data)
            self.passed_over += 1

    def _remember_progress(self, window: bytes, start: int, low: int) -> None:
        at = max(window.rfind(mark, low) for mark in PROGRESS_MARKS)
        if at < 0:
            return
        first = _line_start(window, max(0, at - AROUND_TRACEBACK))
        last = _line_end(window, at)
        if self._progress is None or start + last > self._progress.end:
            self._progress = Region(start + first, bytes(window[first:last]))

    def _take_progress(self, tail: int) -> None:
        """The last progress lines as a region, where they lie before the tail and no other region has them."""
        last = self._progress
        if last is None or last.end > tail:
            return
        if last.offset >= self._reached:
            self._finish_open()
            self._reached = last.end
            self._emit(last)


def _line_start(window: bytes, at: int) -> int:
    return window.rfind(b"\n", max(0, at - LONGEST_LINE), at) + 1 or max(0, at - LONGEST_LINE)


def _line_end(window: bytes, at: int) -> int:
    if at > 0 and window[at - 1 : at] == b"\n":
        return at
    stop = window.find(b"\n", at, at + LONGEST_LINE)
    return stop + 1 if stop >= 0 else min(len(window), at + LONGEST_LINE)
