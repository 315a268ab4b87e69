"""Lines and tracebacks that are alike: the first few of a kind are worth reading, of the rest only the last."""

from __future__ import annotations

from triage.core.lazy import lazy

KINDS = 20_000
"""Kinds of one stream that are told apart; beyond, all others are one."""
COMPARED = 1024
"""Bytes compared at the start of a text, and at its end."""
LONGEST_KEPT = 16 << 10
TRACE_LINES = 200

_HEXADECIMAL = b"0123456789abcdefABCDEF"
_WRITER = lazy(
    rb"[ \t]*\d{1,7}: (?:\[[A-Za-z]{1,24}\d{1,7}\]:)?|\[[A-Za-z_./ -]{0,24}\d{1,7}\]:?|[\w.-]{1,64}:\d{1,9}:\d{1,9} \[\d{1,3}\]"
)
_NAMED = lazy(rb"(?:[Rr]ank[ =:]?|\[default)\d{1,7}")
"""What tells writers of one stream apart, at the start of a line."""
_BOX = "│".encode()


class Alike:
    """Counts kinds of lines; numbers and hexadecimal digits do not make another kind, the writer's own tag does."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._last: dict[int, tuple[int, bytes]] = {}

    def is_old(self, text: bytes, offset: int, limit: int) -> bool:
        """Whether `limit` of its kind were read already; the latest that was not is remembered."""
        compared = text if len(text) <= 2 * COMPARED else text[:COMPARED] + text[-COMPARED:]
        kind = hash(compared.translate(None, _HEXADECIMAL))
        writer = _WRITER.match(compared)
        if writer is None and (b"ank" in compared or b"[default" in compared):
            writer = _NAMED.search(compared, 0, 200)
        if writer is not None:
            kind ^= hash(writer[0])
        count = self._seen.get(kind, 0)
        if count < limit:
            if count or len(self._seen) < KINDS:
                self._seen[kind] = count + 1
                return False
            kind = 0
        self._last[kind] = (offset, text)
        return True

    def last(self) -> list[tuple[int, bytes]]:
        """Offset and bytes of the latest of each kind that was not read."""
        return [(offset, text) for offset, text in self._last.values() if len(text) <= LONGEST_KEPT]


def trace_end(window: bytes, first: int, at: int) -> int:
    """Where the traceback ends whose header stands at `at` in the line from `first`: after its exception line.

    Its lines begin as the header's does, or plainly. Just behind the header's line where something else comes between.
    """
    end = stop = _next_line(window, at)
    prefix = window[first:at]
    if not window.startswith((prefix + b"  ", prefix + _BOX), stop):
        prefix = b""
    inside = tuple(prefix + begin for begin in (b"  ", _BOX))
    for _ in range(TRACE_LINES):
        if not window.startswith(inside, stop):
            break
        stop = _next_line(window, stop)
    if stop > end and stop < len(window) and window.startswith(prefix, stop):
        return _next_line(window, stop)
    return end


def _next_line(window: bytes, at: int) -> int:
    return window.find(b"\n", at) + 1 or len(window)
