"""What the live view shows of one job: state, progress and loss, who is silent, what is waited for, why it has failed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from triage.core.cause.ranges import fold
from triage.core.jobs.state import Phase
from triage.watch.reasons import time_left
from triage.watch.watcher import Watcher
from triage.watch.words import estimate_words, pending_words, span

if TYPE_CHECKING:
    from rich.text import Text

_BARS = "▁▂▃▄▅▆▇█"
_COLORS = {
    Phase.WAITING: "yellow", Phase.ACTIVE: "green", Phase.ENDING: "cyan", Phase.ENDED: "bold", Phase.UNKNOWN: "magenta",
}  # fmt: skip
_OUTCOMES = {"completed": "bold green", "completed-early": "bold green", "failed": "bold red"}
_LABEL = 10
_LINES = 3
"""Lines that one text may take; the whole is in the verdict at the end."""
_SILENT = 3
"""Groups of ranks that are shown as silent."""
_QUIET = 60.0
"""Seconds without progress from which on it is said, and no time left is promised."""
_BAR = 40
_SPIKES = 0.05
"""Share of the highest losses that may rise above the curve: the first iterations would flatten all others."""


def panel(watcher: Watcher, now: float, width: int) -> list[Text]:
    """The lines about a job."""
    status, phase = watcher.life.status, watcher.life.phase
    lines = [_head(watcher), *_field("", _where(watcher, now), "dim", width)]
    if status is not None and phase is Phase.WAITING and watcher.ending is None:
        estimate = watcher.details.sighting.started if watcher.details is not None else None
        words = f"{pending_words(status).removeprefix(':').strip()}{estimate_words(estimate, now)}"
        lines += _field("waits", words or "in the queue", "yellow", width)
    lines += _training(watcher, now, width)
    if watcher.verdict is not None and watcher.verdict.failed:
        told = f"{watcher.verdict.category}: {watcher.verdict.summary}"
        lines += _field("failure", told, "bold red", width)
    if watcher.options.artifacts and watcher.ending is None:
        later = "is looked for when the job runs" if phase is Phase.WAITING else "is not looked at yet"
        why = later if watcher.open is None else watcher.open.why or "is there, and proven"
        lines += _field("result", why, "", width)
    if phase is Phase.ACTIVE and watcher.ending is None:
        lines += _field("silent", _silent(watcher, now), "", width)
    return lines


def brief(watcher: Watcher) -> Text:
    """One line, where there are too many jobs for more."""
    line = _head(watcher)
    progress = watcher.logs.progress if watcher.logs is not None else None
    if progress is not None and progress.iteration is not None and watcher.ending is None:
        total = f" of {progress.total}" if progress.total else ""
        line.append(f"  iteration {progress.iteration}{total}", "dim")
    return line


def _head(watcher: Watcher) -> Text:
    """Job, name and state."""
    from rich.text import Text

    status, details, phase = watcher.life.status, watcher.details, watcher.life.phase
    state = status.state.value if status is not None else "UNKNOWN"
    style = _COLORS[phase]
    failed = watcher.verdict is not None and watcher.verdict.failed
    if watcher.ending is not None:
        state, style = watcher.ending.outcome, _OUTCOMES.get(watcher.ending.outcome, "bold")
    elif failed:
        state, style = f"{state}, has failed", "bold red"
    elif watcher.grounds.stalls:
        state, style = f"{state}, no progress", "yellow"
    line = Text.assemble(("job ", "dim"), (str(watcher.job), "bold"), "  ", plain(details.name if details is not None else ""), "  ", (state, style))  # fmt: skip
    if watcher.life.attempt is not None and watcher.life.attempt.restarts:
        line.append(f"  attempt {watcher.life.attempt.restarts}", "yellow")
    if watcher.life.silent is not None:
        line.append("  the scheduler does not answer", "magenta")
    return line


def plain(text: str) -> str:
    """Names and messages come from logs: no control character reaches the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def wrapped(text: str, width: int, indent: int) -> list[str]:
    """Few lines, the later ones indented; what does not fit is left out at the end."""
    return textwrap.wrap(
        plain(text), max(2 * indent, width), subsequent_indent=" " * indent, break_on_hyphens=False, max_lines=_LINES, placeholder=" ...",
    )  # fmt: skip


