"""An exception's last line without the traceback above it: the end of a standard error that was shortened, `tail` of a log."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.events.frames import GOES_ON_RE, exception_at
from triage.core.events.model import Event, Exit, Link, Message, Span, Trace
from triage.core.lazy import lazy

LONGEST = 12
"""Lines of such a message that are looked at."""
NEAR = 64
"""Bytes, blank lines mostly, between its lines and before the launcher's word."""

_NAME = lazy(r"(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Interrupt|Timeout|Expired|Exit|Abort)\Z")
_IGNORED = "Exception ignored "
"""What Python says of an exception that ends nothing."""


def bare_exception(messages: Sequence[Message], before: Event | None = None) -> Trace | None:
    """The exception with which these messages of a source end, `before` its launcher's word on the process; None where
    they end in anything else."""
    end = before.span.first if isinstance(before, Exit) else None
    taken: list[Message] = []
    for message in reversed(messages[-LONGEST:]):
        following = taken[-1].span.first if taken else end
        if following is not None and following - message.span.last > NEAR:
            return None
        if taken and message.tags.stream_key() != taken[-1].tags.stream_key():
            return None
        taken.append(message)
        if not GOES_ON_RE.match(message.text):
            break
    return _raised(taken[::-1], messages[: -len(taken)]) if taken else None


def _raised(lines: Sequence[Message], earlier: Sequence[Message]) -> Trace | None:
    first = lines[0]
    found = exception_at(first.text[:16384])
    if first.level or found is None or _NAME.match(found[0]) is None or found[1] is None:
        return None
    if earlier and earlier[-1].text.startswith(_IGNORED):
        return None
    message = "\n".join([found[1], *(line.text for line in lines[1:])]).rstrip()
    span = Span(first.span.source, first.span.first, lines[-1].span.last)
    return Trace(span, first.tags, first.when, links=(Link(found[0], message),), style="bare")
