"""Job monitor and failure triage for Megatron-LM and torchrun training on SLURM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triage.api import explain
    from triage.core.cause.verdict import Verdict

__all__ = ["Verdict", "__version__", "explain"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the library call only when it is used: `triage --help` must stay quick."""
    if name == "explain":
        from triage.api import explain

        return explain
    if name == "Verdict":
        from triage.core.cause.verdict import Verdict

        return Verdict
    raise AttributeError(name)
