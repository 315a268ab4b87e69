"""A bundle as what is read: its logs, and what it tells beside them. It comes from elsewhere and is hostile input."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from triage.bundle import tar
from triage.bundle.manifest import LARGEST, MOST_BYTES, NAME, KeptLog, Manifest, parse
from triage.core.cause.verdict import Skipped
from triage.core.logs.source import Source
from triage.errors import InputError
from triage.files.excerpt import Excerpt
from triage.files.inputs import Bundled, Collected, Input, clean
from triage.files.open import chunks
from triage.files.sniff import is_tar
from triage.files.walk import MAX_FILES

MOST_UNPACKED = 256 << 20
"""Bytes of a whole archive."""
LIMITS = tar.Limits(MAX_FILES + 1, MOST_UNPACKED)


def opened(path: str) -> Collected:
    """The logs of a bundle. Raises InputError for an archive that is none, or that is not as `triage bundle` writes it."""
    notes: list[Skipped] = []
    whole = Input(Source(clean(path)), path, os.stat(path).st_size)
    held: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the inputs)
    try:
        manifest, places = _unpacked(chunks(whole, notes=notes), held)
    except InputError as error:
        held.close()
        why = notes[0].reason if notes else str(error)
        raise InputError(f"{clean(path)} is refused: {why}") from None
    held.flush()
    inputs = [_input(log, places[log.member], held) for log in manifest.logs]
    if any(one.size > MOST_BYTES for one in inputs):
        raise InputError(f"{clean(path)} is refused: a log in it is longer than {MOST_BYTES >> 30} GiB")
    told = Bundled(manifest.record, manifest.job, manifest.attempt)
    return Collected(tuple(inputs), bundled=told)


def manifest_of(path: str) -> Manifest:
    """What a bundle says of itself. Raises InputError as `opened` does."""
    first = next(tar.read(chunks(Input(Source(path), path, os.stat(path).st_size)), LIMITS))
    return _manifest(first)


def _unpacked(stream: Iterator[bytes], held: BinaryIO) -> tuple[Manifest, dict[str, int]]:
    """The manifest, and where in `held` each of its logs begins."""
    members = tar.read(stream, LIMITS)
    manifest = _manifest(next(members, None))
    sizes = {log.member: max((p.at + p.size for p in log.pieces), default=0) for log in manifest.logs}
    if len(sizes) < len(manifest.logs):
        raise InputError(f"its {NAME} names a file twice")
    places: dict[str, int] = {}
    for member in members:
        if member.name not in sizes:
            raise InputError(f"its {NAME} does not name {member.name!r}")
        if member.size < sizes[member.name]:
            raise InputError(f"{member.name!r} in it is shorter than its {NAME} says")
        places[member.name] = held.tell()
        for number, piece in enumerate(member.data):
            if number == 0 and is_tar(piece[: tar.BLOCK]):
                raise InputError(f"{member.name!r} in it is an archive, and a bundle holds logs only")
            held.write(piece)
    if missing := sizes.keys() - places.keys():
        raise InputError(f"{min(missing)!r} is missing in it")
    return manifest, places


def _manifest(first: tar.Member | None) -> Manifest:
    if first is None or first.name != NAME:
        raise InputError("it is an archive that `triage bundle` did not write; unpack it and name the folder")
    if first.size > LARGEST:
        raise InputError(f"its {NAME} is larger than {LARGEST >> 20} MiB")
    return parse(b"".join(first.data))


def _input(log: KeptLog, place: int, held: BinaryIO) -> Input:
    excerpt = Excerpt([replace(piece, at=place + piece.at) for piece in log.pieces], held)
    return Input(log.source, "", excerpt.size, excerpt=excerpt)
