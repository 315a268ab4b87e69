"""The job does not form its world."""

from __future__ import annotations

import contextlib
import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.fault import Fault, Right, Shape

ONE_EACH = Shape(nodes=2, processes=1)
LATE = """\
#!/bin/bash
# The second node's agent starts late.
me=$(dirname "$(readlink -f "$0")")
[ "${SLURM_NODEID:-0}" = 1 ] && [ "$2" = torch.distributed.run ] && sleep "$LATE"
PATH=${PATH//$me:/} exec python "$@"
"""


@contextlib.contextmanager
def taken_port(tree: Path) -> Iterator[None]:
    port = tomllib.loads((tree / "triage.toml").read_text())["master_port"]
    with socket.socket() as other:
        other.bind(("", port))
        other.listen()
        yield


@contextlib.contextmanager
def slow_python(tree: Path) -> Iterator[None]:
    (tree / "slow").mkdir()
    (tree / "slow" / "python").write_text(LATE)
    (tree / "slow" / "python").chmod(0o755)
    yield


@contextlib.contextmanager
def bare_python(tree: Path) -> Iterator[None]:
    """The system's, without torch: what a job finds whose environment was not made."""
    (tree / "bare").mkdir()
    (tree / "bare" / "python").symlink_to("/usr/bin/python3")
    yield


@contextlib.contextmanager
def older_checkout(tree: Path) -> Iterator[None]:
    """Its trainer is as new as ours, what it imports is not."""
    (tree / "old").mkdir()
    (tree / "old" / "twin.py").write_text((tree / "twin.py").read_text())
    (tree / "old" / "breakage.py").write_text("RANK = 0\n")
    (tree / "old" / "common.py").write_text("")
    yield


@contextlib.contextmanager
def other_folder(tree: Path) -> Iterator[None]:
    (tree / "other").mkdir()
    yield


SLOW = {"hooks.setup": '["export PATH=$PWD/slow:$PATH"]'}
FAULTS = (
    Fault("port in use", Right("launcher"), around=taken_port),
    Fault("MASTER_ADDR does not resolve", Right("launcher", also=("network",)), shape=ONE_EACH, values={"hooks.setup": '["scontrol() { echo gpu-node-017.invalid; }"]', "environment.PET_RDZV_CONF": '"timeout=12"'}),
    Fault("one node is late", Right("none", outcome="completed"), shape=ONE_EACH, values={**SLOW, "environment.LATE": '"8"'}, around=slow_python),
    Fault("one node is absent", Right("launcher"), shape=ONE_EACH, values={**SLOW, "environment.LATE": '"3600"', "environment.PET_RDZV_CONF": '"timeout=12"'}, around=slow_python),
    Fault("wrong worktree", Right("import"), values={"worktree": '"other"'}, around=other_folder),
    Fault("worktree of another state", Right("import"), values={"worktree": '"old"'}, around=older_checkout),
    Fault("virtual environment is missing", Right("import"), values={"hooks.setup": '["export PATH=$PWD/bare:/usr/bin:/bin"]'}, around=bare_python),
)  # fmt: skip
