"""Byte offsets as `path:line`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from triage.core.cause.joblog import Reason
from triage.core.cause.verdict import Evidence
from triage.core.events.model import Span
from triage.core.logs.source import Source

LineNumbers = Callable[[int, Sequence[int]], Sequence[int]]
"""(source index, byte offsets) -> 1-based line numbers."""


@dataclass
class Places:
    """Byte offsets to `path:line`, counted once per source."""

    sources: Sequence[Source]
    lines: LineNumbers

    def __post_init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def want(self, spans: Iterable[tuple[int, int]]) -> None:
        by_source: dict[int, set[int]] = {}
        for source, offset in spans:
            by_source.setdefault(source, set()).add(offset)
        for source, offsets in by_source.items():
            ordered = sorted(offsets)
            for offset, number in zip(ordered, self.lines(source, ordered), strict=True):
                self._numbers[(source, offset)] = number

    def number(self, source: int, offset: int) -> int:
        if (source, offset) not in self._numbers:
            self.want([(source, offset)])
        return self._numbers[(source, offset)]

    def evidence(self, span: Span) -> Evidence:
        last = max(span.first, span.last - 1)
        return Evidence(
            self.sources[span.source].path,
            self.number(span.source, span.first),
            self.number(span.source, last),
        )

    def say(self, reason: Reason) -> str:
        text = reason.text
        for i, (source, offset) in enumerate(reason.places):
            text = text.replace(f"{{{i}}}", f"{self.sources[source].path}:{self.number(source, offset)}")
        return text
