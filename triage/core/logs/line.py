"""Bytes to physical lines: carriage-return states, glued progress bars, escapes, bad UTF-8 and huge lines.

A terminal would show only the last state of a `\\r` progress bar; a log keeps them all, and what a program prints next
stands glued behind one. Each state becomes a line of its own, and so does the text behind a bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from triage.core.lazy import lazy

LONGEST = 64 * 1024
"""Bytes of a line that are kept: more is cut to `HEAD` at its start and `TAIL` at its end."""
HEAD = 48 * 1024
TAIL = 16 * 1024
_BLOCK = 4096
GAP = "…"
"""Stands where the middle of a huge line was left out."""

_CONTROL = bytes(b for b in range(32) if b not in b"\t\n") + b"\x7f"
_WIDE_CONTROL = lazy("[\x7f-\x9f]")
_ESCAPE = lazy(
    rb"\x1b(?:"
    rb"\[[0-?]{0,64}[ -/]{0,8}[@-~]?"
    rb"|\][^\x07\x1b\n]{0,1024}(?:\x07|\x1b\\)?"
    rb"|[PX^_][^\x1b\n]{0,1024}(?:\x1b\\)?"
    rb"|[ -/]{1,3}[0-~]?"
    rb"|[0-OQ-WYZ\\`-~])?"
)
_TQDM = lazy(
    rb"(?:%\|[^|\n]{0,512}\|[^|\[\]\n]{0,80}|\d[A-Za-z]{0,12} )"
    rb"\[(?=[^\]]{0,80}[\d?][:<,])[^\[\]\n]{0,400}(?:\[[^\[\]\n]{0,200}\][^\[\]\n]{0,200}){0,8}\]"
)
_SLURM = lazy(
    rb"(?<=[^\s:'\"`(\[])(?:slurmstepd(?:-[\w.-]{1,80})?: error: |srun: error: )"
    rb"|(?<=[^:])\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\] error: (?=\*\*\* (?:STEP|JOB) )"
)
"""Slurm's daemons write whole lines, into whatever the tasks have left unfinished. Nobody quotes them without a blank,
a colon or a quotation mark before."""
_PERCENT = lazy(rb"\d%|\d/\d+ \[|[\d?] ?(?:it|s|[kKMG]i?B|B|[a-z]{1,12})/(?:s|it)\b")
_NO_BAR = lazy(rb"rror|xception|raceback|ailed|atal|CANCELLED")


class Physical(NamedTuple):
    """What stood between two line breaks (or between a line break and a carriage return, or behind a bar).

    A tuple, because it is made for each line of gigabytes and lives only until `to_records`.
    """

    offset: int
    """Byte offset of its first byte."""
    end: int
    """Byte offset just after its last byte; the line break is not counted."""
    text: str
    """Decoded, without escapes and control characters (tabs stay)."""
    part: int = 0
    """Which piece of its `\\n`-ended line this is: 0 is the one that carries the line's labels."""
    lossy: bytes = b""
    """Its bytes, only where they are no valid UTF-8."""


def decode_lines(data: bytes, base: int) -> list[Physical]:
    """The physical lines of `data`, whose first byte has offset `base`; cutting `data` at line breaks changes nothing."""
    out: list[Physical] = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK) + 1 or len(data)
        block = data[start:end]
        if block.isascii() and len(block.translate(None, _CONTROL)) == len(block):
            _plain(block, base + start, out)
        else:
            _any(block, base + start, out)
        start = end
    return out


def _plain(data: bytes, base: int, out: list[Physical]) -> None:
    """The short path: ASCII, nothing to take out."""
    whole = data.decode("ascii")
    lines = whole.split("\n")
    if not lines[-1]:
        lines.pop()
    glued = _has_glue(whole)
    add = out.append
    position = base
    for text in lines:
        end = position + len(text)
        if end - position > LONGEST or (glued and _has_glue(text)):
            out.extend(_pieces(text.encode("ascii"), position))
        else:
            add(Physical(position, end, text))
        position = end + 1


