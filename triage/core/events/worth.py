"""Which lines deserve which reader: all words of all readers are looked for at once, so that most lines meet none.

Every reader looks only at lines that hold one of its words, wherever it is not in the middle of something. The answer is
only a filter: a reader still checks each line itself, and without an answer it looks at all of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from triage.core.logs.record import Record

PIECE = 1 << 16
"""Characters looked at in one go, which bounds the number of hits that are held at once."""


class Worth:
    """The words of several readers."""

    def __init__(self, words: Mapping[str, Collection[str]]) -> None:
        self._words = words

    def of(self, stream: Sequence[Record]) -> dict[str, set[int]]:
        """For each reader the offsets of the records that hold one of its words."""
        found: dict[str, set[int]] = {reader: set() for reader in self._words}
        search, readers = self._search
        for records in _pieces(stream):
            texts = [r.text.encode("utf-8", "surrogatepass") for r in records]
            starts = list(accumulate([len(text) + 1 for text in texts], initial=0))
            hits = search.find_matches_as_indexes(b"\n".join(texts), overlapping=True)
            for after, which in {(bisect_right(starts, start), which) for which, start, _ in hits}:
                for reader in readers[which]:
                    found[reader].add(records[after - 1].offset)
        return found

    @cached_property
    def _search(self) -> tuple[Any, list[list[str]]]:
        from ahocorasick_rs import BytesAhoCorasick

        readers: dict[str, list[str]] = {}
        for reader, words in self._words.items():
            for word in dict.fromkeys(words):
                readers.setdefault(word, []).append(reader)
        return BytesAhoCorasick([word.encode() for word in readers]), list(readers.values())


def _pieces(stream: Sequence[Record]) -> Iterator[Sequence[Record]]:
    start = size = 0
    for at, record in enumerate(stream):
        size += len(record.text)
        if size >= PIECE:
            yield stream[start : at + 1]
            start, size = at + 1, 0
    if start < len(stream):
        yield stream[start:]
