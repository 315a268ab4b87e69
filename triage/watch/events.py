"""What a watcher tells: one event each, as a dated line or as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from triage.core.values import dataclass

SCHEMA = "triage.event/1"
KINDS = (
    "found", "state", "pending", "requeued", "attempt", "reused", "ended", "lost", "scheduler", "progress",
    "artifact", "failure", "stall", "action", "refused", "store", "note", "verdict",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a watched job."""

    at: float
    """Epoch seconds."""
    kind: str
    job: str
    message: str
    """A phrase that follows the job."""
    data: Mapping[str, Any] = field(default_factory=dict)

    def line(self, local: Callable[[float], time.struct_time] = time.localtime) -> str:
        return f"{time.strftime('%Y-%m-%d %H:%M:%S', local(self.at))} job {self.job} {self.message}"

    def to_json(self) -> str:
        plain = {
            "schema": SCHEMA,
            "time": self.at,
            "event": self.kind,
            "job": self.job,
            "message": self.message,
        }
        return json.dumps({**plain, "data": dict(self.data)}, default=str)


Tell = Callable[[Event], None]
