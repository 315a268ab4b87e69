"""Bytes of one input, in chunks: plain, compressed or UTF-16, always a stream and never a mapped file.

The stream that `chunks` yields is what every byte offset of the tool refers to. Reading the same input twice yields
the same bytes as long as the file was only appended to: the size seen when the input was collected bounds each pass.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from triage.core.cause.verdict import Skipped
from triage.files.inputs import Input

CHUNK = 1 << 20
_SMALLEST = 64
"""Enough to see a magic number or a byte order mark."""

_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b\x08", "gz"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bz2"),
    (b"\x28\xb5\x2f\xfd", "zst"),
)
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MARKED = (codecs.BOM_UTF8, *(mark for mark, _ in (*_MAGICS, *_BOMS)))
"""How a file begins whose stream is not its bytes as they are."""
_BOMB_BYTES = 256 << 20
_BOMB_RATIO = 500
_MEMORY_LIMIT = 256 << 20
"""What a decompressor may allocate: a hostile header can ask for 4 GiB."""


class Unreadable(Exception):
    """The stream ends here; the message says why. What was read before it stands."""


def chunks(source: Input, size: int = CHUNK, notes: list[Skipped] | None = None) -> Iterator[bytes]:
    """The input's bytes, part after part, decompressed and as UTF-8, in pieces of at most about `size` bytes.

    Never raises for what a file does: a file that vanished, shrank or fails to decompress yields what could be read,
    and a `Skipped` with the reason is appended to `notes`.
    """
    size = max(size, _SMALLEST)
    for part in source.files:
        if part.excerpt is not None:
            yield from part.excerpt.chunks(size)
            continue
        raw = _Raw(part)
        try:
            raw.open()
            yield from _text(_decompressed(raw, size), size)
        except Unreadable as end:
            if notes is not None:
                notes.append(Skipped(part.source.path, str(end)))
        finally:
            raw.close()


def head(source: Input, size: int) -> bytes:
    """The first `size` bytes of the stream (fewer where it is shorter). Raises `Unreadable` when none can be read."""
    raw = _Raw(source)
    try:
        raw.open()
        first = raw.read(size)
    finally:
        raw.close()
    if len(first) >= _SMALLEST and raw.position == min(size, source.size) and not first.startswith(_MARKED):
        return first
    notes: list[Skipped] = []
    stream = chunks(source, size, notes)
    found = b""
    for piece in stream:
        found += piece
        if len(found) >= size:
            break
    stream.close()  # type: ignore[attr-defined]
    if not found and notes:
        raise Unreadable(notes[0].reason)
    return found[:size]


class _Raw:
    """The bytes on disk from the start to the size seen when the input was collected, with a file's `read`."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self._fd = -1
        self.position = 0

    def open(self) -> None:
        if self._source.held is not None:
            self._fd = os.dup(self._source.held.fileno())
            return
        try:
            self._fd = os.open(self._source.open, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        except FileNotFoundError:
            raise Unreadable("vanished before it could be read") from None
        except PermissionError:
            raise Unreadable("permission denied") from None
        except OSError as error:
            raise Unreadable(f"cannot be opened: {error.strerror}") from None
        if not regular:
            raise Unreadable("is no longer a regular file")

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, empty at the end."""
        left = self._source.size - self.position
        wanted = left if size < 0 else min(size, left)
        if wanted <= 0:
            return b""
        try:
            data = os.pread(self._fd, wanted, self.position)
        except OSError as error:
            raise Unreadable(f"read error after {self.position} bytes: {error.strerror}") from None
        if not data:
            raise Unreadable(f"shrank to {self.position} bytes while it was read")
        self.position += len(data)
        return data

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _decompressed(raw: _Raw, size: int) -> Iterator[bytes]:
    first = raw.read(size)
    kind = next((name for magic, name in _MAGICS if first.startswith(magic)), "")
    if not kind:
        while first:
            yield first
            first = raw.read(size)
        return
    raw.position = 0
    yield from _gathered(_members(raw, kind), size)


_SLICE = 16 << 10
"""Compressed bytes handed over at once: bounds what is copied for each of many tiny members."""


def _members(raw: _Raw, kind: str) -> Iterator[bytes]:
    """Blocks of a compressed file of one or more members."""
    new = _decompressor(kind)
    member, data, total = new(), raw.read(_SLICE), 0
    while True:
        try:
            block = member.decompress(data, CHUNK)
        except Exception as error:  # zlib.error, LZMAError, ZstdError, OSError: each format has its own
            if saved := getattr(member, "saved", b""):
                yield saved
            raise Unreadable(f"corrupt {kind} data near byte {raw.position} ({error})") from None
        if block:
            yield block
        total += len(block)
        if total > _BOMB_BYTES and total > _BOMB_RATIO * raw.position:
            raise Unreadable(f"expands more than {_BOMB_RATIO} times; stopped after {total} bytes")
        if member.eof:
            data = (member.unused_data or raw.read(_SLICE)).lstrip(b"\0")
            if not data:
                return
            member = new()
        elif member.needs_input:
            data = raw.read(_SLICE)
            if not data and not block:
                raise Unreadable(f"truncated {kind} data")
        else:
            data = b""


def _decompressor(kind: str) -> Callable[[], Any]:
    """What makes a new member's decompressor, with the interface of `bz2.BZ2Decompressor`."""
    if kind == "gz":
        import zlib

        return lambda: _Gzip(zlib.decompressobj(31))
    if kind == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_MEMORY_LIMIT)
    if kind == "zst":
        import zstandard

        frames = zstandard.ZstdDecompressor(max_window_size=_MEMORY_LIMIT // 2)
        return lambda: _Zstandard(frames.decompressobj())
    import bz2

    return bz2.BZ2Decompressor


class _Gzip:
    """zlib notices a wrong checksum behind the data and then keeps all that the call has decoded for itself."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.saved = b""
        """What the call that failed had decoded."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        data = self._inner.unconsumed_tail + data
        before = self._inner.copy()
        try:
            out: bytes = self._inner.decompress(data, max_length)
        except Exception:
            self.saved = _up_to_the_fault(before, data)
            raise
        return out

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)


