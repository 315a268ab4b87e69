"""The same rendered bytes on a real Slurm and without one: logs and manifests where explain finds them, and every end."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from tests.minislurm.cluster import MiniSlurm
from tests.submit.runs import config
from triage import explain
from triage.cli.main import main
from triage.core.jobs.handshake import REQUEST, SIGNAL, Started, read_marker, request_text
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase, State
from triage.core.jobs.submission import Accepted
from triage.core.jobs.witness import JobStatus
from triage.schedulers.interface import Request, Scheduler
from triage.schedulers.local.client import Local
from triage.schedulers.once import new_token
from triage.schedulers.slurm.client import Slurm
from triage.submit.template import render

T = TypeVar("T")
WORKTREE = Path(__file__).parent / "worktree"
TWO_BY_FOUR = '[job]\nnodes = 2\ngpus_per_node = 4\ntime = "5"\n'


OLD = """\
#!/bin/bash
#SBATCH --job-name=old
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=5
#SBATCH --output=logs/%x-%j.out
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
srun bash -c '
  uv run python -m torch.distributed.run --nnodes=2 --nproc-per-node=4 --node-rank=$SLURM_NODEID \\
    --master-addr='"$MASTER_ADDR"' --master-port=29500 pretrain_gpt.py \\
    --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 \\
    --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-4 --mock-data
