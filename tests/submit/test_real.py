"""`triage submit` against a real controller that fails in every way: never two jobs, never a lost one.

The quick ones always run; the whole matrix runs with TRIAGE_SLOW=1. The library below it has a matrix of its own,
tests/schedulers/test_real_submission.py.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.minislurm.cluster import ACCOUNT, MiniSlurm
from tests.submit.killing import ROOT, submit_killed_at

slow = pytest.mark.skipif(not os.environ.get("TRIAGE_SLOW"), reason="slow: set TRIAGE_SLOW=1")
SCRIPT = "#!/bin/bash\n#SBATCH --output=logs/%x-%j.out\n{lines}sleep 300\n"


@dataclass(slots=True)
class Desk:
    """A folder to submit from, and the controller's own list of jobs, asked without the code under test."""

    mini: MiniSlurm
    folder: Path
    path: str = ""
    """Folder of programs that stand before Slurm's."""
    known: set[str] = field(default_factory=set)

    @property
    def environment(self) -> dict[str, str]:
        found = {**self.mini.environment, "TRIAGE_STATE": str(self.folder / "state")}
        found["PATH"] = f"{self.path}:{found['PATH']}" if self.path else found["PATH"]
        return found

    def write(self, *lines: str) -> None:
        (self.folder / "run.sbatch").write_text(
            SCRIPT.format(lines="".join(f"#SBATCH {line}\n" for line in lines))
        )

    def submit(self, *words: str, timeout: float = 400) -> tuple[int, Any, str]:
        argv = [sys.executable, "-m", "triage", "submit", *words, "--format", "json"]
        own = {**self.environment, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(argv, env=own, cwd=self.folder, capture_output=True, text=True, timeout=timeout)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def jobs(self) -> set[str]:
        """All but the dead record of a request that Slurm refused."""
        rows = [
            row.split("|")
            for row in self.mini.output("squeue", "-h", "-a", "-t", "all", "-o", "%i|%T|%r").split("\n")
            if row
        ]
        return {row[0] for row in rows if row[1:] != ["FAILED", "BadConstraints"]}

    def new(self) -> set[str]:
        return self.jobs() - self.known

    def wrap(self, *lines: str) -> None:
        """An sbatch of its own around the real one."""
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "sbatch").write_text("\n".join(["#!/bin/bash", *lines, ""]))
        (folder / "sbatch").chmod(0o755)
        self.path = str(folder)


@pytest.fixture
def desk(mini_slurm: MiniSlurm, tmp_path: Path) -> Desk:
    found = Desk(mini_slurm, tmp_path)
    found.write()
    found.known = found.jobs()
    return found


def later(seconds: float, what: Callable[..., object], *arguments: object) -> threading.Timer:
    timer = threading.Timer(seconds, what, arguments)
    timer.start()
    return timer


def test_answer_that_is_lost_after_acceptance_is_found(desk: Desk) -> None:
    desk.wrap(
        '/usr/bin/sbatch "$@" >/dev/null',
        "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1",
    )
    code, told, said = desk.submit("run.sbatch")
    assert (code, told["outcome"]) == (0, "submitted")
    assert "looking for the job" in said
    assert desk.new() == {told["job_id"]}


def test_tool_that_is_killed_behind_the_request_tells_the_job_when_it_runs_again(desk: Desk) -> None:
    killed = submit_killed_at(5, ["run.sbatch"], desk.environment, desk.folder, mark="submission.json.part")
    assert killed.returncode == -signal.SIGKILL
    code, told, said = desk.submit("run.sbatch")
    assert (code, told["outcome"]) == (0, "found")
    assert "was interrupted" in said
    assert desk.new() == {told["job_id"]}
    assert desk.submit("run.sbatch")[1]["outcome"] == "submitted"
    assert len(desk.new()) == 2


@pytest.mark.parametrize(
    ("line", "check", "says"),
    [("-p nope", "site/partition", "--partition"), ("-p short -t 10", "site/time", "PartitionTimeLimit"),
     ("-N9", "site/nodes", "PartitionNodeLimit"), ("--gres=gpu:9", "site/gpus", "--gres")],
)  # fmt: skip
def test_checks_refuse_what_the_controller_would_refuse_or_never_start(
    desk: Desk, line: str, check: str, says: str
) -> None:
    desk.write(*line.split())
    desk.write(line)
    code, told, _ = desk.submit("run.sbatch")
    assert (code, told["outcome"]) == (5, "refused")
    assert check in {item["check"] for item in told["findings"] if item["severity"] == "error"}
    assert desk.new() == set()
    code, told, said = desk.submit("run.sbatch", "--no-check")
    assert desk.new() == ({told["job_id"]} if code == 0 else set())
    assert says in said or "PartitionConfig" in said
    assert (told["never_starts"] is not None) == (code == 0)


