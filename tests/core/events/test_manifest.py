"""Launch manifests: whole ones are read, anything else is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from triage.core.events.manifest import manifest_of


def text(**changes: Any) -> str:
    data = {
        "schema": "triage.launch/1", "host": "gpu2", "node_rank": 1, "nodes": 2, "processes_per_node": 4,
        "command": ["a.py", "--x"], "environment": {"A": "1"}, "versions": {"torch": None}, "commit": "abc",
        "dirty": False,
    }  # fmt: skip
    return json.dumps(data | changes)


def test_ranks_of_the_node_and_what_nodes_share_are_read() -> None:
    found = manifest_of(3, text())
    assert found is not None
    assert found.placed == (("gpu2", (4, 5, 6, 7)),)
    assert found.values == {"nnodes": 2, "nproc_per_node": 4}
    assert found.said == {
        "command": "a.py --x", "commit": "abc", "dirty": "False", "environment A": "1",
        "versions torch": "missing",
    }  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", "1", "[" * 100_000, text()[:-5], text(schema="x"), text(node_rank=2), text(node_rank=-1),
     text(processes_per_node=0), text(nodes=10**9), text(host=""), text(host=3), text(processes_per_node=10**6)],
)  # fmt: skip
def test_what_is_no_whole_manifest_says_nothing(broken: str) -> None:
    assert manifest_of(0, broken) is None


def test_hostile_tables_are_survived_and_bounded() -> None:
    found = manifest_of(0, text(environment={str(n): "x" * 9000 for n in range(3000)}, versions=3))
    assert found is not None
    assert len(found.said) < 2100
    assert max(map(len, found.said.values())) == 4096
