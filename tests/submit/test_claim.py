"""Of two jobs of one submission only one runs, and a job that starts again is never turned away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.submit.runs import config
from tests.submit.test_hostile import run_script
from triage.submit.template import render

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("held", "job", "attempt", "runs"),
    [
        (None, "7", "", True),
        (["7"], "7", "1", True),
        (["7"], "8", "", False),
        (["7"], "8", "1", False),
        ([], "8", "", False),
        ([], "7", "1", True),
        (["7", "8"], "8", "1", True),
    ],
    ids=[
        "the first job", "the same job starts again", "another job has it", "another job has it, at a restart",
        "another job is about to take it", "killed between claim and name, then started again", "a name was left",
    ],
)  # fmt: skip
def test_who_holds_the_claim_runs(
    held: list[str] | None, job: str, attempt: str, runs: bool, tmp_path: Path
) -> None:
    claim = tmp_path / f"logs/claim-{TOKEN}"
    claim.parent.mkdir()
    if held is not None:
        claim.mkdir()
        for name in held:
            (claim / name).mkdir()
    text = render(config("", folder=str(tmp_path)), token=TOKEN)
    variables = {"SLURM_JOB_ID": job, **({"SLURM_RESTART_COUNT": attempt} if attempt else {})}
    ended = run_script(text, tmp_path / "told", **variables)
    assert ended.returncode == 0
    assert (tmp_path / "told/srun").exists() == runs
    if runs:
        assert (claim / job).is_dir()
    else:
        assert b"runs this submission already, so this one ends" in ended.stderr


def test_tasks_of_an_array_have_claims_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    text = render(config("", folder=str(tmp_path)), token=TOKEN)
    for task, job in (("0", "7"), ("1", "8")):
        run_script(text, tmp_path / task, SLURM_JOB_ID=job, SLURM_ARRAY_TASK_ID=task)
        assert (tmp_path / task / "srun").exists()


def test_two_jobs_on_a_node_get_ports_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    text = render(config('master_port = "auto"', folder=str(tmp_path)))
    ports = set()
    for job in ("1", "29999", "123456789"):
        told = tmp_path / job
        assert run_script(text, told, SLURM_JOB_ID=job).returncode == 0
        variables = dict(item.split("=", 1) for item in (told / "environment").read_text().split("\0")[:-1])
        ports.add(int(variables["MASTER_PORT"]))
        assert (variables["WORLD_SIZE"], variables["NNODES"], variables["MASTER_ADDR"]) == (
            "16",
            "2",
            "node1",
        )
    assert len(ports) == 3
    assert all(1024 < port < 32768 for port in ports), "below the ports that systems hand out"


def test_the_script_ends_as_the_step_does(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    text = render(config("", folder=str(tmp_path)))
    assert run_script(text, tmp_path / "told", CODE="41").returncode == 41
