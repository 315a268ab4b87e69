"""Texts as bash and sbatch read them back unchanged."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+-][A-Za-z0-9_./:@%+=-]*", re.ASCII)
_PLAIN_DIRECTIVE = re.compile(r"[A-Za-z0-9_./=:,@%+-]+", re.ASCII)


class Quoted(str):
    """Text of the script itself: nothing in it is to be quoted again."""

    __slots__ = ()


def quoted(value: object) -> Quoted:
    """A value as one word of bash. Raises `TypeError` for what is no text and no number."""
    if isinstance(value, Quoted):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"{type(value).__name__} cannot be written into a script")
    text = str(value)
    if _PLAIN.fullmatch(text):
        return Quoted(text)
    return Quoted("'" + text.replace("'", "'\"'\"'") + "'")


def words(values: list[str] | tuple[str, ...]) -> Quoted:
    """Several words of bash."""
    return Quoted(" ".join(quoted(value) for value in values))


def directive(option: str) -> Quoted:
    """An option behind `#SBATCH`: a backslash takes the meaning of what follows, in quotes too (src/sbatch/opt.c)."""
    if _PLAIN_DIRECTIVE.fullmatch(option):
        return Quoted(option)
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return Quoted(f'"{escaped}"')
