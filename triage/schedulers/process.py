"""Runs one command of a scheduler: closed stdin, capped output, a wall-clock limit, a built environment."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from triage.core.values import dataclass

CAP = 64 * 1024 * 1024
"""Most bytes that are read of a command's output; a queue of a hundred thousand jobs has less."""
_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True)
class Call:
    """A command to run."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    limit: float
    """Seconds, then it is killed; what it has printed by then is kept."""
    folder: str | None = None
    cap: int = CAP
    settle: float | None = None
    """Seconds that it may go on after its first line of output: `sbatch --wait` says the id and stays."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command ended and what it printed."""

    code: int | None
    """`None`: it did not end by itself, or did not start."""
    out: str = ""
    err: str = ""
    timed_out: bool = False
    cut: bool = False
    """It printed more than the cap and was killed."""
    missing: bool = False
    """The program does not exist."""

    @property
    def whole(self) -> bool:
        return self.code is not None and not self.cut and not self.timed_out


Runner = Callable[[Call], Answer]


def run(call: Call) -> Answer:
    """Runs it. Never raises for what the command does; the environment is passed as it is, nothing is added."""
    try:
        process = subprocess.Popen(
            call.argv, env=dict(call.environment), cwd=call.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        return Answer(None, err=str(error), missing=True)
    except OSError as error:
        return Answer(None, err=str(error))
    try:
        texts, timed_out, cut = _read(process, call)
    finally:
        _end(process)
    out, err = (text.decode(errors="replace") for text in texts)
    code = None if timed_out or cut else process.returncode
    return Answer(code, out, err, timed_out, cut)


def _read(process: subprocess.Popen[bytes], call: Call) -> tuple[list[bytearray], bool, bool]:
    """Its output until both pipes are closed, the time is over or the cap is reached."""
    assert process.stdout is not None
    assert process.stderr is not None
    end = time.monotonic() + call.limit
    texts = [bytearray(), bytearray()]
    timed_out = cut = False
    with selectors.DefaultSelector() as selector:
        for index, pipe in enumerate((process.stdout, process.stderr)):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, index)
        while selector.get_map() and not cut:
            if call.settle is not None and b"\n" in texts[0]:
                end = min(end, time.monotonic() + call.settle)
                call = replace(call, settle=None)
            left = end - time.monotonic()
            if left <= 0:
                timed_out = True
                break
            for key, _ in selector.select(left):
                if not _drain(key, texts[key.data]):
                    selector.unregister(key.fileobj)
            cut = len(texts[0]) + len(texts[1]) > call.cap
    if not timed_out and not cut:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            timed_out = True
    else:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        for pipe, text in zip((process.stdout, process.stderr), texts, strict=True):
            text += (pipe.read() or b"")[: max(0, call.cap - len(text))]
    return texts, timed_out, cut


def _drain(key: selectors.SelectorKey, text: bytearray) -> bool:
    """Takes what is there; False at the end of the pipe."""
    try:
        piece = os.read(key.fd, 1 << 16)
    except BlockingIOError:
        return True
    text += piece
    return bool(piece)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of the command is left running."""
    if process.poll() is None:
        _signal(process, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
