"""Branches that cannot be decided: on which ways through them a command runs, and whether failures lie on every way."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from triage.core.values import dataclass, field

Way = tuple[tuple[int, int], ...]
"""For each undecided branch around a command, outermost first, its number and that of the arm."""
_MOST = 12
"""Decisions and ways that are looked at together; of more nothing is certain."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An arm that ends the script."""

    way: Way
    commands: int
    """How many commands were recorded before it ended."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """All undecided branches of a script."""

    arms: tuple[int, ...] = ()
    """For each its number of arms, the one included in which nothing is run."""
    exits: tuple[Exit, ...] = field(default_factory=tuple)

    def ways(self, way: Way, number: int, launches: Collection[Way]) -> tuple[Way, ...]:
        """The ways to a command, the `number`th one: not behind an arm that launched by itself and ended the script."""
        found = [way]
        for end in self.exits:
            if end.commands <= number and any(
                _meet(item, end.way) and not _meet(item, way) for item in launches
            ):
                found = [longer for each in found for longer in self._without(end.way, each)]
            if len(found) > _MOST:
                return (way,)
        return tuple(found)

    def _without(self, end: Way, way: Way) -> Iterator[Way]:
        """All of a way but what goes through an arm that ends."""
        taken = dict(way)
        if any(taken.get(decision, arm) != arm for decision, arm in end):
            yield way
            return
        rest = [item for item in end if item[0] not in taken]
        for index, (decision, arm) in enumerate(rest):
            for other in range(self.arms[decision]):
                if other != arm:
                    yield (*way, *rest[:index], (decision, other))

    def inevitable(self, ways: Collection[Way]) -> bool:
        """Whether each way through the script passes one of these."""
        if () in ways:
            return True
        decisions = sorted({decision for way in ways for decision, _ in way})
        return 0 < len(decisions) <= _MOST and all(
            self.inevitable({_behind(way, decisions[0]) for way in ways if _leads(way, decisions[0], arm)})
            for arm in range(self.arms[decisions[0]])
        )


def _meet(one: Way, other: Way) -> bool:
    """Whether one of the ways leads on where the other ends."""
    return all(first == second for first, second in zip(one, other, strict=False)) and bool(one and other)


def _leads(way: Way, decision: int, arm: int) -> bool:
    return dict(way).get(decision, arm) == arm


def _behind(way: Way, decision: int) -> Way:
    return tuple(item for item in way if item[0] != decision)
