"""The program that the nodes run: what it writes, and what it keeps to itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from triage.core.events.manifest import manifest_of
from triage.submit.template import part

ENVIRONMENT = {
    "TRIAGE_JOB_ID": "7", "TRIAGE_ATTEMPT": "1", "TRIAGE_VARIABLES": "TITLE MY_API_KEY", "SLURM_NODEID": "1",
    "SLURMD_NODENAME": "gpu2", "NNODES": "2", "GPUS_PER_NODE": "4",
}  # fmt: skip


def written(folder: Path, *command: str, **variables: str) -> dict[str, Any]:
    path = folder / "launch.json"
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT, **variables}
    words = [sys.executable, "-", str(path), *command]
    subprocess.run(words, input=part("manifest.py"), text=True, env=environment, cwd=folder, check=True)
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_what_explain_reads_is_written(tmp_path: Path) -> None:
    data = written(tmp_path, "a.py", "--title", 'it\'s\n"x"', TITLE="é")
    assert data["command"] == ["a.py", "--title", 'it\'s\n"x"']
    assert (data["host"], data["attempt"], data["environment"]["TITLE"]) == ("gpu2", 1, "é")
    found = manifest_of(0, json.dumps(data))
    assert found is not None
    assert found.placed == (("gpu2", (4, 5, 6, 7)),)


def test_secrets_are_hidden_and_other_variables_left_out(tmp_path: Path) -> None:
    data = written(tmp_path, MY_API_KEY="abc", NCCL_TOKEN="abc", MINE="abc", NCCL_DEBUG="INFO")
    assert data["environment"]["MY_API_KEY"] == data["environment"]["NCCL_TOKEN"] == "(hidden)"
    assert data["environment"]["NCCL_DEBUG"] == "INFO"
    assert "MINE" not in data["environment"]


@pytest.mark.parametrize(
    ("nodes", "rank", "asked"), [("2", "1", True), ("65", "1", False), ("65", "0", True)]
)
def test_many_nodes_do_not_all_look_at_a_shared_worktree(
    nodes: str, rank: str, asked: bool, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("1\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-qm", "a")
    data = written(tmp_path, NNODES=nodes, SLURM_NODEID=rank)
    assert len(data["commit"]) == 40
    assert data["dirty"] == (False if asked else None)
    (tmp_path / "a.py").write_text("2\n")
    assert written(tmp_path, NNODES=nodes, SLURM_NODEID=rank)["dirty"] == (True if asked else None)


def test_without_git_nothing_is_known_of_the_worktree(tmp_path: Path) -> None:
    data = written(tmp_path, PATH="/nowhere")
    assert (data["commit"], data["dirty"]) == (None, None)
