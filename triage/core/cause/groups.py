"""Which global ranks form a process group, as far as the logs and Megatron's layout say.

A `[Rank n]` inside ProcessGroupNCCL's text is a position in its group. Sources of membership, best first: the
members as printed; the default group; Megatron's layout where the printed positions agree with it; interpolation
between positions seen, where they lie on a straight line (every one-dimensional group of a device mesh does).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triage.core.events.model import Collective
from triage.core.values import dataclass, field

MAX_WORLD = 1_000_000
MAX_GROUP = 32_768
"""Members of a group that a layout may claim."""
DEFAULT = "default"

_DENSE: Mapping[str, tuple[str, ...]] = {
    "TENSOR_MODEL_PARALLEL_GROUP": ("tp",),
    "CONTEXT_PARALLEL_GROUP": ("cp",),
    "DATA_PARALLEL_GROUP": ("dp",),
    "DATA_PARALLEL_GROUP_WITH_CP": ("cp", "dp"),
    "PIPELINE_MODEL_PARALLEL_GROUP": ("pp",),
    "MODEL_PARALLEL_GROUP": ("tp", "pp"),
    "TENSOR_AND_CONTEXT_PARALLEL_GROUP": ("tp", "cp"),
    "TENSOR_AND_DATA_PARALLEL_GROUP": ("tp", "dp"),
    "TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP": ("tp", "cp", "dp"),
}
_EXPERT: Mapping[str, tuple[str, ...]] = {
    "EXPERT_TENSOR_PARALLEL_GROUP": ("tp",),
    "EXPERT_MODEL_PARALLEL_GROUP": ("ep",),
    "EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP": ("tp", "ep"),
    "EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP": ("tp", "ep", "pp"),
    "EXPERT_DATA_PARALLEL_GROUP": ("dp",),
}
"""`group_desc` of megatron/core/parallel_state.py; the dense ranks vary tp, cp, dp, pp from fast to slow (order
`tp-cp-ep-dp-pp` with ep = 1), the expert ones expert-tp, ep, expert-dp, pp."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Parallel sizes of the job; None where not known."""

    world: int | None = None
    tp: int | None = None
    cp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    etp: int | None = None

    @property
    def plain(self) -> bool:
        """No model parallelism is known, so that a position is usually a rank."""
        return all(n in (None, 1) for n in (self.tp, self.cp, self.pp, self.ep))


