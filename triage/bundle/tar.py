"""Archives of plain files only, written and read by the tool itself: whatever else a tar archive may hold is refused.

Only headers of the `ustar` form are read (POSIX.1-1988), so no name or size can come from anywhere else.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from triage.core.values import dataclass
from triage.errors import InputError
from triage.files.sniff import is_tar

BLOCK = 512
_PIECE = 1 << 20
_KINDS = {
    tarfile.LNKTYPE: "a hard link", tarfile.SYMTYPE: "a symbolic link", tarfile.CHRTYPE: "a device", tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a FIFO", tarfile.DIRTYPE: "a folder",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold."""

    members: int
    total: int
    """Bytes of all of it, unpacked."""


@dataclass(slots=True)
class Member:
    """A plain file in an archive; its bytes are read before the next one is asked for."""

    name: str
    size: int
    data: Iterator[bytes]


def write(into: BinaryIO, name: str, parts: Iterable[bytes], size: int) -> None:
    """One file; the header says nothing but name and size, so that the same bytes give the same archive."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, 0
    into.write(info.tobuf(tarfile.USTAR_FORMAT, "utf-8"))
    for part in parts:
        into.write(part)
    into.write(bytes(-size % BLOCK))


def finish(into: BinaryIO) -> None:
    """The end of the archive."""
    into.write(bytes(2 * BLOCK))


def read(chunks: Iterator[bytes], limits: Limits) -> Iterator[Member]:
    """The files of an archive, in order. Raises InputError for one that holds anything else, or too much."""
    stream = _Stream(chunks, limits.total)
    seen: set[str] = set()
    while True:
        header = stream.exactly(BLOCK)
        if header == bytes(BLOCK):
            return
        info = _parsed(header)
        name = _checked(info)
        if name in seen:
            raise InputError(f"it holds {name!r} twice")
        if len(seen) >= limits.members:
            raise InputError(f"it holds more than {limits.members} files")
        seen.add(name)
        member = Member(name, info.size, stream.pieces(info.size))
        yield member
        for _ in member.data:
            pass
        stream.exactly(-info.size % BLOCK)


def _parsed(header: bytes) -> tarfile.TarInfo:
    if not is_tar(header):
        raise InputError("it is damaged, or no tar archive")
    try:
        info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError):
        raise InputError("it is damaged: one of its headers cannot be read") from None
    if info.size < 0:
        raise InputError("it is damaged: one of its files has a size below 0")
    return info


def _checked(info: tarfile.TarInfo) -> str:
    """The name of a plain file that stays where it is unpacked."""
    name = info.name
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        kind = _KINDS.get(info.type, "no plain file")
        raise InputError(f"{name!r} in it is {kind}, and a bundle holds plain files only")
    if name.startswith("/"):
        raise InputError(f"{name!r} in it is an absolute path")
    if ".." in name.split("/"):
        raise InputError(f"{name!r} in it leads out of it")
    return name


class _Stream:
    """Bytes that arrive in chunks, read in the sizes that are asked for."""

    def __init__(self, chunks: Iterator[bytes], most: int) -> None:
        self._chunks = chunks
        self._data = b""
        self._at = 0
        self._left = most
        self._most = most

    def exactly(self, size: int) -> bytes:
        return b"".join(self.pieces(size))

    def pieces(self, size: int) -> Iterator[bytes]:
        """So many bytes; raises InputError where they are not there."""
        while size > 0:
            if self._at == len(self._data):
                self._data, self._at = next(self._chunks, b""), 0
                self._left -= len(self._data)
                if not self._data:
                    raise InputError("it is cut off")
                if self._left < 0:
                    raise InputError(f"it unpacks to more than {self._most >> 20} MiB")
            piece = self._data[self._at : self._at + min(size, _PIECE)]
            self._at += len(piece)
            size -= len(piece)
            yield piece
