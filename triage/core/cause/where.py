"""Who did it: from what a line and its file say to a global rank and a node, never by guess."""

from __future__ import annotations

from triage.core.logs.record import Tags
from triage.core.logs.source import Source
from triage.core.values import dataclass, field

LARGEST_NODE = 8
"""Processes that one node runs where nothing tells how many: more of them are as likely to be on several."""


@dataclass(frozen=True, slots=True)
class Where:
    """A resolved writer; None where not known."""

    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    attribution: str = "none"
    """How `rank` is known: `tag`, `file`, `inferred`, `none`."""


@dataclass
class World:
    """The job's shape as its logs show it: sizes, and which rank ran where."""

    size: int | None = None
    per_node: int | None = None
    nodes: int | None = None
    host_of: dict[int, str] = field(default_factory=dict)
    """Global rank -> host, as launcher summaries and rank-tagged lines in node files print it."""
    local_of: dict[int, int] = field(default_factory=dict)
    """Global rank -> local rank, as launcher summaries print both."""
    offset_of_source: dict[int, int] = field(default_factory=dict)
    """Source -> the global rank of its node's local rank 0. A rank that a line of such a source prints and that lies
    below it is the program's word for a local rank."""
    offset_of_host: dict[str, int] = field(default_factory=dict)
    rank_of_source: dict[int, int] = field(default_factory=dict)
    """Source -> the rank of the one process that wrote it, as its environment tells."""
    spoken_through: dict[int, int] = field(default_factory=dict)
    """Source -> the one rank whose output a launcher lets through; it keeps that of the others and shows it labelled."""
    rank_of_pid: dict[tuple[int, int], int] = field(default_factory=dict)
    """(source, pid) -> global rank."""
    rank_on_host: dict[tuple[str, int], int] = field(default_factory=dict)
    """(short host name, pid) -> global rank."""
    rank_on_bus: dict[tuple[str, int], int] = field(default_factory=dict)
    """(short host name, the GPU's place on its bus) -> global rank."""
    host_of_task: dict[int, str] = field(default_factory=dict)
    first_host: str | None = None
    """The host of the task that srun saw fail before any other."""
    named_hosts: frozenset[str] = frozenset()
    """Hosts that a job script says it runs on."""
    lone_launcher: bool = False
    """Every summary is of one host whose ranks begin at 0, and no file is another node's."""
    one_tree: bool = False
    """The local ranks of paths occur once each: all are of one node's launcher."""
    plain: bool = False
    """No model parallelism and no other group than that of all ranks is known, so that `[Rank n]` is a position in
    the world."""
    task_is_rank: bool | None = None
    """Whether `srun --label` and `%t` numbers are ranks (one task per GPU) or nodes; None where not known."""

    def resolve(self, source: Source, index: int, tags: Tags) -> Where:
        node = tags.node or source.node
        local = tags.local_rank if tags.local_rank is not None else source.local_rank
        if tags.rank is not None:
            first = self.offset_of_source.get(index, 0)
            if tags.rank < first:
                return self._placed(first + tags.rank, tags.rank, node, "tag")
            return self._placed(tags.rank, local, node, "tag")
        if source.rank is not None:
            return self._placed(source.rank, local, node, "file")
        task = tags.task if tags.task is not None else source.task
        if local is None and task is not None and self.task_is_rank:
            return self._placed(task, None, node, "tag" if tags.task is not None else "file")
        if local is None and index in self.rank_of_source:
            return self._placed(self.rank_of_source[index], None, node, "inferred")
        if local is None and tags.device is not None:
            local = tags.device
        base = self._base(source, index, node, task)
        if local is not None and base is not None:
            printed = tags.local_rank is not None or tags.device is not None
            return self._placed(base + local, local, node, "tag" if printed else "file")
        if tags.pid is not None:
            if (index, tags.pid) in self.rank_of_pid:
                return self._placed(self.rank_of_pid[(index, tags.pid)], local, node, "tag")
            if node is not None and (short(node), tags.pid) in self.rank_on_host:
                return self._placed(self.rank_on_host[(short(node), tags.pid)], local, node, "tag")
        if self.size == 1:
            return self._placed(0, 0, node, "inferred")
        if index in self.spoken_through:
            return self._placed(self.spoken_through[index], 0, node, "inferred")
        if self.plain and tags.group_rank is not None and tags.rank is None:
            return self._placed(tags.group_rank, local, node, "inferred")
        return Where(None, local, node or self._node_of(source, index, task))

    def spawned(self, source: Source, index: int, tags: Tags, local: int) -> Where:
        """A process that `torch.multiprocessing.spawn` counts: on the only node of a job its number is the rank."""
        node = tags.node or source.node
        base = self._base(source, index, node, source.task)
        if base is not None:
            return self._placed(base + local, local, node, "tag")
        if self._one_node(source) and (self.size is None or local < self.size <= LARGEST_NODE):
            return self._placed(local, local, node, "inferred")
        return Where(None, local, node)

    def _one_node(self, source: Source) -> bool:
        named = {short(h) for h in (*self.host_of.values(), *self.offset_of_host, *self.named_hosts)}
        return len(named) < 2 and self.nodes in (None, 1) and not source.node_rank and not source.task

    def by_pid(self, pid: int, node: str | None) -> Where | None:
        """The rank whose process it is, as a launcher printed it; None where no launcher did or two hosts have it."""
        here = None if node is None else short(node)
        ranks = {r for (host, p), r in self.rank_on_host.items() if p == pid and here in (None, host)}
        if not ranks:
            ranks = {r for (_, p), r in self.rank_of_pid.items() if p == pid and self._may_be_on(r, here)}
        return self._placed(ranks.pop(), None, node, "tag") if len(ranks) == 1 else None

    def by_bus(self, place: int, node: str | None) -> Where | None:
        """The rank whose GPU is there, as NCCL printed it; None where two hosts have one there."""
        here = None if node is None else short(node)
        ranks = {r for (host, at), r in self.rank_on_bus.items() if at == place and here in (None, host)}
        return self._placed(ranks.pop(), None, node, "inferred") if len(ranks) == 1 else None

    def _may_be_on(self, rank: int, node: str | None) -> bool:
        host = self.host_of.get(rank)
        return node is None or host in (None, "localhost") or short(host) == node

    def _placed(self, rank: int, local: int | None, node: str | None, attribution: str) -> Where:
        if local is None:
            local = self.local_of.get(rank, rank % self.per_node if self.per_node else None)
        host = self.host_of.get(rank) or node
        if host is None and self.task_is_rank is not None:
            task = rank if self.task_is_rank else rank // self.per_node if self.per_node else None
            host = self.host_of_task.get(task) if task is not None else None
        return Where(rank, local, host, attribution)

    def _base(self, source: Source, index: int, node: str | None, task: int | None) -> int | None:
        if index in self.offset_of_source:
            return self.offset_of_source[index]
        if node is not None and node in self.offset_of_host:
            return self.offset_of_host[node]
        if self.per_node:
            if source.node_rank is not None:
                return source.node_rank * self.per_node
            if task is not None and self.task_is_rank is False:
                return task * self.per_node
        if self.nodes == 1 or (self.size is not None and self.size == self.per_node):
            return 0
        if self.lone_launcher and node in (None, *self.offset_of_host):
            return 0
        if self.one_tree and source.local_rank is not None and len(set(self.offset_of_host.values())) == 1:
            return next(iter(self.offset_of_host.values()))
        return None

    def _node_of(self, source: Source, index: int, task: int | None) -> str | None:
        base = self._base(source, index, source.node, task)
        return self.host_of.get(base) if base is not None else None


def short(host: str) -> str:
    """Without its domain."""
    return host.split(".")[0]