def megatron_members(description: str, rank: int, sizes: Sizes) -> tuple[int, ...] | None:
    """The ranks of `rank`'s group of that description, by position; None where a size it needs is not known."""
    if description in _DENSE:
        wanted = _DENSE[description]
        axes = {"tp": sizes.tp, "cp": sizes.cp or 1, "dp": sizes.dp, "pp": sizes.pp}
    elif description in _EXPERT:
        wanted = _EXPERT[description]
        etp = sizes.etp or sizes.tp
        axes = {"tp": etp, "ep": sizes.ep or 1, "dp": None, "pp": sizes.pp}
    else:
        return None
    if axes["dp"] is None and sizes.world is not None:
        others = [n for name, n in axes.items() if name != "dp"]
        product = _product(others)
        if product and sizes.world % product == 0:
            axes["dp"] = sizes.world // product
    members, base = [0], rank
    stride: int | None = 1
    for name, size in axes.items():
        if name in wanted:
            if not size or stride is None or size * len(members) > MAX_GROUP:
                return None
            base -= (rank // stride) % size * stride
            members = [m + i * stride for i in range(size) for m in members]
        stride = stride * size if stride is not None and size else None
    found = tuple(base + m for m in members)
    if sizes.world is not None and found[-1] >= sizes.world:
        return None
    return found


def _product(numbers: Iterable[int | None]) -> int | None:
    result = 1
    for n in numbers:
        if not n:
            return None
        result *= n
    return result


def description_of(group: str) -> str:
    """`10:TENSOR_MODEL_PARALLEL_GROUP` -> `TENSOR_MODEL_PARALLEL_GROUP`."""
    return group.partition(":")[2]


def is_default(group: str) -> bool:
    """The group of all ranks: the first one that every process makes."""
    return group in ("0", "#0") or description_of(group) == "default_pg"


@dataclass
class Group:
    """One process group, filled while the events are read."""

    name: str
    """As printed first."""
    positions: dict[int, int] = field(default_factory=dict)
    """Position -> rank, as seen."""
    printed: tuple[int, ...] = ()
    """Members as printed or by a layout that agreed with the positions."""
    size: int | None = None

    def note(self, event: Collective, rank: int | None) -> None:
        if rank is not None and event.group_rank is not None:
            self.positions.setdefault(event.group_rank, rank)
        if event.members:
            self.printed = event.members
        if event.size is not None and event.what == "member":
            self.size = event.size

    def members(self) -> tuple[tuple[int, ...], bool]:
        """The ranks known to be members, and whether these are surely all."""
        if self.printed:
            return self.printed, True
        if not self.positions:
            return (), False
        line = self._line()
        low, high = min(self.positions), max(self.positions)
        if line is None:
            return tuple(sorted(set(self.positions.values()))), self.size == len(self.positions)
        first, stride = line
        if self.size is not None and high < self.size <= MAX_WORLD:
            low, high = 0, self.size - 1
        return tuple(first + stride * p for p in range(low, high + 1)), self.size is not None

    @property
    def interpolated_from(self) -> int:
        """Positions that the members rest on; 0 where they are printed."""
        return 0 if self.printed else len(self.positions)

    def rank_at(self, position: int) -> int | None:
        if position in self.positions:
            return self.positions[position]
        if self.printed:
            return self.printed[position] if position < len(self.printed) else None
        line = self._line()
        return line[0] + line[1] * position if line is not None else None

    def _line(self) -> tuple[int, int] | None:
        """(rank of position 0, stride) where all positions seen, at least two, lie on a rising line."""
        if len(self.positions) < 2:
            return None
        points = sorted(self.positions.items())
        (p0, r0), (p1, r1) = points[0], points[-1]
        stride, rest = divmod(r1 - r0, p1 - p0)
        first = r0 - stride * p0
        if (
            rest
            or stride < 1
            or first < 0
            or p1 > MAX_WORLD
            or any(first + stride * p != r for p, r in points)
        ):
            return None
        return first, stride


class Groups:
    """Names groups so that one key means one set of ranks, whatever form of name a torch version prints."""

    def __init__(self, sizes: Sizes, pairs: Iterable[tuple[Collective, int | None]] = ()) -> None:
        """`pairs`: all events with their ranks. One printed position that contradicts Megatron's usual order shows
        that this job's order is another one, so then no group is laid out by it."""
        self.sizes = sizes
        self.all: dict[object, Group] = {}
        self._laid_out: dict[tuple[str, int], tuple[int, ...] | None] = {}
        self._other_order: set[bool] = set()
        for event, rank in pairs:
            if rank is not None and event.group and self._contradicts(event, rank):
                self._other_order.add(description_of(event.group) in _EXPERT)

    def of(self, event: Collective, rank: int | None) -> Group | None:
        """The event's group, None where it does not say or the name is only a process's own number."""
        name = event.group
        if not name:
            return None
        if is_default(name):
            group = self._get(DEFAULT, name)
            if self.sizes.world is not None and self.sizes.world <= MAX_WORLD:
                group.printed = group.printed or tuple(range(self.sizes.world))
        else:
            members = self._layout(event, rank)
            if members is not None:
                group = self._get((description_of(name), members), name)
                group.printed = members
            elif name.startswith("#"):
                return None
            else:
                group = self._get(name, name)
        group.note(event, rank)
        return group

    def default(self) -> Group:
        """The group of all ranks."""
        group = self._get(DEFAULT, "0:default_pg")
        if not group.printed and self.sizes.world is not None and self.sizes.world <= MAX_WORLD:
            group.printed = tuple(range(self.sizes.world))
        return group

    def _layout(self, event: Collective, rank: int | None) -> tuple[int, ...] | None:
        if rank is None or self._contradicts(event, rank):
            return None
        description = description_of(event.group)
        if (description in _EXPERT) in self._other_order:
            return None
        return self._members(description, rank)

    def _members(self, description: str, rank: int) -> tuple[int, ...] | None:
        key = (description, rank)
        if key not in self._laid_out:
            self._laid_out[key] = found = megatron_members(description, rank, self.sizes)
            if found is not None and rank in found:
                self._laid_out.update(((description, r), found) for r in found)
        return self._laid_out[key]

    def _contradicts(self, event: Collective, rank: int) -> bool:
        members = self._members(description_of(event.group), rank)
        position = event.group_rank
        if members is None or position is None:
            return False
        return position >= len(members) or members[position] != rank

    def _get(self, key: object, name: str) -> Group:
        return self.all.setdefault(key, Group(name))
