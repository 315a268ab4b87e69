"""What both trainers share: flags, the lines that Megatron-LM prints, checkpoints, data, and the result."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import breakage
import numpy
import torch
import torch.distributed as dist
from breakage import RANK, Breakage

WORLD = int(os.environ.get("WORLD_SIZE", "1"))


def add_flags(parser: argparse.ArgumentParser) -> None:
    for name, value in (("num-layers", 2), ("hidden-size", 32), ("num-attention-heads", 4), ("seq-length", 32),
                        ("max-position-embeddings", 32), ("micro-batch-size", 1), ("global-batch-size", 4),
                        ("train-iters", 6), ("tensor-model-parallel-size", 1),
                        ("pipeline-model-parallel-size", 1)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--distributed-timeout-seconds", type=float, default=20)
    parser.add_argument("--load")
    parser.add_argument("--save")
    parser.add_argument("--data-path")
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--metrics", help="where the result goes")
    parser.add_argument("--metrics-at", type=int, default=0, help="this step, not the end")
    parser.add_argument("--metrics-mode", choices=("whole", "slow", "partial"), default="whole")
    parser.add_argument("--step-seconds", type=float, default=0.05)
    parser.add_argument(
        "--linger", type=float, default=0, help="seconds that the processes stay after all is done"
    )
    breakage.add_flags(parser)


def print_rank_0(text: str) -> None:
    if RANK == 0:
        print(text, flush=True)


def stamp(what: str) -> None:
    dist.barrier()
    print_rank_0(f"[{what}] datetime: {datetime.now():%Y-%m-%d %H:%M:%S} ")


def print_arguments(arguments: argparse.Namespace) -> None:
    print_rank_0("------------------------ arguments ------------------------")
    for name, value in sorted(vars(arguments).items()):
        if not name.startswith("fault"):
            print_rank_0(f"  {name} {'.' * (48 - len(name))} {value}")
    print_rank_0("-------------------- end of arguments ---------------------")


def print_step(arguments: argparse.Namespace, step: int, loss: float, seconds: float) -> None:
    """Megatron-LM's line, of the last rank."""
    if RANK == WORLD - 1:
        print(
            f" [{datetime.now():%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/{arguments.train_iters:8d} |"
            f" consumed samples: {step * arguments.global_batch_size:12d} |"
            f" elapsed time per iteration (ms): {seconds * 1000:.1f} | learning rate: {arguments.lr:.6E} |"
            f" global batch size: {arguments.global_batch_size:5d} | lm loss: {loss:.6E} | loss scale: 1.0 |"
            " number of skipped iterations:   0 | number of nan iterations:   0 |",
            flush=True,
        )


class Tokens:
    """Token windows: of a file of int32 where one is named, else counted up."""

    def __init__(self, arguments: argparse.Namespace, broken: Breakage) -> None:
        self.length, self.broken, self.served = arguments.seq_length, broken, 0
        self.data: Any = None
        if arguments.data_path:
            self.data = numpy.memmap(arguments.data_path, dtype=numpy.int32, mode="r")

    def __len__(self) -> int:
        return 1 << 16

    def __getitem__(self, index: int) -> Any:
        self.served += 1
        if self.broken.here and self.served > 4:
            if self.broken.name == "worker-killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.broken.name == "worker-exits":
                os._exit(1)
        if self.data is not None:
            start = index * self.length % (len(self.data) - self.length)
            return torch.from_numpy(self.data[start : start + self.length].astype("int64"))
        return (torch.arange(self.length) + index) % 64


def batches(arguments: argparse.Namespace, broken: Breakage) -> Any:
    loader = torch.utils.data.DataLoader(
        Tokens(arguments, broken), batch_size=arguments.micro_batch_size, num_workers=arguments.num_workers
    )
    return iter(loader)


def save_checkpoint(arguments: argparse.Namespace, step: int, model: Any) -> None:
    print_rank_0(f"saving checkpoint at iteration {step:7d} to {arguments.save} in torch format")
    Path(arguments.save).mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict(), "iteration": step}, f"{arguments.save}/rank_{RANK:02d}.pt")
    dist.barrier()
    print_rank_0(f"  successfully saved checkpoint from iteration {step:7d} to {arguments.save}")


def load_checkpoint(arguments: argparse.Namespace, model: Any, broken: Breakage) -> None:
    print_rank_0(f" loading checkpoint from {arguments.load}")
    if broken.name == "size-mismatch":
        state = model.state_dict()
        if broken.here:
            state = {
                name: torch.cat([value, value]) if torch.is_tensor(value) else value
                for name, value in state.items()
            }
        torch.save({"model": state, "iteration": 0}, f"{arguments.load}/rank_{RANK:02d}.pt")
    found = torch.load(f"{arguments.load}/rank_{RANK:02d}.pt", map_location="cpu")
    model.load_state_dict(found["model"])
    dist.barrier()
    print_rank_0(f"  successfully loaded checkpoint from {arguments.load} at iteration {found['iteration']}")


def write_metrics(arguments: argparse.Namespace, step: int, loss: float) -> None:
    """Rank 0's result: renamed when it is whole, or written slowly, or given up half-way."""
    if RANK != 0 or not arguments.metrics:
        return
    whose = {"job_id": os.environ.get("TRIAGE_JOB_ID"), "restart": int(os.environ.get("TRIAGE_ATTEMPT", "0"))}
    text = json.dumps({**whose, "status": "completed", "iteration": step, "lm loss": loss}, indent=2) + "\n"
    target = Path(arguments.metrics)
    target.parent.mkdir(parents=True, exist_ok=True)
    if arguments.metrics_mode == "whole":
        part = target.with_suffix(".part")
        part.write_text(text)
        part.rename(target)
        return
    with target.open("w") as file:
        for number, letter in enumerate(text):
            file.write(letter)
            file.flush()
            if arguments.metrics_mode == "slow":
                time.sleep(3 / len(text))
            elif number > len(text) // 2:
                os._exit(1)


def train(arguments: argparse.Namespace, broken: Breakage, model: Any, step_once: Any) -> None:
    """The loop; `step_once` trains one step and returns its loss."""
    stamp("before the start of training step")
    loss = 0.0
    for step in range(1, arguments.train_iters + 1):
        broken.now, began = step, time.time()
        time.sleep(arguments.step_seconds)
        broken.at("between")
        loss = step_once()
        print_step(arguments, step, loss, time.time() - began)
        if step == arguments.metrics_at:
            write_metrics(arguments, step, loss)
        if arguments.save and step == broken.step:
            broken.at("checkpoint")
            save_checkpoint(arguments, step, model)
    stamp("after training is done")
    if not arguments.metrics_at:
        write_metrics(arguments, arguments.train_iters, loss)
    broken.at("done")
    dist.barrier()
    time.sleep(arguments.linger)
    dist.destroy_process_group()
