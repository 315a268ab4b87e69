"""Streams: every encoding yields the same bytes, and a damaged one yields what was readable and a note."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from triage.core.cause.verdict import Skipped
from triage.core.logs.source import Source
from triage.files import open as opening
from triage.files.inputs import Input
from triage.files.lines import line_numbers
from triage.files.open import Unreadable, chunks, head

TEXT = b"".join(b"iteration %d/ 100 | lm loss: 1.0 |\n" % n for n in range(5000))
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def saved(folder: Path, data: bytes, name: str = "train.log") -> Input:
    path = folder / name
    path.write_bytes(data)
    return Input(Source(name), str(path), len(data))


def read(one: Input, size: int = 1 << 20) -> tuple[bytes, list[Skipped]]:
    notes: list[Skipped] = []
    return b"".join(chunks(one, size, notes)), notes


@pytest.mark.parametrize("size", [1, 100, 4096, 1 << 20])
def test_plain_file_whatever_the_chunk(tmp_path: Path, size: int) -> None:
    assert read(saved(tmp_path, TEXT), size) == (TEXT, [])


@pytest.mark.parametrize("kind", PACK)
def test_compressed_by_magic_whatever_the_name(tmp_path: Path, kind: str) -> None:
    assert read(saved(tmp_path, PACK[kind](TEXT)), 1000) == (TEXT, [])


@pytest.mark.parametrize("kind", PACK)
def test_several_members_are_one_stream(tmp_path: Path, kind: str) -> None:
    data = b"".join(PACK[kind](TEXT[at : at + 50_000]) for at in range(0, len(TEXT), 50_000))
    assert read(saved(tmp_path, data)) == (TEXT, [])


@pytest.mark.parametrize("kind", PACK)
def test_truncated_stream_ends_with_what_was_readable_and_a_note(tmp_path: Path, kind: str) -> None:
    noise = b"".join(b"%d\n" % (n * 7919 % 100_003) for n in range(200_000))
    data = PACK[kind](noise)
    got, notes = read(saved(tmp_path, data[: len(data) * 3 // 4]))
    assert noise.startswith(got)
    assert "truncated" in notes[0].reason
    if kind != "bz2":
        assert len(got) > len(noise) // 4


@pytest.mark.parametrize("kind", PACK)
def test_corrupt_stream_ends_with_a_note(tmp_path: Path, kind: str) -> None:
    data = bytearray(PACK[kind](b"".join(b"%d\n" % (n * 7919 % 100_003) for n in range(50_000))))
    data[len(data) // 2 : len(data) // 2 + 64] = b"\xff" * 64
    _, notes = read(saved(tmp_path, bytes(data)))
    assert notes
    assert "corrupt" in notes[0].reason


@pytest.mark.parametrize("kind", ["gz", "zst", "xz"])
def test_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(opening, "_BOMB_BYTES", 4 << 20)
    one = saved(tmp_path, PACK[kind](bytes(40 << 20)))
    notes: list[Skipped] = []
    largest = total = 0
    for piece in chunks(one, 1 << 20, notes):
        largest, total = max(largest, len(piece)), total + len(piece)
    assert largest <= 1 << 20
    assert total < 40 << 20
    assert "expands" in notes[0].reason


def test_many_tiny_members_take_linear_time(tmp_path: Path) -> None:
    got, notes = read(saved(tmp_path, gzip.compress(b"a\n") * 20_000))
    assert (got, notes) == (b"a\n" * 20_000, [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_byte_order_mark_becomes_utf8(tmp_path: Path, encoding: str, size: int) -> None:
    text = "erreur: mémoire épuisée 🏖\n" * 50
    assert read(saved(tmp_path, text.encode(encoding)), size) == (text.encode(), [])


def test_grown_file_is_read_to_the_size_seen_first(tmp_path: Path) -> None:
    one = saved(tmp_path, b"one\n")
    with open(one.open, "ab") as file:
        file.write(b"two\n")
    assert read(one) == (b"one\n", [])


def test_shrunk_file_yields_the_rest_and_a_note(tmp_path: Path) -> None:
    one = saved(tmp_path, b"one\ntwo\n")
    os.truncate(one.open, 4)
    got, notes = read(one)
    assert got == b"one\n"
    assert "shrank" in notes[0].reason


def test_vanished_file_is_a_note(tmp_path: Path) -> None:
    one = saved(tmp_path, b"one\n")
    os.unlink(one.open)
    assert read(one) == (b"", [Skipped("train.log", "vanished before it could be read")])


def test_fifo_in_place_of_the_file_does_not_block(tmp_path: Path) -> None:
    one = saved(tmp_path, b"one\n")
    os.unlink(one.open)
    os.mkfifo(one.open)
    assert read(one) == (b"", [Skipped("train.log", "is no longer a regular file")])


def test_line_numbers_of_offsets_in_any_order(tmp_path: Path) -> None:
    data = b"a\n\nbb\r\ncc\rdd\nlast"
    one = saved(tmp_path, data)
    offsets = [data.index(b"dd"), 0, data.index(b"bb"), 1, 2, len(data) - 1, 10**6, 0]
    assert line_numbers(one, offsets) == [4, 1, 3, 1, 2, 5, 5, 1]


def test_line_numbers_are_those_of_the_decompressed_stream(tmp_path: Path) -> None:
    one = saved(tmp_path, gzip.compress(TEXT))
    wanted = [TEXT.index(b"iteration %d/" % n) for n in (0, 1, 777, 4999)]
    assert line_numbers(one, wanted) == [1, 2, 778, 5000]


def test_line_numbers_of_many_offsets_agree_with_counting(tmp_path: Path) -> None:
    one = saved(tmp_path, TEXT)
    offsets = list(range(0, len(TEXT), 997))
    assert line_numbers(one, offsets) == [TEXT.count(b"\n", 0, o) + 1 for o in offsets]


def test_line_number_past_the_end_is_the_last_line(tmp_path: Path) -> None:
    assert line_numbers(saved(tmp_path, b"a\nb\n"), [4, 99]) == [2, 2]
    assert line_numbers(saved(tmp_path, b""), [0]) == [1]


@pytest.mark.parametrize("size", [10, 100, 8192])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"short\n",
        b"x" * 63,
        b"line\n" * 2000,
        b"\xef\xbb\xbf" + b"line\n" * 100,
        ("\ufeff" + "line\n" * 100).encode("utf-16-le"),
        gzip.compress(b"".join(b"line %d\n" % n for n in range(1000))),
        bz2.compress(b"line\n" * 1000),
    ],
    ids=["empty", "short", "small", "plain", "mark", "utf-16", "gz", "bz2"],
)
def test_the_head_is_the_beginning_of_the_stream(tmp_path: Path, data: bytes, size: int) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    one = Input(Source("a.log"), os.fspath(path), len(data))
    assert head(one, size) == b"".join(chunks(one))[:size]


def test_the_head_of_a_file_that_shrank_is_what_is_left_and_of_one_that_vanished_is_an_error(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"left\n" * 50)
    one = Input(Source("a.log"), os.fspath(path), 10_000)
    assert head(one, 8192) == b"left\n" * 50
    path.unlink()
    with pytest.raises(Unreadable, match="vanished"):
        head(one, 8192)
