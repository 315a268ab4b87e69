"""What the lab's trainers can do wrong, by flag. Errors are real wherever processors without a GPU can make them."""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

RANK = int(os.environ.get("RANK", "0"))
PHASES = ("start", "init", "forward", "backward", "optimizer", "between", "checkpoint", "done")
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.11 GiB of which 1.21 GiB is free. "
    "Including non-PyTorch memory, this process has 77.89 GiB memory in use. Of the allocated memory 74.66 GiB is allocated "
    "by PyTorch, and 1.52 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--fault-rank", type=int, default=1, help="-1 is every rank")
    parser.add_argument("--fault-step", type=int, default=3)
    parser.add_argument("--fault-phase", choices=PHASES, default="between")


class Breakage:
    """Does the fault once, on its rank, at its step, in its phase."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.name: str | None = arguments.fault
        self.here = self.name is not None and arguments.fault_rank in (RANK, -1)
        self.step: int = arguments.fault_step
        self.phase: str = arguments.fault_phase
        self.now = 0
        """The step that runs."""

    def at(self, phase: str, model: Any = None) -> None:
        due = phase in ("start", "init", "done") or self.now == self.step
        if self.here and phase == self.phase and due and self.name is not None:
            FAULTS[self.name](model)

    def skips(self, name: str) -> bool:
        """For faults that are something left out, or done otherwise, by the trainer itself."""
        return self.here and self.name == name and self.now == self.step

    def arm(self, layer: Any, optimizer: Any) -> None:
        """Inside the forward pass, the backward pass and the optimizer's step, where the stack tells the phase."""
        layer.register_forward_pre_hook(lambda *_: self.at("forward", layer))
        layer.register_full_backward_pre_hook(lambda *_: self.at("backward", layer))
        if optimizer is not None:
            optimizer.register_step_pre_hook(lambda *_: self.at("optimizer", layer))


def _out_of_memory(_: Any) -> None:
    raise torch.OutOfMemoryError(OUT_OF_MEMORY)


def _shape(layer: Any) -> None:
    layer.weight.data = layer.weight.data[:, :-1]


def _nan(layer: Any) -> None:
    layer.weight.data.fill_(float("nan"))


def _host_memory(_: Any) -> None:
    torch.empty(1 << 46, dtype=torch.uint8)


def _memory_hog(_: Any) -> None:
    """In a control group of little memory, so that the kernel's OOM killer comes."""
    group = Path(f"/sys/fs/cgroup/memory/lab-{Path.cwd().parent.name}")
    (group / "cgroup.procs").write_text(str(os.getpid()))
    held = []
    while True:
        held.append(bytearray(32 << 20))


def _missing_module(_: Any) -> None:
    import flash_attn_lab  # type: ignore[import-not-found] # noqa: F401


def _connections(_: Any) -> None:
    """As Megatron-LM asserts it (megatron/training/arguments.py)."""
    assert os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1", (
        "Using tensor model parallelism or context parallelism require setting the environment variable "
        "CUDA_DEVICE_MAX_CONNECTIONS to 1"
    )


def _kill(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _segfault(_: Any) -> None:
    ctypes.string_at(0)


def _stop(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _leave(_: Any) -> None:
    os._exit(0)


def _hang(_: Any) -> None:
    time.sleep(3600)


def _save_in_thread(_: Any) -> None:
    """An asynchronous save into a folder that is not there; the training goes on."""

    def save() -> None:
        torch.save({"step": 1}, "no-such-folder/async.pt")

    thread = threading.Thread(target=save, name="async-save")
    thread.start()
    thread.join()


def _handled(_: Any) -> None:
    """A traceback that is logged, and training goes on."""
    try:
        torch.load("no-such-folder/cached.pt")
    except FileNotFoundError:
        logging.getLogger("cache").exception("no cached batches, they are made again")


def _file_limit(_: Any) -> None:
    """Files may not grow: writes fail as on a full file system, with EFBIG."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


def _left_to_the_trainer(_: Any) -> None:
    """`Breakage.skips` tells the trainer."""


FAULTS: dict[str, Callable[[Any], None]] = {
    "oom": _out_of_memory,
    "shape": _shape,
    "nan": _nan,
    "host-memory": _host_memory,
    "memory-hog": _memory_hog,
    "import": _missing_module,
    "connections": _connections,
    "sigkill": _kill,
    "segfault": _segfault,
    "stop": _stop,
    "exit0": _leave,
    "hang": _hang,
    "thread": _save_in_thread,
    "handled": _handled,
    "file-limit": _file_limit,
    "skip-collective": _left_to_the_trainer,
    "short-collective": _left_to_the_trainer,
    "worker-killed": _left_to_the_trainer,
    "worker-exits": _left_to_the_trainer,
    "size-mismatch": _left_to_the_trainer,
    "sequence": _left_to_the_trainer,
}
