"""Reads all inputs into an analysis, shared among processes where that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from triage.core.analysis import Analysis, SourceFeed
from triage.core.cause.verdict import Skipped
from triage.files.inputs import Input
from triage.files.open import chunks

Progress = Callable[[int, int], None]
"""(bytes read, bytes in all)."""

BLOCK = 1 << 20
MANY = 64
"""So many files may be those of ranks that say the same."""
ALONE = 8 << 20
"""Inputs of fewer bytes than this in all are read by the caller's process: starting others costs more."""


def scan(inputs: Sequence[Input], analysis: Analysis, progress: Progress | None = None) -> list[Skipped]:
    """Feed every input; returns what could not be read to its end, with reasons."""
    total = sum(one.total for one in inputs)
    for one in inputs:
        analysis.open(one.source)
    if len(inputs) >= MANY:
        analysis.look_for_twins()
    if total < ALONE or len(inputs) < 2:
        return _read_all(range(len(inputs)), inputs, analysis, _Told(progress, total, total))
    from triage.files.workers import available, divided, read_shares

    shares = divided([one.total for one in inputs], available())
    told = _Told(progress, total, sum(inputs[i].total for i in shares[0]))
    untold = _Told(None, 0, 0)

    def read(share: Sequence[int]) -> list[Skipped]:
        return _read_all(share, inputs, analysis, told if share is shares[0] else untold)

    notes = read_shares(analysis, shares, read)
    return sorted(notes, key=lambda n: (n.path, n.reason))


class _Told:
    """Tells the one who waits how far all is, from how far this process's share is."""

    def __init__(self, progress: Progress | None, total: int, share: int) -> None:
        self._progress = progress
        self._total = total
        self._share = max(share, 1)
        self._done = 0

    def add(self, size: int) -> None:
        self._done += size
        if self._progress is not None:
            self._progress(min(self._total, self._total * self._done // self._share), self._total)


def _read_all(
    share: Sequence[int], inputs: Sequence[Input], analysis: Analysis, told: _Told
) -> list[Skipped]:
    return [note for i in share for note in _read(inputs[i], analysis, analysis.feeds[i], told)]


def _read(one: Input, analysis: Analysis, feed: SourceFeed, told: _Told) -> list[Skipped]:
    notes: list[Skipped] = []
    pieces = chunks(one, BLOCK, notes)
    first, second = next(pieces, b""), next(pieces, None)
    if second is None:
        feed.read(first, analysis.twins)
        told.add(len(first))
        return notes
    for piece in chain((first, second), pieces):
        feed.feed(piece)
        told.add(len(piece))
    feed.close()
    return notes
