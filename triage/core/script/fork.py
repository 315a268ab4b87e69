"""Branches: their arms followed on copies of the state, and which commands decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage.core.script import tree
from triage.core.script.decisions import Exit
from triage.core.script.state import State
from triage.core.script.tree import Block, Node

if TYPE_CHECKING:
    from triage.core.script.flow import Flow


class Fork:
    """The arms of a branch that cannot be decided: each is followed on a copy of the state, the last on the state."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.number = len(flow.arms)
        flow.arms.append(1)
        self.ends: list[State] = []

    def arm(self, body: Block, state: State) -> str:
        """One arm that may be taken."""
        branch = state.copy()
        self.flow.budget.spend(state.size)
        printed = self._follow(body, branch)
        self.ends.append(branch)
        return printed

    def rest(self, body: Block, state: State) -> str:
        """What is followed where no arm before was taken."""
        return self._follow(body, state) if self.ends else self.flow.block(body, state)

    def _follow(self, body: Block, state: State) -> str:
        flow, outer = self.flow, self.flow.way
        flow.way = (*outer, (self.number, len(self.ends)))
        printed = flow.block(body, state)
        if state.dead == "exit" and not flow.mute:
            flow.exits.append(Exit(flow.way, len(flow.commands)))
        flow.way = outer
        return printed

    def close(self, *, whole: bool = False) -> None:
        """All arms are there; unless they are the whole of it, there is one in which nothing, or the rest, is run."""
        self.flow.arms[self.number] = len(self.ends) + (not whole)


def falling(arms: tuple[tree.Arm, ...]) -> tuple[Block, str]:
    """The bodies that run one after another, and how the last of them ends."""
    body: Block = ()
    for arm in arms:
        body += arm.body
        if arm.end != ";&":
            return body, arm.end
    return body, ";;"


def is_test(node: Node) -> bool:
    """Whether the truth of a command is what it is written for, so that nothing is assumed of it."""
    if isinstance(node, tree.Arithmetic):
        return True
    if isinstance(node, tree.Pipeline):
        return node.negated or is_test(node.commands[-1])
    if isinstance(node, tree.AndOr):
        return any(is_test(item) for item in (node.first, *(item for _, item in node.rest)))
    if isinstance(node, tree.Simple) and node.words:
        return node.words[0][0].text in (
            "[",
            "[[",
            "test",
            "true",
            "false",
            ":",
            "grep",
            "command",
            "which",
            "let",
            "type",
        )
    return False


def varies(condition: Block) -> bool:
    """Whether a condition can change from turn to turn by what the script itself does."""
    for node in condition:
        words = node.words if isinstance(node, tree.Simple) else ()
        if isinstance(node, tree.Arithmetic) and any(map(str.isalpha, node.text)):
            return True
        if is_test(node) and any(part.kind != "text" for word in words for part in word):
            return True
        if isinstance(node, tree.AndOr) and varies((node.first, *(item for _, item in node.rest))):
            return True
        if isinstance(node, tree.Pipeline) and varies(node.commands):
            return True
    return False
