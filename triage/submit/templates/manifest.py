"""Writes how this node was launched. The rendered script hands this text to the Python of the run."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys

STARTS = "CUDA_ NCCL_ TORCH PYTORCH PYTHON NVTE_ UCX_ GLOO_ OMP_ MASTER_ UV_ FI_ TRITON_"
NAMES = "PATH LD_LIBRARY_PATH LD_PRELOAD VIRTUAL_ENV CONDA_PREFIX NNODES GPUS_PER_NODE WORLD_SIZE"
OWN = "TORCHELASTIC_ERROR_FILE CUDA_VISIBLE_DEVICES"
SECRETS = "TOKEN KEY SECRET PASSW CREDENTIAL"
FEW = 64  # nodes that may look at every file of a shared worktree at once; of more only the first one does
PACKAGES = "torch triton transformer-engine megatron-core nvidia-nccl-cu12 nvidia-nccl-cu13 flash-attn apex"


def git(*words: str) -> str | None:
    command = ["git", "-c", "safe.directory=*", "--no-optional-locks", *words]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() if told.returncode == 0 else None


def version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def driver() -> str | None:
    try:
        with open("/proc/driver/nvidia/version") as file:
            return file.readline().strip()
    except OSError:
        return None


def variables() -> dict[str, str]:
    named = {*NAMES.split(), *os.environ["TRIAGE_VARIABLES"].split()} - {*OWN.split()}
    return {
        name: "(hidden)" if any(word in name.upper() for word in SECRETS.split()) else value
        for name, value in sorted(os.environ.items())
        if name in named or (name.startswith(tuple(STARTS.split())) and name not in OWN.split())
    }


def manifest(command: list[str]) -> dict[str, object]:
    rank, nodes = int(os.environ["SLURM_NODEID"]), int(os.environ["NNODES"])
    changed = git("status", "--porcelain", "--untracked-files=no") if rank == 0 or nodes <= FEW else None
    versions = {name: version(name) for name in PACKAGES.split()}
    return {
        "schema": "triage.launch/1",
        "job_id": os.environ["TRIAGE_JOB_ID"],
        "attempt": int(os.environ["TRIAGE_ATTEMPT"]),
        "host": os.environ["SLURMD_NODENAME"],
        "node_rank": rank,
        "nodes": nodes,
        "processes_per_node": int(os.environ["GPUS_PER_NODE"]),
        "started": datetime.datetime.now().astimezone().isoformat(),
        "directory": os.getcwd(),
        "command": command,
        "environment": variables(),
        "versions": {"python": platform.python_version(), "driver": driver(), **versions},
        "commit": git("rev-parse", "HEAD"),
        "dirty": None if changed is None else bool(changed),
    }


if __name__ == "__main__":
    path, *words = sys.argv[1:]
    with open(path + ".part", "w") as file:
        json.dump(manifest(words), file, indent=1)
    os.replace(path + ".part", path)
