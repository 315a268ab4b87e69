"""The runner without Slurm: what a script asks for, what its tasks get, and how it ends when things go wrong."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from triage.core.events.ranges import expand_hosts
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase, State
from triage.core.jobs.submission import Accepted, Refused
from triage.files.layout import source_of
from triage.schedulers.interface import Request, Scheduler
from triage.schedulers.local.client import Local
from triage.schedulers.local.nodes import host_list, is_loopback_name, node_names
from triage.schedulers.local.plan import NotLocal, plan
from triage.schedulers.local.srun import Wrong, exported, read_step_command
from triage.schedulers.local.store import JobFolder, new_job
from triage.schedulers.local.variables import file_name, job_variables, spread, step_variables

SCRIPT = Path("run.sbatch")
JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NAME": "demo",
    "SLURMD_NODENAME": "n1.localhost",
    "SLURM_JOB_USER": "u",
}
NODES = {"SLURM_JOB_NODELIST": "127.0.0.[1-4]", "SLURM_NTASKS": "8"}


@pytest.fixture
def local(tmp_path: Path) -> Local:
    return Local(
        {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "USER": "u",
            "TRIAGE_LOCAL_ROOT": str(tmp_path / "jobs"),
        }
    )


def run(local: Local, body: str, *, head: str = "", token: str = "t" * 16) -> JobId:
    folder = local.root.parent
    script = folder / "run.sbatch"
    script.write_text(f"#!/bin/bash\n#SBATCH --output=out\n{head}\n{body}\n")
    outcome = local.submit(Request(script, folder, token), limit=10)
    assert isinstance(outcome, Accepted), outcome
    return outcome.job


def wait(local: Local, job: JobId, phase: Phase = Phase.ENDED) -> State:
    end = time.monotonic() + 20
    while (status := local.status([job])[job]).phase is not phase:
        assert time.monotonic() < end, status
        time.sleep(0.05)
    return status.state


def test_it_is_a_scheduler_with_nothing_to_check_against(local: Local) -> None:
    scheduler: Scheduler = local
    assert scheduler.site() is None
    assert scheduler.message_timeout() == 0


def test_directives_and_options_are_read_as_sbatch_reads_them() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\n#SBATCH --gres=gpu:h100:8 -J a\necho\n#SBATCH --nodes=9\n"
    found = plan(text, ["--job-name=b"], SCRIPT)
    assert (found.nodes, found.tasks, found.tasks_per_node, found.gpus_per_node, found.name) == (
        2,
        8,
        4,
        8,
        "b",
    )


def test_defaults_are_slurms() -> None:
    found = plan("#!/bin/sh\n", [], SCRIPT)
    assert (found.name, found.output, found.error, found.nodes, found.tasks) == (
        "run.sbatch",
        "slurm-%j.out",
        None,
        1,
        None,
    )


@pytest.mark.parametrize("option", ["--array=0-3", "--dependency=afterok:1", "--hold", "--begin=now", "--nodes=2-4", "--nodes=100000", "--no-such-option", "extra"])  # fmt: skip
def test_what_only_slurm_can_do_is_refused_and_not_dropped(option: str) -> None:
    with pytest.raises(NotLocal):
        plan("#!/bin/sh\n", [option], SCRIPT)


@pytest.mark.parametrize("count", [1, 2, 12])
def test_node_lists_expand_to_the_names_that_they_were_made_of(count: int) -> None:
    for resolves in (True, False):
        names = node_names(count, lambda _, answer=resolves: answer)  # type: ignore[misc]
        assert expand_hosts(host_list(names)) == names
    assert host_list(["a1", "a2", "b1"]) == "a1,a2,b1"


def test_node_names_resolve_to_this_machine() -> None:
    for name in node_names(3, is_loopback_name):
        assert is_loopback_name(name)


def test_batch_script_gets_no_ntasks_unless_it_asked_for_tasks() -> None:
    bare = job_variables(
        plan("#!/bin/sh\n#SBATCH -N2\n", [], SCRIPT), 7, ["127.0.0.1", "127.0.0.2"], "/run", ("u", 1, 1)
    )
    assert "SLURM_NTASKS" not in bare
    assert (bare["SLURM_NNODES"], bare["SLURM_JOB_NODELIST"], bare["SLURM_TASKS_PER_NODE"]) == (
        "2",
        "127.0.0.[1-2]",
        "1(x2)",
    )


def test_tasks_are_laid_out_in_blocks() -> None:
    per_node = spread(5, 2)
    placed = [step_variables(0, task, ["a", "b"], per_node) for task in range(5)]
    assert [(v["SLURM_NODEID"], v["SLURM_LOCALID"], v["SLURMD_NODENAME"]) for v in placed] == [
        ("0", "0", "a"), ("0", "1", "a"), ("0", "2", "a"), ("1", "0", "b"), ("1", "1", "b"),
    ]  # fmt: skip
    assert placed[3]["SLURM_GTIDS"] == "3,4"
    assert placed[0]["SLURM_TASKS_PER_NODE"] == "3,2"


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("%x-%j.out", "demo-7.out"),
        ("%5j", "00007"),
        ("%%x", "%x"),
        ("a\\%j", "a%j"),
        ("%N.%t", "n1.0"),
        ("%z%u", "%zu"),
    ],
)
def test_file_name_patterns(pattern: str, name: str) -> None:
    assert file_name(pattern, JOB) == name


@pytest.mark.parametrize(
    ("words", "nodes", "per_node"),
    [
        (["hostname"], 4, (2, 2, 2, 2)),
        (["-n2", "hostname"], 2, (1, 1)),
        (["--ntasks=4", "--ntasks-per-node=1", "hostname"], 4, (1, 1, 1, 1)),
        (["-N", "1", "-n", "3", "hostname"], 1, (3,)),
        (["-w", "127.0.0.3", "hostname"], 1, (1,)),
        (["--overlap", "--cpu-bind=none", "--mpi", "pmix", "hostname"], 4, (2, 2, 2, 2)),
    ],
)
def test_srun_places_tasks(words: list[str], nodes: int, per_node: tuple[int, ...]) -> None:
    step = read_step_command(words, NODES)
    assert (step.command, len(step.nodes), step.per_node) == (("hostname",), nodes, per_node)


@pytest.mark.parametrize("words", [[], ["-N9", "x"], ["-w", "other", "x"], ["--container-image=i", "x"], ["--nope", "x"], ["-n", "many", "x"]])  # fmt: skip
def test_srun_refuses_what_it_cannot_do(words: list[str]) -> None:
    with pytest.raises(Wrong):
        read_step_command(words, NODES)


def test_export_rules() -> None:
    told = {"A": "1", "B": "2", "SLURM_JOB_ID": "7", "PATH": "/bin"}
    assert exported(told, None) == told
    assert exported(told, "ALL,C=3") == {**told, "C": "3"}
    assert exported(told, "B,C=3") == {"B": "2", "C": "3", "SLURM_JOB_ID": "7", "PATH": "/bin"}


def test_the_script_runs_byte_for_byte(local: Local) -> None:
    job = run(local, 'cat "$0"')
    wait(local, job)
    assert (local.root.parent / "out").read_bytes() == (local.root.parent / "run.sbatch").read_bytes()


def test_the_own_python_does_not_leak_into_the_job(local: Local) -> None:
    wait(local, run(local, "env; srun env"))
    out = (local.root.parent / "out").read_text()
    assert "SLURM_JOB_ID=" in out
    assert "PYTHONPATH" not in out
    assert "TRIAGE_LOCAL" not in out.replace("TRIAGE_LOCAL_ROOT", "")


def test_time_limit_ends_the_job_with_slurms_words(local: Local) -> None:
    job = run(local, "sleep 60", head="#SBATCH --time=0:01")
    assert wait(local, job) is State.TIMEOUT
    assert "DUE TO TIME LIMIT ***" in (local.root.parent / "out").read_text()


def test_a_background_process_does_not_outlive_its_job(local: Local) -> None:
    marker = local.root.parent / "pid"
    wait(local, run(local, f"setsid sleep 60 & echo $! > {marker}; sleep 0.3"))
    pid = int(marker.read_text())
    assert not Path(f"/proc/{pid}").exists() or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()


def test_a_killed_runner_is_a_lost_node_and_not_a_job_that_runs_for_ever(local: Local) -> None:
    job = run(local, "exec sleep 3")
    wait(local, job, Phase.ACTIVE)
    os.kill(JobFolder(local.root / str(job.number)).read("state")["runner"], signal.SIGKILL)
    assert wait(local, job) is State.NODE_FAIL


def test_a_submission_killed_half_way_is_not_found_and_takes_no_number(local: Local) -> None:
    half = new_job(local.root)
    half.write("request", {"token": "t" * 16})
    assert local.find("t" * 16, 0).found == ()
    job = run(local, "true")
    assert job.number > half.number
    assert local.find("t" * 16, 0).found == (job,)
    wait(local, job)


def test_the_first_job_is_known_from_a_logs_name(local: Local) -> None:
    number = new_job(local.root).number
    assert source_of(f"logs/toy-{number}.log").job == str(number)


def test_cancel_before_the_script_starts_is_kept(local: Local) -> None:
    job = run(local, "sleep 60")
    local.cancel(job)
    assert wait(local, job) is State.CANCELLED


def test_labels_inputs_and_files_of_tasks(local: Local) -> None:
    body = "printf 'one\\ntwo\\n' | srun -l -n 12 cat\nsrun -n2 -o task-%t.txt bash -c 'echo $SLURM_PROCID'"
    wait(local, run(local, body, head="#SBATCH --nodes=2"))
    lines = (local.root.parent / "out").read_text().splitlines()
    assert sorted(lines) == sorted(f"{task:>2}: {word}" for task in range(12) for word in ("one", "two"))
    assert (local.root.parent / "task-1.txt").read_text() == "1\n"


def test_a_reader_that_stops_early_ends_nothing_and_prints_nothing(local: Local) -> None:
    job = run(
        local,
        "set +o pipefail\nsrun -l -n 4 bash -c 'for i in 1 2 3; do echo x; done' | head -n1; srun --nope; echo $?",
    )
    assert wait(local, job) is State.COMPLETED
    out = (local.root.parent / "out").read_text()
    assert "Traceback" not in out
    assert "BrokenPipe" not in out
    assert out.endswith("255\n")


def test_a_missing_program_is_told_by_its_name(local: Local) -> None:
    job = run(local, "srun no-such-program")
    assert wait(local, job) is State.FAILED
    assert "execve(): no-such-program: No such file or directory" in (local.root.parent / "out").read_text()


def test_scontrol_answers_what_scripts_ask_and_refuses_the_rest(local: Local) -> None:
    wait(local, run(local, "scontrol show hostnames; scontrol show hostnames 'a[1-2]'; scontrol requeue 1 || echo no", head="#SBATCH -N2"))  # fmt: skip
    lines = (local.root.parent / "out").read_text().splitlines()
    assert len(lines) == 6
    assert lines[2:4] == ["a1", "a2"]
    assert lines[-1] == "no"


def test_a_heterogeneous_script_is_refused(local: Local) -> None:
    script = local.root.parent / "het"
    script.write_text("#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N1\n")
    assert isinstance(local.submit(Request(script, local.root.parent, "t"), limit=1), Refused)
