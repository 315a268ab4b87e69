"""Texts that differ in their digits only: what is blind to digits' values finds the same in all of them.

A job's ranks print the same lines with other numbers, so an answer is remembered by the text's shape. What is not
certainly blind is asked each time.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 1024
"""Characters of a text of which answers are remembered."""
MOST = 4096
"""Answers remembered at once."""

_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_NO_VALUE = re.compile(r"(?<!\\)\{\d*,?\d*\}|(?<!\\\[)(?<=\[)\^?0-9")
"""Digits of a pattern that stand for no digit's value: in a repetition, and as the whole class right behind a bracket."""
_UNCLEAR = re.compile(r"\[[^\]]*\{|\(\?P=|\\[NgX]")
"""A repetition inside a class, a reference to what was matched, a character by its name."""


@lru_cache(maxsize=64)
def shape(text: str) -> bytes | None:
    """The text with all digits alike; None for one that is too long."""
    return text.encode("utf-8", "surrogatepass").translate(_ALIKE) if len(text) <= LONGEST else None


@lru_cache(maxsize=MOST)
def is_blind(pattern: str) -> bool:
    """Whether a pattern certainly takes every digit for every other."""
    return _UNCLEAR.search(pattern) is None and re.search(r"\d", _NO_VALUE.sub("", pattern)) is None


def holds_value(literal: str) -> bool:
    """Whether a literal is in a text or not by the value of a digit."""
    return re.search(r"[0-9]", literal) is not None
