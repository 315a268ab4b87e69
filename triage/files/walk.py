"""Which files the arguments name, and why some of them are not read. A skip is data with a reason."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from triage.core.cause.verdict import Skipped
from triage.core.logs.source import Source
from triage.core.values import dataclass, replace
from triage.errors import InputError
from triage.files import sniff
from triage.files.inputs import Collected, Input, clean
from triage.files.layout import sources_of
from triage.files.open import Unreadable, head, spooled

MAX_FILES = 100_000
"""A job's folder holds fewer; beyond it somebody pointed at a file system."""

_FOLD = 20
"""More files of one folder skipped for one reason are told in one entry."""

_KINDS = (
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A directory entry that may be a log."""

    open: str
    shown: str
    """Relative to the argument that holds it; the argument itself for a file."""
    argument: str
    below: str
    """The part of the path that may say who wrote it: `shown`, after the argument's own last folders where they
    belong to a launcher's tree."""
    by_link: bool


def collect(paths: Sequence[str], stdin: BinaryIO | None = None) -> Collected:
    """The logs that files, folders, glob patterns and `-` name, sorted by shown path.

    Raises `InputError` when a path does not exist or nothing readable is left.
    """
    skipped: list[Skipped] = []
    found: list[_Found] = []
    for path in _expanded(paths):
        if path != "-":
            found += _under(path, skipped)
    held = [_standard_input(stdin)] if "-" in paths else []
    lenient = len(paths) == 1 and not os.path.isdir(paths[0])
    taken: list[tuple[_Found, int, float]] = []
    records: list[Input] = []
    for one, status in _distinct(found, skipped):
        entry = _judged(one, status, lenient, skipped)
        if isinstance(entry, Input):
            records.append(entry)
        elif entry is not None:
            taken.append((one, *entry))
    sources = sources_of([one.below for one, _, _ in taken])
    shown = _shown([one for one, _, _ in taken])
    inputs = [
        Input(replace(source, path=name, mtime=mtime), one.open, size)
        for source, name, (one, size, mtime) in zip(sources, shown, taken, strict=True)
    ]
    inputs = held + sorted(inputs, key=lambda i: i.source.path)
    if not inputs:
        raise InputError(_nothing(paths, skipped))
    return Collected(tuple(inputs), tuple(_folded(skipped)), tuple(records))


def is_archive(path: str) -> bool:
    """Whether a regular file holds a tar archive, compressed or not; its name says nothing."""
    try:
        status = os.stat(path)
        return stat.S_ISREG(status.st_mode) and sniff.is_tar(
            head(Input(Source(path), path, status.st_size), sniff.SAMPLE)
        )
    except (OSError, Unreadable):
        return False


def _expanded(paths: Sequence[str]) -> list[str]:
    missing, out = [], []
    for path in paths:
        if path == "-" or os.path.lexists(path):
            out.append(path)
        elif any(c in path for c in "*?["):
            import glob

            matches = sorted(glob.glob(path, recursive=True, include_hidden=True))
            out += matches
            if not matches:
                missing.append(f"{path}: no file matches this pattern")
        else:
            missing.append(f"{path}: no such file or folder")
    if missing:
        raise InputError("\n".join(missing))
    return out


def _under(argument: str, skipped: list[Skipped]) -> Iterator[_Found]:
    """The files of one argument; real folders before linked ones, so that a link never hides the real path."""
    if not os.path.isdir(argument):
        yield _Found(argument, argument, argument, argument, os.path.islink(argument))
        return
    context = _launcher_folders(argument)
    seen: set[tuple[int, int]] = set()
    folders: list[str] = [""]
    linked: list[str] = []
    count = 0
    while folders or linked:
        rel = folders.pop() if folders else linked.pop()
        here = os.path.join(argument, rel) if rel else argument
        try:
            status = os.stat(here)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(here) as entries:
                names = sorted((e.name, e.is_dir(follow_symlinks=False), e.is_symlink()) for e in entries)
        except OSError as error:
            skipped.append(Skipped(rel or argument, f"folder cannot be read: {error.strerror}"))
            continue
        if any(name == "pyvenv.cfg" for name, _, _ in names):
            skipped.append(Skipped(rel or argument, "Python environment"))
            continue
        for name, is_folder, is_link in reversed(names):
            path = os.path.join(rel, name) if rel else name
            if is_folder:
                if name not in (".git", ".triage", "__pycache__"):
                    folders.append(path)
            elif is_link and os.path.isdir(os.path.join(here, name)):
                linked.append(path)
            elif count >= MAX_FILES:
                skipped.append(Skipped(argument, f"more than {MAX_FILES} files; the rest was not looked at"))
                return
            else:
                count += 1
                yield _Found(os.path.join(here, name), path, argument, os.path.join(context, path), is_link)


def _launcher_folders(argument: str) -> str:
    """The argument's last folders where they belong to a torchrun tree: `triage explain run/attempt_0/3`."""
    parts = os.path.abspath(argument).split(os.sep)[-3:]
    for at, part in enumerate(parts):
        if part.startswith(("attempt_", "attempt-")):
            return os.sep.join(parts[at:])
    return ""


_Status = os.stat_result | OSError
"""What the system says of a file, or why it says nothing."""


def _distinct(found: list[_Found], skipped: list[Skipped]) -> list[tuple[_Found, _Status]]:
    """Each file once, with its status: of several names the first in order that is no symbolic link stands."""
    kept: dict[tuple[int, int], _Found] = {}
    out: list[tuple[_Found, _Status]] = []
    for one in sorted(found, key=lambda f: (f.by_link, f.shown, f.open)):
        try:
            status = os.stat(one.open)
        except OSError as error:
            out.append((one, error))
            continue
        key = (status.st_dev, status.st_ino)
        if key in kept:
            if kept[key].open != one.open:
                skipped.append(Skipped(clean(one.shown), f"same file as {clean(kept[key].shown)}"))
            continue
        kept[key] = one
        out.append((one, status))
    return out


def _judged(
    one: _Found, status: _Status, lenient: bool, skipped: list[Skipped]
) -> tuple[int, float] | Input | None:
    """Size and mtime of a log; an input for a record of `triage watch`; nothing (and a skip) for all else."""
    name = os.path.basename(one.open)
    reason, size, mtime = "", 0, 0.0
    if isinstance(status, PermissionError):
        reason = "permission denied"
    elif isinstance(status, OSError):
        reason = "broken link" if os.path.islink(one.open) else "vanished"
    else:
        size, mtime = status.st_size, status.st_mtime
        if not stat.S_ISREG(status.st_mode):
            reason = next((word for test, word in _KINDS if test(status.st_mode)), "")
    source = Source(clean(one.shown), mtime=mtime)
    if not reason and name.startswith("triage-") and name.endswith(".json"):
        return Input(source, one.open, size)
    if not reason and not lenient:
        reason = sniff.why_not_log(name)
    if not reason:
        reason = _why_not_text(Input(source, one.open, size))
    if reason:
        skipped.append(Skipped(source.path, reason))
        return None
    return size, mtime


def _why_not_text(one: Input) -> str:
    try:
        sample = head(one, sniff.SAMPLE)
    except Unreadable as error:
        return str(error)
    if sample and not sample.strip(b"\0"):
        return _why_not_text_at_end(one)
    return sniff.why_not_text(sample)


def _why_not_text_at_end(one: Input) -> str:
    """For a file that starts with NUL bytes: a log truncated while it was open for writing has text at its end."""
    try:
        with open(one.open, "rb") as file:
            file.seek(max(0, one.size - sniff.SAMPLE))
            sample = file.read(sniff.SAMPLE)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return sniff.why_not_text(sample) if sample.strip(b"\0") else "binary"


def _standard_input(stdin: BinaryIO | None) -> Input:
    stream = stdin if stdin is not None else getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("standard input is closed: there is nothing to read from -")
    if stream.isatty():
        raise InputError("standard input is a terminal: pipe a log into it, or name files or folders")
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the Input)
    size = spooled(stream, copy)
    one = Input(Source("-"), "-", size, copy)
    try:
        reason = sniff.why_not_text(head(one, sniff.SAMPLE))
    except Unreadable as error:
        reason = str(error)
    if reason:
        raise InputError(f"standard input is no log: {reason}")
    return one


