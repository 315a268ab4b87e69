"""Slurm's compressed lists of hosts and tasks."""

from __future__ import annotations

import re

_MOST = 16_384
"""Most hosts or tasks that a list is expanded to."""


def expand_hosts(text: str, most: int = _MOST) -> tuple[str, ...]:
    """`nid[0071-0072,0074],gpu1` as single host names, in order; at most `most` of them."""
    found: list[str] = []
    for part in _split_outside_brackets(text):
        found.extend(_expand_one(part, most - len(found)))
        if len(found) >= most:
            break
    return tuple(found)


def expand_tasks(text: str, most: int = _MOST) -> tuple[int, ...]:
    """`0-1,3` as numbers, in order; at most `most` of them."""
    found: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if not low.isdigit() or (high and not high.isdigit()) or len(low) > 9 or len(high) > 9:
            continue
        last = int(high or low)
        found.extend(range(int(low), min(last, int(low) + most - len(found) - 1) + 1))
        if len(found) >= most:
            break
    return tuple(found)


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part]


def _expand_one(part: str, most: int) -> list[str]:
    names = [""]
    for piece in re.split(r"(\[[^\[\]]*\])", part):
        if piece.startswith("[") and piece.endswith("]"):
            numbers = _padded(piece[1:-1], most)
            names = [
                name + number for name in names[: max(1, most // max(1, len(numbers)))] for number in numbers
            ]
        else:
            names = [name + piece for name in names]
    return names[:most]


def _padded(ranges: str, most: int) -> list[str]:
    """`0071-0072,0074` with its zeros kept; what is no number stays as it is."""
    found: list[str] = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and high.isdigit() and len(low) < 10 and len(high) < 10:
            stop = min(int(high), int(low) + most - len(found) - 1)
            found.extend(str(value).zfill(len(low)) for value in range(int(low), stop + 1))
        elif part:
            found.append(part)
        if len(found) >= most:
            break
    return found[:most]
