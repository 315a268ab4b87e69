"""Checkpoints and file systems fail."""

from __future__ import annotations

import contextlib
import io
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.fault import MEGATRON, Fault, Right, Unavailable
from tests.e2e.faults.program import empty_folder


@contextlib.contextmanager
def truncated_checkpoint(tree: Path) -> Iterator[None]:
    """What is left of an archive whose writer was cut off."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(4096))
    (tree / "ckpt").mkdir()
    for rank in range(4):
        (tree / "ckpt" / f"rank_{rank:02d}.pt").write_bytes(whole.getvalue()[:2000])
    yield


@contextlib.contextmanager
def tiny_disk(tree: Path) -> Iterator[None]:
    target = tree / "ckpt"
    target.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "lab", str(target)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"no file system can be mounted: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


FAULTS = (
    Fault("truncated checkpoint", Right("checkpoint"), "--load ckpt", around=truncated_checkpoint, trainer=MEGATRON, fast=True),
    Fault("missing checkpoint", Right("checkpoint"), "--load ckpt", around=empty_folder),
    Fault("disk full", Right("storage", also=("checkpoint",)), "--save ckpt --fault-step 2 --hidden-size 1024", around=tiny_disk),
    Fault("files may not grow", Right("storage", 1, also=("checkpoint",)), "--save ckpt --fault file-limit --hidden-size 4096"),
)  # fmt: skip
