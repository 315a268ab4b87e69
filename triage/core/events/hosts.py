"""Lines in which a job script or a launcher says on which hosts it runs.

Formats: what scripts echo of Slurm's environment (`SLURM_JOB_NODELIST=gpu[01-04]`), deepspeed launcher/launch.py
(`global_rank_mapping=defaultdict(<class 'list'>, {'worker-0': [0, 1]})`, `process 4123 spawned with command: [...,
'--local_rank=0', ...]`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from triage.core.events.model import Facts
from triage.core.events.place import place
from triage.core.events.ranges import expand_hosts
from triage.core.lazy import lazy
from triage.core.logs.record import Record

_HOST = r"([A-Za-z][\w-]{1,62}(?:\.[\w-]{1,62}){0,6})"
_FORMS = (
    lazy(rf"^(?:Clearing cache|Running|Job \d+ starting|Starting|Launching) on (?:host |node )?{_HOST}\s*$"),
    lazy(rf"(?:^|\s)(?:Job \d+ starting on|SLURMD_NODENAME=|SLURM_JOB_NODELIST=|SLURM_NODELIST=){_HOST}\s*$"),
    lazy(rf"^(?:hostname|host|node(?:name)?) ?[:=] ?{_HOST}\s*$", re.IGNORECASE),
)  # fmt: skip
"""A list with brackets names several hosts and matches none."""
_NODELIST = lazy(
    r"\b(?:SLURM_(?:JOB_|STEP_)?NODELIST|[Nn]ode_?list) ?[=:] ?([A-Za-z][\w.,\[\]-]{1,8000}+)\s*$"
)
_MAPPING = lazy(r"\bglobal_rank_mapping=\w{0,20}\(?(?:<class 'list'>, )?\{(.{1,65000})\}")
_ENTRY = lazy(r"'([\w.-]{1,120})': \[(\d{1,8}(?:, ?\d{1,8}){0,2000})\]")
_SPAWNED = lazy(
    r"\bprocess (?P<pid>\d{1,10}) spawned with command: \[.{0,8000}?['\"]--local[_-]rank=(?P<local_rank>\d{1,6})['\"]"
)
WORDS = (
    "global_rank_mapping=",
    "spawned with command: [",
    "NODELIST",
    "NODENAME=",
    "ode",
    " on ",
    "starting on",
)
"""One of these stands in every line that is read, but for those that begin with the word host or node."""
_LONGEST = 65_536
_LIST = 10_000
_FIRST = frozenset({"host", "node"})


def extract_hosts(stream: Sequence[Record], source: int, worth: Container[int] | None = None) -> list[Facts]:
    """`Facts` with the one value `host`, a `nodelist`, the ranks `placed` on hosts, or `pid` and `local_rank` of a process
    that a launcher starts; the records stay for others."""
    found: list[Facts] = []
    for record in stream:
        text = record.text
        if worth is not None and record.offset not in worth and text[:4].lower() not in _FIRST:
            continue
        if "global_rank_mapping=" in text and len(text) <= _LONGEST:
            found.extend(_mapping(record, source))
        elif "spawned with command: [" in text and (spawned := _SPAWNED.search(text[:_LIST])):
            values = {name: int(number) for name, number in spawned.groupdict().items()}
            found.append(Facts(*place(source, record), values=values, origin="environment"))
        elif ("NODELIST" in text or "ode" in text[:60]) and (match := _NODELIST.search(text[:_LIST])):
            nodes = expand_hosts(match[1])
            if len(nodes) > 1:
                found.append(Facts(*place(source, record), nodelist=nodes, origin="environment"))
        if not text or len(text) > 200:
            continue
        for form in _FORMS:
            if match := form.search(text):
                found.append(Facts(*place(source, record), values={"host": match[1]}, origin="environment"))
                break
    return found


def _mapping(record: Record, source: int) -> list[Facts]:
    """DeepSpeed's launcher tells all hosts' ranks; together they are the world."""
    match = _MAPPING.search(record.text)
    entries = [] if match is None else _ENTRY.findall(match[1])
    if match is None or len(entries) != match[1].count("': ["):
        return []
    placed = tuple((host, tuple(map(int, ranks.split(",")))) for host, ranks in entries)
    ranks = sorted(rank for _, held in placed for rank in held)
    if not ranks or ranks != list(range(len(ranks))):
        return []
    return [Facts(*place(source, record), values={"world_size": len(ranks)}, origin="world", placed=placed)]