def _has_glue(text: str) -> bool:
    """Whether it may hold what a progress bar was glued to."""
    return "error: " in text or (
        "]" in text and ("%|" in text or "/s]" in text or "/s," in text or "s/it" in text)
    )


def _any(data: bytes, base: int, out: list[Physical]) -> None:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    position = base
    for raw in lines:
        length = len(raw)
        if length <= LONGEST and len(raw.translate(None, _CONTROL)) == length and not _may_be_glued(raw):
            out.append(_physical(raw, position, 0))
        else:
            out.extend(_pieces(raw, position))
        position += length + 1


def _pieces(raw: bytes, offset: int) -> Iterator[Physical]:
    """The pieces of one `\\n`-ended line; always at least one."""
    states = [state for state in _states(raw) if raw[state[0] : state[1]].strip(b" \t\r\0")]
    part = 0
    kept = False
    for index, (start, end) in enumerate(states):
        state = raw[start:end]
        if index + 1 < len(states) and _overwritten(state, raw[slice(*states[index + 1])], first=index == 0):
            continue
        piece = _physical(state, offset + start, part)
        if piece.text.strip() or (len(states) == 1 and part == 0):
            yield piece
            kept = True
            part += 1
    if not kept:
        stripped = len(raw.rstrip(b"\r"))
        yield Physical(offset, offset + stripped, _clean(raw[:LONGEST]).rstrip("\r"))


def _states(raw: bytes) -> Iterator[tuple[int, int]]:
    """Bounds of what carriage returns and the ends of progress bars separate."""
    start = 0
    length = len(raw)
    while start <= length:
        end = raw.find(b"\r", start)
        if end < 0:
            end = length
        if end > start:
            yield from _behind_bars(raw, start, end)
        start = end + 1


def _behind_bars(raw: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    segment = raw[start:end]
    if _may_be_glued(segment):
        cuts = {match.end() for match in _TQDM.finditer(segment)} if b"]" in segment else set()
        cuts.update(match.start() for match in _SLURM.finditer(segment))
        done = 0
        for cut in sorted(cuts - {0}):
            yield start + done, start + cut
            done = cut
        start += done
    if start < end:
        yield start, end


def _may_be_glued(raw: bytes) -> bool:
    return b"error: " in raw or (
        b"]" in raw and (b"%|" in raw or b"/s]" in raw or b"/s," in raw or b"s/it" in raw)
    )


def _overwritten(state: bytes, following: bytes, *, first: bool) -> bool:
    """A bar under the next state of it; the line's first state stays when it carries more, such as a label."""
    if not _is_bar(state) or not _is_bar(following):
        return False
    return not first or _lead(state) == _lead(following)


def _lead(state: bytes) -> bytes:
    match = _PERCENT.search(state[:600])
    return b"" if match is None else state[: match.start()].rstrip(b"0123456789 ?")


def _is_bar(state: bytes) -> bool:
    head = state[:600]
    return _PERCENT.search(head) is not None and _NO_BAR.search(head) is None


def _physical(raw: bytes, offset: int, part: int) -> Physical:
    end = offset + len(raw)
    if len(raw) > LONGEST:
        text = _clean(_whole(raw[:HEAD])) + GAP + _clean(raw[-TAIL:].lstrip(bytes(range(0x80, 0xC0))))
        return Physical(offset, end, text, part)
    text = _clean(raw)
    if text.isascii() or "�" not in text or _is_utf8(raw):
        return Physical(offset, end, text, part)
    return Physical(offset, end, text, part, raw)


def _whole(head: bytes) -> bytes:
    """Without a character that the cut tore at its end."""
    for back in range(1, 4):
        if head[-back] & 0xC0 == 0xC0:
            return head[:-back]
        if head[-back] < 0x80:
            break
    return head


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _clean(raw: bytes) -> str:
    if b"\x1b" in raw:
        raw = _ESCAPE.sub(b"", raw)
    if len(raw.translate(None, _CONTROL)) != len(raw):
        raw = raw.translate(None, _CONTROL)
    text = raw.decode("utf-8", "replace")
    if not text.isascii():
        text = _WIDE_CONTROL.sub("", text).removeprefix("\ufeff")
    return text