def test_job_that_is_told_to_wait_is_not_called_stuck(desk: Desk) -> None:
    code, told, said = desk.submit("run.sbatch", "--hold", "--requeue", "--array=1-2")
    assert (code, told["state"], told["reason"], told["never_starts"]) == (0, "PENDING", "JobHeldUser", None)
    _, second, _ = desk.submit("run.sbatch", "--dependency", f"afterok:{told['job_id']}")
    assert second["reason"] == "Dependency"
    assert "not start by itself" not in said


def test_sbatch_that_waits_for_the_jobs_end_is_not_waited_for(desk: Desk) -> None:
    desk.write("--wait")
    start = time.monotonic()
    code, told, _ = desk.submit("run.sbatch")
    assert code == 0
    assert time.monotonic() - start < 30
    assert desk.new() == {told["job_id"]}


def test_script_that_submits_nothing_is_no_job_and_no_riddle(desk: Desk) -> None:
    desk.write("--test-only")
    code, told, said = desk.submit("run.sbatch")
    assert (code, told["outcome"]) == (5, "refused")
    assert "--test-only" in said
    assert desk.new() == set()


@slow
@pytest.mark.parametrize("seconds", [5, 20])
def test_controller_that_is_down_and_comes_back_gets_one_job(desk: Desk, seconds: float) -> None:
    desk.mini.stop_daemon("slurmctld")
    timer = later(seconds, desk.mini.start_daemon, "slurmctld")
    code, told, said = desk.submit("run.sbatch")
    timer.join()
    assert code == 0
    assert seconds < 20 or "trying for 180 s" in said
    assert desk.new() == {told["job_id"]}


@slow
def test_controller_that_stays_down_is_given_up_and_nothing_comes_late(desk: Desk) -> None:
    desk.mini.stop_daemon("slurmctld")
    code, told, said = desk.submit("run.sbatch", "--patience", "15")
    assert (code, told) == (4, None)
    assert "does not take jobs now" in said
    desk.mini.start_daemon("slurmctld")
    time.sleep(8)
    assert desk.new() == set()
    code, told, said = desk.submit("run.sbatch")
    assert (code, told["outcome"]) == (0, "submitted")
    assert "interrupted" not in said
    assert desk.new() == {told["job_id"]}


@slow
def test_controller_that_is_frozen_and_wakes_up_gets_one_job(desk: Desk) -> None:
    desk.mini.freeze("slurmctld")
    timer = later(12, desk.mini.thaw, "slurmctld")
    code, told, _ = desk.submit("run.sbatch")
    timer.join()
    assert code == 0
    time.sleep(8)
    assert desk.new() == {told["job_id"]}


@slow
def test_controller_that_dies_while_it_works_on_the_request_gets_one_job(desk: Desk) -> None:
    desk.mini.freeze("slurmctld")

    def replace_controller() -> None:
        desk.mini.stop_daemon("slurmctld", kill=True)
        desk.mini.start_daemon("slurmctld")

    timer = later(3, replace_controller)
    code, told, _ = desk.submit("run.sbatch", "--no-check")
    timer.join()
    assert code == 0
    time.sleep(8)
    assert desk.new() == {told["job_id"]}


@slow
def test_killed_at_every_step_and_run_again_makes_one_job(desk: Desk) -> None:
    """Whoever was told the job's id runs the command for a second job; who was not, gets the first."""
    found = 0
    for step in itertools.count(1):
        done = submit_killed_at(
            step, ["run.sbatch", "--hold", "--no-check", "--format", "json"], desk.environment, desk.folder
        )
        if done.returncode == 0:
            break
        code, told, said = desk.submit("run.sbatch", "--hold", "--no-check")
        assert code == 0, (step, said)
        ids = {told["job_id"]} | ({json.loads(done.stdout)["job_id"]} if done.stdout else set())
        assert desk.new() == ids, (step, told["outcome"])
        assert len(ids) == 1 or done.stdout, step
        found += told["outcome"] == "found"
        desk.known |= ids
    assert step > 20
    assert found > 0


