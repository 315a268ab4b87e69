"""Lines that say on which hosts a job runs."""

from __future__ import annotations

import pytest

from tests.core.events.lines import records
from triage.core.events.hosts import extract_hosts


def test_one_host_is_named_and_a_list_is_not_one_host() -> None:
    got = extract_hosts(records("Running on gpu-1\nSLURM_JOB_NODELIST=gpu[01-03]"), 0)
    assert [(e.values.get("host"), e.nodelist) for e in got] == [
        ("gpu-1", ()),
        (None, ("gpu01", "gpu02", "gpu03")),
    ]


def test_deepspeeds_mapping_gives_ranks_of_hosts_and_the_world() -> None:
    text = "global_rank_mapping=defaultdict(<class 'list'>, {'w-0': [0, 1], 'w-1': [2, 3]})"
    (got,) = extract_hosts(records(text), 0)
    assert got.placed == (("w-0", (0, 1)), ("w-1", (2, 3)))
    assert got.values == {"world_size": 4}


def test_mapping_with_holes_is_no_world() -> None:
    assert (
        extract_hosts(
            records("global_rank_mapping=defaultdict(<class 'list'>, {'w-0': [0, 1], 'w-1': [5]})"), 0
        )
        == []
    )


def test_prose_about_a_node_list_is_none() -> None:
    assert extract_hosts(records("the nodelist: is read from the file\nplaylist=a,b"), 0) == []


def test_a_process_is_named_with_its_local_rank_as_it_is_started() -> None:
    line = "[INFO] [launch.py:256:main] process 4123 spawned with command: ['python', '-u', 't.py', '--local_rank=3', '--x', '1']"
    (got,) = extract_hosts(records(line), 0)
    assert got.values == {"pid": 4123, "local_rank": 3}
    assert extract_hosts(records("process 4123 spawned with command: ['python', '-u', 't.py']"), 0) == []


@pytest.mark.parametrize(
    "torn", ["{'n1': [0, 1 2]}", "{'n1': [0, 1], 'n2': [2 3]}", "{'n1': [0, 1], 'n2': [2, ]}"]
)
def test_a_mapping_that_lost_a_comma_is_no_world(torn: str) -> None:
    assert extract_hosts(records(f"global_rank_mapping=defaultdict(<class 'list'>, {torn})"), 0) == []
