"""Labels that look like ordinary text and count only where a whole excerpt carries them.

`12: ` (srun --label; `P0 12: ` in heterogeneous jobs), `node-12: ` (pdsh, DeepSpeed), `trainer-1  | ` (docker compose),
`i.pretrain/0 ` (torchx), and what job scripts and torchrun's template of line prefixes make of a host and a number
(`[node-12:3]:`, `node-12:3 err: `, `node-12 3: `) could each be the beginning of a message. `survey` looks at an excerpt and believes a label when

- something that begins a line and is no prose follows it (a traceback's header or frame, another tag, a stamped logger,
  Slurm's own words): proof, one line is enough; or
- at least half of the non-blank lines (two thirds for a name), and two or more of them (four), carry one of the same shape.

The shape of a task label is its width (srun pads to the widest task), that of a name is the name with numbers taken out,
so that `worker-5: ` proves `worker-12: `.

The number behind a host is a local rank where a line of the excerpt names another rank behind it, or where two hosts count
alike; else the label tells one process from another, and its node.

A bare `[3]:` is believed by proof alone, for lists and torchrun's summaries number their entries so. It is the global rank,
unless a line of the excerpt names another one behind it (`[0]:[rank8]:`): then it is torchrun's tee with an empty role,
and counts the processes of a node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import local_rank_tags, rank_tags
from triage.core.logs.record import Tags
from triage.core.logs.stamp import find_stamp
from triage.core.values import dataclass, replace

_TASK = lazy(r"(?:P(\d{1,4}) )?( {0,6}\d{1,7}):(?: |$)")
_NAME = lazy(r"([A-Za-z0-9][\w.-]{0,62})(: | +\| )|([A-Za-z][\w.-]{0,62}/\d{1,5}) (?=\S)")
_HOST = r"[A-Za-z][\w.-]{0,62}"
_PLACE = lazy(
    rf"\[({_HOST}):(\d{{1,4}})\](?::| )|({_HOST}):(\d{{1,4}})(?: (?:std)?(?:err|out))?:|({_HOST}) (\d{{1,6}}):"
)
_OUTPUT = lazy(r" (?:std)?(?:err|out):")
_FILE = lazy(r"\.(?:py|cpp|cc|c|cu|h|hpp|cuh|rs|go|pyx|sh)$")
_BRACKET = lazy(r"\[(\d{1,6})\]:(?=.)")
"""With text behind it: torchrun's summary has `[0]:` lines of its own."""
_NUMBERED = frozenset({"bracket", "place"})
"""Dialects of which a blank may follow that is part of the label, and whose number may be a local rank."""
_SPACED, _LOCAL = " ", "local"
"""What is added to the shape of one to say so."""
_TASK_FIRST = frozenset("0123456789 P")
_DIGITS = lazy(r"\d+")
_PROOF = lazy(
    r"Traceback \(most recent call last\)|  File \"[^\"\n]{1,400}\", line \d|\[rank\d+\]:|\[[a-z]+\d+\]:"
    r"|\[?[EWIF]\d{3,4} \d\d:\d\d:|\[E ProcessGroup|slurmstepd|:::MLL|\[\d{4}-\d\d-\d\d[ T]\d\d:| \[\d{4}-\d\d-\d\d \d\d:\S+ iteration"
    r"|\[NeMo [EWI] |[\w.-]{1,80}:\d+:\d+ \[-?\d+\] NCCL |(?:INFO|WARNING|ERROR):[\w.]+:"
)
_INNER_RANK = lazy(r"\[rank(\d{1,6})\]:")
_FRAME_PROOF = lazy(r"  File \"[^\"\n]{1,400}\", line \d|\[rank\d+\]:")


