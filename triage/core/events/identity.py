"""Lines in which a process says which rank it is, or on which host a rank runs.

Formats: environment dumps (`RANK=2`, `'PMI_RANK': '2'`), submitit core/job_environment.py (`JobEnvironment(...)`), fairseq
distributed/utils.py (`initialized host gpu-7 as rank 3`), DeiT utils.py (`| distributed init (rank 3): env://`, of use where
a label names the host), deepspeed comm/comm.py (`Discovered MPI settings of world_rank=3, ...`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from triage.core.events.model import Facts
from triage.core.events.place import place
from triage.core.lazy import lazy
from triage.core.logs.record import Record

_OWN = lazy(
    r"(?<![A-Za-z_])(?:(?:GLOBAL_|OMPI_COMM_WORLD_|MV2_COMM_WORLD_|PMIX?_|JSM_NAMESPACE_)?RANK['\"]?\s?[=:]\s?['\"]?|world_rank=)"
    r"(\d{1,7})\b"
)
_SUBMITIT = lazy(
    r"JobEnvironment\(.{0,200}?hostname=(?P<host>[\w.-]{1,120}), local_rank=(?P<local_rank>\d{1,6})\((?P<nproc_per_node>\d{1,6})\), "
    r"node=\d{1,6}\((?P<nnodes>\d{1,6})\), global_rank=(?P<own_rank>\d{1,7})\((?P<world_size>\d{1,7})\)"
)
_HOSTED = lazy(r"\binitialized host (?P<host>[\w.-]{1,120}) as rank (?P<rank>\d{1,7})\b")
_LABELLED = lazy(r"\bdistributed init \(rank (\d{1,7})\)")
WORDS = ("RANK", "world_rank=", "JobEnvironment(", "initialized host ", "distributed init (rank ")
"""One of these stands in every line that is read."""
_LONGEST = 65_536


def extract_identity(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> list[Facts]:
    """`Facts` with `own_rank` (the rank of the process that wrote the stream, if it is one process's) or `rank`, and the `host`
    where it is told; the records stay for others."""
    found: list[Facts] = []
    for record in stream:
        if worth is not None and record.offset not in worth:
            continue
        values = _values(record.text[:_LONGEST], record.tags.node)
        if values:
            origin = "world" if "world_size" in values else "environment"
            found.append(Facts(*place(source, record), values=values, origin=origin))
    return found


def _values(text: str, node: str | None) -> dict[str, int | float | str | bool]:
    if "JobEnvironment(" in text and (match := _SUBMITIT.search(text)):
        return _typed(match)
    if "initialized host " in text and (match := _HOSTED.search(text)):
        return _typed(match)
    if "(rank " in text and node is not None and (match := _LABELLED.search(text)):
        return {"rank": int(match[1]), "host": node}
    ranks = {int(number) for number in _OWN.findall(text)}
    return {"own_rank": ranks.pop()} if len(ranks) == 1 else {}


def _typed(match: re.Match[str]) -> dict[str, int | float | str | bool]:
    return {name: value if name == "host" else int(value) for name, value in match.groupdict().items()}
