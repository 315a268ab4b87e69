"""One logical log line with what its prefixes say, and the stamps and tags it may carry."""

from __future__ import annotations

from functools import lru_cache

from triage.core.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Stamp:
    """A printed time."""

    text: str
    """As printed."""
    seconds: float | None
    """Seconds since 1970 read as if it were UTC (no zone is applied); None when the date is missing.
    A stamp without a year (glog) counts from the start of year 1970: see `has_year`."""
    has_year: bool = True
    resolution: float = 1e-6
    """Seconds between two printable neighbours: 1.0 for whole seconds."""
    utc: bool = False
    """The stamp says that it is UTC (a `Z`, an epoch number)."""

    @property
    def is_epoch(self) -> bool:
        """A bare number: it shows no calendar, so nothing tells which local time it was."""
        return self.utc and ":" not in self.text


@dataclass(frozen=True, slots=True)
class Tags:
    """What the stacked prefixes of a line say about who wrote it. Never guessed."""

    rank: int | None = None
    """Global rank (`[rank3]:`, `rank=3`, mpirun's second number)."""
    local_rank: int | None = None
    """`[default3]:`, `[role3]:`."""
    task: int | None = None
    """`srun --label`."""
    node: str | None = None
    """Host in a pdsh, syslog, NCCL or collector prefix."""
    group_rank: int | None = None
    """`[Rank 3]` inside a process group: a position, not a global rank."""
    device: int | None = None
    """NCCL's `[3]`: the local CUDA device."""
    pid: int | None = None
    actor: str | None = None
    """A launcher's name for the process where that is no host: Ray's `WorkerDict pid=41`, a container, `i.pretrain/0`."""

    def merged(self, inner: Tags) -> Tags:
        """This (outer) prefix and one further in; the inner one wins where both speak."""
        return _merged(self, inner)

    def stream_key(self) -> tuple[int | None, int | None, int | None, str | None, str | None]:
        """Lines of one source with equal keys were written by one process (or by untagged ones)."""
        return (self.rank, self.local_rank, self.task, self.node, self.actor)


@lru_cache(maxsize=256)
def _merged(outer: Tags, inner: Tags) -> Tags:
    """One shared value for neighbouring lines."""
    return Tags(
        outer.rank if inner.rank is None else inner.rank,
        outer.local_rank if inner.local_rank is None else inner.local_rank,
        outer.task if inner.task is None else inner.task,
        outer.node if inner.node is None else inner.node,
        outer.group_rank if inner.group_rank is None else inner.group_rank,
        outer.device if inner.device is None else inner.device,
        outer.pid if inner.pid is None else inner.pid,
        outer.actor if inner.actor is None else inner.actor,
    )


NO_TAGS = Tags()


@dataclass(frozen=True, slots=True)
class Record:
    """A line after its prefixes were taken off."""

    offset: int
    """Byte offset of the line's first byte in its source (of the decompressed stream)."""
    end: int
    """Byte offset just after its last byte (line break not counted)."""
    text: str
    """What is left when prefixes, stamps, ANSI colour and carriage-return states are taken off; inner indent is kept."""
    tags: Tags = NO_TAGS
    stamp: Stamp | None = None
    """The line's own stamp (the innermost when several are stacked)."""
    level: str = ""
    """`E`, `W`, `I`, `F`, `D`, or empty: what a logger's prefix says."""
    dialect: str = ""
    """Name of the innermost dialect that took a prefix off: `glog`, `nccl`, `slurm`, `megatron`, `logging` ..."""
    origin: str = ""
    """`file:line` that a logger printed (`ProcessGroupNCCL.cpp:616`)."""
    raw: str = field(default="", compare=False)
    """The decoded line with prefixes, escapes taken out; for display."""
