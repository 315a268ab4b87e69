"""Merging facts: precedence, contradictions, arithmetic only where it is certain."""

from __future__ import annotations

import pytest

from triage.core.cause.facts import memory_facts, merge_facts
from triage.core.cause.verdict import FACT_NAMES
from triage.core.events.model import Facts, Progress, Span
from triage.core.logs.record import NO_TAGS, Tags


def stated(origin: str, first: int = 0, source: int = 0, tags: Tags = NO_TAGS, **values: float) -> Facts:
    return Facts(Span(source, first, first + 1), tags, values=values, origin=origin)


def step(iteration: int, total: int | None = None, form: str = "megatron", **values: float) -> Progress:
    return Progress(Span(0, iteration, iteration), iteration=iteration, total=total, values=values, form=form)


def merged(*facts: Facts, progress: tuple[Progress, ...] = ()) -> dict[str, int | float]:
    return {name: value for name, value in merge_facts(facts, progress).items() if value is not None}


def test_every_name_is_a_key_and_unknown_is_none() -> None:
    assert merge_facts([], []) == dict.fromkeys(FACT_NAMES)


def test_the_better_origin_wins_whatever_the_order() -> None:
    a, b = stated("command", 9, tp=4), stated("arguments", 0, tp=2)
    assert merged(a, b) == merged(b, a) == {"tp": 2}


def test_a_later_dump_of_the_same_stream_wins() -> None:
    early, late = stated("arguments", 0, tp=4), stated("arguments", 9, tp=2)
    assert merged(early, late) == merged(late, early) == {"tp": 2}


def test_streams_that_contradict_each_other_leave_it_unknown() -> None:
    assert merged(stated("world", source=0, world_size=8), stated("world", source=1, world_size=16)) == {}
    assert (
        merged(stated("world", tags=Tags(node="a"), tp=8), stated("world", tags=Tags(node="b"), tp=4)) == {}
    )


def test_the_peak_is_the_largest_of_all_ranks() -> None:
    assert merged(
        stated("memory", 0, peak_memory_gib=70.5), stated("memory", 0, 1, peak_memory_gib=77.9)
    ) == {"peak_memory_gib": 77.9}


def test_world_size_is_nodes_times_processes_but_never_overrides_a_stated_one() -> None:
    launch = stated("command", nnodes=2, nproc_per_node=8)
    assert merged(launch) == {"world_size": 16}
    assert merged(launch, stated("world", world_size=12)) == {"world_size": 12}


def test_an_elastic_range_of_nodes_gives_no_world() -> None:
    assert merged(stated("world", min_nodes=1, max_nodes=2, nproc_per_node=8)) == {}
    assert merged(stated("world", min_nodes=2, max_nodes=2, nproc_per_node=8)) == {"world_size": 16}


def test_dp_needs_all_of_tp_pp_cp_and_a_division_without_rest() -> None:
    assert merged(stated("world", world_size=16, tp=2, pp=2, cp=1))["dp"] == 4
    assert "dp" not in merged(stated("world", world_size=16, tp=2, pp=2))
    assert "dp" not in merged(stated("world", world_size=6, tp=4, pp=1, cp=1))
    assert merged(stated("world", dp=4, tp=2, pp=2, cp=1))["world_size"] == 16


def test_nccls_largest_communicator_is_the_world_only_if_nothing_says_otherwise() -> None:
    nccl = (stated("environment", 0, nranks=2), stated("environment", 1, nranks=8))
    assert merged(*nccl) == {"world_size": 8}
    assert "world_size" not in merged(*nccl, stated("arguments", tp=16))
    assert merged(*nccl, stated("world", world_size=32)) == {"world_size": 32}


def test_iterations_come_from_lines_that_count_them() -> None:
    got = merged(progress=(step(5, 10, global_batch_size=64.0), step(3, 10, global_batch_size=32.0)))
    assert got == {"last_iteration": 5, "train_iters": 10, "global_batch_size": 64}


def test_a_count_inside_an_epoch_is_not_the_last_iteration() -> None:
    assert merged(progress=(step(84, 84, form="epoch"),)) == {}


def test_bars_of_different_lengths_tell_nothing_and_one_bar_does() -> None:
    assert merged(progress=(step(3, 10, form="bar"), step(7, 63, form="bar"))) == {}
    assert merged(progress=(step(3, 10, form="bar"), step(4, 10, form="bar"))) == {
        "last_iteration": 4,
        "train_iters": 10,
    }


def test_a_nan_or_a_truth_value_is_no_fact() -> None:
    assert merged(stated("arguments", tp=float("nan"))) == {}
    assert merged(Facts(Span(0, 0, 1), values={"tp": True}, origin="arguments")) == {}


@pytest.mark.parametrize(
    ("captures", "expected"),
    [
        (
            {"requested": "2.00 GiB", "total": "79.15 GiB", "free": "1.20 GiB", "allocated": "77.9 GiB"},
            {"requested_gib": 2.0, "gpu_total_gib": 79.15, "gpu_free_gib": 1.2, "peak_memory_gib": 77.9},
        ),
        ({"requested": "336.00 MiB"}, {"requested_gib": 0.328}),
        ({"requested": "6291456", "requested_unit": "bytes"}, {"requested_gib": 0.00586}),
        ({"requested": "6291456"}, {"requested_gib": 0.00586}),
        ({"requested": "1.5", "requested_unit": "GB"}, {"requested_gib": 1.5}),
        ({"requested": "1.5"}, {}),
        ({"requested": "many GiB", "total": ""}, {}),
        ({"requested": "3 parsecs"}, {}),
    ],
)
def test_memory_amounts(captures: dict[str, str], expected: dict[str, float]) -> None:
    assert memory_facts(captures) == expected


def test_ranks_know_the_world_better_than_the_launcher_before_them() -> None:
    launcher = stated("world", 0, world_size=1)
    ranks = [stated("world", 9, tags=Tags(rank=r), world_size=8) for r in range(2)]
    assert merged(launcher, *ranks) == {"world_size": 8}
    assert merged(launcher, ranks[0], stated("world", 12, tags=Tags(rank=3), world_size=4)) == {}


def test_what_mpirun_started_is_the_world_only_where_nothing_else_says() -> None:
    assert merged(stated("command", ntasks=8)) == {"world_size": 8}
    assert merged(stated("command", ntasks=2), stated("environment", nranks=16)) == {"world_size": 16}
    assert merged(stated("command", ntasks=2, tp=4)) == {"tp": 4}


def test_deepspeeds_replicas_are_the_world_only_without_model_parallelism() -> None:
    assert merged(stated("world", replicas=2)) == {"world_size": 2}
    assert merged(stated("world", replicas=1)) == {}
    assert merged(stated("world", replicas=2), stated("arguments", pp=4)) == {"pp": 4}
    assert merged(stated("world", replicas=2), stated("arguments", world_size=8)) == {"world_size": 8}
