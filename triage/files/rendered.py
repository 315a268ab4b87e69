"""The folders of rendered scripts (triage/submit/templates/megatron.sbatch.j2): what they say is certain.

NAME-JOB.out, NAME-JOB.err
NAME-JOB/attempt-N/node-R-HOST/node.out, launch.json, RUN/attempt_M/LOCAL_RANK/stderr.log
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from triage.core.lazy import lazy
from triage.core.logs.source import Source
from triage.core.values import dataclass, replace

_NODE = lazy(r"(?:(?P<run>(?:.*/)?[^/]+-(?P<job>\d{1,10}))/)?attempt-(?P<attempt>\d{1,5})/node-(?P<rank>\d{1,5})-(?P<host>[^/]+)/(?P<rest>.+)")  # fmt: skip
_RESTART = lazy(r"[^/]+/attempt_(\d{1,5})/\d{1,4}/[^/]+")
_LONGEST = 4096
_RESTARTS = 1000
"""Above any number of torchrun's restarts within one attempt of the job."""


@dataclass(frozen=True, slots=True)
class _Place:
    run: str | None
    job: str | None
    attempt: int
    node_rank: int
    host: str
    restart: int
    """Of torchrun, within the attempt."""


def rendered(sources: Sequence[Source]) -> list[Source]:
    """The sources of such folders with job, attempt, node and its number; whatever the host is called, it is one."""
    if not any("attempt-" in source.path for source in sources):
        return list(sources)
    places = [_place(source.path) for source in sources]
    runs = {place.run: place.job for place in places if place is not None and place.run is not None}
    restarted = any(place is not None and place.restart for place in places)
    return [
        _beside(source, runs) if place is None else _inside(source, place, restarted=restarted)
        for source, place in zip(sources, places, strict=True)
    ]


def _place(path: str) -> _Place | None:
    match = _NODE.fullmatch(path) if len(path) <= _LONGEST else None
    if match is None:
        return None
    restart = _RESTART.fullmatch(match["rest"])
    return _Place(
        match["run"], match["job"], int(match["attempt"]), int(match["rank"]), match["host"],
        int(restart[1]) if restart else 0,
    )  # fmt: skip


def _inside(source: Source, place: _Place, *, restarted: bool) -> Source:
    attempt = place.attempt * _RESTARTS + place.restart if restarted else place.attempt
    return replace(
        source, job=place.job, attempt=attempt, node_rank=place.node_rank, node=place.host, rank=None
    )


def _beside(source: Source, runs: Mapping[str, str | None]) -> Source:
    """The batch script's own output has the name of the run's folder."""
    job = runs.get(posixpath.splitext(source.path)[0])
    return source if job is None else replace(source, job=job)
