"""A live view of watched jobs for a terminal: state, progress, loss, who is silent, what is waited for, what was told."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from triage.core.jobs.state import Phase
from triage.core.values import dataclass
from triage.watch.events import Event
from triage.watch.reasons import time_left
from triage.watch.watcher import Watcher
from triage.watch.words import pending_words, span

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_BARS = "▁▂▃▄▅▆▇█"
_KEPT = 200
_COLORS = {
    Phase.WAITING: "yellow", Phase.ACTIVE: "green", Phase.ENDING: "cyan", Phase.ENDED: "bold", Phase.UNKNOWN: "magenta",
}  # fmt: skip
_BAD = frozenset({"failure", "stall", "lost", "reused", "store"})
_SILENT = 5
"""Ranks that are shown as silent."""


@dataclass(slots=True)
class Screen:
    """Draws itself whenever it is asked to; what was told stays below the jobs."""

    console: Console
    told: deque[Event] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def tell(self, event: Event) -> None:
        self.told.append(event)

    def draw(self, watchers: Sequence[Watcher], now: float) -> RenderableType:
        """All jobs, and as many of the latest events as fit."""
        from rich.console import Group
        from rich.rule import Rule
        from rich.text import Text

        parts: list[RenderableType] = []
        height = 0
        for watcher in watchers:
            lines = _job(watcher, now, self.console.width)
            parts += [*lines, Rule(style="dim")]
            height += len(lines) + 1
        room = max(1, self.console.height - height - 1)
        for event in list(self.told)[-room:]:
            style = "red" if event.kind in _BAD else "bold" if event.kind in ("verdict", "action") else ""
            text = Text(
                f"{time.strftime('%H:%M:%S', time.localtime(event.at))} {_plain(event.message)}",
                style,
                no_wrap=True,
            )
            text.truncate(self.console.width, overflow="ellipsis")
            parts.append(text)
        return Group(*parts)


def _job(watcher: Watcher, now: float, width: int) -> list[Text]:
    """The lines about one job."""
    from rich.text import Text

    status, details = watcher.life.status, watcher.details
    phase = watcher.life.phase
    state = status.state.value if status is not None else "UNKNOWN"
    if watcher.ending is not None:
        state = watcher.ending.outcome
    head = Text.assemble(
        ("job ", "dim"), (str(watcher.job), "bold"), "  ", _plain(details.name if details is not None else ""), "  ",
        (state, _COLORS[phase]),
    )  # fmt: skip
    if watcher.life.attempt is not None and watcher.life.attempt.restarts:
        head.append(f"  attempt {watcher.life.attempt.restarts}", "yellow")
    if watcher.life.silent is not None:
        head.append("  Slurm does not answer", "magenta")
    lines = [head, Text(_where(watcher, now), "dim")]
    if status is not None and phase is Phase.WAITING:
        lines.append(Text(f"waits{pending_words(status)}", "yellow"))
    lines += _training(watcher, width)
    if watcher.verdict is not None and watcher.verdict.failed:
        lines.append(Text(f"{watcher.verdict.category}: {_plain(watcher.verdict.summary)}", "bold red"))
    if watcher.options.artifacts:
        why = watcher.open.why if watcher.open is not None else "not looked at yet"
        lines.append(Text.assemble(("result    ", "dim"), _plain(why or "is there, and proven")))
    silent = _silent(watcher, now)
    if silent and phase is Phase.ACTIVE:
        lines.append(Text.assemble(("silent    ", "dim"), silent))
    for line in lines:
        line.no_wrap = True
        line.truncate(width, overflow="ellipsis")
    return lines


def _where(watcher: Watcher, now: float) -> str:
    """Nodes, time and GPU-hours."""
    status, details, attempt = watcher.life.status, watcher.details, watcher.life.attempt
    parts = []
    if status is not None and status.nodes:
        parts.append(f"on {status.nodes}")
    if attempt is not None:
        ran = max(0.0, (status.ended if status is not None and status.ended else now) - attempt.started)
        parts.append(f"for {span(ran)}")
        if details is not None and details.gpus:
            parts.append(f"{ran / 3600 * details.gpus:.1f} GPU-hours on {details.gpus} GPUs")
    if details is not None and details.sighting.ended and watcher.life.phase is Phase.ACTIVE:
        parts.append(f"time limit in {span(details.sighting.ended - now)}")
    return ", ".join(parts)


def _training(watcher: Watcher, width: int) -> list[Text]:
    """Iteration, time left, and the loss as a curve."""
    from rich.text import Text

    logs = watcher.logs
    progress = logs.progress if logs is not None else None
    if logs is None or progress is None or progress.iteration is None:
        return []
    lines = []
    left = time_left(logs.curve)
    tail = f", {span(left)} left" if left is not None else ""
    if progress.total:
        room = max(10, min(40, width - 50))
        done = min(room, round(room * progress.iteration / progress.total))
        bar = "█" * done + "░" * (room - done)
        lines.append(
            Text.assemble(
                ("training  ", "dim"), (bar, "green"), f" {progress.iteration} of {progress.total}{tail}"
            )
        )
    else:
        lines.append(Text.assemble(("training  ", "dim"), f"iteration {progress.iteration}{tail}"))
    losses = [loss for _, step in logs.curve if (loss := _loss(step.values)) is not None]
    if losses:
        lines.append(
            Text.assemble(
                ("loss      ", "dim"), (curve(losses[-max(10, width - 30) :]), "cyan"), f" {losses[-1]:.4g}"
            )
        )
    return lines


def _loss(values: object) -> float | None:
    if not isinstance(values, dict):
        return None
    return next((v for name, v in values.items() if "loss" in name and "scale" not in name and v == v), None)


def curve(values: Sequence[float]) -> str:
    """Numbers as a line of small bars; what is no finite number is a gap."""
    finite = [value for value in values if abs(value) < float("inf")]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        _BARS[round((value - low) * scale)] if abs(value) < float("inf") else " " for value in values
    )


def _silent(watcher: Watcher, now: float) -> str:
    """The logs of ranks that have been written to least recently."""
    if watcher.logs is None:
        return ""
    files = [one for one in watcher.logs.tail.files if one.offset and one.feed.source.rank is not None]
    oldest = sorted(files, key=lambda one: one.modified)[:_SILENT]
    return ", ".join(f"rank {one.feed.source.rank} {span(now - one.modified)}" for one in oldest)


def _plain(text: str) -> str:
    """Names and messages come from logs: no control character reaches the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
