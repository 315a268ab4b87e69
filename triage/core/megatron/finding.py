"""What a check answers."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator

from triage.core.megatron.launch import Launch
from triage.core.values import dataclass


class Severity(enum.Enum):
    """How sure a finding is to end the run."""

    ERROR = "error"
    """It certainly fails."""
    WARNING = "warning"
    """It probably fails, or wastes what was asked for."""
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake of a launch, in a sentence with its numbers."""

    severity: Severity
    check: str
    """`parallel/world-size`: the room of the rule and its name; never changed once published."""
    message: str
    source: str | None = None
    """Where Megatron-LM (commit d98e8a6) demands it, `file:line`."""
    line: int | None = None
    """In the script, from 1."""


Check = Callable[[Launch], Iterator[Finding]]
"""Reads a launch and yields what is wrong; raises `Unresolved` where it cannot tell, and is then silent."""

ARGUMENTS = "megatron/training/arguments.py"
CONFIG = "megatron/core/transformer/transformer_config.py"
STATE = "megatron/core/parallel_state.py"
PARALLEL_CONFIG = "megatron/core/model_parallel_config.py"
MICROBATCHES = "megatron/core/num_microbatches_calculator.py"


def unless(launch: Launch, *names: str) -> Severity | None:
    """How sure a rule is that these options switch off: `None` where one is given, a warning where one may be."""
    given = launch.has(*names)
    if given is None:
        return Severity.WARNING
    return None if given else Severity.ERROR