def _up_to_the_fault(inner: Any, data: bytes) -> bytes:
    """What the bytes before the one that makes it fail decode to."""
    found: list[bytes] = []
    try:
        for at in range(len(data)):
            found.append(inner.decompress(data[at : at + 1]))
    except Exception:  # zlib.error, which only its lazily imported module names
        return b"".join(found)
    return b"".join(found)


class _Zstandard:
    """Hands over 1 KiB at a time: a block of three bytes may stand for 128 KiB, and there is no `max_length`."""

    _PIECE = 1024

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._data = b""
        self._at = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:  # noqa: ARG002
        if data:
            self._data, self._at = data, 0
        piece = self._data[self._at : self._at + self._PIECE]
        self._at += len(piece)
        out: bytes = self._inner.decompress(piece) if piece else b""
        return out

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def needs_input(self) -> bool:
        return self._at >= len(self._data)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data) + self._data[self._at :]


def _gathered(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of `size`, so that a reader is not called for every small block."""
    held: list[bytes] = []
    length = 0
    try:
        for block in blocks:
            held.append(block)
            length += len(block)
            if length >= size:
                data, held, length = b"".join(held), [], 0
                yield from _sliced(data, size)
    except Unreadable:
        yield from _sliced(b"".join(held), size)
        raise
    yield from _sliced(b"".join(held), size)


def _text(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """UTF-16 and UTF-32 with a byte order mark become UTF-8; a UTF-8 mark is dropped; all else passes as it is."""
    first = next(blocks, b"")
    encoding = next((name for bom, name in _BOMS if first.startswith(bom)), "")
    if not encoding:
        first = first.removeprefix(codecs.BOM_UTF8)
        if first:
            yield first
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in chain([first], blocks):
        yield from _sliced(decoder.decode(block).encode("utf-8", "replace"), size)
    yield from _sliced(decoder.decode(b"", final=True).encode("utf-8", "replace"), size)


def _sliced(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


def spooled(stream: BinaryIO, into: BinaryIO) -> int:
    """Copies a stream that can be read only once into a file; returns its length."""
    total = 0
    while block := stream.read(CHUNK):
        into.write(block)
        total += len(block)
    into.flush()
    return total
