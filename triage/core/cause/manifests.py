"""Nodes that were launched otherwise than the rest: another command, environment, commit or version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from triage.core.cause.joblog import Reason
from triage.core.events.model import Manifest

ALIKE = "Launch all nodes alike: the reasons say which of them differ, and in what"
"""The advice where nodes differ."""
_ABSENT = "not set"
_MOST = 8
"""Differences that are told; what a whole other worktree changes is told by the first ones."""
_NODES = 4
_SHOWN = 60
_ORDER = ("commit", "command", "dirty", "directory")
"""Told first; where a node does not know them, that is no difference."""


def differences(manifests: Sequence[Manifest]) -> Iterator[Reason]:
    """A sentence for each thing that is not the same on all nodes, the minority named; of halves all are."""
    names = {name for manifest in manifests for name in manifest.said}
    told = 0
    for name in sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)):
        groups: dict[str, list[Manifest]] = defaultdict(list)
        for manifest in manifests:
            if name in manifest.said or name not in _ORDER:
                groups[manifest.said.get(name, _ABSENT)].append(manifest)
        if len(groups) < 2:
            continue
        if told == _MOST:
            yield Reason("the nodes differ in more than this: compare their launch.json")
            return
        told += 1
        yield _sentence(name, groups)


def _sentence(name: str, groups: dict[str, list[Manifest]]) -> Reason:
    sizes = sorted((len(nodes) for nodes in groups.values()), reverse=True)
    most = max(groups, key=lambda value: len(groups[value])) if sizes[0] > sizes[1] else None
    parts = [f"{_nodes(nodes)} {_shown(value)}" for value, nodes in groups.items() if value != most]
    rest = "" if most is None else f", the rest {_shown(most)}"
    odd = next(nodes[0] for value, nodes in groups.items() if value != most)
    return Reason(f"nodes differ in {name}: {', '.join(parts)}{rest} ({{0}})", ((odd.span.source, 0),))


def _nodes(manifests: Sequence[Manifest]) -> str:
    hosts = [manifest.host for manifest in sorted(manifests, key=lambda manifest: manifest.node_rank)]
    more = f" and {len(hosts) - _NODES} more" if len(hosts) > _NODES else ""
    return f"{', '.join(hosts[:_NODES])}{more}"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
