"""Writes a bundle: of each log the ranges that matter, without secrets, and what was known of them."""

from __future__ import annotations

import gzip
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from triage.bundle import tar
from triage.bundle.manifest import NAME, KeptLog, Manifest, to_json
from triage.bundle.ranges import Cut
from triage.bundle.secrets import Rewrite, SecretMask, rewritten, rewritten_json, rewritten_value
from triage.core.logs.source import Source
from triage.core.values import dataclass, replace
from triage.files.excerpt import Piece
from triage.files.inputs import Input

_SAFE = re.compile(r"[A-Za-z0-9_=+,@-][A-Za-z0-9_.=+,@-]{0,79}")
_LONGEST_NAME = 90
"""Bytes of a member's name: every tar knows names of that length."""


@dataclass(frozen=True, slots=True)
class KeptText:
    """What is kept of one log, as it goes into the bundle."""

    source: Source
    cuts: tuple[Cut, ...]

    @property
    def is_json(self) -> bool:
        """Whether it is one whole piece of JSON."""
        return self.source.kind in ("error-file", "artifact", "manifest") and len(self.cuts) == 1

    def rewritten(self, rewrite: Rewrite) -> KeptText:
        """The same with each text of it rewritten, also those of its path."""
        source = replace(
            self.source,
            path=rewrite(self.source.path),
            node=None if self.source.node is None else rewrite(self.source.node),
        )
        return KeptText(source, tuple(self._rewritten(cut, rewrite) for cut in self.cuts))

    def _rewritten(self, cut: Cut, rewrite: Rewrite) -> Cut:
        data = rewritten_json(cut.data, rewrite) if self.is_json else rewritten(cut.data, cut.torn, rewrite)
        return replace(cut, data=data)


def without_secrets(one: Input, cuts: Sequence[Cut]) -> KeptText:
    """The cuts with their secrets masked."""
    return KeptText(replace(one.source, mtime=None), tuple(cuts)).rewritten(SecretMask().line)


def without_secrets_in(value: Any) -> Any:
    """The same for a JSON value."""
    return rewritten_value(value, SecretMask().line)


def kept_logs(texts: Sequence[KeptText]) -> list[tuple[KeptLog, bytes]]:
    """Each log as the manifest tells it, and as the file that holds it: the cuts, with a line for each gap."""
    out = []
    for text, member in zip(texts, _members([text.source.path for text in texts]), strict=True):
        pieces: list[Piece] = []
        parts: list[bytes] = []
        at = 0
        for cut, gap in zip(text.cuts, _gaps(text.cuts), strict=True):
            pieces.append(Piece(cut.offset, cut.line, at + len(gap), len(cut.data)))
            parts += (gap, cut.data)
            at += len(gap) + len(cut.data)
        out.append((KeptLog(member, text.source, tuple(pieces)), b"".join(parts)))
    return out


def _gaps(cuts: Iterable[Cut]) -> Iterator[bytes]:
    """What stands before each cut for people who unpack the bundle; the pieces of the manifest leave it out."""
    end = line = 0
    torn = False
    for cut in cuts:
        size = cut.offset - end
        lines = f", lines {line + 1}-{cut.line}" if cut.line > line else ""
        note = f"[... {size} bytes left out{lines} ...]\n" if size > 0 else ""
        yield (f"\n{note}" if torn and note else note).encode()
        end, line = cut.offset + len(cut.data), cut.line + cut.data.count(b"\n")
        torn = not cut.data.endswith(b"\n")


def _members(paths: Sequence[str]) -> list[str]:
    """A name in the archive for each path: the path itself where that is harmless, else a number and what is of it."""
    if len(paths) == 1:
        paths = [posixpath.basename(paths[0])]
    out: list[str] = []
    taken: set[str] = set()
    for number, path in enumerate(paths):
        name = f"logs/{path}"
        if not _is_plain(path) or len(name) > _LONGEST_NAME or name.lower() in taken:
            base = re.sub(r"[^A-Za-z0-9_.-]+", "_", posixpath.basename(path)).lstrip(".")[-60:] or "log"
            name = f"logs/_{number:05d}/{base}"
        taken.add(name.lower())
        out.append(name)
    return out


def _is_plain(path: str) -> bool:
    return all(_SAFE.fullmatch(part) and not part.startswith("_") for part in path.split("/"))


def write(into: BinaryIO, manifest: Manifest, logs: Sequence[tuple[KeptLog, bytes]]) -> None:
    """The archive; the same manifest and logs give the same bytes."""
    told = manifest_text(manifest).encode("utf-8", "surrogateescape")
    with gzip.GzipFile(filename="", mode="wb", fileobj=into, compresslevel=6, mtime=0) as packed:
        out: BinaryIO = packed  # type: ignore[assignment]
        tar.write(out, NAME, [told], len(told))
        for log, data in logs:
            tar.write(out, log.member, [data], len(data))
        tar.finish(out)


def manifest_text(manifest: Manifest) -> str:
    """`bundle.json` as it stands in the archive: the pieces of a log on one line."""
    table: Mapping[str, Any] = to_json(manifest)
    logs = ",\n  ".join(json.dumps(log, ensure_ascii=False) for log in table["logs"])
    head = json.dumps({**table, "logs": []}, ensure_ascii=False, indent=1)
    return head.removesuffix("[]\n}") + (f"[\n  {logs}\n ]\n}}\n" if logs else "[]\n}\n")
