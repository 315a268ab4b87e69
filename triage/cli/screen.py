"""`triage watch` on a terminal: a live view, and the verdict in full when the job has failed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from triage.cli.following import follow_jobs
from triage.cli.output import emit, terminal_width, wants_color
from triage.core.jobs.identity import JobId
from triage.watch.ending import EXIT_CODES
from triage.watch.options import Options
from triage.watch.screen import Screen
from triage.watch.watcher import Watcher

_EVERY = 0.5


def follow_on_screen(
    environment: Mapping[str, str], scheduler: str, jobs: Sequence[JobId], options: Options, give_up: float
) -> int:
    """Follows the jobs on the alternate screen; what was told last, and each failure, stays on the terminal."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    screen = Screen(console)
    seen: list[Watcher] = []
    drawn = 0.0

    def turned(watchers: Sequence[Watcher]) -> None:
        nonlocal drawn
        seen[:] = watchers
        if time.monotonic() - drawn >= _EVERY:
            drawn = time.monotonic()
            live.update(screen.draw(watchers, time.time()), refresh=True)

    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            code = follow_jobs(environment, scheduler, jobs, options, screen.tell, give_up, turned=turned)
    finally:
        for event in list(screen.told)[-8:]:
            console.print(event.line(), markup=False, highlight=False, soft_wrap=True)
    for watcher in seen:
        _explain(watcher)
    return code


def _explain(watcher: Watcher) -> None:
    """As `triage explain` does."""
    from triage.report import FORMATS, Options, view_of

    if watcher.ending is not None and watcher.ending.verdict.failed:
        look = Options(width=terminal_width(), color=wants_color("auto"))
        emit(
            "\n" + FORMATS["text"](view_of(watcher.ending.verdict, EXIT_CODES[watcher.ending.outcome]), look)
        )
