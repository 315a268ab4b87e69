"""The ordered table of log dialects, and the loop that takes their prefixes off a line."""

from __future__ import annotations

from typing import NamedTuple

from triage.core.logs.dialects import (
    collectors,
    glog,
    kernel,
    loggers,
    megatron,
    mpi,
    nccl,
    ranks,
    ray,
    slurm,
)
from triage.core.logs.dialects.interface import Dialect, Stripped
from triage.core.logs.dialects.labels import NO_LABELS, Labels, begins_like_task
from triage.core.logs.record import NO_TAGS, Stamp, Tags

DIALECTS: tuple[Dialect, ...] = (
    ranks.RANK,
    glog.CPP,
    glog.PYTHON,
    ranks.ROLE,
    ray.RAY,
    mpi.MPIRUN,
    collectors.POD,
    nccl.NCCL,
    megatron.MEGATRON,
    megatron.MLLOG,
    slurm.SLURM,
    loggers.NEMO,
    loggers.LEVEL_BRACKET,
    kernel.DMESG,
    kernel.KERN_LOG,
    kernel.SYSLOG,
    collectors.CRI,
    mpi.OPENMPI,
    loggers.ROOT,
    loggers.LEVEL_FIRST,
    loggers.STAMPED,
    collectors.STREAM,
)
"""Tried in this order, again after each prefix that came off: the more particular form stands before the more general one."""

_LABEL_FIRST = frozenset("0123456789 ")
"""No dialect begins as a task label does, so that one may be tried first."""

MOST = 8
"""Prefixes that may stack on one line."""

_Keyed = tuple[tuple[str, Dialect], ...]

_BY_FIRST: dict[str, _Keyed] = {
    first: tuple((f"{d.name}/{number}", d) for number, d in enumerate(DIALECTS) if first in d.first)
    for first in sorted({c for d in DIALECTS for c in d.first})
}
_BEHIND_BRACKET: dict[str, _Keyed] = {
    second: tuple((key, d) for key, d in _BY_FIRST["["] if not d.behind or second in d.behind)
    for second in map(chr, range(128))
}
"""The row of the bracket is long, and most texts that begin so are no prefix."""


_Found = tuple[str, str, bool, bool, Stripped]
"""Name, key, whether every line carries it, whether none comes behind it, and what came off."""


class Peeled(NamedTuple):
    """A line without its prefixes."""

    text: str
    tags: Tags = NO_TAGS
    carried: Tags = NO_TAGS
    """What the labels say that their writer puts before every line."""
    stamp: Stamp | None = None
    level: str = ""
    dialect: str = ""
    origin: str = ""
    body: int = 0
    """Where the text behind the `srun --label` label begins, 0 where there is none."""


def peel(text: str, labels: Labels = NO_LABELS) -> Peeled | None:
    """Takes off every prefix; None where there is none."""
    if not labels.shapes and (text[:1] not in _BY_FIRST or begins_like_task(text)):
        return None
    whole = len(text)
    tags = carried = NO_TAGS
    stamp: Stamp | None = None
    level = dialect = origin = ""
    body = 0
    used: list[str] = []
    for _ in range(MOST):
        found = _one(text, labels, used)
        if found is None:
            break
        name, key, carrier, last, got = found
        used.append(key)
        if got.tags is not NO_TAGS:
            tags = got.tags if tags is NO_TAGS else tags.merged(got.tags)
            if carrier:
                carried = got.tags if carried is NO_TAGS else carried.merged(got.tags)
        stamp = got.stamp or stamp
        level = got.level or level
        origin = got.origin or origin
        dialect = name
        if key == "srun":
            body = whole - len(got.text)
        nothing_off = len(got.text) == len(text)
        text = got.text
        if last or nothing_off:
            break
    return Peeled(text, tags, carried, stamp, level, dialect, origin, body) if used else None


def _one(text: str, labels: Labels, used: list[str]) -> _Found | None:
    first = text[:1]
    if labels.shapes and first in _LABEL_FIRST:
        label = _labelled(text, labels, used)
        if label is not None:
            return label
    row = _BY_FIRST.get(first, ())
    for key, dialect in _BEHIND_BRACKET.get(text[1:2], row) if first == "[" else row:
        got = dialect.strip(text)
        if got is not None and key not in used:
            return dialect.name, key, dialect.carrier, dialect.last, got
    return _labelled(text, labels, used) if labels.shapes and first not in _LABEL_FIRST else None


def _labelled(text: str, labels: Labels, used: list[str]) -> _Found | None:
    found = labels.find(text)
    if found is None or found[0].dialect in used:
        return None
    label, end = found
    return label.dialect, label.dialect, True, False, Stripped(text[end:], label.tags)
