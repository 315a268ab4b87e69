"""The faults of the lab that need torch alone."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from tests.e2e.fault import Fault, Right, Shape
from tests.e2e.run import Job

TWO_NODES = Shape(nodes=2, processes=2)


def truncated_checkpoint(tree: Path) -> None:
    """What is left of an archive whose writer was cut off."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(4096))
    (tree / "ckpt").mkdir()
    for rank in range(4):
        (tree / "ckpt" / f"rank_{rank:02d}.pt").write_bytes(whole.getvalue()[:2000])


def cancel(job: Job) -> None:
    job.reaches(2)
    job.slurm("scancel", job.id)


LINGERS = "--metrics results/metrics.json --linger 300"

FAST = (
    Fault("healthy, with a traceback that was handled", Right("none", outcome="completed"), "--fault handled --fault-rank 0"),
    Fault("out of memory in backward", Right("oom", 2), "--fault oom --fault-rank 2 --fault-phase backward", TWO_NODES),
    Fault("wrong sequence length", Right("shape", 1), "--fault sequence --fault-rank 1"),
    Fault("import error on one rank", Right("import", 1), "--fault import --fault-phase start"),
    Fault("segmentation fault", Right("signal", 1), "--fault segfault --fault-phase forward"),
    Fault("rank killed", Right("host-oom", 1, also=("signal", "unknown")), "--fault sigkill"),
    Fault("a rank leaves too early with exit code 0", Right("nccl", 1, also=("unknown",)), "--fault exit0"),
    Fault("truncated checkpoint", Right("checkpoint"), "--load ckpt", prepare=truncated_checkpoint),
    Fault("scancel", Right("cancelled"), "--train-iters 2000", act=cancel),
    Fault("result is there and processes stay", Right("none", outcome="completed-early"), LINGERS, artifact=True),
)  # fmt: skip
