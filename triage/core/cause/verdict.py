"""The verdict: what `triage explain --format json` prints (schema `triage.verdict/1`)."""

from __future__ import annotations

from typing import Any

from triage.core.values import dataclass, field

SCHEMA = "triage.verdict/1"

PHASES = ("init", "data", "forward", "backward", "optimizer", "checkpoint", "eval")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Lines of a file, 1-based and inclusive."""

    path: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class FrameView:
    file: str
    line: int | None
    function: str


@dataclass(frozen=True, slots=True)
class ChainLink:
    exception: str | None
    message: str
    frame: FrameView | None


@dataclass(frozen=True, slots=True)
class Root:
    """The failure itself; every field is None where the logs do not say."""

    rank: int | None = None
    ranks: str = ""
    local_rank: int | None = None
    node: str | None = None
    gpu: int | None = None
    time: str | None = None
    time_source: str = "none"
    exception: str | None = None
    message: str = ""
    frame: FrameView | None = None
    chain: tuple[ChainLink, ...] = ()
    phase: str | None = None
    attribution: str = "none"
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Downstream:
    category: str
    rule: str
    ranks: str
    count: int
    first: Evidence | None


@dataclass(frozen=True, slots=True)
class Skipped:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scanned:
    files: int = 0
    bytes: int = 0
    lines: int | None = None
    ranks: str = ""
    ranks_missing: str = ""
    skipped: tuple[Skipped, ...] = ()


FACT_NAMES = (
    "world_size", "tp", "dp", "cp", "pp", "ep", "micro_batch_size", "global_batch_size", "seq_length",
    "num_layers", "num_attention_heads", "hidden_size", "peak_memory_gib", "requested_gib", "gpu_total_gib",
    "gpu_free_gib", "last_iteration", "train_iters",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    failed: bool
    category: str
    rule: str | None
    ended: bool
    confidence: str
    summary: str
    root: Root | None
    facts: dict[str, int | float | None]
    downstream: tuple[Downstream, ...] = ()
    next_steps: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    unexplained: tuple[Downstream, ...] = ()
    attempt: int = 1
    attempts: int = 1
    slurm: dict[str, Any] | None = None
    scanned: Scanned = field(default_factory=Scanned)
    job: str | None = None
    """The job explained, where names say which; other jobs of the folder are in `other_jobs`."""
    other_jobs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The contract's JSON object."""
        return {"schema": SCHEMA, **_plain(self)}


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value
