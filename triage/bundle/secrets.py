"""Secrets in the bytes of a log, masked line by line: no line break is added or lost, and what is no secret stays as it
is, so that the same rules match.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from triage.core.lazy import lazy
from triage.report.mask import MASK, clean, mask_secrets

_KEY_LINES = 200
"""A private key has fewer lines."""
_BEGIN = lazy(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = lazy(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_LINE = lazy(r"(?<![\w+/=.-])(?=[^\s]{0,80}[A-Z])(?=[^\s]{0,80}[a-z])[A-Za-z0-9+/]{60,78}={0,2}(?=\s*$)")
"""A whole line of a key whose beginning may not be there. Hexadecimal digests have no letters of both cases."""
_KEY_REST = lazy(r"(?:(?<=\s)|^)[A-Za-z0-9+/]{2,78}={0,2}(?=\s*$)")
_TORN_START, _TORN_END = lazy(r"^\S{1,4096}"), lazy(r"\S{1,4096}$")
_HIDING = lazy("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff]")
"""Characters that may stand inside a secret unseen."""

Rewrite = Callable[[str], str]


class SecretMask:
    """Masks the lines of one stream, in order; remembers that a private key has begun."""

    def __init__(self) -> None:
        self._key = 0
        """Lines of a private key that may still come."""
        self._was_key = False

    def line(self, text: str) -> str:
        """The line without secrets."""
        masked = self._key_masked(mask_secrets(text))
        return _unhidden(masked) if _HIDING.search(masked) else masked

    def _key_masked(self, text: str) -> str:
        if "-----" in text:
            begin = max((m.end() for m in _BEGIN.finditer(text)), default=-1)
            end = _END.search(text, max(0, begin))
            if begin >= 0:
                self._key = 0 if end else _KEY_LINES
                return text if text.startswith(MASK, begin) else text[:begin] + MASK
            if end is not None:
                self._key = 0
                return text
        if self._key or self._was_key:
            masked = _KEY_REST.sub(MASK, text)
            self._key = max(0, self._key - 1)
            self._was_key = self._was_key and masked is not text and masked != text
            if masked != text:
                return masked
        masked = _KEY_LINE.sub(MASK, text) if len(text) >= 60 and " " not in text.rstrip()[-60:] else text
        self._was_key = masked != text
        return masked


def _unhidden(text: str) -> str:
    """The line as it is, or without what is not seen where that hides a secret."""
    states = []
    for state in text.split("\r"):
        plain = clean(state).replace("\n", " ")
        masked = mask_secrets(plain)
        states.append(masked if masked != plain else state)
    return "\r".join(states)


def rewritten(data: bytes, torn: tuple[bool, bool], rewrite: Rewrite) -> bytes:
    """The lines of an excerpt, each rewritten; of a line that is cut off the word at the cut goes, for it may be a part
    of a secret."""
    text = data.decode("utf-8", "surrogateescape")
    if torn[0]:
        text = _TORN_START.sub("…", text, count=1)
    if torn[1]:
        text = _TORN_END.sub("…", text, count=1)
    lines = text.split("\n")
    return "\n".join(map(rewrite, lines)).encode("utf-8", "surrogateescape")


def rewritten_json(data: bytes, rewrite: Rewrite) -> bytes:
    """A file that is one piece of JSON, every text in it rewritten; what is no JSON is rewritten line by line."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return rewritten(data, (False, False), rewrite)
    found = rewritten_value(value, rewrite)
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass") if found != value else data


def rewritten_value(value: Any, rewrite: Rewrite) -> Any:
    """The same JSON value with every text rewritten, also those that name values."""
    if isinstance(value, str):
        return "\n".join(map(rewrite, value.split("\n")))
    if isinstance(value, list):
        return [_behind(before, item, rewrite) for before, item in zip([None, *value], value, strict=False)]
    if isinstance(value, dict):
        return {rewrite(key): _named_value(key, item, rewrite) for key, item in value.items()}
    return value


def _behind(before: Any, value: Any, rewrite: Rewrite) -> Any:
    """An item of a list; a secret behind its option (`["--api-key", "..."]`) shows that only together with it."""
    found = rewritten_value(value, rewrite)
    if isinstance(found, str) and isinstance(before, str) and before.startswith("-") and found:
        return MASK if mask_secrets(f"{before} {found}") != f"{before} {found}" else found
    return found


def _named_value(name: str, value: Any, rewrite: Rewrite) -> Any:
    """A text under a name that makes it a secret (`"api_key": "..."`) shows that only together with the name."""
    found = rewritten_value(value, rewrite)
    if isinstance(found, str) and "\n" not in found:
        told = mask_secrets(f"{name}={found}")
        if told != f"{name}={found}":
            return told[len(name) + 1 :] if told.startswith(f"{name}=") else MASK
    return found
