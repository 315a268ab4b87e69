"""What a job's own script says about restarts and signals; a script that cannot be read says nothing."""

from __future__ import annotations

import os
import re

_RESTARTS = re.compile(r"--max[-_]restarts[= ]+(\d{1,5})")
_REQUEUE = "scontrol requeue"
_LONGEST = 1 << 20


def has_restarts_left(script: str, attempts: int) -> bool:
    """Whether it will start the training again by itself."""
    text = _text(script)
    allowed = [int(number) for number in _RESTARTS.findall(text)]
    return _REQUEUE in text or any(attempts - 1 < number for number in allowed)


def may_requeue_on_signal(script: str) -> bool:
    """Whether a signal may mean to it what Slurm sends before the time limit, and not its end."""
    text = _text(script)
    return _REQUEUE in text or "--signal=" in text


def _text(script: str) -> str:
    try:
        with open(os.path.expanduser(script), encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except (OSError, ValueError):
        return ""
