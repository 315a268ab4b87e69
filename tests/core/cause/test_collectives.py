"""Who let a collective fail: the general situations, on lines as torch prints them, each with its trap."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping

import pytest

from triage.core.cause.collectives import find_culprit
from triage.core.cause.groups import Sizes
from triage.core.cause.situation import Culprit, RankError, RankExit, Seen, Situation
from triage.core.events.collectives import extract_collectives
from triage.core.logs.record import Record, Tags

TP = "TENSOR_MODEL_PARALLEL_GROUP"
DP = "DATA_PARALLEL_GROUP_WITH_CP"
PP = "PIPELINE_MODEL_PARALLEL_GROUP"


def seen(
    text: str,
    rank: int | None = None,
    node: str | None = None,
    at: float | None = None,
    pid: int | None = None,
) -> list[Seen]:
    records, offset = [], 0
    for line in text.split("\n"):
        records.append(Record(offset, offset + len(line), line, Tags(rank=rank, node=node, pid=pid)))
        offset += len(line) + 1
    return [Seen(e, rank, node, at) for e in extract_collectives(records, rank or 0)[0]]


def timeout(
    rank: int, group: str, position: int, seq: int = 10, op: str = "ALLREDUCE", numel: int = 8, at: float = 1000.0,
    enqueued: int | None = None, node: str | None = None,
) -> list[Seen]:  # fmt: skip
    """What a rank's watchdog prints: first without a group, then with it."""
    return seen(
        f"[Rank {position}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op},"
        f" NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n"
        f"[PG ID 1 PG GUID {group} Rank {position}]  failure detected by watchdog at work sequence id: {seq} PG status:"
        f" last enqueued work: {enqueued or seq}, last completed work: {seq - 1}",
        rank, node, at,
    )  # fmt: skip


def dump(rank: int, group: str, position: int, enqueued: int, completed: int) -> list[Seen]:
    """What a rank prints that is told to dump because another one timed out."""
    return seen(
        f"[PG ID 1 PG GUID {group} Rank {position}] Received a dump signal due to a collective timeout from  rank 0 and we will"
        f" try our best. Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.",
        rank,
    )


def flat(parts: Iterable[list[Seen]]) -> list[Seen]:
    return [s for part in parts for s in part]


def job(
    world: int | None, hosts: Mapping[int, str | None] | None = None, *, per_node: int | None = None, tp: int | None = None,
    cp: int | None = None, pp: int | None = None, ep: int | None = None, exits: tuple[RankExit, ...] = (),
    errors: tuple[RankError, ...] = (), nodes: tuple[str, ...] = (), logged: Iterable[int] = (),
) -> Situation:  # fmt: skip
    return Situation(
        Sizes(world, tp, cp, pp, None, ep), per_node, hosts or {}, nodes, frozenset(logged), errors, exits,
    )  # fmt: skip


def all_hosts(world: int, per_node: int, missing: Iterable[int] = ()) -> dict[int, str | None]:
    return {r: f"n{r // per_node}" for r in range(world) if r not in set(missing)}


def nobody(c: Culprit) -> bool:
    return c.ranks == () and c.nodes == () and c.how == "none" and not c.confident and c.unknown != ""


DEFAULT = "0(default_pg)"


def test_one_stopped_rank_is_the_only_one_that_reports_nothing() -> None:
    events = flat(timeout(r, DEFAULT, r, at=1000.0 + r) for r in range(8) if r != 5)
    c = find_culprit(events, job(8, all_hosts(8, 8)))
    assert (c.ranks, c.nodes, c.how, c.confident) == ((5,), ("n0",), "absent", True)
    assert c.began == pytest.approx(400.0)


def test_a_rank_without_any_log_is_named_without_confidence() -> None:
    events = flat(timeout(r, DEFAULT, r) for r in range(8) if r != 5)
    c = find_culprit(events, job(8, {r: "n0" for r in range(8) if r != 5}))
    assert (c.ranks, c.confident) == ((5,), False)
    assert "rank 5" in c.unknown


