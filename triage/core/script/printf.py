"""`printf`: a format with its arguments, as bash's builtin writes it (its manual, "printf")."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.core.script.arithmetic import number
from triage.core.script.holes import known

_PIECE = re.compile(
    r"%(?P<flags>[-+ 0#]*)(?P<width>\d{0,3})(?:\.(?P<precision>\d{0,3}))?(?P<kind>[sdiuxXoqb%])"
    r"|\\(?P<escape>[abefnrtv\\\"'])|(?P<text>[^%\\]+)",
    re.DOTALL,
)
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MOST = 256
"""Times that a format is used again for further arguments."""


def formatted(words: Sequence[str]) -> str | None:
    """What `printf FORMAT ARGUMENT...` writes, `None` where that is not understood or not known."""
    words = list(words[1:] if words[:1] == ["--"] else words)
    pieces = _pieces(words[0]) if words and known(words[0]) else None
    if pieces is None:
        return None
    arguments, written = words[1:], []
    takes = any(piece["kind"] not in (None, "%") for piece in pieces)
    for _ in range(_MOST):
        for piece in pieces:
            text = _piece(piece, arguments)
            if text is None:
                return None
            written.append(text)
        if not arguments or not takes:
            return "".join(written)
    return None


def _pieces(text: str) -> list[re.Match[str]] | None:
    found: list[re.Match[str]] = []
    position = 0
    while position < len(text):
        match = _PIECE.match(text, position)
        if match is None:
            return None
        found.append(match)
        position = match.end()
    return found


def _piece(piece: re.Match[str], arguments: list[str]) -> str | None:
    """One piece; takes its argument off the front."""
    if piece["text"] is not None:
        return piece["text"]
    if piece["escape"] is not None:
        return _ESCAPES.get(piece["escape"], piece["escape"])
    kind = piece["kind"]
    if kind == "%":
        return "%"
    given = arguments.pop(0) if arguments else ""
    plain = not (piece["flags"] or piece["width"] or piece["precision"])
    if kind == "s":
        return (
            given
            if plain
            else _padded(piece, given[: int(piece["precision"] or 0)] if piece["precision"] else given)
        )
    if kind in "qb":
        return given if plain and re.fullmatch(r"[\w./:=,@+-]+", given) else None
    if not known(given):
        return given if plain and kind in "di" else None
    value = number(given or "0")
    if value is None or piece["precision"]:
        return None
    sign = "+" if "+" in piece["flags"] else ""
    return _padded(
        piece, format(value, sign + {"i": "d", "u": "d"}.get(kind, kind)), zeros="0" in piece["flags"]
    )


def _padded(piece: re.Match[str], text: str, *, zeros: bool = False) -> str | None:
    width = int(piece["width"] or 0)
    if not known(text) and width:
        return None
    if "-" in piece["flags"]:
        return text.ljust(width)
    return text.zfill(width) if zeros else text.rjust(width)
