"""A small file as fixed bytes and the numbers that are its writer's own: in these the files of ranks that print alike differ.

Only a number of which every reader makes the same, whatever its value, may be another one: who wrote (rank, host, process,
device), the time of day, for how long a collective ran, an address. Everything else is fixed, and so are all widths, so that
what stands at an offset of one file stands there in the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LARGEST = 16 << 10
"""Bytes of a file that is compared with others as a whole."""

_DIGITS, _HEXADECIMAL = b"0123456789", b"0123456789abcdef"
_ALIKE = bytes.maketrans(_HEXADECIMAL, bytes(16).replace(b"\0", b"0"))
_OWN = re.compile(
    rb"(?:\[rank|\[default)(?P<rank>\d{1,7})\]"
    rb"|[Rr]ank (?P<position>\d{1,7})(?!\d)"
    rb"|(?<=[A-Za-z-])(?P<host>\d{1,6})(?=:\d{1,9}:\d{1,9} \[\d{1,3}\] NCCL )"
    rb"|:(?P<process>\d{1,9}):(?P<thread>\d{1,9}) \[(?P<device>\d{1,3})\] NCCL "
    rb"|(?<![\d:.])(?P<clock>(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d{1,9})?)(?![\d:])"
    rb"|ran for (?P<while>\d{1,9}) milliseconds"
    rb"|\b0x(?P<address>[0-9a-f]{4,16})(?![0-9a-fA-F])"
)
_KINDS = tuple(_OWN.groupindex)
_CLOCK, _ADDRESS = _KINDS.index("clock"), _KINDS.index("address")

Variable = tuple[int, bytes]
"""A kind of number, and the number: the same one at each of its places."""


def shape(data: bytes) -> bytes:
    """Equal for all files of one outline, and for few others."""
    return data.translate(_ALIKE)


class Outline:
    """What a file shares with those that are alike."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._places = list(_own_numbers(data))
        """Start, end and variable."""
        self.variables: tuple[Variable, ...] = tuple(dict.fromkeys(v for _, _, v in self._places))
        names = {variable: b"v%d" % n for n, variable in enumerate(self.variables)}
        parts: list[bytes] = []
        met: set[Variable] = set()
        at = 0
        for start, end, variable in self._places:
            parts += (re.escape(data[at:start]), _slot(variable, names[variable], variable in met))
            met.add(variable)
            at = end
        self._pattern = re.compile(b"".join((*parts, re.escape(data[at:]))), re.DOTALL)
        self._apart = [
            group
            for kind in range(len(_KINDS))
            if kind != _CLOCK and len(group := [n for n, v in enumerate(self.variables) if v[0] == kind]) > 1
        ]
        """Numbers of variables of one kind: different ones stay different."""

    def values(self, data: bytes) -> tuple[str, ...] | None:
        """The numbers of a file that is alike, in the order of `variables`; None for any other."""
        match = self._pattern.fullmatch(data)
        if match is None:
            return None
        values = match.groups()
        if any(len({values[n] for n in group}) < len(group) for group in self._apart):
            return None
        return tuple([value.decode() for value in values])

    def own_values(self) -> tuple[str, ...]:
        """The numbers of the file itself."""
        return tuple(text.decode() for _, text in self.variables)

    def changed(self, step: int) -> bytes:
        """A file that is alike and has another number for each variable, in each of its digits: one for each step from 1."""
        parts: list[bytes] = []
        at = 0
        for start, end, (kind, text) in self._places:
            parts += (self._data[at:start], _changed(kind, text, step))
            at = end
        return b"".join((*parts, self._data[at:]))


def _own_numbers(data: bytes) -> Iterator[tuple[int, int, Variable]]:
    """A zero stays: it may mean that there is none."""
    for match in _OWN.finditer(data):
        for kind, text in enumerate(match.groups()):
            if text is not None and (kind == _CLOCK or text.strip(b"0")):
                start, end = match.span(kind + 1)
                yield start, end, (kind, text)


def _slot(variable: Variable, name: bytes, again: bool) -> bytes:
    kind, text = variable
    if again:
        return b"(?P=" + name + b")"
    if kind == _CLOCK:
        form = rb"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d" + re.sub(rb"\d", rb"\\d", re.escape(text[8:]))
    else:
        digits = b"[0-9a-f]" if kind == _ADDRESS else b"[0-9]"
        form = b"(?!0{%d})%b{%d}" % (len(text), digits, len(text))
    return b"(?P<" + name + b">" + form + b")"


def _changed(kind: int, text: bytes, step: int) -> bytes:
    if kind == _CLOCK:
        hour, minute, second = (int(part) for part in text[:8].split(b":"))
        clock = ((hour + 11 * step) % 24, (minute + 11 * step) % 60, (second + 11 * step) % 60)
        return b"%02d:%02d:%02d" % clock + _turned(text[8:], _DIGITS, step)
    digits = _HEXADECIMAL if kind == _ADDRESS else _DIGITS
    turns = (_turned(text, digits, 1 + (kind + step * (kind % 3 + 1) + more) % 9) for more in range(9))
    return next(turned for turned in turns if turned.strip(b"0"))


def _turned(text: bytes, digits: bytes, by: int) -> bytes:
    return text.translate(bytes.maketrans(digits, digits[by:] + digits[:by]))


def changes(outline: Outline, files: Sequence[bytes]) -> list[tuple[str, ...]] | None:
    """For each variable its number in each of the files; None where two cannot be told apart by it."""
    read = [outline.values(data) for data in files]
    if None in read:
        return None
    triples = list(zip(*(values for values in read if values is not None), strict=True))
    return triples if len(set(triples)) == len(triples) else None