def test_ranks_of_a_whole_missing_log_are_no_culprits() -> None:
    events = flat(timeout(r, DEFAULT, r) for r in range(8))
    assert nobody(find_culprit(events, job(16, dict.fromkeys(range(8), "n0"), per_node=8)))


def test_of_silent_ranks_the_one_with_a_log_is_suspect() -> None:
    events = flat(timeout(r, DEFAULT, r) for r in range(8) if r != 3)
    c = find_culprit(events, job(16, dict.fromkeys(range(8), "n0"), per_node=8))
    assert (c.ranks, c.confident) == ((3,), False)


def test_tensor_parallel_member_hung_while_data_parallel_peers_time_out_too() -> None:
    """Positions repeat between groups, and the first node's ranks wait for healthy peers that wait themselves."""
    first = flat(timeout(r, f"{r + 1}({DP})", 0, 199, at=1010.0) for r in range(8))
    second = flat(timeout(r, f"10({TP})", r - 8, 18402, "_ALLGATHER_BASE") for r in range(8, 16) if r != 11)
    for tp in (None, 8):
        c = find_culprit(first + second, job(16, all_hosts(16, 8, [11]), per_node=8, logged=range(16), tp=tp))
        assert (c.ranks, c.nodes) == ((11,), ("n1",)), tp
    assert c.confident


