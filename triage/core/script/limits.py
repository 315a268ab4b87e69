"""How much of a script is read: scripts are hostile input."""

from __future__ import annotations

SCRIPT = 1 << 20
"""Characters of a script that are read."""
DEPTH = 40
"""Compound commands, substitutions and `bash -c` inside one another."""
CALLS = 16
"""Functions, `eval`, `bash -c` and sourced here-documents inside one another."""
VALUE = 1 << 18
"""Characters of one value; a longer one is not resolved."""
WORK = 1_000_000
"""Characters expanded and variables copied, all in all; what comes behind is not evaluated."""
WRAPPERS = 16
"""Commands that start one another (`srun env numactl python`)."""
WORDS = 4096
"""Words of one command that are looked at; what is behind counts as not known."""
LAUNCHES = 256
"""Commands that are looked at closely."""
SUBMISSIONS = 16
"""Scripts that a script submits and that are followed."""
UNROLLED = 64
"""Turns of a loop over known words that are followed one by one."""


class Exhausted(Exception):
    """A limit is reached: the rest of the script is not evaluated. Never leaves the room."""


class Budget:
    """What is left of `WORK`."""

    def __init__(self, work: int = WORK) -> None:
        self.left = work

    def spend(self, amount: int) -> None:
        """Raises `Exhausted` where nothing is left."""
        self.left -= amount
        if self.left < 0:
            raise Exhausted
