"""What the parsers of collective lines share: the group prefix, `WorkNCCL(...)`, lists of ranks."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from triage.core.events.model import Collective, Span
from triage.core.events.place import at
from triage.core.lazy import lazy
from triage.core.logs.record import Record
from triage.core.shared import shared
from triage.core.values import dataclass

LIMIT = 16_384
"""Characters of a line that are looked at; the longest line that torch prints here is about 1,500."""

MAX_RANKS = 65_536

_GROUP = lazy(
    r"\[PG (?:ID (?P<id>[0-9]{1,9}) PG GUID (?P<guid>[^\s()\[\]]{1,120})|(?P<local>[^\s()\[\]]{1,120}))"
    r" ?(?:\((?P<desc>[^()\[\]]{0,120})\))? Rank (?P<position>[0-9]{1,9})\]"
)
_POSITION = lazy(r"\[Rank ([0-9]{1,9})\]")
_SEQ = lazy(r"(?:SeqNum|SequenceNumber)=([0-9]{1,19})")
_OP = lazy(r"OpType=([A-Za-z0-9_]{1,64})")
_NUMEL_IN = lazy(r"NumelIn=([0-9]{1,19})")
_NUMEL_OUT = lazy(r"NumelOut=([0-9]{1,19})")
_SHAPE = lazy(r"TensorShape=(\[[0-9, ]{0,200}\])")
_TIMEOUT = lazy(r"Timeout\(ms\)=([0-9]{1,19})")
_INTEGER = lazy(r"[0-9]{1,9}")


@dataclass
class Draft:
    """A record being read; `event` fills in what its prefixes say."""

    record: Record
    text: str
    source: int

    @cached_property
    def _prefix(self) -> tuple[str, int | None]:
        for text in (self.text, self.record.raw[:LIMIT]):
            if "[PG " in text and (found := _GROUP.search(text)):
                return _name(found), int(found["position"])
        for text in (self.text, self.record.raw[:LIMIT]):
            if "[Rank " in text and (found := _POSITION.search(text)):
                return "", int(found[1])
        return "", self.record.tags.group_rank

    @property
    def group(self) -> str:
        return self._prefix[0]

    def event(self, what: str, **fields: Any) -> Collective:
        """The event with span, tags, group and position taken from the line unless `fields` give them."""
        group, position = self._prefix
        fields.setdefault("group", group)
        fields.setdefault("group_rank", position)
        record = self.record
        span = Span(self.source, record.offset, record.end)
        return Collective(span=span, tags=record.tags, when=at(record.stamp), what=what, **fields)


def _name(found: re.Match[str]) -> str:
    desc = found["desc"] or ""
    if desc == "undefined":
        desc = ""
    number_ = found["guid"] if found["guid"] is not None else f"#{found['local']}"
    return shared(f"{number_}:{desc}" if desc else number_)


def integer(pattern: re.Pattern[str], text: str) -> int | None:
    """The pattern's first group as a number, None where it does not match."""
    found = pattern.search(text)
    return shared(int(found[1])) if found else None


def number(text: str | None, factor: int = 1) -> int | None:
    return shared(int(text) * factor) if text else None


def work_fields(text: str) -> dict[str, Any]:
    """The fields of the first `WorkNCCL(...)` or `CollectiveFingerPrint(...)`; the order and number differ by version."""
    start = max(text.find("WorkNCCL("), 0)
    part = text[start : start + 600]
    op = _OP.search(part)
    shape = _SHAPE.search(part)
    return {
        "seq": integer(_SEQ, part),
        "op": shared(op[1]) if op else "",
        "numel_in": integer(_NUMEL_IN, part),
        "numel_out": integer(_NUMEL_OUT, part),
        "shape": shape[1] if shape else "",
        "timeout_ms": integer(_TIMEOUT, part),
    }


def rank_list(text: str) -> tuple[int, ...]:
    """`0, 1, 5` (brackets or braces around it do not matter), ascending, each once."""
    return tuple(sorted({int(n) for n in _INTEGER.findall(text[:LIMIT])[:MAX_RANKS]}))
