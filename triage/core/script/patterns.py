"""Shell patterns (`*`, `?`, `[...]`) on known text, in time linear in text times pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_LONGEST_PATTERN = 200
_LONGEST_TEXT = 4096

Token = Callable[[str], bool] | None
"""Whether a character fits; `None` is a `*`."""


def tokens(pattern: str) -> list[Token] | None:
    """The pattern taken apart, `None` where it is too long."""
    if len(pattern) > _LONGEST_PATTERN:
        return None
    found: list[Token] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            if not found or found[-1] is not None:
                found.append(None)
        elif char == "?":
            found.append(_anything)
        elif char == "[" and (end := pattern.find("]", position + 1)) > 0:
            found.append(_one_of(pattern[position:end]))
            position = end + 1
        else:
            if char == "\\" and position < len(pattern):
                char = pattern[position]
                position += 1
            found.append(char.__eq__)
    return found


def _anything(_: str) -> bool:
    return True


def _one_of(body: str) -> Callable[[str], bool]:
    negated = body[:1] in ("!", "^")
    body = body[1:] if negated else body
    classes = {"[:digit:]": "0123456789", "[:space:]": " \t\n\r\f\v"}
    for name, members in classes.items():
        body = body.replace(name, members)
    chars: set[str] = set()
    position = 0
    while position < len(body):
        if body[position + 1 : position + 2] == "-" and position + 2 < len(body):
            low, high = ord(body[position]), ord(body[position + 2])
            chars |= {chr(code) for code in range(low, min(high, low + 256) + 1)}
            position += 3
        else:
            chars.add(body[position])
            position += 1
    return lambda char: (char in chars) != negated


def _lengths(parts: Sequence[Token], text: str) -> list[int]:
    """Lengths of all beginnings of the text that the pattern fits."""
    states, found = _closure({0}, parts), []
    if len(parts) in states:
        found.append(0)
    for index, char in enumerate(text):
        following = set()
        for state in states:
            if state < len(parts):
                part = parts[state]
                if part is None:
                    following.add(state)
                elif part(char):
                    following.add(state + 1)
        states = _closure(following, parts)
        if not states:
            break
        if len(parts) in states:
            found.append(index + 1)
    return found


def _closure(states: set[int], parts: Sequence[Token]) -> set[int]:
    for state in list(states):
        if state < len(parts) and parts[state] is None:
            states.add(state + 1)
    return states


def fits(pattern: str, text: str) -> bool | None:
    """Whether a pattern fits a whole text; `None` where one of them is too long."""
    parts = tokens(pattern)
    if parts is None or len(text) > _LONGEST_TEXT:
        return None
    return len(text) in _lengths(parts, text)


def without_prefix(text: str, pattern: str, *, longest: bool) -> str | None:
    """`${X#pattern}` and `${X##pattern}`."""
    parts = tokens(pattern)
    if parts is None or len(text) > _LONGEST_TEXT:
        return None
    lengths = _lengths(parts, text)
    return text[lengths[-1 if longest else 0] :] if lengths else text


def without_suffix(text: str, pattern: str, *, longest: bool) -> str | None:
    """`${X%pattern}` and `${X%%pattern}`."""
    parts = tokens(pattern)
    if parts is None or len(text) > _LONGEST_TEXT:
        return None
    lengths = _lengths(parts[::-1], text[::-1])
    return text[: len(text) - lengths[-1 if longest else 0]] if lengths else text
