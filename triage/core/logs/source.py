"""Where a line was written, as far as the path itself says."""

from __future__ import annotations

from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of bytes. A field is set only when the path says so; `None` is "not said", never 0."""

    path: str
    """As shown to the user: relative to the argument that held it, `-` for standard input."""
    stream: str = ""
    """`out`, `err` or empty."""
    kind: str = "log"
    """`log`, `error-file` (torchrun's error.json), `artifact` (a training's metrics JSON: it states sizes, and says
    nothing of a failure), `manifest` (a node's launch.json), `kernel` (dmesg, kern.log, syslog)."""
    job: str | None = None
    node: str | None = None
    """Host name in the path."""
    node_rank: int | None = None
    rank: int | None = None
    """Global rank in the path."""
    local_rank: int | None = None
    """Local rank in the path (torchrun's log folder)."""
    task: int | None = None
    """Slurm task (`%t`): a rank when there is one task per GPU, a node when there is one per node."""
    attempt: int | None = None
    """As the path numbers it (torchrun's `attempt_N`, `attempt-N`), from 0."""
    mtime: float | None = None
    """Seconds since the epoch; orders nothing."""