@slow
@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("seconds", [0.1, 0.7])
def test_tool_that_is_killed_while_sbatch_is_under_way_makes_one_job(
    desk: Desk, place: str, seconds: float
) -> None:
    """sbatch itself lives on: it sends its request later, or has sent it already."""
    mark, real = desk.folder / "once", '/usr/bin/sbatch "$@"'
    first = ["sleep 1", real] if place == "before" else [real, "sleep 1"]
    desk.wrap(f"if [ ! -e {mark} ]; then touch {mark}; {'; '.join(first)}; else exec {real}; fi")
    argv = [sys.executable, "-m", "triage", "submit", "run.sbatch", "--no-check"]
    own = {**desk.environment, "PYTHONPATH": str(ROOT)}
    tool = subprocess.Popen(argv, env=own, cwd=desk.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while not mark.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(seconds)
    tool.kill()
    assert tool.communicate()[0] == b""
    code, told, said = desk.submit("run.sbatch", "--no-check")
    assert code == 0, said
    time.sleep(2)
    assert desk.new() == {told["job_id"]}


LIMITS: Sequence[tuple[str, str, str, str]] = (
    ("-A nope", "--account", "site/account", "runs"),
    ("-q nope", "--qos", "site/qos", "runs"),
    ("-p short -t 10", "--time", "site/time", "never starts"),
    ("-N9", "--nodes", "site/nodes", "never starts"),
    ("-q tiny -N2", "limit", "", "runs"),
    ("-q small -N2", "QOSMaxNodePerJobLimit", "", "runs"),
)
"""Directive; what an enforcing controller's refusal (or reason) says; the check; what a lenient one does with the job."""


@pytest.fixture
def qos(desk: Desk) -> Desk:
    """Two QOS of one node at most: `tiny` refuses larger jobs, `small` lets them wait."""
    for name, flags in (("tiny", ["Flags=DenyOnLimit"]), ("small", [])):
        desk.mini.run("sacctmgr", "-i", "add", "qos", name, "MaxTRESPerJob=node=1", *flags)
        desk.mini.run("sacctmgr", "-i", "modify", "user", "root", "set", f"qos+={name}")
    time.sleep(1)
    return desk


@pytest.fixture
def strict(qos: Desk) -> Iterator[Desk]:
    qos.mini.enforce(True)
    yield qos
    qos.mini.clear()
    qos.mini.enforce(False)


@slow
@pytest.mark.parametrize(("line", "says", "check", "_lenient"), LIMITS, ids=[row[0] for row in LIMITS])
def test_enforcing_controller_refuses_at_once_or_the_reason_is_told(
    strict: Desk, line: str, says: str, check: str, _lenient: str
) -> None:
    strict.write(line)
    if check:
        code, told, _ = strict.submit("run.sbatch")
        assert code == 5
        assert check in {item["check"] for item in told["findings"] if item["severity"] == "error"}
    start = time.monotonic()
    code, told, said = strict.submit("run.sbatch", "--no-check")
    assert time.monotonic() - start < 20
    assert says in said
    if "Limit" in says:
        assert (code, strict.new()) == (0, {told["job_id"]})
    else:
        assert (code, told["outcome"], strict.new()) == (5, "refused", set())
    strict.write(f"-A {ACCOUNT}")
    assert strict.submit("run.sbatch")[0] == 0


@slow
@pytest.mark.parametrize(("line", "_says", "check", "lenient"), LIMITS, ids=[row[0] for row in LIMITS])
def test_lenient_controller_takes_the_job_and_what_never_starts_is_told(
    qos: Desk, line: str, _says: str, check: str, lenient: str
) -> None:
    qos.write(line)
    code, told, _ = qos.submit("run.sbatch", "--dry-run")
    assert code == (5 if lenient == "never starts" else 0)
    assert not check or check in {item["check"] for item in told["findings"]}
    code, told, said = qos.submit("run.sbatch", "--no-check")
    assert (code, qos.new()) == (0, {told["job_id"]})
    assert (told["never_starts"] is not None) == (lenient == "never starts"), said


def test_full_disk_under_the_logs_submits_nothing(desk: Desk) -> None:
    """Every write beyond its first byte fails, as on a disk or a quota that is full."""
    argv = f"ulimit -f 0; exec {sys.executable} -m triage submit run.sbatch"
    own = {**desk.environment, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", argv], env=own, cwd=desk.folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 6, done
    assert "nothing was submitted" in done.stderr
    assert desk.new() == set()
    code, told, said = desk.submit("run.sbatch")
    assert (code, told["outcome"]) == (0, "submitted")
    assert "interrupted" not in said


@pytest.fixture
def full_disk() -> Iterator[Callable[[Path], None]]:
    """Puts a small file system on a folder, filled to its last byte."""
    mounted: list[Path] = []

    def fill(folder: Path) -> None:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        mounted.append(folder)
        subprocess.run(["dd", "if=/dev/zero", f"of={folder}/full", "bs=1k"], capture_output=True, check=False)

    yield fill
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


@slow
def test_full_disk_of_the_controller_that_is_emptied_gets_one_job(
    desk: Desk, full_disk: Callable[[Path], None]
) -> None:
    state = desk.mini.settings.root / "state"
    full_disk(state)
    timer = later(10, (state / "full").unlink)
    code, told, said = desk.submit("run.sbatch", "--no-check")
    timer.join()
    assert code == 0, said
    assert desk.new() == {told["job_id"]}


@slow
def test_full_disk_of_the_controller_that_stays_is_told_and_makes_no_job(
    desk: Desk, full_disk: Callable[[Path], None]
) -> None:
    full_disk(desk.mini.settings.root / "state")
    code, told, said = desk.submit("run.sbatch", "--no-check", "--patience", "5")
    assert (code, told) == (4, None)
    assert "I/O error writing script" in said
    assert desk.new() == set()


@slow
def test_full_disk_of_the_logs_alone(desk: Desk, full_disk: Callable[[Path], None]) -> None:
    (desk.folder / "logs").mkdir()
    full_disk(desk.folder / "logs")
    code, _, said = desk.submit("run.sbatch")
    assert code == 6
    assert "No space left" in said
    assert desk.new() == set()