'
"""


@dataclass(frozen=True)
class Site:
    """A scheduler with a worktree and the programs that its jobs find first."""

    scheduler: Scheduler
    folder: Path
    slurm: MiniSlurm | None
    environment: Mapping[str, str]

    @property
    def logs(self) -> Path:
        return self.folder / "tree" / "logs"

    def script(self, text: str, token: str) -> str:
        return render(config(f'worktree = "tree"\n{text}', folder=str(self.folder)), token=token)

    def submit(self, text: str, *, token: str | None = None) -> JobId:
        token = token or new_token()
        self.logs.mkdir(exist_ok=True)
        path = self.folder / "run.sbatch"
        path.write_text(self.script(text, token))
        outcome = self.scheduler.submit(Request(path, self.folder, token), limit=30)
        assert isinstance(outcome, Accepted), outcome
        return outcome.job

    def run(self, job: JobId) -> Path:
        return self.logs / f"megatron-{job}"

    def wait(self, job: JobId) -> JobStatus:
        def ended() -> JobStatus | None:
            status = self.scheduler.status([job])[job]
            return status if status.phase is Phase.ENDED else None

        return until(ended, 60)

    def wait_for_text(self, path: Path, text: str) -> None:
        until(lambda: path.exists() and text in path.read_text(), 60)


def until(look: Callable[[], T | None], seconds: float) -> T:
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)
    return found


@pytest.fixture(params=["local", "slurm"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    shutil.copytree(WORKTREE, tmp_path / "tree", ignore=shutil.ignore_patterns("__pycache__"))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "python").symlink_to(sys.executable)
    (tools / "uv").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    (tools / "uv").chmod(0o755)
    mini: MiniSlurm | None = request.getfixturevalue("mini_slurm") if request.param == "slurm" else None
    environment = dict(mini.environment) if mini is not None else {"USER": "u", "HOME": str(tmp_path)}
    environment["PATH"] = f"{tools}:{environment.get('PATH', os.environ['PATH'])}"
    environment["TRIAGE_LOCAL_ROOT"] = str(tmp_path / "jobs")
    scheduler: Scheduler = Slurm(environment) if mini is not None else Local(environment)
    return Site(scheduler, tmp_path, mini, environment)


def test_two_nodes_of_four_complete_and_all_is_where_explain_finds_it(site: Site) -> None:
    job = site.submit(TWO_BY_FOUR + '[environment]\nSHOW = "TRIAGE_JOB_ID TRIAGE_ATTEMPT MASTER_PORT"\n')
    assert site.wait(job).state is State.COMPLETED
    attempt = site.run(job) / "attempt-0"
    assert read_marker((attempt / "started").read_text()) == Started(job.number, 0, SIGNAL)
    nodes = sorted(path.name for path in attempt.iterdir() if path.is_dir())
    assert [name.split("-")[:2] for name in nodes] == [["node", "0"], ["node", "1"]]
    assert len([*attempt.glob("node-*/launch.json")]) == 2
    ranks = [*attempt.glob("node-*/none_*/attempt_0/[0-3]/stdout.log")]
    told = {f'"rank": {rank}' for rank in range(8)}
    assert {word for path in ranks for word in told if f"{word}," in path.read_text()} == told
    assert f'"TRIAGE_JOB_ID": "{job}", "TRIAGE_ATTEMPT": "0", "MASTER_PORT": "29500"' in ranks[0].read_text()
    assert f"==== attempt 0 of job {job}, " in (site.logs / f"megatron-{job}.err").read_text()
    verdict = explain([site.logs])
    assert (verdict.failed, verdict.facts["world_size"], verdict.job) == (False, 8, str(job))
    assert verdict.scanned.ranks == "0-7"
    assert not [reason for reason in verdict.reasons if "differ" in reason]


def test_the_rank_that_fails_is_named_on_its_node_and_its_node_keeps_evidence(site: Site) -> None:
    text = (
        TWO_BY_FOUR
        + '[environment]\nFAIL_RANK = "6"\n[hooks]\nsetup = ["export SITE=$UNSET\\"it\'s set\\""]\non_failure = ["echo $SITE >evidence"]\n'
    )
    job = site.submit(text)
    assert site.wait(job).state is State.FAILED
    verdict = explain([site.logs])
    assert verdict.root is not None
    (folder,) = (site.run(job) / "attempt-0").glob("node-1-*")
    assert (verdict.root.rank, verdict.root.local_rank) == (6, 2)
    assert verdict.root.node == folder.name.removeprefix("node-1-")
    assert verdict.root.exception == "ValueError"
    assert (folder / "evidence").read_text() == "it's set\n"


def waiting(site: Site) -> JobId:
    """A job all of whose eight ranks have begun and wait."""
    job = site.submit(TWO_BY_FOUR + '[environment]\nWAIT = "1"\n')
    outputs = site.run(job) / "attempt-0"
    until(lambda: [path.read_text().count("waiting") for path in sorted(outputs.glob("node-*/node.out"))] == [4, 4], 60)  # fmt: skip
    return job


def test_a_request_for_this_attempt_ends_the_job_early_and_completed(site: Site) -> None:
    job = waiting(site)
    (site.run(job) / "attempt-0" / REQUEST).write_text(request_text(Started(job.number, 0), "artifact"))
    site.scheduler.signal(job, SIGNAL)
    status = site.wait(job)
    assert status.state is State.COMPLETED
    assert "attempt 0 ends early, as it was asked to" in (site.logs / f"megatron-{job}.err").read_text()


def test_the_signal_alone_or_for_another_attempt_ends_nothing(site: Site) -> None:
    job = waiting(site)
    path = site.logs / f"megatron-{job}.err"
    site.scheduler.signal(job, SIGNAL)
    site.wait_for_text(path, "without a request for this attempt: it goes on")
    (site.run(job) / "attempt-0" / REQUEST).write_text(request_text(Started(job.number, 1), "artifact"))
    site.scheduler.signal(job, SIGNAL)
    until(lambda: path.read_text().count("it goes on") == 2, 30)
    assert site.scheduler.status([job])[job].phase is Phase.ACTIVE
    site.scheduler.cancel(job)
    assert site.wait(job).state is State.CANCELLED


def test_a_second_job_of_one_submission_ends_at_once_and_runs_nothing(site: Site) -> None:
    token = new_token()
    first = site.submit(TWO_BY_FOUR, token=token)
    assert site.wait(first).state is State.COMPLETED
    second = site.submit(TWO_BY_FOUR, token=token)
    assert site.wait(second).state is State.COMPLETED
    assert f"job {first} runs this submission already" in (site.logs / f"megatron-{second}.err").read_text()
    assert not site.run(second).exists()


@pytest.mark.skipif(not os.environ.get("TRIAGE_SLOW"), reason="Slurm waits two minutes: set TRIAGE_SLOW=1")
def test_a_job_that_slurm_starts_again_keeps_the_logs_of_its_first_attempt(
    mini_slurm: MiniSlurm, site: Site
) -> None:
    if site.slurm is None:
        pytest.skip("only Slurm starts jobs again")
    job = waiting(site)
    mini_slurm.output("scontrol", "requeue", str(job))
    until((site.run(job) / "attempt-1" / "started").exists, 300)
    site.scheduler.cancel(job)
    site.wait(job)
    assert len([*(site.run(job) / "attempt-0").glob("node-*/launch.json")]) == 2
    out = (site.logs / f"megatron-{job}.out").read_text()
    assert [f"attempt {number} of job {job}" in out for number in (0, 1, 2)] == [True, True, False]
    assert "runs this submission already" not in (site.logs / f"megatron-{job}.err").read_text()
    assert explain([site.logs]).attempts == 2


def test_from_init_to_the_verdict_on_the_command_line(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a person does it: a script that exists becomes a configuration, which is checked and submitted."""
    environment = {"TRIAGE_STATE": str(site.folder / "state"), **site.environment}
    for name in [name for name in os.environ if name.startswith(("SLURM", "TRIAGE"))]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(site.folder / "tree")
    Path("old.sbatch").write_text(OLD)
    assert main(["init", "old.sbatch"]) == 0
    assert main(["check", "--fix", "--write"]) == 0
    assert main(["render", "-o", "rendered.sbatch"]) == main(["check", "rendered.sbatch"]) == 0
    capsys.readouterr()
    assert main(["submit", "--scheduler", site.scheduler.name, "--format", "json", "--set", "environment.FAIL_RANK=7"]) == 0  # fmt: skip
    job = JobId(int(json.loads(capsys.readouterr().out)["job_id"]))
    assert site.wait(job).state is State.FAILED
    assert main(["explain", "logs", "--format", "json"]) == 10
    root = json.loads(capsys.readouterr().out)["root"]
    assert (root["rank"], root["local_rank"], root["exception"]) == (7, 3, "ValueError")


@pytest.mark.parametrize(
    "name",
    ["a b", "it's", 'say "hi"', "#SBATCH", "$(id)", "-x", "é λ", "a:b,c", "~", "*", "x=y"],
)
def test_slurm_itself_reads_hostile_names_back(name: str, mini_slurm: MiniSlurm, tmp_path: Path) -> None:
    text = render(
        config(sets=[f"job.name={name}", "worktree=/tmp", f"logs={tmp_path}/l o'g\"s", "job.gpus_per_node=1"])
    )
    path = tmp_path / "script"
    path.write_text(text)
    job = mini_slurm.output("sbatch", "--parsable", "--hold", str(path)).strip()
    told = mini_slurm.output("squeue", "-h", "-j", job, "-o", "%j")
    shown = mini_slurm.output("scontrol", "show", "job", job)
    mini_slurm.output("scancel", job)
    assert told == f"{name}\n"
    assert f"StdOut={tmp_path}/l o'g\"s/" in shown
