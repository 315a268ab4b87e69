"""Tracebacks written as escaped text: torchrun's error.json, list reprs, JSON or repr strings on one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from triage.core.events.chain import Parsed, Reader
from triage.core.events.frames import HEADER, Lines, exception_at
from triage.core.events.model import Interval, Link, Span, Trace
from triage.core.lazy import lazy
from triage.core.logs.record import Stamp
from triage.core.values import dataclass, replace

MAX_TEXT = 1 << 20
_ESCAPED = HEADER + "\\n"
_JOINT_RE = lazy(r"""\\n(?:'|"),\s*(?:'|")""")
_ESCAPE_RE = lazy(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Escaped:
    """A traceback found in escaped text."""

    parsed: Parsed
    style: str
    label: str


def parse_text(text: str) -> Parsed:
    """The chain in a traceback's plain text, header first."""
    texts = text[:MAX_TEXT].split("\n")
    return Reader(Lines(texts, [None] * len(texts), tagged=True)).chain(0)


def find_escaped(text: str) -> Escaped | None:
    """The first escaped traceback of a line, if there is one."""
    start = text.find(_ESCAPED)
    if start < 0:
        return None
    before, quote = text[:start], text[start - 1] if start else ""
    body = text[start : start + MAX_TEXT]
    listed = before.endswith(("['", '["'))
    if listed:
        body = _JOINT_RE.sub(r"\\n", body)
        end = min((k for k in (body.find("\\n']"), body.find('\\n"]')) if k >= 0), default=len(body))
        body = body[:end]
    elif quote in ("'", '"'):
        body = body[: _closing(body, quote)]
    parsed = parse_text(_unescape(body))
    style = "list" if listed else "error-file" if '"py_callstack"' in before else "python"
    return Escaped(parsed, style, before[:-2].strip() if listed else "")


def _closing(text: str, quote: str) -> int:
    index = 0
    while index < len(text):
        if text[index] == "\\":
            index += 2
            continue
        if text[index] == quote:
            return index
        index += 1
    return len(text)


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:], 16))
        return _SIMPLE.get(code, code)

    plain = _ESCAPE_RE.sub(one, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def trace_from_error_file(text: str, source: int, size: int) -> Trace | None:
    """The traceback in torchrun's error.json (torch/distributed/elastic/multiprocessing/errors/error_handler.py).

    `size` is the file's length in bytes. None when the text holds no traceback and names no exception.
    """
    body, stamp = _error_body(text)
    message = body.get("message")
    extra = body.get("extraInfo")
    stack = extra.get("py_callstack") if isinstance(extra, dict) else None
    links: list[Link] = []
    complete = True
    if isinstance(stack, str) and HEADER in stack:
        parsed = parse_text(stack[stack.index(HEADER) :])
        links, complete = parsed.links, parsed.complete
    elif isinstance(message, str) and (found := exception_at(message)) and found[2] and found[1] is not None:
        links = [Link(found[0], found[1].rstrip()[:16384])]
    elif (escaped := find_escaped(text)) is not None:
        links, complete = escaped.parsed.links, escaped.parsed.complete
    if not links:
        return None
    when = Interval(at=stamp)
    return Trace(Span(source, 0, size), when=when, links=tuple(links), style="error-file", complete=complete)


_FIRST_MESSAGE = lazy(r'\A\s*\{\s*"message":\s*(?:\{\s*"message":\s*)?"((?:[^"\\]|\\.){1,8192})', re.DOTALL)
"""What the file begins with: the exception and its message, or as much of it as fits."""


def trace_from_cut_error_file(text: str, source: int, size: int, seen: Iterable[str] = ()) -> Trace | None:
    """The exception that an error.json begins with, where its end was not read and no traceback was found in it; its
    frames, and the exceptions before it, where one of the other pieces that were seen holds them."""
    begun = _FIRST_MESSAGE.match(text)
    found = exception_at(_unescape(begun[1])) if begun is not None else None
    if not (found and found[2] and found[1] is not None):
        return None
    stacks = (escaped.parsed.links for one in seen if (escaped := find_escaped(one)) is not None)
    links = next((stack for stack in stacks if stack), [Link(None, "")])
    last = replace(links[-1], exception=found[0], message=found[1].rstrip())
    return Trace(Span(source, 0, size), links=(*links[:-1], last), style="error-file")


_LONE_SURROGATE = lazy(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half a character, as JSON may spell it; no text can hold it."""


def _error_body(text: str) -> tuple[dict[str, Any], Stamp | None]:
    try:
        data = json.loads(_LONE_SURROGATE.sub(lambda _: "\\ufffd", text))
    except (ValueError, RecursionError):
        return {}, None
    body = data.get("message") if isinstance(data, dict) else None
    if isinstance(body, str):
        body = {"message": body}
    if not isinstance(body, dict):
        return {}, None
    extra = body.get("extraInfo")
    printed = extra.get("timestamp") if isinstance(extra, dict) else None
    if isinstance(printed, (str, int)) and re.fullmatch(r"\d{1,12}", str(printed)):
        return body, Stamp(str(printed), float(printed), resolution=1.0, utc=True)
    return body, None