@dataclass(frozen=True, slots=True)
class Label:
    """A text's beginning that may be a label."""

    shape: str
    dialect: str
    tags: Tags
    plausible: bool = True
    """A name without a number is more often the beginning of a message (`WARNING: `) than a host."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The shapes of labels that an excerpt carries."""

    shapes: frozenset[str] = frozenset()

    def find(self, text: str) -> tuple[Label, int] | None:
        """A believed label at the start of the text, and where it ends."""
        read = read_label(text)
        if read is not None and read[0].dialect in _NUMBERED:
            return self._numbered(text, *read)
        return read if read is not None and read[0].shape in self.shapes else None

    def _numbered(self, text: str, label: Label, end: int) -> tuple[Label, int] | None:
        if label.shape not in self.shapes:
            if label.shape + _SPACED not in self.shapes:
                return None
            end += text[end : end + 1] == " "
        if label.shape + _LOCAL in self.shapes:
            label = replace(label, tags=_as_local(label.tags))
        return label, end


NO_LABELS = Labels()


def read_label(text: str) -> tuple[Label, int] | None:
    """What may be a label at the start of the text, believed or not, and where it ends."""
    if text[:1] == "[":
        match = _BRACKET.match(text)
        return _place(text) if match is None else (_bracket(int(match[1])), match.end())
    placed = _place(text)
    if placed is not None:
        return placed
    match = (_TASK.match(text) if text[:1] in _TASK_FIRST else None) or _NAME.match(text)
    if match is None:
        return None
    return _label(match[0]), match.end()


@lru_cache(maxsize=16384)
def _bracket(number: int) -> Label:
    return Label("[#]", "bracket", rank_tags(number))


def _place(text: str) -> tuple[Label, int] | None:
    match = _PLACE.match(text)
    return None if match is None else (_placed(match[0]), match.end())


@lru_cache(maxsize=16384)
def _placed(printed: str) -> Label:
    match = _PLACE.match(printed)
    assert match is not None
    host, number = (part for part in match.groups() if part is not None)
    likely = _FILE.search(host) is None and any(c in "0123456789-" for c in host)
    tags = Tags(node=host, actor=f"{host}:{number}")
    return Label(_DIGITS.sub("#", _OUTPUT.sub(":", printed)), "place", tags, likely)


def _number(tags: Tags) -> int | None:
    """The number of a label whose meaning is open."""
    return tags.rank if tags.actor is None else int(tags.actor.rpartition(":")[2])


def _as_local(tags: Tags) -> Tags:
    number = _number(tags)
    if tags.node is None:
        return tags if number is None else local_rank_tags(number)
    return Tags(node=tags.node, local_rank=number)


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
    hosts: dict[tuple[str, int | None], set[str | None]] = defaultdict(set)
    total = 0
    for text in texts:
        if not text:
            continue
        total += 1
        read = read_label(text)
        if read is None:
            continue
        label, end = read
        if label.dialect in _NUMBERED:
            proven.update(_of_numbered(text, label, end) if label.plausible else ())
            hosts[label.shape, _number(label.tags)].add(label.tags.node)
            continue
        seen[label.shape] += 1
        if (
            label.shape not in proven
            and (_PROOF if label.plausible else _FRAME_PROOF).match(text, end) is not None
        ):
            proven.add(label.shape)
    proven |= {shape + _LOCAL for (shape, _), named in hosts.items() if len(named) > 1}
    return Labels(
        frozenset(proven | {shape for shape, count in seen.items() if _common(shape, count, total)})
    )


def _of_numbered(text: str, label: Label, end: int) -> list[str]:
    """What a line with such a label proves: whether a blank belongs to it, and whether its number is a local rank."""
    start, shape = end, label.shape
    if not _proves(text, end):
        start, shape = end + 1, label.shape + _SPACED
        if text[end : end + 1] != " " or not _proves(text, start):
            return []
    inner = _INNER_RANK.match(text, start)
    local = inner is not None and int(inner[1]) != _number(label.tags)
    return [shape, label.shape + _LOCAL] if local else [shape]


def _proves(text: str, pos: int) -> bool:
    """Whether here stands what begins a line, and no prose."""
    return _PROOF.match(text, pos) is not None or find_stamp(text, pos) is not None


def _common(shape: str, count: int, total: int) -> bool:
    if shape.startswith("task"):
        return count >= 2 and 2 * count >= total
    return "#" in shape and count >= 4 and 3 * count >= 2 * total
