"""The ids of jobs that a JSON value holds: of its top and of what lies one level below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from triage.core.values import dataclass

_JOB = ("job_id", "slurm_job_id", "SLURM_JOB_ID")
_ARRAY = ("array_job_id", "slurm_array_job_id", "SLURM_ARRAY_JOB_ID")
_TASK = ("array_task_id", "slurm_array_task_id", "SLURM_ARRAY_TASK_ID")
_CLUSTER = ("slurm_cluster_name", "SLURM_CLUSTER_NAME")
_RESTART = ("restart", "restarts", "triage_attempt")


@dataclass(frozen=True, slots=True)
class Named:
    """The ids in one object."""

    is_top: bool
    jobs: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()


def names_in(value: object) -> tuple[Named, ...]:
    """Of every object that holds any id."""
    found = (
        Named(
            top, _texts(one, _JOB), _texts(one, _ARRAY), _texts(one, _TASK), _texts(one, _RESTART), _texts(one, _CLUSTER)
        )
        for top, one in _objects(value)
    )  # fmt: skip
    return tuple(
        dict.fromkeys(named for named in found if named.jobs or named.arrays or named.tasks or named.clusters)
    )


def _objects(value: object) -> Iterator[tuple[bool, dict[str, Any]]]:
    """The top, its objects, and the objects in its lists."""
    if isinstance(value, dict):
        yield True, value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        if isinstance(one, dict):
            yield False, one
        elif isinstance(one, list):
            yield from ((False, element) for element in one if isinstance(element, dict))
        if isinstance(value, list) and isinstance(one, dict):
            yield from ((False, element) for element in one.values() if isinstance(element, dict))


def _texts(one: dict[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    values = (one[key] for key in keys if one.get(key) is not None)
    return tuple(text for value in values if (text := str(value).strip()))
