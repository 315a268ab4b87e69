"""The nodes of a local allocation: names that resolve to this machine."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable, Sequence

MOST = 250
"""Nodes of one job."""


def node_names(count: int, resolves: Callable[[str], bool]) -> tuple[str, ...]:
    """`node1.localhost`... where the system resolves such names (RFC 6761), else loopback addresses.

    Without root no other name can be made to resolve, and MASTER_ADDR must.
    """
    count = min(count, MOST)
    names = tuple(f"node{number}.localhost" for number in range(1, count + 1))
    if resolves(names[0]):
        return names
    return tuple(f"127.0.0.{number}" for number in range(1, count + 1))


def is_loopback_name(name: str) -> bool:
    """Whether the name resolves, and to this machine only."""
    try:
        found = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
    except OSError:
        return False
    return bool(found) and all(str(item[4][0]).startswith(("127.", "::1")) for item in found)


def host_list(names: Sequence[str]) -> str:
    """As Slurm writes it: `127.0.0.[1-4]`, `node1.localhost`."""
    if len(names) < 2:
        return ",".join(names)
    prefix = _common(names)
    suffix = _common([name[len(prefix) :][::-1] for name in names])[::-1]
    middles = [name[len(prefix) : len(name) - len(suffix)] for name in names]
    if not all(part.isdigit() and (part == "0" or not part.startswith("0")) for part in middles):
        return ",".join(names)
    return f"{prefix}[{_ranges([int(part) for part in middles])}]{suffix}"


def _common(names: Sequence[str]) -> str:
    """The longest beginning that all share, without a digit at its end."""
    same = itertools.takewhile(lambda chars: len(set(chars)) == 1, zip(*names, strict=False))
    return "".join(chars[0] for chars in same).rstrip("0123456789")


def _ranges(numbers: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