def _shown(taken: list[_Found]) -> list[str]:
    """Relative to the argument; two that would look alike get their argument in front."""
    names = Counter(one.shown for one in taken)
    return [
        clean(
            one.shown
            if names[one.shown] == 1 or one.shown == one.argument
            else os.path.join(one.argument, one.shown)
        )
        for one in taken
    ]


def _folded(skipped: list[Skipped]) -> Iterator[Skipped]:
    """Sorted; a checkpoint folder's thousands of shards become one entry."""
    groups: dict[tuple[str, str], list[Skipped]] = {}
    for one in skipped:
        groups.setdefault((os.path.dirname(one.path), one.reason), []).append(one)
    out = []
    for (folder, reason), members in groups.items():
        if len(members) > _FOLD:
            out.append(Skipped(folder or ".", f"{len(members)} files: {reason}"))
        else:
            out += members
    yield from sorted(out, key=lambda s: (s.path, s.reason))


def _nothing(paths: Sequence[str], skipped: list[Skipped]) -> str:
    where = ", ".join(clean(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else "")
    if not skipped:
        return f"{where}: nothing to read, the folder is empty; name the folder that holds the job's logs"
    if len(skipped) == 1:
        hint = "; to read a pipe, send it to `triage explain -`" if skipped[0].reason == "FIFO" else ""
        return f"{where}: nothing to read, {skipped[0].path} was skipped: {skipped[0].reason}{hint}"
    reasons = Counter(
        one.reason if not one.reason.startswith("same file") else "same file twice" for one in skipped
    )
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(4))
    return f"{where}: nothing to read, all {len(skipped)} files were skipped ({told})"
