"""Which number is a rank: tags, labels, names, pids, and what must not be guessed."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import (
    dist_backend,
    launcher_died,
    log,
    oom,
    prefixed,
    stamped,
    summary,
    tagged,
    trace,
    verdict,
)
from tests.support import Log
from triage.core.cause.verdict import Root
from triage.core.cause.where import World
from triage.core.logs.record import Tags
from triage.core.logs.source import Source

SOURCE = Source("a.log")
BAD_LUCK = "ValueError: bad luck"


def root(*logs: Log) -> Root:
    found = verdict(*logs).root
    assert found is not None
    return found


def who(found: Root) -> tuple[int | None, str]:
    return found.rank, found.attribution


def test_a_rank_tag_is_the_global_rank() -> None:
    assert who(root(log("t.log", tagged(13, trace(BAD_LUCK))))) == (13, "tag")


def test_a_line_without_any_sign_has_no_rank() -> None:
    found = root(log("t.log", trace(BAD_LUCK)))
    assert (who(found), found.ranks, found.local_rank) == ((None, "none"), "", None)


def test_a_rank_in_the_files_name_counts() -> None:
    assert who(root(log("rank_5.log", trace(BAD_LUCK)))) == (5, "file")


def test_a_tag_is_believed_over_the_files_name() -> None:
    assert who(root(log("rank_5.log", tagged(6, trace(BAD_LUCK))))) == (6, "tag")


def test_a_task_label_is_a_rank_where_ranks_and_tasks_agree() -> None:
    others = (prefixed(f"{n}: ", tagged(n, dist_backend())) for n in range(3))
    assert who(root(log("s.out", prefixed("3: ", trace(BAD_LUCK)), *others))) == (3, "tag")


def test_a_task_label_is_no_rank_where_one_task_runs_a_node() -> None:
    others = (prefixed(f"{n // 4}: ", tagged(n, dist_backend())) for n in range(8))
    assert who(root(log("s.out", *others, prefixed("1: ", trace(BAD_LUCK))))) == (None, "none")


def test_a_task_label_alone_proves_neither() -> None:
    assert who(root(log("s.out", prefixed("0: ", "hello there"), prefixed("1: ", trace(BAD_LUCK))))) == (
        None,
        "none",
    )


def test_a_local_rank_needs_the_base_that_the_nodes_summary_shows() -> None:
    found = root(
        log(
            "node-b.log", prefixed("[default2]:", trace(BAD_LUCK)),
            launcher_died((6, 1, 70), (4, -15, 68), (5, -15, 69), host="gpu2", per_node=4),
        )
    )  # fmt: skip
    assert (who(found), found.local_rank, found.node) == ((6, "tag"), 2, "gpu2")


def test_a_local_rank_without_a_base_is_no_global_rank() -> None:
    found = root(log("t.log", prefixed("[default2]:", trace(BAD_LUCK))))
    assert (who(found), found.local_rank) == ((None, "none"), 2)


def test_on_a_single_node_the_local_rank_is_the_rank() -> None:
    found = root(
        log(
            "t.log",
            "torchrun --nnodes=1 --nproc-per-node=4 pretrain.py",
            prefixed("[default2]:", trace(BAD_LUCK)),
        )
    )
    assert who(found) == (2, "tag")


@pytest.mark.parametrize(
    "named",
    [
        "[PG ID 3 PG GUID 3(TENSOR_MODEL_PARALLEL_GROUP) Rank 1]",
        "[PG ID 3 PG GUID 3(EXPERT_DATA_PARALLEL_GROUP) Rank 1]",
    ],
)
def test_a_position_in_a_group_is_no_global_rank(named: str) -> None:
    line = (
        f"[E1201 10:00:00.123456789 ProcessGroupNCCL.cpp:616] {named} Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600000 milliseconds before timing out."
    )
    found = verdict(log("t.log", line))
    assert found.root is not None
    assert found.root.rank is None
    assert {row.ranks for row in found.downstream} <= {""}


def test_a_kernel_line_is_about_the_rank_whose_process_it_names() -> None:
    killed = (
        "[12345.678901] Out of memory: Killed process 4242 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB,"
        " UID:0 pgtables:0kB oom_score_adj:0"
    )
    found = root(
        log("t.log", launcher_died((3, -9, 4242), (0, -15, 4239), host="node016")),
        log("dmesg-node016.log", killed),
    )
    assert (who(found), found.node) == ((3, "tag"), "node016")


def test_of_the_kernels_lines_about_one_kill_the_one_that_names_the_killed_speaks() -> None:
    asked = "[100.100001] other invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
    summed = "[100.100100] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/a,task=python,pid=411,uid=1000"
    killed = "[100.900000] Out of memory: Killed process 411 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0"
    spawned = [
        f"[2025-06-02 20:41:07,931] [INFO] [launch.py:256:main] process {410 + n} spawned with command: ['python', '-u', 'train.py',"
        f" '--local_rank={n}', '--deepspeed', 'z.json']"
        for n in range(3)
    ]
    nodes = "[2025-06-02 20:41:07,914] [INFO] [launch.py:152:main] nnodes=1, num_local_procs=3, node_rank=0"
    found = verdict(log("t.log", nodes, *spawned), log("dmesg.txt", asked, summed, killed))
    assert found.root is not None
    assert (found.rule, found.root.rank) == ("host-oom/kernel-oom-killer", 1)
    assert "Killed process 411" in found.root.message
    alone = verdict(log("t.log", nodes, *spawned), log("dmesg.txt", asked, summed))
    assert (alone.category, alone.root and alone.root.rank) in {("host-oom", 1), ("host-oom", None)}


def test_a_local_rank_of_one_of_several_nodes_is_no_global_rank() -> None:
    killed = "[100.900000] Out of memory: Killed process 411 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0"
    spawned = "[2025-06-02 20:41:07,931] [INFO] [launch.py:256:main] process 411 spawned with command: ['python', '--local_rank=1']"
    nodes = "[2025-06-02 20:41:07,914] [INFO] [launch.py:152:main] nnodes=2, num_local_procs=4, node_rank=1"
    assert root(log("t.log", nodes, spawned), log("dmesg.txt", killed)).rank is None


def test_a_message_that_names_its_own_rank_is_of_that_rank() -> None:
    said = "RuntimeError: Rank 5, node gpu2, device 1, iteration 7: Unexpected result nan (message='found NaN in local grad norm')"
    assert who(root(log("t.log", trace(said)))) == (5, "tag")
    assert (
        root(
            log("t.log", trace("AssertionError: Rank 3: found NaN in local grad norm in backward pass"))
        ).rank
        == 3
    )
    assert root(log("t.log", trace("AssertionError: DP rank 3: found NaN in local grad norm"))).rank is None
    assert (
        root(log("t.log", tagged(2, trace("AssertionError: Rank 3: found NaN in local grad norm")))).rank == 2
    )


def test_a_process_id_of_another_host_is_another_process() -> None:
    xid = "[12346.678901] NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, name=python, GPU has fallen off the bus."
    found = verdict(log("t.log", launcher_died((3, 1, 4242), host="node016")), log("dmesg-node017.log", xid))
    assert found.root is not None
    assert (found.category, found.root.rank, found.root.node) == ("hardware", None, "node017")


def test_the_gpu_of_an_out_of_memory_error_is_no_rank() -> None:
    found = root(log("t.log", oom(gpu=5)))
    assert (found.rank, found.gpu) == (None, 5)


def test_a_program_of_one_process_is_rank_0_by_inference() -> None:
    found = root(log("t.log", "using world size: 1, data-parallel size: 1", trace(BAD_LUCK)))
    assert who(found) == (0, "inferred")


def test_the_summary_places_a_tagged_rank_on_its_host() -> None:
    found = root(log("t.log", tagged(6, trace(BAD_LUCK)), launcher_died((6, 1, 70), host="gpu2", per_node=4)))
    assert (found.rank, found.node) == (6, "gpu2")


def test_an_untagged_traceback_gets_the_one_rank_that_its_launcher_saw_fail() -> None:
    found = root(log("t.log", stamped(0), trace(BAD_LUCK), launcher_died((2, 1, 70), (0, -15, 68))))
    assert who(found) == (2, "inferred")


def test_two_failed_ranks_leave_an_untagged_traceback_without_one() -> None:
    world = World()
    assert world.resolve(SOURCE, 0, Tags()).rank is None
    found = verdict(
        log("a.log", trace(BAD_LUCK)),
        log("b.log", launcher_died((2, 1, 70))),
        log("c.log", launcher_died((5, 1, 75))),
    )
    assert found.root is not None
    assert found.root.rank is None


def test_the_same_process_id_on_two_hosts_names_nobody() -> None:
    world = World(rank_on_host={("a", 7): 0, ("b", 7): 8})
    assert world.by_pid(7, None) is None
    assert world.by_pid(8, "a") is None
    placed = world.by_pid(7, "b")
    assert placed is not None
    assert placed.rank == 8


def test_a_group_position_is_a_rank_only_where_there_is_no_other_group() -> None:
    tags = Tags(group_rank=3)
    assert World(plain=True).resolve(SOURCE, 0, tags).rank == 3
    assert World(plain=False).resolve(SOURCE, 0, tags).rank is None


@pytest.mark.parametrize(("task_is_rank", "rank"), [(True, 3), (False, None), (None, None)])
def test_a_task_is_a_rank_only_where_that_is_known(task_is_rank: bool | None, rank: int | None) -> None:
    assert World(task_is_rank=task_is_rank).resolve(SOURCE, 0, Tags(task=3)).rank == rank


def test_a_task_per_node_with_a_local_rank_makes_a_rank() -> None:
    world = World(per_node=8, task_is_rank=False)
    assert world.resolve(SOURCE, 0, Tags(task=2, local_rank=3)).rank == 19


def test_a_local_rank_above_the_rank_gives_no_base() -> None:
    lines = prefixed("[default0]:", trace(BAD_LUCK))
    found = root(log("t.log", "[rank0]:[default3]: starting", lines))
    assert found.rank in (None, 0)


def test_a_gpu_that_the_launchers_first_failure_does_not_have_is_of_another_ones() -> None:
    """A label that names the first host on all nodes (`--role`) must not lead to that host's ranks."""
    found = root(
        log(
            "job.out",
            prefixed("[gpu1:1]:", oom(1)),
            summary((5, 1, 70), host="gpu2", per_node=4),
            summary((0, 1, 60), (1, 1, 61), (2, 1, 62), (3, 1, 63), host="gpu1", per_node=4, seconds=151),
        )
    )
    assert (found.rank, found.local_rank, found.node) == (5, 1, "gpu2")
