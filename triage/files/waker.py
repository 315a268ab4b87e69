"""Wakes a watcher when something happens to a result, where the operating system tells; polling never relies on it."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

MOST_FOLDERS = 64
"""Folders that are listened to: each costs a thread, and a user has few such ears. The others are polled."""


class Waker:
    """Waits for time to pass or for an event at one of the paths or patterns of results."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._observer: Any = None
        self._names: dict[str, dict[str, str]] = {}
        """By folder that is listened to: patterns of names, and the paths they stand for."""
        self._changed: set[str] = set()
        self._lock = threading.Lock()

    def watch(self, paths: Iterable[str]) -> None:
        """Of folders that exist; others are polled until they do. Where events cannot be had nothing is lost but time."""
        for path in paths:
            folder, name = os.path.split(path)
            if folder in self._names:
                self._names[folder][name] = path
            elif len(self._names) < MOST_FOLDERS and os.path.isdir(folder):
                self._listen(folder, {name: path})

    def wait(self, seconds: float) -> None:
        """Returns after this time, or earlier if something happened."""
        if self._event.wait(max(0.0, seconds)):
            self._event.clear()

    def changed(self) -> frozenset[str]:
        """The watched paths at which something happened since this was last asked."""
        with self._lock:
            found, self._changed = frozenset(self._changed), set()
        return found

    def wake(self) -> None:
        self._event.set()

    def close(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(2.0)
            self._observer = None

    def _listen(self, folder: str, names: dict[str, str]) -> None:
        from watchdog.events import FileClosedEvent, FileCreatedEvent, FileMovedEvent

        kinds = [FileClosedEvent, FileCreatedEvent, FileMovedEvent]
        with contextlib.suppress(OSError, RuntimeError):
            if self._observer is None:
                self._observer = _observer()
            self._names[folder] = names
            try:
                self._observer.schedule(_Handler(self._note), folder, recursive=False, event_filter=kinds)
            except (OSError, RuntimeError):
                del self._names[folder]

    def _note(self, path: str) -> None:
        """Logs may lie in the same folder: only what can be a result wakes anybody."""
        folder, name = os.path.split(path)
        names = self._names.get(folder, {})
        found = {whole for pattern, whole in list(names.items()) if fnmatch.fnmatchcase(name, pattern) or name == pattern}  # fmt: skip
        if found:
            with self._lock:
                self._changed |= found
            self._event.set()


class _Handler:
    """watchdog calls `dispatch` for every event."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def dispatch(self, event: Any) -> None:
        for path in (event.src_path, event.dest_path):
            if path:
                self._note(os.fsdecode(path))


def _observer() -> Any:
    from watchdog.observers import Observer

    observer = Observer()
    observer.daemon = True
    observer.start()
    return observer
