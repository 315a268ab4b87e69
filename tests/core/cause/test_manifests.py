"""Which nodes were launched otherwise than the rest, and that explain says so."""

from __future__ import annotations

import json
from pathlib import Path

from tests.submit.runs import FOLDER
from triage import explain
from triage.core.cause.manifests import differences
from triage.core.events.model import Manifest, Span


def manifest(rank: int, **said: str) -> Manifest:
    return Manifest(Span(rank, 0, 1), host=f"gpu{rank}", node_rank=rank, said=said)


def told(*manifests: Manifest) -> list[str]:
    return [reason.text for reason in differences(manifests)]


def test_equal_nodes_say_nothing() -> None:
    assert (
        told()
        == told(manifest(0, commit="a"))
        == told(manifest(0, commit="a"), manifest(1, commit="a"))
        == []
    )


def test_the_minority_is_named_and_the_commit_comes_first() -> None:
    nodes = [manifest(n, commit="a", **{"environment A": "1"}) for n in range(5)]
    nodes[3] = manifest(3, commit="b", **{"environment A": "1"})
    nodes[4] = manifest(4, commit="a")
    assert told(*nodes) == [
        "nodes differ in commit: gpu3 b, the rest a ({0})",
        "nodes differ in environment A: gpu4 not set, the rest 1 ({0})",
    ]


def test_what_a_node_does_not_know_is_no_difference() -> None:
    assert told(manifest(0, dirty="False", commit="a"), manifest(1, commit="a"), manifest(2)) == []


def test_of_two_nodes_both_are_named() -> None:
    assert told(manifest(0, command="a"), manifest(1, command="b")) == [
        "nodes differ in command: gpu0 a, gpu1 b ({0})"
    ]


def test_many_nodes_and_many_differences_are_bounded() -> None:
    nodes = [manifest(n, **{f"environment {k}": "x" * (n + k) for k in range(50)}) for n in range(40)]
    found = told(*nodes)
    assert len(found) == 9
    odd = [manifest(n, commit="b" if n < 10 else "a") for n in range(40)]
    assert told(*odd) == ["nodes differ in commit: gpu0, gpu1, gpu2, gpu3 and 6 more b, the rest a ({0})"]


def write(folder: Path, rank: int, changes: dict[str, object]) -> None:
    folder = folder / f"llama-7/attempt-0/node-{rank}-gpu{rank}"
    (folder / "none_x/attempt_0/1").mkdir(parents=True)
    data = {
        "schema": "triage.launch/1", "host": f"gpu{rank}", "node_rank": rank, "nodes": 2, "processes_per_node": 4,
        "command": ["a.py"], "environment": {}, "versions": {}, "commit": "abc", "directory": FOLDER,
    }  # fmt: skip
    (folder / "launch.json").write_text(json.dumps(data | changes))
    body = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: boom\n'
    (folder / "none_x/attempt_0/1/stderr.log").write_text(body if rank else "")


def test_explain_makes_local_ranks_global_and_tells_the_difference(tmp_path: Path) -> None:
    write(tmp_path, 0, {})
    write(tmp_path, 1, {"commit": "abd"})
    verdict = explain([tmp_path])
    assert verdict.root is not None
    assert (verdict.root.rank, verdict.root.local_rank, verdict.root.node) == (5, 1, "gpu1")
    assert verdict.facts["world_size"] == 8
    assert verdict.job == "7"
    assert verdict.next_steps[-1].startswith("Launch all nodes alike")
    (reason,) = [reason for reason in verdict.reasons if "differ" in reason]
    assert (
        reason == "nodes differ in commit: gpu0 abc, gpu1 abd (llama-7/attempt-0/node-0-gpu0/launch.json:1)"
    )


def test_a_broken_manifest_is_no_log(tmp_path: Path) -> None:
    write(tmp_path, 0, {})
    write(tmp_path, 1, {})
    path = tmp_path / "llama-7/attempt-0/node-0-gpu0/launch.json"
    path.write_text('{"command": "Traceback (most recent call last):\\nOSError: disk')
    verdict = explain([tmp_path])
    assert verdict.root is not None
    assert verdict.root.exception == "RuntimeError"


def test_ranks_of_every_node_that_wrote_are_seen_though_nothing_of_theirs_matters(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path, rank, {})
        node = tmp_path / f"llama-7/attempt-0/node-{rank}-gpu{rank}"
        (node / "none_x/attempt_0/1/stderr.log").write_text("starting\n")
    (tmp_path / "llama-7.out").write_text(
        "==== job 7 ended with exit code 0 in attempt 0, 2026-12-01T10:00:00+0000 ====\n"
    )
    verdict = explain([tmp_path])
    assert (verdict.category, verdict.ended) == ("none", True)
    assert verdict.scanned.ranks == "1,5"
