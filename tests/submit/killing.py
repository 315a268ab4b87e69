"""Runs `triage submit` in a process of its own and ends it with SIGKILL at a chosen step of its work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVER = """
import os, signal, sys
last, mark, counted = int(sys.argv[1]), sys.argv[2], 0
STEPS = ("os.mkdir", "os.rename", "os.rmdir", "os.remove", "subprocess.Popen", "fcntl.flock", "shutil.rmtree")
def hook(event, arguments):
    global counted
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
    if (event in STEPS or writes) and mark in str(arguments):
        counted += 1
        if counted == last:
            os.kill(os.getpid(), signal.SIGKILL)
from triage.cli.main import main
sys.addaudithook(hook)
code = main(sys.argv[3:])
print("steps", counted, file=sys.stderr)
sys.exit(code)
"""
"""Runs the tool and kills it right before the n-th thing that it does to files (of that name) or processes."""


def submit_killed_at(
    step: int, words: Sequence[str], environment: Mapping[str, str], folder: Path, *, mark: str = ""
) -> subprocess.CompletedProcess[str]:
    """Right before the step of that number, of those that name `mark`; 0 is never."""
    argv = [sys.executable, "-c", DRIVER, str(step), mark, "submit", *words]
    own = {**environment, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(argv, env=own, cwd=folder, capture_output=True, text=True, timeout=600)
