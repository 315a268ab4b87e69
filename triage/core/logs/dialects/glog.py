"""glog headers: c10's `[E1201 10:00:00.123456789 ProcessGroupNCCL.cpp:616] ` and torchrun's Python twin without the first bracket.

c10/util/Logging.cpp prints `(month * 100 + day)` unpadded, nanoseconds, and `[rankN]:` before it once the process group is
up; builds up to torch 2.3 print `[E ProcessGroupNCCL.cpp:475] `. torch/_logging/_internal.py prints
`E0401 09:46:07.771000 2231 torch/distributed/run.py:792] `: the fourth field is the pid from 2.5 on, before it a thread id.
"""

from __future__ import annotations

from functools import lru_cache

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import Dialect, Sample, Stripped, level_letter
from triage.core.logs.record import NO_TAGS, Tags
from triage.core.logs.stamp import find_stamp
from triage.core.shared import shared

_CPP_ORIGIN = lazy(r" ?([\w./+-]{1,120}:\d{1,6})\] ?")
_PYTHON_ORIGIN = lazy(r" +(?:(\d{1,19}) +)?([^\s\]]{1,300}:\d{1,6})\] ?")
_OLD = lazy(r"\[([EWIFCDV]) ([\w./+-]{1,120}:\d{1,6})\] ?")
_GROUP = lazy(r"\[(?:PG [^\]\n]{0,160}?)?Rank (\d{1,7})\]")
_LARGEST_PID = 4_194_304


def _cpp(text: str) -> Stripped | None:
    level = text[1:2]
    if level not in "EWIFCDV" or not level:
        return None
    if text[2:3] == " ":
        old = _OLD.match(text)
        if old is None:
            return None
        return Stripped(text[old.end() :], _group(text, old.end()), None, level_letter(level), shared(old[2]))
    found = find_stamp(text, 1)
    if found is None:
        return None
    stamp, end = found
    match = _CPP_ORIGIN.match(text, end)
    if match is None:
        return None
    return Stripped(
        text[match.end() :], _group(text, match.end()), stamp, level_letter(level), shared(match[1])
    )


def _group(text: str, pos: int) -> Tags:
    match = _GROUP.match(text, pos)
    return NO_TAGS if match is None else _group_tags(int(match[1]))


@lru_cache(maxsize=256)
def _group_tags(position: int) -> Tags:
    """One shared value for neighbouring lines."""
    return Tags(group_rank=position)


def _python(text: str) -> Stripped | None:
    if not text[1:2].isdigit():
        return None
    found = find_stamp(text)
    if found is None:
        return None
    stamp, end = found
    match = _PYTHON_ORIGIN.match(text, end)
    if match is None:
        return None
    number = match[1]
    pid = int(number) if number and int(number) <= _LARGEST_PID else None
    return Stripped(text[match.end() :], Tags(pid=pid), stamp, level_letter(text[0]), shared(match[2]))


CPP = Dialect(
    name="glog",
    first="[",
    behind="EWIFCDV",
    strip=_cpp,
    samples=(
        Sample(
            "[E1201 10:00:00.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught",
            "[Rank 3] Watchdog caught",
            Tags(group_rank=3),
            "E1201 10:00:00.123456789",
            "E",
            "ProcessGroupNCCL.cpp:616",
        ),
        Sample(
            "[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 10(TENSOR_MODEL_PARALLEL_GROUP) Rank 7] Exception",
            "[PG ID 2 PG GUID 10(TENSOR_MODEL_PARALLEL_GROUP) Rank 7] Exception",
            Tags(group_rank=7),
            "E321 02:07:08.408271257",
            "E",
            "ProcessGroupNCCL.cpp:1785",
        ),
        Sample(
            "[W Utils.hpp:135] Warning: Environment variable",
            "Warning: Environment variable",
            level="W",
            origin="Utils.hpp:135",
        ),
        Sample(
            "[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 9] Timeout at NCCL work: 7",
            "[PG 0 Rank 9] Timeout at NCCL work: 7",
            Tags(group_rank=9),
            level="E",
            origin="ProcessGroupNCCL.cpp:1537",
        ),
        Sample(
            "[W1201 04:28:14.558076309 socket.cpp:764] [c10d] The client socket has failed",
            "[c10d] The client socket has failed",
            stamp="W1201 04:28:14.558076309",
            level="W",
            origin="socket.cpp:764",
        ),
    ),
)

PYTHON = Dialect(
    name="torchrun",
    first="EWIFCDV",
    strip=_python,
    samples=(
        Sample(
            "W0325 10:34:07.578000 140213 torch/distributed/run.py:792] ****",
            "****",
            Tags(pid=140213),
            "W0325 10:34:07.578000",
            "W",
            "torch/distributed/run.py:792",
        ),
        Sample(
            "W0211 10:31:05.220000 140011223344000 torch/distributed/run.py:779] ",
            "",
            stamp="W0211 10:31:05.220000",
            level="W",
            origin="torch/distributed/run.py:779",
        ),
        Sample("E99: no glog line", "E99: no glog line", taken=False),
    ),
)