def _field(label: str, text: str, style: str, width: int) -> list[Text]:
    from rich.text import Text

    if not text:
        return []
    indent = _LABEL if label else 0
    lines = [Text(line, style) for line in wrapped(f"{label:<{indent}}{text}", width, indent)]
    lines[0] = Text.assemble((lines[0].plain[:indent], "dim"), (lines[0].plain[indent:], style))
    return lines


def _where(watcher: Watcher, now: float) -> str:
    """Nodes, time and GPU-hours."""
    status, details, attempt = watcher.life.status, watcher.details, watcher.life.attempt
    parts = []
    if watcher.nodes is not None and watcher.life.phase is not Phase.WAITING:
        parts.append(f"on {watcher.nodes}")
    if attempt is not None:
        ran = max(0.0, (status.ended if status is not None and status.ended else now) - attempt.started)
        parts.append(f"for {span(ran)}")
        if details is not None and details.gpus:
            parts.append(f"{ran / 3600 * details.gpus:.1f} GPU-hours on {details.gpus} GPUs")
    if details is not None and details.sighting.ended and watcher.life.phase is Phase.ACTIVE:
        parts.append(f"time limit in {span(details.sighting.ended - now)}")
    return ", ".join(parts)


def _training(watcher: Watcher, now: float, width: int) -> list[Text]:
    """Iteration, time left, and the loss as a curve."""
    from rich.text import Text

    logs = watcher.logs
    progress = logs.progress if logs is not None else None
    if logs is None or progress is None or progress.iteration is None:
        return []
    quiet = now - logs.curve[-1][0] if logs.curve else 0.0
    goes_on = watcher.life.phase is Phase.ACTIVE and not (
        watcher.verdict is not None and watcher.verdict.failed
    )
    left = time_left(logs.curve) if goes_on and quiet < _QUIET else None
    tail = f", {span(left)} left" if left is not None else ""
    said = f"iteration {progress.iteration}"
    bar = ""
    if progress.total:
        said = f" {progress.iteration} of {progress.total}"
        room = max(5, min(_BAR, width - _LABEL - len(said) - 16))
        done = min(room, round(room * progress.iteration / progress.total))
        bar = "█" * done + "░" * (room - done)
    lines = [Text.assemble((f"{'training':<{_LABEL}}", "dim"), (bar, "green"), f"{said}{tail}")]
    if watcher.life.phase is Phase.ACTIVE and quiet >= _QUIET:
        lines += _field(" ", f"no new iteration for {span(quiet)}", "yellow", width)
    losses = [loss for _, step in logs.curve if (loss := _loss(step.values)) is not None]
    if losses:
        last = f" {losses[-1]:.4g}"
        drawn = curve(losses[-max(10, width - _LABEL - len(last)) :])
        lines.append(Text.assemble((f"{'loss':<{_LABEL}}", "dim"), (drawn, "cyan"), last))
    return lines


def _loss(values: Mapping[str, float]) -> float | None:
    return next((v for name, v in values.items() if "loss" in name and "scale" not in name and v == v), None)


def curve(values: Sequence[float]) -> str:
    """Numbers as a line of small bars; what is no finite number is a gap, a few spikes are cut."""
    finite = sorted(value for value in values if abs(value) < float("inf"))
    if not finite:
        return ""
    low, high = finite[0], finite[-1 - int(len(finite) * _SPIKES)]
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        _BARS[round((min(value, high) - low) * scale)] if abs(value) < float("inf") else " "
        for value in values
    )


def _silent(watcher: Watcher, now: float) -> str:
    """The ranks whose logs have been written to least recently, those with the same silence together."""
    if watcher.logs is None:
        return ""
    spans = sorted((
        (one.modified, one.feed.source.rank) for one in watcher.logs.tail.files if one.offset and one.feed.source.rank is not None
    ), key=lambda pair: pair[0])  # fmt: skip
    groups = [(words, fold(rank for _, rank in group)) for words, group in groupby(spans, lambda pair: span(now - pair[0]))]  # fmt: skip
    shown = [f"rank{'s' if '-' in ranks or ',' in ranks else ''} {ranks} for {words}" for words, ranks in groups[:_SILENT]]  # fmt: skip
    return "; ".join(shown)
