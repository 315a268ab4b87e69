"""The names in folders that the logs of many jobs share: listed once for all of them, and again when one has changed."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import time
from bisect import bisect_left
from collections.abc import Callable

from triage.core.values import dataclass, field

MOST = 256
"""Folders whose names are kept."""
_SETTLED = 2.0
"""Seconds after which a folder that still shows the same time of change has had no other one: some file systems count
whole seconds."""
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class _Listed:
    changed: int
    """The folder's time of change before it was listed."""
    since: float
    """When it was first listed with that time."""
    names: list[str]
    """Sorted."""
    is_settled: bool


@dataclass(slots=True)
class Folders:
    """Remembers what was listed."""

    clock: Callable[[], float] = time.monotonic
    _listed: dict[str, _Listed] = field(default_factory=dict)

    def matches(self, pattern: str) -> list[str]:
        """The paths that a pattern means; nothing is listed twice where only the name is a pattern."""
        folder, name = os.path.split(pattern)
        if _MAGIC.search(folder) or "**" in name:
            return glob.glob(pattern, recursive=True)
        names = self._names(folder or ".")
        magic = _MAGIC.search(name)
        front = name[: magic.start()] if magic else name
        first, last = bisect_left(names, front), bisect_left(names, front + "\U0010ffff")
        found = fnmatch.filter(names[first:last], name)
        return [os.path.join(folder, one) for one in found if not one.startswith(".") or name.startswith(".")]

    def _names(self, folder: str) -> list[str]:
        now = self.clock()
        try:
            changed = os.stat(folder).st_mtime_ns
            before = self._listed.get(folder)
            if before is not None and before.changed != changed:
                before = None
            if before is not None and before.is_settled:
                return before.names
            names = sorted(os.listdir(folder))
        except OSError:
            self._listed.pop(folder, None)
            return []
        if len(self._listed) >= MOST:
            self._listed.clear()
        since = before.since if before is not None else now
        self._listed[folder] = _Listed(changed, since, names, now - since >= _SETTLED)
        return names
