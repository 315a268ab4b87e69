"""Tracebacks of one process: stacks, messages, chains, groups and tracebacks inside messages."""

from __future__ import annotations

from triage.core.events.frames import (
    ANCHORS_RE,
    GOES_ON_RE,
    GROUP_HEADER_RE,
    HEADER,
    RANK_RE,
    REPEAT_RE,
    SINGLE_LINE_RE,
    VALUE_RE,
    FrameStack,
    Lines,
    cut_tail,
    exception_at,
    frame_at,
    frame_of,
    indent_of,
    separator_at,
)  # fmt: skip
from triage.core.events.model import Frame, Link
from triage.core.events.progress import shows_progress
from triage.core.lazy import lazy
from triage.core.values import dataclass, field, replace

MAX_LINES = 200
MAX_BYTES = 16 * 1024
MAX_DEPTH = 12
MAX_LOOSE = 8
"""Lines that only may belong to a message; more of them in a stream of several writers are somebody else's."""

_GROUP_LINE_RE = lazy(r"\s*(?:\|(?: |\Z)|\+-)")
_GROUP_RULE_RE = lazy(r"\s*\+(?:-\+)?-{5,}(?: (?:\d+|\.\.\.) -{5,})?\s*\Z")
_OPEN = (":", ",", "(", "[", "{", "\\", ";")
_QUOTES = ('"""', "'''")


@dataclass(slots=True)
class Parsed:
    """A chain of links and the lines it covers: `[start, end)` without `skipped`, which others wrote."""

    links: list[Link]
    end: int
    complete: bool = True
    skipped: list[int] = field(default_factory=list)
    loguru: bool = False
    exception_line: int | None = None


