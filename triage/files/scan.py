"""Reads all inputs into an analysis, on as many threads as pay: the search of raw bytes runs without the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock

from triage.core.analysis import Analysis, SourceFeed
from triage.core.cause.verdict import Skipped
from triage.files.inputs import Input
from triage.files.open import chunks

Progress = Callable[[int, int], None]
"""(bytes read, bytes in all)."""

BLOCK = 1 << 20
ALONE = 8 << 20
"""Inputs of fewer bytes than this in all are read on the caller's thread: starting others costs more."""
SMALL = 64 << 10
"""So are files of fewer bytes: they are read closely in great part, with the GIL, and threads would only wait for it."""


def scan(inputs: Sequence[Input], analysis: Analysis, progress: Progress | None = None) -> list[Skipped]:
    """Feed every input; returns what could not be read to its end, with reasons."""
    told = _Told(progress, sum(one.size for one in inputs))
    pairs = [(one, analysis.open(one.source)) for one in inputs]
    large = sorted((pair for pair in pairs if pair[0].size >= SMALL), key=lambda pair: -pair[0].size)
    workers = min(len(large), os.cpu_count() or 1)
    if workers < 2 or sum(one.size for one, _ in large) < ALONE:
        return [note for one, feed in pairs for note in _read(one, feed, told)]
    from concurrent.futures import ThreadPoolExecutor, as_completed

    notes: list[Skipped] = []
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_read, one, feed, told) for one, feed in large]
        try:
            for job in as_completed(jobs):
                notes.extend(job.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    notes.extend(note for one, feed in pairs if one.size < SMALL for note in _read(one, feed, told))
    return sorted(notes, key=lambda n: (n.path, n.reason))


class _Told:
    """Counts what was read, for the one who waits."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._lock = Lock()

    def add(self, size: int) -> None:
        if self._progress is None:
            return
        with self._lock:
            self._done += size
            self._progress(self._done, self._total)


def _read(one: Input, feed: SourceFeed, told: _Told) -> list[Skipped]:
    notes: list[Skipped] = []
    for chunk in chunks(one, BLOCK, notes):
        feed.feed(chunk)
        told.add(len(chunk))
    feed.close()
    return notes
