"""What a watcher works with, handed in by whoever starts it: nothing is global, time included."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import field

from triage.core.analysis import Analysis
from triage.core.values import dataclass
from triage.files.folders import Folders
from triage.schedulers.interface import Scheduler
from triage.store.database import Database
from triage.watch.events import Tell


@dataclass(frozen=True, slots=True)
class World:
    """The edges of a watcher."""

    scheduler: Scheduler
    database: Database
    tell: Tell
    clock: Callable[[], float]
    """Epoch seconds."""
    chance: Callable[[], float]
    """From 0 to 1."""
    analysis: Callable[[], Analysis]
    """A new one, for the logs of one job."""
    uid: int = field(default_factory=os.getuid)
    host: str = field(default_factory=socket.gethostname)
    holder: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}")
    """Who this watcher is, for the leases."""
    is_alive: Callable[[int], bool] = lambda pid: os.path.exists(f"/proc/{pid}")
    folders: Folders = field(default_factory=Folders)
    """Those of all logs."""
