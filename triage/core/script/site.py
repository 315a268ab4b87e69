"""What is known of a cluster: what a job script's requests can be compared with."""

from __future__ import annotations

from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """What a partition's nodes have; one row for each kind of node."""

    name: str
    up: bool
    time_limit: float | None
    """Seconds; `None` is unlimited or not told."""
    nodes: int
    gpus: int
    """Of one node."""
    gpu: str | None = None
    cpus: int = 0
    memory: int = 0
    """MiB of one node."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster as one user may use it. An empty tuple is: not known."""

    partitions: tuple[Partition, ...] = ()
    accounts: tuple[str, ...] = ()
    """Accounts that the user may name."""
    qos: tuple[str, ...] = ()
    default_partition: str | None = None
    enforced: bool = False
    """Jobs under an account or QOS that is not the user's are refused; else they run all the same."""
    unknown: tuple[str, ...] = ()
    """What could not be asked, as sentences."""

    def rows(self, partition: str) -> tuple[Partition, ...]:
        return tuple(row for row in self.partitions if row.name == partition)

    def gpu(self, partition: str | None) -> str | None:
        """The one GPU type of a partition, `None` for the default one."""
        kinds = {row.gpu for row in self.rows(partition or self.default_partition or "")}
        return kinds.pop() if len(kinds) == 1 else None

    def gpus_per_node(self, partition: str | None) -> int | None:
        """How many GPUs each of its nodes has, where all have the same."""
        counts = {row.gpus for row in self.rows(partition or self.default_partition or "")}
        return counts.pop() or None if len(counts) == 1 else None
