"""NCCL's own lines: `host:pid:tid [cudaDev] file:line NCCL WARN ...`, with a stamp in front from 2.26 on.

Source: nccl/src/debug.cc (`ncclDebugLog`). The words from `NCCL WARN` on stay: they are what people search for.
"""

from __future__ import annotations

from functools import lru_cache

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import (
    DIGITS,
    LETTERS,
    STAMP,
    Dialect,
    Sample,
    Stripped,
    level_letter,
)
from triage.core.logs.record import Stamp, Tags
from triage.core.logs.stamp import find_stamp
from triage.core.shared import shared

_HEAD = lazy(
    r"([\w.-]{1,80}):(\d{1,9}):\d{1,9} \[(-?\d{1,3})\] (?:\d{1,12}\.\d{1,9} )?(?:([\w./+-]{1,160}:\d{1,6}) )?(?=NCCL ([A-Z]{3,8})\b)"
)


def _strip(text: str) -> Stripped | None:
    if text.find(" NCCL ", 0, 400) < 0:
        return None
    stamp: Stamp | None = None
    start = 0
    if text[0] == "[":
        found = find_stamp(text)
        if found is None:
            return None
        stamp, start = found
        start += 1
    match = _HEAD.match(text, start)
    if match is None:
        return None
    node, pid, device, origin, level = match.groups("")
    return Stripped(text[match.end() :], _tags(node, pid, device), stamp, level_letter(level), origin)


@lru_cache(maxsize=4096)
def _tags(node: str, pid: str, device: str) -> Tags:
    """One shared value per process."""
    number = int(device)
    return Tags(node=shared(node), pid=int(pid), device=number if number >= 0 else None)


NCCL = Dialect(
    name="nccl",
    first="[" + LETTERS + DIGITS,
    behind=STAMP,
    strip=_strip,
    last=True,
    samples=(
        Sample(
            "worker-node1:2303:2611 [4] transport/net_ib.cc:1909 NCCL WARN NET/IB : Got completion from peer",
            "NCCL WARN NET/IB : Got completion from peer",
            Tags(node="worker-node1", pid=2303, device=4),
            level="W",
            origin="transport/net_ib.cc:1909",
        ),
        Sample(
            "gn0417:3063025:3063025 [0] NCCL INFO Bootstrap : Using ib0:10.80.46.3<0>",
            "NCCL INFO Bootstrap : Using ib0:10.80.46.3<0>",
            Tags(node="gn0417", pid=3063025, device=0),
            level="I",
        ),
        Sample(
            "[2025-07-01 10:00:00] gpu1:10:12 [3] misc/socket.cc:64 NCCL WARN socketProgress: Connection closed",
            "NCCL WARN socketProgress: Connection closed",
            Tags(node="gpu1", pid=10, device=3),
            "2025-07-01 10:00:00",
            "W",
            "misc/socket.cc:64",
        ),
    ),
)
