"""Stands in for `torch.distributed.run`: its flags, environment, log folders and exit codes, without torch.

Log layout and variables: torch/distributed/elastic/multiprocessing/api.py (`DefaultLogsSpecs.reify`) and
torch/distributed/elastic/agent/server/local_elastic_agent.py (`_start_workers`).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO


def read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", allow_abbrev=False)
    for name in ("--nnodes", "--nproc-per-node", "--node-rank"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--master-addr", "--master-port", "--log-dir"):
        parser.add_argument(name, required=True)
    parser.add_argument("--redirects", default="0")
    parser.add_argument("--tee", default="0")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


def copy(source: IO[bytes], kept: IO[bytes], shown: IO[bytes], prefix: bytes) -> None:
    for line in source:
        kept.write(line)
        kept.flush()
        shown.write(prefix + line)
        shown.flush()


def main() -> int:
    asked = read()
    run = Path(tempfile.mkdtemp(prefix="none_", dir=asked.log_dir)) / "attempt_0"
    workers: list[subprocess.Popen[bytes]] = []
    threads: list[threading.Thread] = []
    for local in range(asked.nproc_per_node):
        folder = run / str(local)
        folder.mkdir(parents=True)
        environment = os.environ | {
            "RANK": str(asked.node_rank * asked.nproc_per_node + local),
            "LOCAL_RANK": str(local),
            "GROUP_RANK": str(asked.node_rank),
            "WORLD_SIZE": str(asked.nnodes * asked.nproc_per_node),
            "LOCAL_WORLD_SIZE": str(asked.nproc_per_node),
            "MASTER_ADDR": asked.master_addr,
            "MASTER_PORT": asked.master_port,
            "TORCHELASTIC_RUN_ID": "none",
            "TORCHELASTIC_ERROR_FILE": str(folder / "error.json"),
        }
        program = ["-m", asked.program] if asked.module else [asked.program]
        worker = subprocess.Popen(
            [sys.executable, "-u", *program, *asked.arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        workers.append(worker)
        for name, source, shown in (
            ("stdout", worker.stdout, sys.stdout),
            ("stderr", worker.stderr, sys.stderr),
        ):
            assert source is not None
            kept = (folder / f"{name}.log").open("wb")
            thread = threading.Thread(
                target=copy, args=(source, kept, shown.buffer, f"[default{local}]:".encode())
            )
            thread.start()
            threads.append(thread)

    def end_workers(*_: object) -> None:
        for worker in workers:
            worker.terminate()

    signal.signal(signal.SIGTERM, end_workers)
    codes = [worker.wait() for worker in workers]
    for thread in threads:
        thread.join()
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
