"""Wakes a watcher when something changes in a folder, where the operating system tells; polling never relies on it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any


class Waker:
    """Waits for time to pass or for an event in one of the folders that hold results."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._observer: Any = None
        self._watched: set[str] = set()
        self._changed: set[str] = set()
        self._lock = threading.Lock()

    def watch(self, folders: Iterable[str]) -> None:
        """Folders that exist; others are polled until they do. Where events cannot be had nothing is lost but time."""
        new = [folder for folder in set(folders) - self._watched if os.path.isdir(folder)]
        if not new:
            return
        with contextlib.suppress(OSError, RuntimeError):
            if self._observer is None:
                self._observer = _observer()
            for folder in new:
                self._observer.schedule(_Handler(self._note, folder), folder, recursive=False)
                self._watched.add(folder)

    def wait(self, seconds: float) -> None:
        """Returns after this time, or earlier if something happened."""
        if self._event.wait(max(0.0, seconds)):
            self._event.clear()

    def changed(self) -> frozenset[str]:
        """The folders in which something happened since this was last asked."""
        with self._lock:
            found, self._changed = frozenset(self._changed), set()
        return found

    def _note(self, folder: str) -> None:
        with self._lock:
            self._changed.add(folder)
        self._event.set()

    def wake(self) -> None:
        self._event.set()

    def close(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(2.0)
            self._observer = None


class _Handler:
    """watchdog calls `dispatch` for every event."""

    def __init__(self, note: Callable[[str], None], folder: str) -> None:
        self._note = note
        self._folder = folder

    def dispatch(self, event: Any) -> None:
        if getattr(event, "event_type", "") not in ("opened", "closed_no_write"):
            self._note(self._folder)


def _observer() -> Any:
    from watchdog.observers import Observer

    observer = Observer()
    observer.daemon = True
    observer.start()
    return observer
