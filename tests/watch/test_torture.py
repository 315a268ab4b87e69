"""Writers of results that do everything wrong: a job is ended on a whole result of its own attempt, and on nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.watch.scripted import Cluster, Job, Stage
from triage.core.jobs.artifact import LARGEST
from triage.core.jobs.identity import JobId
from triage.store.actions import actions_of
from triage.watch.options import Options

JOB = JobId(18)
OWN = {"job_id": 18, "restart": 1, "loss": 2.0}
WRONG: tuple[object, ...] = (
    {**OWN, "job_id": 17}, {**OWN, "restart": 0}, {"job_id": 18, "loss": 2.0}, {"loss": 2.0}, {**OWN, "loss": float("nan")},
    {**OWN, "loss": float("inf")}, {**OWN, "loss": "2"}, {"job_id": 18, "restart": 1}, {**OWN, "run": {"slurm_job_id": 17}},
    {"run": OWN}, [OWN], 18, "text", None,
)  # fmt: skip
"""Of another job or attempt, of none, or not what the condition asks for."""


@dataclass
class Writer:
    """Does one thing to the result; what is there then is told by reading it."""

    path: Path
    dice: random.Random

    def act(self) -> None:
        self.dice.choice(self.moves())()

    def moves(self) -> list[Callable[[], object]]:
        own, wrong = json.dumps(OWN).encode(), json.dumps(self.dice.choice(WRONG)).encode()
        data = self.dice.choice((own, wrong))
        return [
            lambda: self.renamed(own), lambda: self.renamed(wrong), lambda: self.written(own), lambda: self.written(wrong),
            lambda: self.written(data[: self.dice.randrange(len(data))]), lambda: self.written(data + data[:3]),
            lambda: self.linked(own), lambda: self.linked(wrong), self.cut, self.gone, self.looped, self.dangling, self.folder,
            self.fifo, self.huge, self.deep, self.old, self.shut, self.far_in_the_future,
        ]  # fmt: skip

    def gone(self) -> None:
        if self.path.is_dir() and not self.path.is_symlink():
            self.path.rmdir()
        self.path.unlink(missing_ok=True)

    def written(self, data: bytes) -> None:
        self.gone()
        self.path.write_bytes(data)

    def renamed(self, data: bytes) -> None:
        self.gone()
        part = self.path.with_name("part")
        part.write_bytes(data)
        part.replace(self.path)

    def linked(self, data: bytes) -> None:
        self.gone()
        other = self.path.with_name("other")
        other.write_bytes(data)
        self.path.symlink_to(other)

    def looped(self) -> None:
        self.gone()
        self.path.symlink_to(self.path)

    def dangling(self) -> None:
        self.gone()
        self.path.symlink_to(self.path.with_name("nothing"))

    def folder(self) -> None:
        self.gone()
        self.path.mkdir()

    def fifo(self) -> None:
        self.gone()
        os.mkfifo(self.path)

    def huge(self) -> None:
        self.written(json.dumps(OWN).encode())
        os.truncate(self.path, LARGEST + 1)

    def deep(self) -> None:
        self.written(b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}")

    def cut(self) -> None:
        if self.path.is_file():
            os.truncate(
                self.path,
                self.dice.randrange(1 + self.path.stat().st_size) if self.path.stat().st_size < 1000 else 10,
            )

    def old(self) -> None:
        """Whole and its own, but from before the attempt by all clocks."""
        self.renamed(json.dumps(OWN).encode())
        os.utime(self.path, (1e9, 1e9))

    def far_in_the_future(self) -> None:
        """Its own all the same: it names the job and the attempt."""
        self.renamed(json.dumps(OWN).encode())
        os.utime(self.path, (2e9, 2e9))

    def shut(self) -> None:
        if self.path.is_file():
            os.chmod(self.path, 0)

    def good(self) -> str | None:
        """The hash of a result that must end the job; read in the plainest way."""
        if not self.path.is_file() or self.path.stat().st_size > 100_000 or not os.access(self.path, os.R_OK):
            return None
        data = self.path.read_bytes()
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return None
        right = value == OWN and self.path.stat().st_mtime > 1.5e9
        return hashlib.sha256(data).hexdigest() if right else None


@dataclass
class Round:
    """A job that is watched for a result that is not there yet."""

    folder: Path
    dice: random.Random

    def __post_init__(self) -> None:
        self.folder.mkdir()
        cluster = Cluster(self.folder, jobs={JOB: Job(restarts=1)})
        cluster.output(JOB).write_text("hello\n")
        path = self.folder / "m.json"
        self.stage = Stage(cluster, JOB, Options(artifacts=(str(path),), when="loss < 3"))
        self.loop, self.writer = self.stage.loop(), Writer(path, self.dice)
        self.wait(3)

    def wait(self, seconds: float) -> None:
        self.stage.run(self.loop, seconds)


@pytest.mark.parametrize("rounds", [1000 if os.environ.get("TRIAGE_SLOW") else 60])
def test_rounds_of_torture_end_the_job_on_each_true_result_and_on_no_other(
    tmp_path: Path, rounds: int
) -> None:
    dice = random.Random(11)
    job, found = Round(tmp_path / "0", dice), 0
    for turn in range(1, rounds + 1):
        good = set()
        for _ in range(dice.choice((1, 1, 2, 3))):
            job.writer.act()
            good.add(job.writer.good())
            job.wait(dice.choice((0.05, 0.15, 1.2)))
        job.wait(25)
        ended = job.stage.cluster.acts != []
        assert not ended or actions_of(job.stage.database())[0].evidence["sha256"] in good
        assert ended or job.writer.good() is None, job.stage.said()
        if ended:
            assert job.stage.cluster.acts == ["cancel attempt 1"]
            found += 1
            job = Round(tmp_path / str(turn), dice)
    assert found > rounds / 10
