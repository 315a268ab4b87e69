"""A live view of watched jobs for a terminal: a panel for each, and below them what was told."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from triage.core.values import dataclass
from triage.watch.events import Event
from triage.watch.panel import brief, panel, wrapped
from triage.watch.watcher import Watcher

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_KEPT = 200
_BAD = frozenset({"failure", "stall", "lost", "reused", "store"})
_FEWEST = 4
"""Lines that are left for what was told."""


@dataclass(slots=True)
class Screen:
    """Draws itself whenever it is asked to; what was told stays below the jobs."""

    console: Console
    told: deque[Event] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def tell(self, event: Event) -> None:
        self.told.append(event)

    def draw(self, watchers: Sequence[Watcher], now: float) -> RenderableType:
        """All jobs, and as many of the latest events as fit; of jobs that are too many for it a line each."""
        from rich.console import Group
        from rich.rule import Rule
        from rich.text import Text

        width, height = self.console.width, self.console.height
        room = max(1, height - _FEWEST - 1)
        jobs: list[list[Text]] = [panel(watcher, now, width) for watcher in watchers]
        parts: list[RenderableType] = []
        if sum(len(lines) + 1 for lines in jobs) <= room:
            for lines in jobs:
                parts += [*lines, Rule(style="dim")]
        else:
            parts += [line for lines in jobs for line in lines][:room] if len(jobs) == 1 else self._brief(watchers, room)  # fmt: skip
            parts.append(Rule(style="dim"))
        events: list[Text] = []
        for event in reversed(self.told):
            style = "red" if event.kind in _BAD else "bold" if event.kind in ("verdict", "action") else ""
            name = f"{event.job} " if len(jobs) > 1 else ""
            at = time.strftime("%H:%M:%S ", time.localtime(event.at))
            lines = [Text(line, style) for line in wrapped(f"{at}{name}{event.message}", width, len(at))]
            if len(events) + len(lines) + len(parts) > height - 1:
                break
            events[:0] = lines
        for part in [*parts, *events]:
            if isinstance(part, Text):
                part.no_wrap = True
                part.truncate(width, overflow="ellipsis")
        return Group(*parts, *events)

    def _brief(self, watchers: Sequence[Watcher], room: int) -> list[Text]:
        """Those that have failed first; how many more there are."""
        from rich.text import Text

        order = sorted(watchers, key=lambda one: one.verdict is None or not one.verdict.failed)
        lines = [brief(watcher) for watcher in order[: room if len(order) <= room else room - 1]]
        more = len(order) - len(lines)
        return [*lines, *([Text(f"and {more} more", "dim")] if more else [])]
