"""The `triage` process: the installed command, and `python -m triage`."""

from __future__ import annotations

import gc
import sys

from triage.cli.main import main

ALLOCATIONS = 50_000
"""Objects made between two searches for reference cycles; Python's default is 700."""


def run() -> int:
    """The command line of a process of its own.

    Nearly all that a run makes is kept to its end, and a search for cycles walks through it and finds none: it is made
    seldom, and not at exit.
    """
    gc.set_threshold(ALLOCATIONS)
    code = main()
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(run())
