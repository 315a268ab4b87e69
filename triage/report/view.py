"""What there is to show of a verdict, the same for every format: safe texts in reading order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from triage.core.cause.verdict import Downstream, Evidence, FrameView, Verdict
from triage.core.values import dataclass, names, replace
from triage.report.mask import one_line, safe
from triage.report.ranges import of_ranks

_ATTRIBUTION = {
    "tag": "said by the line's own tag",
    "file": "said by the file's name",
    "inferred": "inferred, see the reasons",
}

_TIME_SOURCE = {"elastic": "when torchrun saw it end", "file": "when the file was last written"}


@dataclass(frozen=True, slots=True)
class Options:
    """How a format that has a layout lays it out."""

    width: int = 80
    color: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A verdict without terminal control and secrets, and the exit code that goes with it."""

    verdict: Verdict
    exit_code: int

    @property
    def headline(self) -> str:
        return one_line(self.verdict.summary) or ("a failure" if self.verdict.failed else "no failure")

    @property
    def tags(self) -> tuple[str, ...]:
        """Category, rule, confidence and exit code."""
        verdict = self.verdict
        rule = verdict.rule or verdict.category
        kind = (rule,) if rule.split("/")[0] == verdict.category else (verdict.category, rule)
        ended = () if verdict.ended else ("no end of the run seen",)
        return (*kind, f"confidence {verdict.confidence}", *ended, f"exit {self.exit_code}")

    @property
    def exception(self) -> str:
        """`Type: message`, or the deciding line where the root is no exception; may have several lines."""
        root = self.verdict.root
        if root is None:
            return ""
        return (
            f"{root.exception}: {root.message}"
            if root.exception and root.message
            else root.exception or root.message
        )

    @property
    def where(self) -> str:
        """Rank, node, device and phase of the root."""
        root = self.verdict.root
        if root is None:
            return ""
        rank = of_ranks(root.ranks) if root.ranks else (f"rank {root.rank}" if root.rank is not None else "")
        if root.rank is not None and root.ranks not in ("", str(root.rank)):
            rank += f" (first: {root.rank})"
        parts = (
            rank,
            f"local rank {root.local_rank}" if root.local_rank is not None else "",
            root.node or "",
            f"GPU {root.gpu}" if root.gpu is not None else "",
            f"in {root.phase}" if root.phase else "",
        )
        said = ", ".join(part for part in parts if part)
        how = _ATTRIBUTION.get(root.attribution, "")
        return f"{said} ({how})" if said and how else said

    @property
    def evidence_name(self) -> str:
        """Of a rank that went missing there are only the words of those that waited for it."""
        root = self.verdict.root
        waited = (
            root is not None and root.attribution == "inferred" and self.verdict.category in ("nccl", "hang")
        )
        return "seen by" if waited else "evidence"

    @property
    def time(self) -> str:
        root = self.verdict.root
        if root is None or root.time is None:
            return ""
        how = _TIME_SOURCE.get(root.time_source, "")
        return f"{root.time} ({how})" if how else root.time

    @property
    def attempt(self) -> str:
        verdict = self.verdict
        return f"{verdict.attempt} of {verdict.attempts}" if verdict.attempts > 1 else ""

    @property
    def facts(self) -> tuple[str, ...]:
        """Sizes in a few lines: parallelism, batch, model, memory, progress. Unknown ones are left out."""
        lines = (_facts(self.verdict.facts, names) for names in _FACT_LINES)
        return tuple(line for line in lines if line)

    @property
    def scheduler(self) -> str:
        slurm = self.verdict.slurm
        if not slurm:
            return ""
        head = " ".join(str(part) for part in ("job", slurm.get("job_id"), slurm.get("state")) if part)
        more = [f"reason {slurm['reason']}"] if slurm.get("reason") not in (None, "", "None") else []
        if slurm.get("exit_code") is not None:
            more.append(f"exit {slurm['exit_code']}:{slurm.get('signal') or 0}")
        if slurm.get("restarts"):
            more.append(f"restarts {slurm['restarts']}")
        if slurm.get("nodes"):
            more.append(f"nodes {slurm['nodes']}")
        return ", ".join([head, *more])

    @property
    def job(self) -> str:
        verdict = self.verdict
        if not verdict.job and not verdict.other_jobs:
            return ""
        others = ", ".join(verdict.other_jobs[:5]) + (" ..." if len(verdict.other_jobs) > 5 else "")
        name = verdict.job or "not named"
        return f"{name} (also here: {others}; choose with --job)" if others else name

    @property
    def scanned(self) -> str:
        scanned = self.verdict.scanned
        text = f"{scanned.files} file{'s' if scanned.files != 1 else ''}, {bytes_text(scanned.bytes)}"
        if scanned.ranks:
            text += f", {of_ranks(scanned.ranks)}"
        if scanned.ranks_missing:
            text += f"; no line of {of_ranks(scanned.ranks_missing)}"
        return text

    @property
    def skipped(self) -> tuple[str, ...]:
        """The first few files that were not read, and how many more there are."""
        skipped = self.verdict.scanned.skipped
        told = [f"{one.path} ({one.reason})" for one in skipped[:3]]
        return (*told, f"{len(skipped) - 3} more (see --format json)") if len(skipped) > 3 else tuple(told)


