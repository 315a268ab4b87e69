"""Ray's worker prefix `(Name pid=1, ip=10.0.0.1) ` and its `[repeated 119x across cluster]`.

Source: ray/_private/worker.py (`print_worker_logs`, `print_to_stdstream`) and ray/_private/ray_logging (`LogDeduplicator`).
Where the actor's name tells a rank (`Actor[rank=31]`, `worker5, rank=5`) it is the global one; not so that of SkyPilot's
`(head, rank=0, pid=1)`, which counts nodes (sky/skylet/executor/slurm.py).
"""

from __future__ import annotations

from functools import lru_cache

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import DIGITS, Dialect, Sample, Stripped
from triage.core.logs.record import Tags

_PREFIX = lazy(
    r"(?:\[\d{1,2}m)?\(((?:[\w.:-]{1,80}(?:\[[\w=, ]{1,40}\])?,? ?)?"
    r"(?:(?:rank|pid|ip|name|node_id|actor_id|job_id)=[\w.:-]{1,64}(?:, )?){1,6}|raylet|gcs_server|autoscaler [^)]{1,20})\)(?:\[\d{1,2}m)? ?"
)
_FIELD = lazy(r"\b(rank|pid|ip)=([\w.:-]+)")
_REPEATED = lazy(
    r" ?(?:\[\d{1,2}m)? ?\[repeated \d+x across (?:the )?cluster\](?:\[\d{1,2}m)?(?: \(Ray dedup[^\n]{0,400})?$"
)


def _strip(text: str) -> Stripped | None:
    match = _PREFIX.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    if "[repeated " in rest:
        found = _REPEATED.search(rest, max(0, rest.rfind("[repeated ") - 8))
        if found is not None:
            rest = rest[: found.start()]
    return Stripped(rest, _tags(match[1]))


@lru_cache(maxsize=4096)
def _tags(inside: str) -> Tags:
    fields = dict(_FIELD.findall(inside))
    return Tags(
        rank=None if inside.startswith("head, ") else _number(fields.get("rank")),
        node=fields.get("ip"),
        pid=_number(fields.get("pid")),
        actor=inside.split(", ip=")[0],
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and text.isascii() and len(text) < 10 else None


RAY = Dialect(
    name="ray",
    first="([",
    behind=DIGITS,
    strip=_strip,
    carrier=True,
    samples=(
        Sample(
            '(WorkerDict pid=4031045)   File "a.py", line 1, in f',
            '  File "a.py", line 1, in f',
            Tags(pid=4031045, actor="WorkerDict pid=4031045"),
        ),
        Sample(
            "(Actor[rank=31] pid=123, ip=10.0.0.1) RuntimeError: x",
            "RuntimeError: x",
            Tags(rank=31, node="10.0.0.1", pid=123, actor="Actor[rank=31] pid=123"),
        ),
        Sample(
            "(head, rank=0, pid=77) RuntimeError: x",
            "RuntimeError: x",
            Tags(pid=77, actor="head, rank=0, pid=77"),
        ),
        Sample(
            "(worker5, rank=5, pid=77, ip=10.2.0.9) x",
            "x",
            Tags(rank=5, node="10.2.0.9", pid=77, actor="worker5, rank=5, pid=77"),
        ),
        Sample(
            "(train_fn pid=9, ip=10.0.0.2) Sleep mode freed 44.85 GiB. [repeated 119x across cluster]",
            "Sleep mode freed 44.85 GiB.",
            Tags(node="10.0.0.2", pid=9, actor="train_fn pid=9"),
        ),
        Sample("(raylet) Spilled 100 MiB", "Spilled 100 MiB", Tags(actor="raylet")),
        Sample("(min, max) time across ranks (ms):", "(min, max) time across ranks (ms):", taken=False),
    ),
)
