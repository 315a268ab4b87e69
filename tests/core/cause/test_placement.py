"""Hosts of ranks and tasks, from the job's own account of them."""

from __future__ import annotations

from tests.core.events.lines import records
from triage.core.cause.placement import build_world
from triage.core.cause.where import World
from triage.core.events.exits import extract_exits
from triage.core.events.hosts import extract_hosts
from triage.core.events.model import Event
from triage.core.logs.record import NO_TAGS, Tags
from triage.core.logs.source import Source

SOURCES = [Source("job.out")]


def world(text: str, size: int | None = None, tags: Tags = NO_TAGS) -> World:
    lines = records(text, tags)
    exits, _ = extract_exits(lines, 0)
    events: list[Event] = [*exits, *extract_hosts(lines, 0)]
    return build_world(SOURCES, events, {"world_size": size})


ONE_TASK_A_NODE = (
    "srun: error: n2: task 2: Exited with exit code 1\nsrun: error: n[0-1,3]: tasks 0-1,3: Terminated"
)


def test_one_task_a_node_places_the_ranks_of_a_larger_world() -> None:
    got = world(ONE_TASK_A_NODE, 16)
    assert (got.nodes, got.per_node, got.task_is_rank) == (4, 4, False)
    assert got.resolve(SOURCES[0], 0, Tags(rank=9)).node == "n2"


def test_missing_tasks_or_shared_hosts_prove_no_order() -> None:
    assert world(ONE_TASK_A_NODE.replace("[0-1,3]", "[0-1]").replace("0-1,3:", "0-1:"), 16).per_node is None
    shared = "srun: error: n1: task 2: Exited with exit code 1\nsrun: error: n[0-1]: tasks 0-1: Terminated"
    assert world(shared, 12).per_node is None


def test_first_host_is_that_of_the_first_failed_task_not_of_the_terminated() -> None:
    text = "srun: error: n0: task 0: Terminated\nsrun: error: n5: task 5: Exited with exit code 1\n" + (
        "srun: error: n7: task 7: Exited with exit code 1"
    )
    assert world(text).first_host == "n5"
    assert world("srun: error: n[1-2]: tasks 1-2: Exited with exit code 1").first_host is None
    assert world("srun: error: n1: task 1: Out Of Memory\nsrun: error: n2: task 2: Killed").first_host == "n1"


def test_deepspeeds_mapping_places_ranks() -> None:
    got = world("global_rank_mapping=defaultdict(<class 'list'>, {'w-0': [0, 1], 'w-1': [2, 3]})")
    assert (got.host_of[3], got.offset_of_host["w-1"]) == ("w-1", 2)


def test_host_said_behind_a_label_is_that_ranks_host() -> None:
    assert world("hostname: gpu7", tags=Tags(rank=3)).host_of == {3: "gpu7"}
    assert world("hostname: gpu7", tags=Tags(task=1)).host_of_task == {1: "gpu7"}