def test_pipeline_stage_hung_and_other_stages_time_out_in_other_groups() -> None:
    """TP2 PP4 DP1: rank 4 (stage 2) hangs; its TP peer waits for it, its PP column waits for a stage, others for those."""
    events = timeout(5, f"3({TP})", 1, 77, "_ALLGATHER_BASE")
    events += flat(timeout(r, f"5({PP})", r // 2, 900 + r, "RECV") for r in (0, 2, 6))
    events += flat(timeout(r, f"6({PP})", r // 2, 950 + r, "RECV") for r in (1, 3, 7))
    c = find_culprit(events, job(8, all_hosts(8, 8), tp=2, pp=4))
    assert (c.ranks, c.how, c.confident) == ((4,), "absent", True)


def test_expert_parallel_member_hung() -> None:
    """EP4 in a world of 8: rank 6 never enters the all-to-all, the attention's DP group waits as well."""
    events = flat(
        timeout(r, "30(EXPERT_MODEL_PARALLEL_GROUP)", r - 4, 41, "ALLTOALL_BASE", numel=r) for r in (4, 5, 7)
    )
    events += flat(timeout(r, f"9({DP})", r, 12, at=1005.0) for r in range(4))
    c = find_culprit(events, job(8, all_hosts(8, 8), tp=1, ep=4, pp=1))
    assert c.ranks == (6,)


def test_context_parallel_member_hung_where_two_groups_have_equal_positions() -> None:
    """TP2 CP2 DP2: CP groups (0,2) (1,3) (4,6) (5,7); rank 6 is gone, 4 waits for it in CP, 7 in TP."""
    events = timeout(4, "21(CONTEXT_PARALLEL_GROUP)", 0, 5, "ALLTOALL_BASE") + timeout(7, f"12({TP})", 1, 8)
    events += timeout(5, f"11({TP})", 1, 8, at=1001.0)
    events += flat(timeout(r, f"{31 + r % 2}({DP})", r // 2, 3, at=1004.0) for r in range(4))
    c = find_culprit(events, job(8, all_hosts(8, 8), tp=2, cp=2, pp=1))
    assert c.ranks == (6,)


def test_a_layout_that_contradicts_the_printed_positions_is_not_used() -> None:
    events = flat(timeout(r, f"10({TP})", r // 4, 5) for r in (0, 4))
    c = find_culprit(events, job(8, all_hosts(8, 8), tp=2))
    assert c.ranks == ()


def test_a_skipped_collective_leaves_its_rank_behind() -> None:
    events = flat(timeout(r, DEFAULT, r, 100) for r in range(4) if r != 2) + dump(2, DEFAULT, 2, 99, 99)
    c = find_culprit(events, job(4, all_hosts(4, 4), tp=1))
    assert (c.ranks, c.how, c.confident) == ((2,), "behind", True)


def test_the_rank_that_times_out_first_at_a_lower_number_is_behind() -> None:
    events = timeout(1, DEFAULT, 1, 99, at=990.0) + flat(timeout(r, DEFAULT, r, 100) for r in (0, 2, 3))
    c = find_culprit(events, job(4, all_hosts(4, 4)))
    assert (c.ranks, c.how) == ((1,), "behind")
    assert c.began == pytest.approx(390.0)


def test_a_collective_of_another_kind_at_the_same_number() -> None:
    events = flat(timeout(r, DEFAULT, r, 50, "BROADCAST" if r == 3 else "ALLREDUCE") for r in range(4))
    c = find_culprit(events, job(4, all_hosts(4, 4)))
    assert (c.ranks, c.how, c.confident) == ((3,), "other-collective", True)


def test_a_collective_of_another_size_at_the_same_number() -> None:
    events = flat(timeout(r, DEFAULT, r, 50, numel=7 if r == 2 else 8) for r in range(4))
    assert find_culprit(events, job(4, all_hosts(4, 4))).ranks == (2,)


def test_uneven_all_to_all_sizes_are_no_mismatch() -> None:
    events = flat(timeout(r, DEFAULT, r, 50, "ALLTOALL_BASE", numel=7 if r == 2 else 8) for r in range(4))
    c = find_culprit(events, job(4, all_hosts(4, 4)))
    assert nobody(c)
    assert "transport" in c.unknown


def test_of_two_ranks_in_different_collectives_neither_is_blamed() -> None:
    events = flat(timeout(r, DEFAULT, r, 50, "BROADCAST" if r else "ALLREDUCE") for r in range(2))
    c = find_culprit(events, job(2, all_hosts(2, 2)))
    assert nobody(c)
    assert "BROADCAST" in c.unknown


def test_halves_in_different_collectives_are_not_decided() -> None:
    events = flat(timeout(r, DEFAULT, r, 50, "BROADCAST" if r < 2 else "ALLREDUCE") for r in range(4))
    assert nobody(find_culprit(events, job(4, all_hosts(4, 4))))


def test_one_rank_ahead_of_all_others_is_odd_but_not_surely_wrong() -> None:
    events = timeout(0, DEFAULT, 0, 11) + flat(dump(r, DEFAULT, r, 10, 10) for r in range(1, 4))
    c = find_culprit(events, job(4, all_hosts(4, 4)))
    assert (c.ranks, c.how, c.confident) == ((0,), "other-collective", False)
    assert c.unknown


def test_network_partition_all_members_wait_in_the_same_collective() -> None:
    events = flat(timeout(r, DEFAULT, r, 50, node=f"n{r // 4}") for r in range(8))
    assert nobody(find_culprit(events, job(8, all_hosts(8, 4))))


def test_waits_in_a_circle_are_said_and_nobody_is_blamed() -> None:
    """Two ranks entered two groups in opposite order."""
    events = timeout(0, "5:a(A)", 0, 3) + timeout(1, "6:b(B)", 1, 3)
    events += seen("[PG ID 1 PG GUID 5:a(A) Rank 1]  using GPU 1", 1) + seen(
        "[PG ID 2 PG GUID 6:b(B) Rank 0]  using GPU 0", 0
    )
    c = find_culprit(events, job(2, all_hosts(2, 2)))
    assert nobody(c)
    assert "circle" in c.unknown


def closed(
    rank: int | None, peer: str = "127.0.0.1", node: str | None = None, at: float | None = None
) -> list[Seen]:
    return seen(
        f"RuntimeError: [/gloo/tcp/pair.cc:553] Connection closed by peer [{peer}]:{4000 + (rank or 0)}. This is",
        rank,
        node,
        at,
    )


def lost(rank: int | None, peer: str, node: str, at: float | None = None) -> list[Seen]:
    return seen(f"socketProgress: Connection closed by remote peer {peer}<32926>", rank, node, at)


def test_a_killed_rank_beats_the_victims_that_complain() -> None:
    exits = (
        RankExit(3, -9, "n0", first=True), RankExit(0, -15, "n0", victim=True), RankExit(1, -15, "n0", victim=True),
        RankExit(2, -15, "n0", victim=True),
    )  # fmt: skip
    c = find_culprit(closed(1) + closed(2), job(4, all_hosts(4, 4), exits=exits))
    assert (c.ranks, c.nodes, c.how, c.confident) == ((3,), ("n0",), "first-exit", True)


def test_first_observed_failure_that_complains_itself_is_a_victim() -> None:
    """The launcher's root cause is a rank that only lost its peer; the peer left with status 0 and is in no list."""
    exits = tuple(RankExit(r, 1, "n0", first=r == 0) for r in (0, 1, 3))
    c = find_culprit(flat(closed(r) for r in (3, 0, 1)), job(4, {}, exits=exits, logged=range(4), tp=2))
    assert (c.ranks, c.how, c.confident) == ((2,), "absent", True)


def test_a_gap_in_the_ranks_is_found_without_a_world_size_but_not_surely() -> None:
    exits = tuple(RankExit(r, 1, "n0") for r in (0, 1, 3))
    c = find_culprit(flat(closed(r) for r in (3, 0, 1)), job(None, {}, exits=exits))
    assert (c.ranks, c.confident) == ((2,), False)


def test_a_rank_that_was_asked_to_end_was_not_gone() -> None:
    exits = (RankExit(2, -15, "n0", victim=True),)
    c = find_culprit(flat(closed(r) for r in (0, 1, 3)), job(4, all_hosts(4, 4), exits=exits))
    assert nobody(c)


def test_gloo_time_outs_point_to_the_silent_rank_even_when_it_was_then_asked_to_end() -> None:
    errors = tuple(RankError(r, "timeout") for r in (0, 2, 3))
    exits = (
        *tuple(RankExit(r, 1, "n0", first=r == 0) for r in (0, 2, 3)),
        RankExit(1, -15, "n0", victim=True),
    )
    c = find_culprit([], job(4, all_hosts(4, 4), errors=errors, exits=exits, tp=2))
    assert (c.ranks, c.how, c.confident) == ((1,), "absent", True)


def test_where_all_time_out_the_one_in_another_collective_is_to_blame_but_not_for_certain() -> None:
    calls = {0: "all_reduce", 1: "barrier", 2: "all_reduce", 3: "all_reduce"}
    errors = tuple(RankError(r, "timeout", call=call) for r, call in calls.items())
    c = find_culprit([], job(4, all_hosts(4, 4), errors=errors))
    assert (c.ranks, c.how, c.confident) == ((1,), "other-collective", False)
    assert "rank 1 waited in barrier where ranks 0,2-3 waited in all_reduce" in c.why
    assert nobody(find_culprit([], job(4, all_hosts(4, 4), errors=errors, pp=2)))


def test_of_two_ranks_in_different_collectives_neither_is_to_blame() -> None:
    errors = (RankError(0, "timeout", call="all_reduce"), RankError(1, "timeout", call="barrier"))
    c = find_culprit([], job(2, all_hosts(2, 2), errors=errors))
    assert nobody(c)
    assert "all_reduce on rank 0 and barrier on rank 1" in c.unknown


def test_time_outs_mixed_with_lost_connections_lower_the_confidence() -> None:
    errors = (RankError(0, "timeout"), RankError(2, "closed"), RankError(3, "closed"))
    c = find_culprit([], job(4, all_hosts(4, 4), errors=errors))
    assert (c.ranks, c.confident) == ((1,), False)


def test_complaints_without_a_writer_forbid_to_count_who_is_missing() -> None:
    events = flat(closed(r) for r in (0, 1)) + closed(None, "10.9.9.9") + closed(None, "10.9.9.8")
    assert nobody(find_culprit(events, job(3, all_hosts(3, 3))))


def test_unranked_repeats_of_known_complaints_do_not_count() -> None:
    events = flat(closed(r) for r in (0, 1)) + [Seen(s.event, None, None) for r in (0, 1) for s in closed(r)]
    assert find_culprit(events, job(3, all_hosts(3, 3))).ranks == (2,)


def test_exit_code_1_names_nobody_while_it_is_unclear_who_complained() -> None:
    exits = (RankExit(0, 1, "n0", first=True),)
    assert nobody(find_culprit(lost(None, "10.0.0.9", "n0"), job(4, all_hosts(4, 4), exits=exits)))


def test_two_ranks_killed_at_once_are_not_told_apart() -> None:
    exits = (RankExit(1, -9, "n0", time=50.0), RankExit(2, -9, "n0", time=50.0))
    c = find_culprit(closed(0), job(4, all_hosts(4, 4), exits=exits))
    assert nobody(c)


def test_of_two_killed_ranks_the_clearly_earlier_one() -> None:
    exits = (RankExit(1, -9, "n0", time=80.0), RankExit(2, -9, "n0", time=50.0))
    c = find_culprit(closed(0), job(4, all_hosts(4, 4), exits=exits))
    assert (c.ranks, c.began) == ((2,), 50.0)


def test_stuck_process_among_several_silent_ones() -> None:
    """The agent killed the others before their watchdogs spoke; only one did not end on SIGTERM."""
    events = timeout(8, f"10({TP})", 0)
    exits = tuple(RankExit(r, -15, "n1", victim=True) for r in range(9, 16) if r != 11)
    exits += (RankExit(11, -9, "n1", victim=True, stuck=True),)
    c = find_culprit(events, job(16, all_hosts(16, 8), per_node=8, tp=8, exits=exits))
    assert c.ranks == (11,)


def test_first_to_time_out_and_no_other_hint_is_not_decided() -> None:
    exits = tuple(RankExit(r, -15, "n1", victim=True) for r in range(9, 16))
    c = find_culprit(timeout(8, f"10({TP})", 0), job(16, all_hosts(16, 8), per_node=8, tp=8, exits=exits))
    assert c.ranks == ()


def test_a_node_vanished_its_files_just_stop() -> None:
    exits = (RankExit(1, 1, "node-a", first=True), RankExit(0, -15, "node-a", victim=True))
    events = closed(1, node="node-a") + closed(0, node="node-a")
    c = find_culprit(
        events, job(4, {0: "node-a", 1: "node-a"}, per_node=2, nodes=("node-a", "node-b"), exits=exits)
    )
    assert (c.ranks, c.nodes, c.how) == ((), ("node-b",), "absent")


def test_of_two_quiet_nodes_none_is_named() -> None:
    c = find_culprit(closed(1, node="a"), job(6, {0: "a", 1: "a"}, per_node=2, nodes=("a", "b", "c")))
    assert c.nodes == ()


def test_peer_named_by_nccl_is_a_host_of_the_job_despite_its_domain() -> None:
    events = lost(1, "ip-10-31-45-209.eu-west-9.compute.internal", "ip-10-31-44-17")
    hosts = {0: "ip-10-31-45-209", 1: "ip-10-31-44-17"}
    c = find_culprit(events, job(2, hosts, per_node=1, nodes=tuple(hosts.values())))
    assert (c.ranks, c.nodes, c.how, c.confident) == ((0,), ("ip-10-31-45-209",), "named", True)


def test_the_lost_hosts_rank_is_the_one_that_is_left() -> None:
    """Nothing ties a rank to the lost host but that all other ranks are elsewhere."""
    situation = job(None, {1: "b"}, per_node=1, nodes=("a", "b"))
    assert find_culprit(lost(1, "a", "b"), situation).ranks == (0,)
    two_free = job(None, {1: "b"}, per_node=1, nodes=("a", "b", "c"))
    assert find_culprit(lost(1, "a", "b"), two_free).ranks == ()


def test_peer_address_is_mapped_by_the_hosts_own_line() -> None:
    events = seen("NCCL INFO Bootstrap : Using ib0:10.6.13.83<0>", node="n1") + lost(0, "10.6.13.83", "n0")
    c = find_culprit(events, job(4, all_hosts(4, 2), per_node=2, nodes=("n0", "n1")))
    assert (c.nodes, c.ranks) == (("n1",), ())


def test_peer_address_of_no_known_host_is_told_but_not_guessed() -> None:
    text = "NET/IB : Got completion from peer 10.6.13.83<36315> with status=12 opcode=1 len=0 vendor err 129"
    c = find_culprit(
        seen(text, 12, "n1"), job(16, dict.fromkeys(range(8, 16), "n1"), per_node=8, tp=4, nodes=("n1",))
    )
    assert nobody(c)
    assert c.peers == ("10.6.13.83",)


def test_the_only_other_host_is_not_guessed_from_no_route_to_host() -> None:
    text = "NCCL WARN Net : Connect to 192.168.40.9<54263> failed : No route to host"
    c = find_culprit(
        seen(text, None, "pt-3"), job(4, {0: "pt-3", 2: "pt-4"}, per_node=2, nodes=("pt-3", "pt-4"))
    )
    assert nobody(c)


def test_two_hosts_that_lost_each_other_at_once() -> None:
    events = lost(0, "n1", "n0", 10.0) + lost(2, "n0", "n1", 10.5)
    c = find_culprit(events, job(4, all_hosts(4, 2), per_node=2, nodes=("n0", "n1")))
    assert nobody(c)


def test_the_host_that_all_others_lost() -> None:
    events = lost(0, "n2", "n0") + lost(2, "n2", "n1") + lost(4, "n0", "n2") + lost(5, "n1", "n2")
    c = find_culprit(events, job(6, all_hosts(6, 2), per_node=2, nodes=("n0", "n1", "n2")))
    assert (c.nodes, c.how) == (("n2",), "named")


def test_a_victim_that_goes_down_later_loses_peers_too() -> None:
    events = lost(0, "n1", "n0", 10.0) + lost(4, "n0", "n2", 20.0)
    c = find_culprit(events, job(6, all_hosts(6, 2), per_node=2, nodes=("n0", "n1", "n2")))
    assert c.nodes == ("n1",)


def test_the_watchdog_with_a_cuda_error_is_not_a_victim_of_the_remote_error() -> None:
    where = "Process group watchdog thread terminated with exception: "
    events = seen(
        f"[PG ID 6 PG GUID 41({PP}) Rank 1] {where}CUDA error: an illegal memory access was encountered",
        8,
        "b",
    )
    events += flat(
        seen(f"[PG ID 6 PG GUID {41 + r}({PP}) Rank 0] {where}NCCL error: remote process exited", r, "a")
        + lost(r, "b", "a")
        for r in (0, 3, 5)
    )
    c = find_culprit(events, job(16, {0: "a", 8: "b"}, per_node=8, tp=8, pp=2, nodes=("a", "b")))
    assert (c.ranks, c.nodes, c.how, c.confident) == ((8,), ("b",), "named", True)


def test_an_own_error_among_complaints() -> None:
    errors = (RankError(2, "own"), *(RankError(r, "closed") for r in (0, 1)))
    assert find_culprit([], job(8, all_hosts(8, 8), errors=errors)).ranks == (2,)


def test_complaints_of_unknown_wording_do_not_make_their_rank_the_culprit() -> None:
    assert (
        find_culprit(
            [], job(8, all_hosts(8, 8), errors=(RankError(2, "other"), RankError(3, "closed")))
        ).ranks
        == ()
    )


def test_lines_without_a_group_in_a_data_parallel_job() -> None:
    """torch up to 2.1: `[Rank k]` is a position, and with no model parallelism also the rank."""
    events = flat(
        seen(f"[Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, TensorShape=[1],"
             " Timeout(ms)=1800000) ran for 1800100 milliseconds before timing out.")
        for r in (0, 1, 3)
    )  # fmt: skip
    assert find_culprit(events, job(4, all_hosts(4, 4), tp=1)).ranks == (2,)
    assert find_culprit(events, job(8, all_hosts(8, 8), tp=4)).ranks == ()


def test_monitored_barrier_names_the_missing_rank() -> None:
    c = find_culprit(
        seen("[Rank 0]: Ranks 5 failed to pass monitoredBarrier in 2000 ms", 0), job(8, all_hosts(8, 8))
    )
    assert (c.ranks, c.how, c.confident) == ((5,), "absent", True)


def test_monitored_barrier_that_stopped_at_the_first_missing_rank_is_not_sure() -> None:
    c = find_culprit(
        seen("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms", 0), job(8, all_hosts(8, 8))
    )
    assert (c.ranks, c.confident) == ((1,), False)


def test_monitored_barrier_of_a_subgroup_is_not_read_as_ranks() -> None:
    c = find_culprit(
        seen("[Rank 0]: Ranks 1 failed to pass monitoredBarrier in 9 ms", 4), job(8, all_hosts(8, 8), tp=4)
    )
    assert 1 not in c.ranks


def fingerprint(rank: int, op: str, other: int, other_op: str) -> list[Seen]:
    return seen(
        f"RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running collective:"
        f" CollectiveFingerPrint(SequenceNumber=5, OpType={op}, TensorShape=[4], TensorDtypes=Float), but Rank {other} is"
        f" running collective: CollectiveFingerPrint(SequenceNumber=5, OpType={other_op}, TensorShape=[4]).",
        rank,
    )


def test_fingerprints_are_decided_by_majority_only() -> None:
    events = fingerprint(0, "ALLREDUCE", 2, "BARRIER") + fingerprint(1, "ALLREDUCE", 2, "BARRIER")
    events += fingerprint(2, "BARRIER", 0, "ALLREDUCE")
    assert find_culprit(events, job(4, all_hosts(4, 4))).ranks == (2,)
    assert nobody(find_culprit(fingerprint(0, "ALLREDUCE", 1, "BARRIER"), job(2, all_hosts(2, 2))))


def test_desync_report_positions_become_ranks_of_the_group() -> None:
    text = (
        f"[PG ID 2 PG GUID 10({TP}) Rank 0] \n\t - [0] Timeout at collective: ALLREDUCE, #6\n\t - To our best knowledge, the"
        " lagging/dead/mismatched ranks that caused the desync are:\n\t     [3] finished collective #5, but didn't join"
        " collective #6 (count from 1)\n\t - Snapshot of ranks' latest states:\n\t   #5 finished ranks:\n\t     [3] finished"
        " ALLREDUCE\n\t   #6 started ranks:\n\t     [0, 1, 2] started ALLREDUCE"
    )
    group = f"[PG ID 2 PG GUID 10({TP}) Rank 0]  using GPU"
    c = find_culprit(seen(group, 8) + seen(text, 8), job(16, all_hosts(16, 8), per_node=8, tp=4))
    assert (c.ranks, c.nodes, c.how) == ((11,), ("n1",), "behind")


def test_fr_trace_that_blames_all_but_one_blames_that_one_without_confidence() -> None:
    text = (
        "Collective sequence number: 9 has errors\nexpected ranks: {0, 1, 2, 3}\nerror msg: Culprit rank 1; Error type: X, ,"
        " Culprit rank 2; Error type: X, , Culprit rank 3; Error type: X"
    )
    c = find_culprit(seen(text), job(4, all_hosts(4, 4)))
    assert (c.ranks, c.how, c.confident) == ((0,), "other-collective", False)


def test_unique_id_that_rank_0_never_published() -> None:
    text = (
        "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but"
        " store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0"
    )
    c = find_culprit(seen(text, 3), job(4, all_hosts(4, 4)))
    assert (c.ranks, c.how) == ((0,), "absent")


def test_clients_that_never_joined_are_not_guessed() -> None:
    text = "DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined."
    assert nobody(find_culprit(seen(text, None, "node-a"), job(2, {}, nodes=("node-a",))))


def heartbeat(rank: int, node: str) -> list[Seen]:
    return seen(
        f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] ProcessGroupNCCL's watchdog got stuck for 480 seconds",
        rank,
        node,
    )


def test_stuck_watchdogs_on_all_ranks_of_one_host_name_the_host_only() -> None:
    c = find_culprit(flat(heartbeat(r, "n0") for r in range(8)), job(8, all_hosts(8, 8)))
    assert (c.ranks, c.nodes, c.confident) == ((), ("n0",), False)
    assert find_culprit(heartbeat(3, "n0"), job(8, all_hosts(8, 8))).ranks == (3,)


def test_nothing_said_is_nobody() -> None:
    assert nobody(find_culprit([], Situation()))


def test_order_of_the_files_does_not_matter() -> None:
    parts = [timeout(r, f"{r + 1}({DP})", 0, 199, at=1010.0) for r in range(8)]
    parts += [timeout(r, f"10({TP})", r - 8, 18402, "_ALLGATHER_BASE") for r in range(8, 16) if r != 11]
    rng = random.Random(4)
    situation = job(16, all_hosts(16, 8), per_node=8, tp=8)
    expected = find_culprit(flat(parts), situation)
    for _ in range(10):
        rng.shuffle(parts)
        assert find_culprit(flat(parts), situation) == expected


def test_thousands_of_ranks_take_linear_time() -> None:
    events = flat(timeout(r, DEFAULT, r) for r in range(4096) if r % 1024 != 7)
    start = time.process_time()
    find_culprit(events, job(4096, all_hosts(4096, 8), per_node=8))
    assert time.process_time() - start < 6


def test_contradictory_hostile_numbers_do_not_break_it() -> None:
    rng = random.Random(1)
    events = flat(
        timeout(
            rng.randrange(10**8),
            rng.choice([DEFAULT, f"3({TP})", f"#4({PP})"]),
            rng.randrange(10**8),
            rng.randrange(10**18),
        )
        for _ in range(300)
    )
    find_culprit(events, job(10**9, {}, per_node=10**6, tp=10**6, pp=7, cp=3))
    find_culprit(events, job(None, {}))


def test_two_ranks_in_two_collectives_at_two_numbers_are_both_named_and_none_is_blamed() -> None:
    """Each waits for the other one: the lower number alone does not tell who left the common order."""
    group = "0(default_pg)"
    lines = [
        *timeout(0, group, 0, 122, "_REDUCE_SCATTER_BASE"),
        *timeout(1, group, 1, 126, "_ALLGATHER_BASE"),
    ]
    found = find_culprit(lines, Situation(sizes=Sizes(world=2)))
    assert (found.how, found.ranks) == ("none", ())
    assert "_REDUCE_SCATTER_BASE #122 on rank 0" in found.unknown
    assert "_ALLGATHER_BASE #126 on rank 1" in found.unknown


def test_in_one_kind_of_collective_the_lower_number_is_behind() -> None:
    group = "0(default_pg)"
    found = find_culprit(
        [*timeout(0, group, 0, 122), *timeout(1, group, 1, 126)], Situation(sizes=Sizes(world=2))
    )
    assert found.ranks == (0,)
