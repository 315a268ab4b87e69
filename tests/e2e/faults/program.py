"""The training itself fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.fault import MEGATRON, Fault, Right, Shape, Unavailable

TWO_NODES = Shape(nodes=2)
TP = "--tensor-model-parallel-size 2"
GROUPS = Path("/sys/fs/cgroup/memory")
LIMIT = 1 << 30


@contextlib.contextmanager
def little_memory(tree: Path) -> Iterator[None]:
    """A control group that the rank joins: the kernel kills it when it wants more."""
    group = GROUPS / f"lab-{tree.parent.name}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(LIMIT))
    except OSError as error:
        raise Unavailable(f"no control group for memory: {error.strerror}") from None
    try:
        yield
    finally:
        group.rmdir()


@contextlib.contextmanager
def empty_folder(tree: Path) -> Iterator[None]:
    (tree / "ckpt").mkdir()
    yield


FAULTS = (
    Fault("out of memory in forward", Right("oom", 2), f"--fault oom --fault-rank 2 --fault-phase forward {TP}", TWO_NODES, trainer=MEGATRON),
    Fault("out of memory in backward", Right("oom", 2), "--fault oom --fault-rank 2 --fault-phase backward", TWO_NODES, trainer=MEGATRON, fast=True),
    Fault("out of memory in optimizer", Right("oom", 1), f"--fault oom --fault-phase optimizer {TP}", trainer=MEGATRON),
    Fault("wrong sequence length", Right("shape", 1), "--fault sequence", trainer=MEGATRON, fast=True),
    Fault("heads do not divide by TP", Right("shape"), f"{TP} --num-attention-heads 3 --hidden-size 33", trainer=MEGATRON),
    Fault("world does not divide by TP", Right("shape"), "--tensor-model-parallel-size 3", trainer=MEGATRON),
    Fault("size mismatch on load", Right("shape", 1, also=("checkpoint",)), "--load ckpt --fault size-mismatch", around=empty_folder, trainer=MEGATRON),
    Fault("import error on one rank", Right("import", 1), "--fault import --fault-phase start", fast=True),
    Fault("NaN", Right("numerics", 1), "--fault nan --fault-phase forward", trainer=MEGATRON),
    Fault("CUDA_DEVICE_MAX_CONNECTIONS", Right("config"), f"--fault connections --fault-rank -1 --fault-phase start {TP}", values={"environment.CUDA_DEVICE_MAX_CONNECTIONS": '"8"'}),
    Fault("data is missing", Right("data"), "--data-path data/tokens.bin"),
    Fault("DataLoader worker is killed", Right("host-oom", 1), "--num-workers 1 --fault worker-killed"),
    Fault("DataLoader worker leaves", Right("data", 1), "--num-workers 1 --fault worker-exits"),
    Fault("exception in a thread", Right("none", outcome="completed"), "--fault thread"),
    Fault("traceback that was handled", Right("none", outcome="completed"), "--fault handled --fault-rank 0", trainer=MEGATRON, fast=True),
    Fault("host allocation fails", Right("host-oom", 1), "--fault host-memory --fault-phase forward"),
    Fault("killed by the kernel for its memory", Right("host-oom", 1), "--fault memory-hog", around=little_memory, values={"hooks.on_failure": '["dmesg | tail -n 80 > dmesg.log"]'}),
    Fault("rank killed", Right("host-oom", 1, also=("signal", "unknown")), "--fault sigkill", trainer=MEGATRON, fast=True),
    Fault("segmentation fault", Right("signal", 1), "--fault segfault --fault-phase forward", fast=True),
)  # fmt: skip
