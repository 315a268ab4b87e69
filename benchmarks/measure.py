"""One command as a fresh process: wall seconds, CPU seconds, peak memory, output."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    cpu: float
    """User and system time of all its threads."""
    peak: int
    """Bytes of resident memory of its largest process."""
    code: int
    output: bytes


def run(command: Sequence[str]) -> Run:
    """Run to the end; start-up counts. Keep the caller small: a child's peak is never below its parent's."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Run(
            seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode, out.read()
        )
