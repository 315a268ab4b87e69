"""A case's logs, changed as life changes logs: what happened is still the same, so the verdict should be too.

Each function takes and returns the files of a case, as relative path to bytes. Compressed files stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import chain, zip_longest

from triage.core.logs.source import Source
from triage.files.layout import sources_of

Files = Mapping[str, bytes]

CUT = 0.7
"""What is left of each file when its end is cut away."""
SKEW = timedelta(seconds=90)

_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_HEALTHY = (
    b" iteration        1/     100 | consumed samples:            8 | elapsed time per iteration (ms): 512.3 | "
    b"learning rate: 1.000E-05 | global batch size:     8 | lm loss: 1.084E+01 | loss scale: 1.0 | "
    b"grad norm: 3.204 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
"""A carriage return ends no line: whoever puts something in front of lines sees a progress bar as one."""
_LABEL = re.compile(rb"(?m)^ *\d+: ")
_DAY_TIME = re.compile(rb"(?<![\d.])(\d{4})([-/])(\d\d)\2(\d\d)([ T])(\d\d):(\d\d):(\d\d)(?!\d)")
_GLOG = re.compile(rb"(?m)(?<=[IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?=\.\d{3,9} )")
_STAMP = re.compile(
    rb"\[?(?<![\d.])(?<!CANCELLED AT )(?<!FAILED AT )\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \| |:? ?)"
    rb"|(?m:(?<=[IWEF]))\d{4} \d\d:\d\d:\d\d\.\d{3,9} "
    rb"|(?m:^)\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:? "
    rb"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?: \d{4})? ?"
)


def reversed_order(files: Files) -> Files:
    """Letters in front of the names of the uppermost files, so that they sort the other way round."""
    top = sorted((name for name in files if "/" not in name), reverse=True)
    renamed = {name: f"{chr(97 + at // 26 % 26)}{chr(97 + at % 26)}-{name}" for at, name in enumerate(top)}
    return {renamed.get(name, name): data for name, data in reversed(list(files.items()))}


def cut_short(files: Files) -> Files:
    return {name: _whole(name, data) or data[: int(len(data) * CUT)] for name, data in files.items()}


def coloured(files: Files) -> Files:
    """Every line as a terminal would show an error."""
    return _lines(files, lambda _, line: b"\x1b[31m" + line.rstrip(b"\r\n") + b"\x1b[0m\n")


def labelled(files: Files) -> Files:
    """As `srun --label` prints it: the task's number in front of every line of a task; srun's own words have none."""
    tasks = _tasks(files)
    width = len(str(max(tasks.values(), default=0)))

    def label(name: str, line: bytes) -> bytes:
        own = line.startswith((b"srun: ", b"sbatch: "))
        return line if own else b"%*d: %s" % (width, tasks[name], line)

    plain = {name: data for name, data in files.items() if len(_LABEL.findall(data)) * 10 < data.count(b"\n")}
    return {**files, **_lines(plain, label)}


def after_a_healthy_line(files: Files) -> Files:
    return {name: _whole(name, data) or _HEALTHY + data for name, data in files.items()}


def skewed(files: Files) -> Files:
    """The clock of every second node is 90 s ahead."""
    nodes = {name: source.node or _stem(name) for name, source in _sources(files).items()}
    ahead = set(sorted(set(nodes.values()))[1::2])
    return {
        name: data
        if nodes[name] in ahead and _whole(name, data)
        else _later(data)
        if nodes[name] in ahead
        else data
        for name, data in files.items()
    }


def without_stamps(files: Files) -> Files:
    return {name: _whole(name, data) or _STAMP.sub(b"", data) for name, data in files.items()}


def merged(files: Files) -> Files:
    """All streams in one file, in turns line by line; what is no plain log stays beside it."""
    aside = {name: data for name, data in files.items() if _whole(name, data)}
    streams = [_LINE.findall(data) for name, data in files.items() if name not in aside]
    woven = (line for line in chain.from_iterable(zip_longest(*streams)) if line is not None)
    return {**aside, "merged.log": b"".join(line if line.endswith(b"\n") else line + b"\n" for line in woven)}


def with_a_healthy_rank(files: Files) -> Files:
    """One more rank than any name tells, that trains and then says nothing."""
    ranks = [source.rank for source in _sources(files).values() if source.rank is not None]
    return {**files, f"rank-{max(ranks, default=-1) + 1 if ranks else 999}.log": _HEALTHY * 3}


PERTURBATIONS: Mapping[str, Callable[[Files], Files]] = {
    "files in reverse order": reversed_order,
    "last 30 % cut away": cut_short,
    "ANSI colour": coloured,
    "srun --label": labelled,
    "a healthy line first": after_a_healthy_line,
    "90 s of clock skew": skewed,
    "no time stamps": without_stamps,
    "one stream, line by line": merged,
    "a healthy rank added": with_a_healthy_rank,
}


def _whole(name: str, data: bytes) -> bytes:
    """The data of a file that is changed only as a whole: compressed, JSON, binary; else nothing."""
    return data if name.endswith((*_COMPRESSED, ".json")) or b"\0" in data[:4096] else b""


def _lines(files: Files, change: Callable[[str, bytes], bytes]) -> Files:
    return {
        name: _whole(name, data) or b"".join(change(name, line) for line in _LINE.findall(data))
        for name, data in files.items()
    }


def _sources(files: Files) -> dict[str, Source]:
    names = list(files)
    return dict(zip(names, sources_of(names), strict=True))


def _stem(name: str) -> str:
    return re.sub(r"\.(?:out|err|log|txt)$", "", name)


def _tasks(files: Files) -> dict[str, int]:
    """A file's task: its rank where the name tells it, else the place of its name among the others."""
    stems = sorted({_stem(name) for name in files})
    return {
        name: source.rank if source.rank is not None else stems.index(_stem(name))
        for name, source in _sources(files).items()
    }


def _later(data: bytes) -> bytes:
    def day(found: re.Match[bytes]) -> bytes:
        year, sep, month, date, between, *clock = found.groups()
        moved = _moved(int(year), int(month), int(date), clock)
        return moved.strftime(f"%Y{sep.decode()}%m{sep.decode()}%d{between.decode()}%H:%M:%S").encode()

    def glog(found: re.Match[bytes]) -> bytes:
        month, date, *clock = found.groups()
        return _moved(2024, int(month), int(date), clock).strftime("%m%d %H:%M:%S").encode()

    return _GLOG.sub(glog, _DAY_TIME.sub(day, data))


def _moved(year: int, month: int, day: int, clock: list[bytes]) -> datetime:
    hour, minute, second = map(int, clock)
    try:
        return datetime(year, month, day, hour, minute, second) + SKEW
    except (ValueError, OverflowError):
        return datetime(2000, 1, 1)