def view_of(verdict: Verdict, exit_code: int) -> View:
    """The view of a verdict."""
    return View(_safe(verdict), exit_code)


def lines_text(evidence: Evidence | None) -> str:
    """`path:first-last`."""
    if evidence is None:
        return ""
    last = f"-{evidence.last_line}" if evidence.last_line != evidence.first_line else ""
    return f"{evidence.path}:{evidence.first_line}{last}"


def frame_text(frame: FrameView | None) -> str:
    """`file:line in function`."""
    if frame is None:
        return ""
    line = f":{frame.line}" if frame.line is not None else ""
    return f"{frame.file}{line} in {frame.function}" if frame.function else f"{frame.file}{line}"


def effect_lines(effects: Iterable[Downstream]) -> tuple[tuple[str, str], ...]:
    """`nccl/watchdog-timeout on ranks 0-4,6-15` and where it shows first; what reads the same is told once."""
    places: dict[str, list[str]] = {}
    for effect in effects:
        ranks = of_ranks(effect.ranks) or (f"{effect.count} ranks" if effect.count > 1 else "")
        name = effect.rule or effect.category
        places.setdefault(f"{name} on {ranks}" if ranks else name, []).append(lines_text(effect.first))
    return tuple((f"{text} ({len(p)} times)" if len(p) > 1 else text, p[0]) for text, p in places.items())


def bytes_text(count: int) -> str:
    """A size for people: `1.2 MiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


_FACT_LINES: tuple[tuple[tuple[str, str], ...], ...] = (
    (("world_size", "world size {}"), ("tp", "TP {}"), ("pp", "PP {}"), ("dp", "DP {}"), ("cp", "CP {}"), ("ep", "EP {}")),
    (("micro_batch_size", "micro batch {}"), ("global_batch_size", "global batch {}"), ("seq_length", "sequence {}")),
    (("num_layers", "layers {}"), ("num_attention_heads", "heads {}"), ("hidden_size", "hidden {}")),
    (("requested_gib", "tried {} GiB"), ("gpu_free_gib", "free {} GiB"), ("gpu_total_gib", "GPU {} GiB"), ("peak_memory_gib", "peak {} GiB")),
    (("last_iteration", "last iteration {}"), ("train_iters", "{} iterations planned")),
)  # fmt: skip
"""Facts that stand together on a line, and how each is said."""


def _facts(facts: dict[str, int | float | None], names: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(text.format(facts[name]) for name, text in names if facts.get(name) is not None)


def _safe(value: Any) -> Any:
    """The value with every text in it made safe; a number that is none (NaN, infinity) is unknown."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if own := names(value):
        return replace(value, **{name: _safe(getattr(value, name)) for name in own})
    if isinstance(value, tuple):
        return tuple(_safe(item) for item in value)
    if isinstance(value, list):
        return [_safe(item) for item in value]
    if isinstance(value, dict):
        return {_safe(key): _safe(item) for key, item in value.items()}
    return value