@dataclass(slots=True)
class Reader:
    """Reads chains from the lines of one process. `base` is the kind of the traceback's own lines."""

    lines: Lines
    base: object = None
    in_rank: bool = False
    """Reading a per-rank block of a message: the next rank's block is no part of it."""

    def chain(
        self, start: int, indent: int = 0, depth: int = 0, headless: bool = False, outer: Frame | None = None
    ) -> Parsed:
        """The chain whose first header stands at `start` (or whose first frame does, when `headless`).

        `outer` is the outermost frame of the traceback whose message this chain is embedded in: a link that
        starts there as well belongs to that traceback's chain, not to this one's.
        """
        parsed = self._one(start, indent, depth, headless)
        while parsed.complete:
            at = self._skip_blank(parsed.end)
            relation = separator_at(self._text(at, indent) or "") if at < len(self.lines.texts) else ""
            if not relation:
                break
            after = self._skip_blank(at + 1)
            text = self._text(after, indent) if after < len(self.lines.texts) else None
            if outer is not None and self._first_frame(after + 1) == (outer.file, outer.function):
                break
            if text is None or not self._starts_link(text):
                parsed.end = at + 1
                break
            more = self._one(after, indent, depth, headless=not text.lstrip().startswith((HEADER, "+ Exc")))
            links = more.links
            first = next((k for k, link in enumerate(links) if link.relation != "embedded"), 0)
            if links:
                links[first] = replace(links[first], relation=relation)
            parsed.links += links
            parsed.end, parsed.complete = more.end, more.complete
            parsed.skipped += more.skipped
            parsed.loguru |= more.loguru
            parsed.exception_line = more.exception_line
        return parsed

    def _first_frame(self, index: int) -> tuple[str, str] | None:
        match = frame_at(self.lines.texts[index]) if index < len(self.lines.texts) else None
        return (match["file"], match["function"] or "") if match else None

    def _starts_link(self, text: str) -> bool:
        return HEADER in text or exception_at(text) is not None

    def _one(self, start: int, indent: int, depth: int, headless: bool) -> Parsed:
        if GROUP_HEADER_RE.match(self.lines.texts[start]):
            return self._group(start, depth)
        stack, index, skipped, loguru = self._stack(start if headless else start + 1, indent)
        frames = stack.frames()
        text = self._text(index, indent) if index < len(self.lines.texts) else None
        found = exception_at(text) if text is not None else None
        if found is None:
            links = [Link(None, "", frames)] if frames or not headless else []
            return Parsed(links, index, complete=False, skipped=skipped, loguru=loguru)
        name, first, _ = found
        if first is None:
            return Parsed(
                [Link(name, "", frames)], index + 1, skipped=skipped, loguru=loguru, exception_line=index
            )
        message, inner, end = self._message(index + 1, first, indent, depth, frames[:1])
        if inner and name.rpartition(".")[2].lstrip("_") == "RemoteTraceback":
            links = inner
        else:
            links = [*inner, Link(name, message, frames)]
        return Parsed(links, end, skipped=skipped, loguru=loguru, exception_line=index)

    def _stack(self, index: int, indent: int) -> tuple[FrameStack, int, list[int], bool]:
        """Frames from `index` on; stops at what can be the exception line, or at what ends the traceback."""
        stack, skipped, loguru, total = FrameStack(), [], False, len(self.lines.texts)
        code: list[str] = []
        end = index
        while index < total:
            text = self._text(index, indent)
            if text is None:
                break
            match = frame_at(text)
            if match is not None:
                self._close(stack, code)
                stack.add(frame_of(match))
                loguru |= text.lstrip().startswith(">")
                rest = text[match.end() :].strip()
                code = [rest] if rest else []
            elif not text.strip():
                if index > end + 1:
                    break
                index += 1
                continue
            elif repeated := REPEAT_RE.match(text):
                self._close(stack, code)
                stack.repeat(int(repeated[1]))
                code = []
            elif text[0] in " \t" and not self.lines.foreign(index, self.base):
                if VALUE_RE.match(text):
                    loguru = True
                elif stack.head and not ANCHORS_RE.match(text) and len(code) < 16:
                    code.append(text[4:].rstrip() if text.startswith("    ") else text.strip())
            elif self._is_exception(index, text, indent):
                end = index
                break
            elif HEADER not in text and stack.head and self._frame_soon(index + 1, indent):
                skipped.append(index)
            else:
                break
            index += 1
            end = index
        self._close(stack, code)
        return stack, end, skipped, loguru

    def _close(self, stack: FrameStack, code: list[str]) -> None:
        last = stack.last()
        if last is not None and code and not last.code:
            stack.replace_last(Frame(last.file, last.line, last.function, "\n".join(code)))

    def _is_exception(self, index: int, text: str, indent: int) -> bool:
        found = exception_at(text)
        if found is None:
            return False
        if found[2]:
            return True
        kind = self.lines.kinds[index]
        return (kind is None or kind == self.base) and not self._frame_soon(index + 1, indent)

    def _frame_soon(self, index: int, indent: int) -> bool:
        for k in range(index, min(index + 4, len(self.lines.texts))):
            text = self._text(k, indent)
            if text is None or HEADER in text:
                return False
            if frame_at(text) is not None:
                return True
            found = exception_at(text)
            if found is not None and found[2]:
                return False
        return False

    def _message(
        self, index: int, first: str, indent: int, depth: int, outer: tuple[Frame, ...]
    ) -> tuple[str, list[Link], int]:
        """The message that begins with `first`, the links embedded in it, and the index after it."""
        parts, inner, size, end = [cut_tail(first)], list[Link](), len(first), index
        if parts[0] != first:
            return parts[0], inner, index
        blank = 0
        if SINGLE_LINE_RE.match(first):
            return first.rstrip(), inner, index
        blank, loose, sure = 0, 0, (1, index)
        while index < len(self.lines.texts) and len(parts) < MAX_LINES and size < MAX_BYTES:
            text = self._text(index, indent)
            if text is None or blank > 2 or separator_at(text):
                break
            stripped = text.strip()
            if not stripped:
                blank += 1
                index += 1
                continue
            if stripped in _QUOTES:
                opening = index + 1 < len(self.lines.texts) and HEADER in self.lines.texts[index + 1]
                if not opening and not inner:
                    break
                index, end = index + 1, index + 1
                if not opening:
                    break
                parts.append(stripped)
                continue
            if depth < MAX_DEPTH and self._embedded(text, parts):
                nested = self._nested(index, indent, depth, outer)
                inner += nested.links
                index = end = max(nested.end, index + 1)
                sure, blank = (len(parts), end), 0
                continue
            if (
                frame_at(text)
                or HEADER in text
                or self.lines.foreign(index, self.base)
                or shows_progress(text)
            ):
                break
            if GOES_ON_RE.match(text) or parts[-1].endswith(_OPEN):
                sure = (len(parts) + blank + 1, index + 1)
            else:
                loose += 1
            parts += [""] * blank + [text.rstrip()]
            size += len(text) + blank
            blank = 0
            index += 1
            end = index
        if loose > MAX_LOOSE and not self.lines.tagged:
            del parts[sure[0] :]
            end = sure[1]
        while len(parts) > 1 and (parts[-1] in _QUOTES or not parts[-1]):
            parts.pop()
        return "\n".join(parts).strip("\n").rstrip()[:MAX_BYTES], inner, end

    def _nested(self, index: int, indent: int, depth: int, outer: tuple[Frame, ...]) -> Parsed:
        """A traceback inside a message; its links become embedded ones."""
        header = self.lines.texts[index]
        rank, before = RANK_RE.search(header), self.in_rank
        self.in_rank = before or rank is not None
        parsed = self.chain(index, indent, depth + 1, HEADER not in header, outer[0] if outer else None)
        self.in_rank = before
        parsed.links = [
            replace(
                link,
                relation=link.relation or "embedded",
                rank=int(rank[1]) if rank is not None and link.rank is None else link.rank,
            )
            for link in parsed.links
        ]
        return parsed

    def _embedded(self, text: str, parts: list[str]) -> bool:
        """Whether a traceback that starts at this line belongs to the message read so far."""
        before = parts[-1].rstrip()
        if frame_at(text):
            return "ray::" in before
        position = text.find(HEADER)
        if position < 0:
            return False
        if RANK_RE.match(text, position + len(HEADER)):
            return not self.in_rank
        if text[:position].strip() == "Original":
            return True
        if text[:position].strip():
            return False
        return before in _QUOTES or (before.endswith(":") and bool(before.strip(": ")))

    def _group(self, start: int, depth: int) -> Parsed:
        """An exception group: the group's own link first, then every member in printed order."""
        texts, end = self.lines.texts, start + 1
        sections: list[list[str]] = [[HEADER]]
        while end < len(texts) and _GROUP_LINE_RE.match(texts[end]):
            text = texts[end].lstrip()
            if text.startswith("+"):
                if _GROUP_RULE_RE.match(text):
                    sections.append([])
            else:
                sections[-1].append(text[2:])
            end += 1
        links: list[Link] = []
        for number, section in enumerate(s for s in sections if s):
            body = [
                line.replace("Exception Group " + HEADER, HEADER) if "Group" in line else line
                for line in section
            ]
            if depth >= MAX_DEPTH:
                break
            part = Reader(Lines(body, [None] * len(body), tagged=True)).chain(
                0, 0, depth + 1, headless=not body[0].startswith(HEADER)
            )
            members = part.links
            if number and members:
                members[0] = replace(members[0], relation="group")
            links += members
        return Parsed(
            links, end, complete=bool(links) and links[0].exception is not None, exception_line=None
        )

    def _skip_blank(self, index: int) -> int:
        stop = min(index + 4, len(self.lines.texts))
        while index < stop and not self.lines.texts[index].strip():
            index += 1
        return index

    def _text(self, index: int, indent: int) -> str | None:
        """The line without the block's indent; None when a text leaves an indented block."""
        text = self.lines.texts[index]
        if not indent:
            return text
        if not text.strip():
            return ""
        return text[indent:] if indent_of(text) >= indent else None
