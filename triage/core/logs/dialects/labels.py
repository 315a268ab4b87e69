"""Labels that look like ordinary text and count only where a whole excerpt carries them.

`12: ` (srun --label; `P0 12: ` in heterogeneous jobs), `node-12: ` (pdsh, DeepSpeed), `trainer-1  | ` (docker compose) and
`i.pretrain/0 ` (torchx) could each be the beginning of a message. `survey` looks at an excerpt and believes a label when

- something that begins a line and is no prose follows it (a traceback's header or frame, another tag, a stamped logger,
  Slurm's own words): proof, one line is enough; or
- at least half of the non-blank lines (two thirds for a name), and two or more of them (four), carry one of the same shape.

The shape of a task label is its width (srun pads to the widest task), that of a name is the name with numbers taken out,
so that `worker-5: ` proves `worker-12: `.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from triage.core.logs.record import Tags

_TASK = re.compile(r"(?:P(\d{1,4}) )?( {0,6}\d{1,7}):(?: |$)")
_NAME = re.compile(r"([A-Za-z0-9][\w.-]{0,62})(: | +\| )|([A-Za-z][\w.-]{0,62}/\d{1,5}) (?=\S)")
_TASK_FIRST = frozenset("0123456789 P")
_DIGITS = re.compile(r"\d+")
_PROOF = re.compile(
    r"Traceback \(most recent call last\)|  File \"[^\"\n]{1,400}\", line \d|\[rank\d+\]:|\[[a-z]+\d+\]:"
    r"|\[?[EWIF]\d{3,4} \d\d:\d\d:|\[E ProcessGroup|slurmstepd|:::MLL|\[\d{4}-\d\d-\d\d[ T]\d\d:| \[\d{4}-\d\d-\d\d \d\d:\S+ iteration"
    r"|\[NeMo [EWI] |[\w.-]{1,80}:\d+:\d+ \[-?\d+\] NCCL |(?:INFO|WARNING|ERROR):[\w.]+:"
)
_FRAME_PROOF = re.compile(r"  File \"[^\"\n]{1,400}\", line \d|\[rank\d+\]:")


@dataclass(frozen=True, slots=True)
class Label:
    """A text's beginning that may be a label."""

    shape: str
    dialect: str
    tags: Tags
    plausible: bool
    """A name without a number is more often the beginning of a message (`WARNING: `) than a host."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The shapes of labels that an excerpt carries."""

    shapes: frozenset[str] = frozenset()

    def find(self, text: str) -> tuple[Label, int] | None:
        """A believed label at the start of the text, and where it ends."""
        read = read_label(text)
        return read if read is not None and read[0].shape in self.shapes else None


NO_LABELS = Labels()


def read_label(text: str) -> tuple[Label, int] | None:
    """What may be a label at the start of the text, believed or not, and where it ends."""
    match = (_TASK.match(text) if text[:1] in _TASK_FIRST else None) or _NAME.match(text)
    if match is None:
        return None
    return _label(match[0]), match.end()


@lru_cache(maxsize=16384)
def _label(printed: str) -> Label:
    task = _TASK.match(printed)
    if task is not None:
        component = task[1]
        tags = Tags(task=int(task[2]), actor=None if component is None else f"P{component}")
        return Label(f"task{len(task[2])}{'' if component is None else 'P'}", "srun", tags, True)
    word = printed.rstrip(" :|")
    shape = printed[len(word) :].strip() + _DIGITS.sub("#", word)
    if shape.startswith(":"):
        return Label(shape, "pdsh", Tags(node=word), "#" in shape or word == "localhost")
    return Label(shape, "collector", Tags(actor=word), "#" in shape)


def begins_like_task(text: str) -> bool:
    """No dialect but a task label begins so."""
    return text[:1] in _TASK_FIRST and _TASK.match(text) is not None


def survey(texts: Iterable[str]) -> Labels:
    """The labels to believe in an excerpt whose lines, without unmistakable prefixes, begin like `texts`."""
    seen: Counter[str] = Counter()
    proven: set[str] = set()
    total = 0
    for text in texts:
        if not text:
            continue
        total += 1
        read = read_label(text)
        if read is None:
            continue
        label, end = read
        seen[label.shape] += 1
        if (
            label.shape not in proven
            and (_PROOF if label.plausible else _FRAME_PROOF).match(text, end) is not None
        ):
            proven.add(label.shape)
    return Labels(
        frozenset(proven | {shape for shape, count in seen.items() if _common(shape, count, total)})
    )


def _common(shape: str, count: int, total: int) -> bool:
    if shape.startswith("task"):
        return count >= 2 and 2 * count >= total
    return "#" in shape and count >= 4 and 3 * count >= 2 * total
