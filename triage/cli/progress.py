"""A progress bar on standard error, for what takes longer than a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

_PATIENCE = 1.0
"""Seconds before anything is shown."""
_INTERVAL = 0.1
_BAR = 24


class ProgressBar:
    """Call it with the bytes done and the bytes in all; call `close` to take it off the screen."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + _PATIENCE
        self._shown = False
        self._enabled = stream is not None and stream.isatty()

    def __call__(self, done: int, total: int) -> None:
        if not self._enabled or (now := self._clock()) < self._next:
            return
        self._next = now + _INTERVAL
        share = min(1.0, done / total) if total > 0 else 0.0
        filled = int(share * _BAR)
        bar = "#" * filled + "." * (_BAR - filled)
        self._write(f"\rreading [{bar}] {share:4.0%} of {total / (1 << 20):.0f} MiB")
        self._shown = True

    def close(self) -> None:
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._enabled = False
