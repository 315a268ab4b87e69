"""Byte offsets as `path:line`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triage.core.cause.joblog import Reason
from triage.core.cause.verdict import Evidence
from triage.core.events.model import Span
from triage.core.values import dataclass

Locate = Callable[[int, Sequence[int]], Sequence[tuple[str, int]]]
"""(source index, byte offsets) -> for each the path to show and the 1-based line number in that file."""


@dataclass
class Places:
    """Byte offsets to `path:line`, counted once per source."""

    locate: Locate

    def __post_init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[str, int]] = {}

    def want(self, spans: Iterable[tuple[int, int]]) -> None:
        by_source: dict[int, set[int]] = {}
        for source, offset in spans:
            by_source.setdefault(source, set()).add(offset)
        for source, offsets in by_source.items():
            ordered = sorted(offsets)
            for offset, place in zip(ordered, self.locate(source, ordered), strict=True):
                self._known[(source, offset)] = place

    def of(self, source: int, offset: int) -> tuple[str, int]:
        if (source, offset) not in self._known:
            self.want([(source, offset)])
        return self._known[(source, offset)]

    def evidence(self, span: Span) -> Evidence:
        """Its lines, as far as they stand in the file in which it begins."""
        path, first = self.of(span.source, span.first)
        end, last = self.of(span.source, max(span.first, span.last - 1))
        return Evidence(path, first, last if end == path else first)

    def say(self, reason: Reason) -> str:
        text = reason.text
        for i, (source, offset) in enumerate(reason.places):
            path, line = self.of(source, offset)
            text = text.replace(f"{{{i}}}", f"{path}:{line}")
        return text
