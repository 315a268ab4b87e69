"""From nothing to a job that has run: `init`, `check`, `submit`, two nodes with four processes each, with and without Slurm.

torch is stood in for by tests/submit/worktree; `TRIAGE_TORCH=/path/to/python` takes a real one, with gloo.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import triage
from triage.cli.main import main
from triage.core.jobs.identity import JobId, parse_job
from triage.core.jobs.state import State
from triage.report.schema import schema_text
from triage.schedulers.interface import SCHEDULERS, connect

WORKTREE = Path(__file__).parent / "worktree"
TORCH = os.environ.get("TRIAGE_TORCH")
ARGUMENTS = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64"
    " --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-4 --mock-data"
)
GLOO = """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
assert total.item() == dist.get_world_size() == 8
print(f"[after training is done] datetime: 2026-12-01 10:00:00 on rank {dist.get_rank()} of {dist.get_world_size()}")
dist.destroy_process_group()
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture(params=list(SCHEDULERS))
def scheduler(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its name; a complete worktree is the current folder."""
    name: str = request.param
    tree = tmp_path / "tree"
    shutil.copytree(WORKTREE, tree)
    (tree / ".venv").mkdir()
    if TORCH:
        shutil.rmtree(tree / "torch")
        (tree / "pretrain_gpt.py").write_text(GLOO)
        monkeypatch.setenv("PATH", f"{Path(TORCH).parent}:{os.environ['PATH']}")
    if name == "slurm":
        monkeypatch.setenv("SLURM_CONF", str(request.getfixturevalue("mini_slurm").conf))
    monkeypatch.setenv("USER", "root")
    monkeypatch.setenv("TRIAGE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tree)
    return name


def configure(capsys: Capture) -> None:
    """As a person does: write it, change a few lines, look for mistakes."""
    assert main(["init"]) == 0
    path = Path("triage.toml")
    text = path.read_text()
    for line in (
        "nodes = 2",
        "gpus_per_node = 4",
        'launcher = "python"',
        'master_port = "auto"',
        'time = "10:00"',
    ):
        key = line.split(" = ")[0]
        old = next(row for row in text.split("\n") if row.removeprefix("# ").startswith(f"{key} = "))
        text = text.replace(old, line)
    old = next(row for row in text.split("\n") if row.startswith("# arguments = "))
    path.write_text(text.replace(old, f"arguments = {json.dumps(ARGUMENTS.split())}"))
    capsys.readouterr()
    code = main(["check", "triage.toml"])
    assert code == 0, capsys.readouterr().out
    capsys.readouterr()


def submitted(capsys: Capture, *words: str) -> Any:
    code = main(["submit", "--format", "json", *words])
    captured = capsys.readouterr()
    assert code == 0, captured
    told = json.loads(captured.out)
    jsonschema.validate(told, json.loads(schema_text("submit")))
    return told


def ended(name: str, job: JobId) -> State:
    asked = connect(name, os.environ)
    end = time.monotonic() + (240 if TORCH else 60)
    while not (status := asked.status([job])[job]).released:
        assert time.monotonic() < end, status
        time.sleep(0.3)
    return status.state


def until(happened: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_two_nodes_with_four_processes_run_and_explain_finds_every_rank(
    scheduler: str, capsys: Capture
) -> None:
    configure(capsys)
    told = submitted(capsys, "--scheduler", scheduler, "--", "--exit-interval", "5")
    job = parse_job(told["job_id"])
    assert job is not None
    assert ended(scheduler, job) is State.COMPLETED, Path(told["log"]).with_suffix(".err").read_text()
    logs = Path(told["record"]["logs"])
    attempt = logs / f"megatron-{job.number}" / "attempt-0"
    nodes = sorted(attempt.glob("node-*"))
    assert [node.name.split("-")[1] for node in nodes] == ["0", "1"]
    manifests = [json.loads((node / "launch.json").read_text()) for node in nodes]
    assert [item["node_rank"] for item in manifests] == [0, 1]
    assert len(list(attempt.glob("node-*/*/attempt_0/*/stdout.log"))) == 8
    verdict = triage.explain([str(logs)])
    assert (verdict.category, verdict.failed) == ("none", False)
    assert verdict.scanned.ranks == "0-7"
    kept = Path(told["record_path"]).parent
    assert (kept / "triage.toml").read_text() == Path("triage.toml").read_text()
    script = (kept / "script.sbatch").read_text()
    assert told["record"]["token"] in script
    assert "--exit-interval" in script
    assert (logs / f"claim-{told['record']['token']}").is_dir()


@pytest.mark.skipif(bool(TORCH), reason="the stand-in fails where it is told to")
def test_failing_rank_is_found_by_explain_where_submit_put_its_logs(scheduler: str, capsys: Capture) -> None:
    configure(capsys)
    told = submitted(capsys, "--scheduler", scheduler, "--set", "environment.FAIL_RANK=5")
    job = parse_job(told["job_id"])
    assert job is not None
    assert ended(scheduler, job) is State.FAILED
    verdict = triage.explain([told["record"]["logs"]])
    assert verdict.root is not None
    assert (verdict.category, verdict.root.rank, verdict.root.local_rank) == ("python", 5, 1)
    assert verdict.root.evidence is not None
    assert "/node-1-" in verdict.root.evidence.path


def test_mistake_in_the_configuration_is_told_with_its_line_and_submits_nothing(
    scheduler: str, capsys: Capture, tmp_path: Path
) -> None:
    configure(capsys)
    code = main(["submit", "--scheduler", scheduler, "--set", "job.gpus_per_node=3"])
    told = capsys.readouterr()
    assert code == 5
    assert "triage.toml" in told.err
    assert "not submitted: " in told.err
    assert not (tmp_path / "state").exists()
