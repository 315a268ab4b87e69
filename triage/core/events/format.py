"""The inverse of reading: prints the links of a traceback as CPython does."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.events.frames import CAUSE, CONTEXT, HEADER
from triage.core.events.model import Frame, Link, Trace

_SAME = 3
"""CPython prints a line so many times before it counts the rest (traceback.py: _RECURSIVE_CUTOFF)."""


def format_trace(trace: Trace) -> str:
    """The traceback's text, one line break at its end.

    Embedded links go into the message of the link that follows them, groups become a tree of one level. Notes are
    lines below the message, as in CPython: a reader cannot tell the two apart.
    """
    return "\n".join(format_links(trace.links)) + "\n"


def format_links(links: Sequence[Link]) -> list[str]:
    """The lines of a chain."""
    lines: list[str] = []
    inner: list[Link] = []
    position = 0
    while position < len(links):
        link = links[position]
        if link.relation == "embedded":
            inner.append(link)
            position += 1
            continue
        members = _members(links, position + 1)
        relation = link.relation if lines else ""
        if relation in ("cause", "context"):
            lines += ["", CAUSE if relation == "cause" else CONTEXT, ""]
        lines += _group(link, members) if members else _link(link, inner)
        inner = []
        position += 1 + sum(len(member) for member in members)
    return lines


def _members(links: Sequence[Link], start: int) -> list[list[Link]]:
    members: list[list[Link]] = []
    for link in links[start:]:
        if link.relation == "group":
            members.append([link])
        elif members and link.relation:
            members[-1].append(link)
        else:
            break
    return members


def _link(link: Link, inner: Sequence[Link]) -> list[str]:
    lines = [HEADER, *_frames(link.frames)] if link.frames else []
    if link.exception is not None:
        lines += _exception(link)
        if inner:
            lines.append("Original " + format_links([_root(inner[0]), *inner[1:]])[0])
            lines += format_links([_root(inner[0]), *inner[1:]])[1:]
    return lines or [HEADER]


def _root(link: Link) -> Link:
    return Link(link.exception, link.message, link.frames, link.notes, "", link.rank)


def _exception(link: Link) -> list[str]:
    text = f"{link.exception}: {link.message}" if link.message else str(link.exception)
    return [*text.split("\n"), *(line for note in link.notes for line in note.split("\n"))]


def _frames(frames: Sequence[Frame]) -> list[str]:
    lines: list[str] = []
    position = 0
    while position < len(frames):
        frame, count = frames[position], 1
        while position + count < len(frames) and frames[position + count] == frame:
            count += 1
        lines += _frame(frame) * min(count, _SAME)
        if count > _SAME:
            more = count - _SAME
            lines.append(f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]")
        position += count
    return lines


def _frame(frame: Frame) -> list[str]:
    place = f'  File "{frame.file}", line {frame.line or 0}'
    if frame.function:
        place += f", in {frame.function}"
    return [place, *("    " + line for line in frame.code.split("\n") if line)]


def _group(link: Link, members: Sequence[Sequence[Link]]) -> list[str]:
    lines = ["  + Exception Group " + HEADER]
    lines += ["  | " + line for line in (*_frames(link.frames), *_exception(link))]
    for number, member in enumerate(members, start=1):
        lines.append(("  +-+" if number == 1 else "    +") + f"---------------- {number} ----------------")
        lines += ["    | " + line for line in format_links([_root(member[0]), *member[1:]])]
    lines.append("    +------------------------------------")
    return lines
