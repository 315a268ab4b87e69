"""A training in torch alone: two layers, data parallel, with a gradient all-reduce by hand."""

from __future__ import annotations

import argparse
import faulthandler
from datetime import timedelta

import common
import torch
import torch.distributed as dist
from breakage import RANK, Breakage


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    common.add_flags(parser)
    arguments = parser.parse_args()
    faulthandler.enable()
    torch.manual_seed(1234)
    broken = Breakage(arguments)
    broken.at("start")
    common.print_arguments(arguments)
    dist.init_process_group("gloo", timeout=timedelta(seconds=arguments.distributed_timeout_seconds))
    broken.at("init")
    width, hidden = arguments.seq_length, arguments.hidden_size
    model = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr)
    broken.arm(model[2], optimizer)
    if arguments.load:
        common.load_checkpoint(arguments, model, broken)
    data = common.batches(arguments, broken)

    def step_once() -> float:
        tokens = next(data).float()
        optimizer.zero_grad()
        if broken.skips("sequence"):
            tokens = tokens[:, :-3]
        loss = model(tokens / width).square().mean()
        if torch.isnan(loss):
            raise RuntimeError(
                f"Rank {RANK}: found NaN in local forward loss calculation at step {broken.now}"
            )
        loss.backward()
        for value in model.parameters():
            if broken.skips("skip-collective"):
                break
            dist.all_reduce(value.grad[:-1].clone() if broken.skips("short-collective") else value.grad)
        optimizer.step()
        return float(loss.detach())

    common.train(arguments, broken, model, step_once)


if __name__ == "__main__":
    main()
