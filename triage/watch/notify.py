"""Notifications of what somebody should know, through apprise, at a rate that nobody mutes."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field

from triage.core.values import dataclass
from triage.errors import UsageError
from triage.watch.events import Event

TOLD = frozenset({"failure", "verdict", "action", "refused", "stall", "requeued", "lost"})
MOST = 20
PERIOD = 3600.0
"""At most so many within so many seconds; of the rest the number is told."""
PER_JOB = 300.0
"""Seconds between two notifications of one kind about one job."""

Send = Callable[[str, str], bool]
"""(title, body) -> whether it went out."""


@dataclass(slots=True)
class Limit:
    """Which events are sent on."""

    sent: deque[float] = field(default_factory=deque)
    last: dict[tuple[str, str], float] = field(default_factory=dict)
    dropped: int = 0

    def lets_through(self, event: Event) -> bool:
        if event.kind not in TOLD:
            return False
        key = (event.job, event.kind)
        if event.kind != "verdict" and 0 <= event.at - self.last.get(key, float("-inf")) < PER_JOB:
            return False
        while self.sent and not 0 <= event.at - self.sent[0] < PERIOD:
            self.sent.popleft()
        if len(self.sent) >= MOST:
            self.dropped += 1
            return False
        self.sent.append(event.at)
        self.last[key] = event.at
        return True


class Notifier:
    """Sends on a thread of its own: a slow service never holds the watcher up."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._limit = Limit()
        self._queue: queue.Queue[Event | None] = queue.Queue(1000)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        if self._limit.lets_through(event) and not self._queue.full():
            self._queue.put_nowait(event)

    def close(self, patience: float = 5.0) -> None:
        if not self._queue.full():
            self._queue.put_nowait(None)
        self._thread.join(patience)

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            more, self._limit.dropped = self._limit.dropped, 0
            left = f"\n({more} more were left out)" if more else ""
            self._send(f"triage: job {event.job}", f"{event.line()}{left}")


def by_apprise(urls: Sequence[str]) -> Send:
    """Raises UsageError where apprise is missing or a URL is none of its."""
    try:
        import apprise
    except ImportError:
        raise UsageError("--notify needs apprise: pip install 'slurm-triage[notify]'") from None
    service = apprise.Apprise()
    for number, url in enumerate(urls, 1):
        if not service.add(url):
            raise UsageError(
                f"--notify: URL number {number} is none that apprise knows; its list is in apprise's README"
            )
    return lambda title, body: bool(service.notify(title=title, body=body))
