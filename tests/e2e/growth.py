"""When the bytes of growing logs were there, seen by looking at their sizes many times a second."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.03


@dataclass(slots=True)
class Growth:
    """Of all files below a folder; looks until it is stopped."""

    folder: Path
    sizes: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def look(self) -> None:
        now = time.time()
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    size = os.stat(path).st_size
                except OSError:
                    continue
                seen = self.sizes.setdefault(path, [])
                if not seen or seen[-1][1] != size:
                    seen.append((now, size))

    def when(self, path: Path, line: int) -> float | None:
        """When a line, counted from 1, was there as a whole."""
        wanted = sum(len(text) for text in path.read_bytes().splitlines(keepends=True)[:line])
        return next((at for at, size in self.sizes.get(str(path), []) if size >= wanted), None)

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self.look()
