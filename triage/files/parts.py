"""Files that are parts of one log: cut by logrotate, by a rotating log handler or by `split`, and one stream in order.

Names alone tell, and only where all of them together leave no doubt: `train.log.1` is the older part of `train.log` where
both lie in one folder, while `err.0` and `err.1` are two ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.core.lazy import lazy
from triage.core.values import dataclass, replace
from triage.files.inputs import Input

_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_ROTATED = lazy(r"(.+)\.([1-9]\d{0,2})")
_DATED = lazy(r"(.+)[-.](20\d\d-?\d\d-?\d\d(?:[-_T]?\d\d[-_:]?\d\d(?:[-_:]?\d\d)?)?)")
_LETTERED = lazy(r"([a-z]{1,4})-(.+)")
_NUMBERED = lazy(r"(.*?)[-_.]?(?<![a-z])part[-_.]?(\d{1,4})(?!\d)(.*)")


@dataclass(frozen=True, slots=True)
class Part:
    """One file's place in a log that was cut."""

    whole: str
    """The path that the log had in one piece."""
    place: int
    """From 0, the oldest first."""


def parts_of(paths: Sequence[str]) -> dict[str, Part]:
    """The paths that are parts of a log, given all of them."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for path in paths:
        start = path.rfind("/") + 1
        for way, whole, mark in _cuts(_bare(path[start:])):
            found.setdefault(path[:start] + whole, {})[way, mark] = path
    there = {_bare(path): path for path in paths} if found else {}
    parts: dict[str, Part] = {}
    for whole, marked in found.items():
        for order in _orders(marked, there.get(whole)):
            if not any(path in parts for path in order):
                parts |= {path: Part(whole, place) for place, path in enumerate(order)}
                break
    return parts


def _bare(name: str) -> str:
    return name[: name.rindex(".")] if name.endswith(_COMPRESSED) else name


def _cuts(name: str) -> Iterator[tuple[str, str, str]]:
    """How a name may have been made: the way, the name before, and the mark that was added."""
    if name[-1:].isdecimal():
        if match := _ROTATED.fullmatch(name):
            yield "rotated", match[1], match[2]
        if match := _DATED.fullmatch(name):
            yield "dated", match[1], match[2]
    elif name[-3:-2] == "." and name[-2:].isalpha():
        yield "split", name[:-3], name[-2:]
    if "-" in name[1:5] and (match := _LETTERED.fullmatch(name)):
        yield "lettered", match[2], match[1]
    if "part" in name and (match := _NUMBERED.fullmatch(name)):
        yield "numbered", match[1] + match[3] if match[1] else match[3].lstrip("-_."), match[2]


def _orders(marked: dict[tuple[str, str], str], newest: str | None) -> Iterator[list[str]]:
    """The parts of one log, the oldest first, as far as each way of cutting leaves no gap."""
    by_way: dict[str, dict[str, str]] = {}
    for (way, mark), path in marked.items():
        by_way.setdefault(way, {})[mark] = path
    for way, members in by_way.items():
        marks = sorted(members, key=int) if way in ("rotated", "numbered") else sorted(members)
        order = [members[mark] for mark in marks]
        if way == "rotated" and newest is not None and _counts(marks, 1):
            yield [*reversed(order), newest]
        elif way == "dated" and newest is not None:
            yield [*order, newest]
        elif newest is not None or len(order) < 2:
            continue
        elif (way in ("split", "lettered") and marks == _letters(len(marks), len(marks[0]))) or (
            way == "numbered" and (_counts(marks, 0) or _counts(marks, 1))
        ):
            yield order


def _counts(marks: Sequence[str], start: int) -> bool:
    return [int(mark) for mark in marks] == list(range(start, start + len(marks)))


def _letters(number: int, width: int) -> list[str]:
    """The first suffixes of `split`: aa, ab ... az, ba."""
    places = [26**place for place in reversed(range(width))]
    return ["".join(chr(97 + n // place % 26) for place in places) for n in range(number)]


def joined(inputs: Sequence[Input]) -> list[Input]:
    """The inputs with the parts of one log as one of them, in the order of the first parts."""
    parts = parts_of([one.source.path for one in inputs])
    if not parts:
        return list(inputs)
    by_whole: dict[str, list[Input]] = {}
    for one in inputs:
        whole = parts[one.source.path].whole if one.source.path in parts else f"\0{one.source.path}"
        by_whole.setdefault(whole, []).append(one)
    out = []
    for members in by_whole.values():
        first, *rest = sorted(
            members, key=lambda m: parts[m.source.path].place if m.source.path in parts else 0
        )
        out.append(replace(first, rest=tuple(rest)))
    return out
