"""Collective lines of torch, NCCL, gloo and the store, each as some version prints it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.core.events.collectives import MAX_EVENTS, collectives_in, extract_collectives
from triage.core.events.model import Collective, Event, Span
from triage.core.logs.record import Record, Tags

WORK = "WorkNCCL(SeqNum=21, OpType=ALLREDUCE, NumelIn=8, NumelOut=9, Timeout(ms)=600000)"


def records(text: str, **tags: int | str) -> list[Record]:
    found, offset = [], 0
    for line in text.split("\n"):
        found.append(Record(offset, offset + len(line), line, Tags(**tags)))  # type: ignore[arg-type]
        offset += len(line) + 1
    return found


def extract(text: str, **tags: int | str) -> list[Collective]:
    return extract_collectives(records(text, **tags), 7)[0]


def one(text: str, **tags: int | str) -> Collective:
    events = extract(text, **tags)
    assert len(events) == 1, events
    return events[0]


def test_watchdog_timeout_with_numel() -> None:
    e = one(
        f"[Rank 2] Watchdog caught collective operation timeout: {WORK} ran for 600024 milliseconds before timing out."
    )
    assert (e.what, e.op, e.seq, e.numel_in, e.numel_out) == ("timeout", "ALLREDUCE", 21, 8, 9)
    assert (e.timeout_ms, e.ran_ms, e.group, e.group_rank) == (600000, 600024, "", 2)
    assert e.span == Span(7, 0, e.span.last)


def test_watchdog_timeout_of_torch_1_has_no_sequence_number() -> None:
    e = one(
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, TensorShape=[1, 2],"
        " Timeout(ms)=1800000) ran for 1807400 milliseconds before timing out."
    )
    assert (e.what, e.op, e.seq, e.shape, e.ran_ms) == ("timeout", "BROADCAST", None, "[1, 2]", 1807400)


def test_timeout_repeated_by_the_watchdog_thread_gains_the_group() -> None:
    e = one(
        "[PG ID 2 PG GUID 10(TENSOR_MODEL_PARALLEL_GROUP) Rank 4] Process group watchdog thread terminated with exception:"
        f" [Rank 4] Watchdog caught collective operation timeout: {WORK} ran for 5 milliseconds before timing out."
    )
    assert (e.what, e.group, e.group_rank, e.seq) == ("timeout", "10:TENSOR_MODEL_PARALLEL_GROUP", 4, 21)


@pytest.mark.parametrize(
    "text",
    [
        "[PG ID 2 PG GUID 10(TP) Rank 4] Timeout at NCCL work: 18402, last enqueued NCCL work: 18403, last completed NCCL work: 18401.",
        "[PG ID 2 PG GUID 10(TP) Rank 4] Exception (either an error or timeout) detected by watchdog at work: 18402, last enqueued NCCL work: 18403, last completed NCCL work: 18401.",
        "[PG ID 2 PG GUID 10(TP) Rank 4]  failure detected by watchdog at work sequence id: 18402 PG status: last enqueued work: 18403, last completed work: 18401",
    ],
)
def test_enqueued_and_completed_in_every_wording(text: str) -> None:
    e = one(text)
    assert (e.what, e.seq, e.last_enqueued, e.last_completed) == ("enqueued", 18402, 18403, 18401)
    assert (e.group, e.group_rank) == ("10:TP", 4)


@pytest.mark.parametrize(
    ("prefix", "group"),
    [
        ("[PG 0 Rank 3]", "#0"),
        ("[PG 0 (default_pg) Rank 3]", "#0:default_pg"),
        ("[PG ID 0 PG GUID 0(default_pg) Rank 3]", "0:default_pg"),
        ("[PG ID 2 PG GUID 3 Rank 3]", "3"),
        ("[PG ID 1 PG GUID 8(undefined) Rank 3]", "8"),
    ],
)
def test_group_prefix_of_each_version(prefix: str, group: str) -> None:
    e = one(f"{prefix} Timeout at NCCL work: 7, last enqueued NCCL work: 7, last completed NCCL work: 6.")
    assert (e.group, e.group_rank) == (group, 3)


def test_group_stripped_by_a_dialect_is_found_in_the_raw_line() -> None:
    record = Record(0, 9, "Timeout at NCCL work: 7, last enqueued NCCL work: 7, last completed NCCL work: 6.")
    raw = "[PG ID 2 PG GUID 10(TP) Rank 4] " + record.text
    (e,), _ = extract_collectives([Record(0, 9, record.text, raw=raw)], 0)
    assert (e.group, e.group_rank) == ("10:TP", 4)


def test_nothing_completed_yet_is_minus_one_not_missing() -> None:
    e = one(
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] Received a dump signal due to a collective timeout from this local rank"
        " and we will try our best to dump the debug info. Last enqueued NCCL work: 1, last completed NCCL work: -1.This is"
    )
    assert (e.what, e.last_enqueued, e.last_completed, e.reason, e.ranks) == ("dump", 1, -1, "local", ())


def test_dump_signal_names_the_global_rank_that_timed_out_first() -> None:
    e = one(
        "[PG ID 0 PG GUID 0(default_pg) Rank 6] Received a dump signal due to a collective timeout from  rank 7 and we will"
        " try our best to dump the debug info. Last enqueued NCCL work: 56116, last completed NCCL work: 56116."
    )
    assert (e.what, e.ranks, e.reason, e.last_enqueued) == ("dump", (7,), "remote", 56116)


def test_async_error_is_no_timeout() -> None:
    e = one(
        f"[Rank 3] Collective {WORK} raised the following async exception: NCCL error: remote process exited"
    )
    assert (e.what, e.reason) == ("error", "NCCL error: remote process exited")


def test_watchdog_ended_by_a_cuda_error() -> None:
    e = one(
        "  what():  [PG ID 6 PG GUID 41(PIPELINE_MODEL_PARALLEL_GROUP) Rank 1] Process group watchdog thread terminated with"
        " exception: CUDA error: an illegal memory access was encountered"
    )
    assert (e.what, e.reason) == ("aborted", "CUDA error: an illegal memory access was encountered")


def test_heartbeat_counts_in_milliseconds() -> None:
    e = one(
        "[PG ID 12 PG GUID 99(EP) Rank 6] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress"
    )
    assert (e.what, e.ran_ms, e.group) == ("heartbeat", 480_000, "99:EP")


def test_initialization_options_give_a_position_its_global_rank() -> None:
    e = one(
        "[PG ID 3 PG GUID 12(TP) Rank 1] ProcessGroupNCCL initialization options: size: 8, global rank: 9, TIMEOUT(ms): 1"
    )
    assert (e.what, e.size, e.ranks, e.group_rank) == ("member", 8, (9,), 1)


def test_any_group_prefix_on_a_ranked_line_tells_membership() -> None:
    e = one(
        "[PG ID 5 PG GUID 20(DP) Rank 1]  using GPU 3 as device used by this process is currently unknown.",
        rank=9,
    )
    assert (e.what, e.group, e.group_rank, e.ranks) == ("member", "20:DP", 1, (9,))


def test_gloo_wait_and_closed_and_reset_with_emoji() -> None:
    at = "[/pytorch/third_party/gloo/gloo/transport/tcp/"
    wait, closed, reset, six = extract(
        f"RuntimeError: {at}unbound_buffer.cc:78] Timed out waiting 15000ms for recv operation to complete\n"
        f"RuntimeError: {at}pair.cc:553] Connection closed by peer [10.0.0.3]:4490. This is typically caused ... GLHF! 🏖️\n"
        f"RuntimeError: {at}pair.cc:537] Read error [10.0.0.4]:4263: Connection reset by peer. This is typically\n"
        "Original exception: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [2401:db00:eef0:1100::25d]:8594"
    )
    assert (wait.what, wait.ran_ms) == ("wait", 15000)
    assert (closed.what, closed.peer, closed.shape) == ("closed", "10.0.0.3", "4490")
    assert (reset.what, reset.peer, reset.reason) == ("closed", "10.0.0.4", "reset")
    assert six.peer == "2401:db00:eef0:1100::25d"


def test_gloo_size_mismatch_in_what() -> None:
    e = one(
        "  what():  [enforce fail at /gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8192 vs 7168. "
    )
    assert (e.what, e.other, e.shape) == ("mismatch", "8192", "7168")


def test_checkpoint_writer_position_is_no_gloo_mismatch() -> None:
    assert extract("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0") == []


@pytest.mark.parametrize(
    ("text", "what", "peer", "reason"),
    [
        ("socketProgress: Connection closed by remote peer ip-10-31-45-209.eu.internal<32926>", "closed", "ip-10-31-45-209.eu.internal", "closed"),
        ("NCCL WARN Net : Connection closed by remote peer", "closed", "", "closed"),
        ("socketProgressOpt: Call to recv from 10.0.0.3<4321> failed : Broken pipe", "closed", "10.0.0.3", "broken pipe"),
        ("NCCL WARN Net : Call to recv from nid0017<4321> failed : Connection reset by peer", "closed", "nid0017", "reset"),
        ("NCCL WARN Net : Connect to 192.168.40.9<54263> failed : No route to host", "connect", "192.168.40.9", "No route to host"),
        ("NET/IB : Got completion from peer 10.0.1.17<39342> with status=12 opcode=1 len=0 vendor err 129", "link", "10.0.1.17", "status 12"),
        ("NET/IB: Got completion from peer 10.0.1.17<3> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)", "link", "10.0.1.17", "status 12"),
        ("NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", "link", "", "status 12"),
    ],
)  # fmt: skip
def test_nccl_transport_lines(text: str, what: str, peer: str, reason: str) -> None:
    e = one(text)
    assert (e.what, e.peer, e.reason) == (what, peer, reason)


def test_a_connection_that_is_retried_is_not_lost() -> None:
    assert extract("NCCL INFO Call to connect to 10.0.0.3<4321> failed : Connection refused, retrying") == []


def test_nccl_communicator_and_addresses_say_who_is_who() -> None:
    comm, boot, oob = extract(
        "NCCL INFO ncclCommInitRank comm 0x7bf8870 rank 13 nranks 16 cudaDev 5 nvmlDev 5 busId 97000 commId 0xa1ff - Init COMPLETE\n"
        "NCCL INFO Bootstrap : Using ib0:10.80.46.3<0>\n"
        "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib1:10.6.13.81<0>",
        node="n1",
    )  # fmt: skip
    assert (comm.what, comm.group, comm.group_rank, comm.size) == ("comm", "0xa1ff", 13, 16)
    assert (boot.what, boot.peer) == ("address", "10.80.46.3")
    assert (oob.what, oob.peer) == ("address", "10.6.13.81")


def test_store_clients_and_unique_id() -> None:
    clients, unique = extract(
        "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.\n"
        "torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d"
        " key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0"
    )
    assert (clients.what, clients.seq, clients.size) == ("store", 1, 2)
    assert (unique.what, unique.ranks, unique.group_rank, unique.group) == ("store", (0,), 3, "0:default_pg")
    assert unique.timeout_ms == 600000


def test_unique_id_of_a_subgroup_is_not_taken_for_the_default_group() -> None:
    e = one(
        "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but"
        " store->get('0') got error: wait timeout after 10000ms, keys: //worker/attempt_0/default_pg/0//1//cuda//0"
    )
    assert e.group == ""


def test_store_key_of_an_attempt() -> None:
    e = one("DistStoreError: wait timeout after 600000ms, keys: /worker/attempt_0/store_based_barrier_key:1")
    assert (e.what, e.timeout_ms, e.reason) == (
        "store",
        600000,
        "/worker/attempt_0/store_based_barrier_key:1",
    )


def test_monitored_barrier_one_and_many() -> None:
    first, many, passed = extract(
        "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms\n"
        "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 2000 ms\n"
        "[Rank 2]: Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0."
    )
    assert (first.what, first.ranks, first.reason, first.timeout_ms) == (
        "barrier",
        (1,),
        "first-missing",
        2000,
    )
    assert (many.ranks, many.reason) == ((1, 3), "missing")
    assert (passed.ranks, passed.reason) == ((2,), "arrived")


def test_fingerprint_mismatch_keeps_both_sides() -> None:
    e = one(
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint("
        "SequenceNumber=18, OpType=ALLREDUCE, TensorShape=[4], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float"
        " (default), device=cuda)), but Rank 2 is running collective: CollectiveFingerPrint(SequenceNumber=22OpType=BARRIER)."
    )
    assert (e.what, e.group_rank, e.seq, e.op, e.shape) == ("mismatch", 0, 18, "ALLREDUCE", "[4]")
    assert (e.ranks, e.other) == ((2,), "#22 BARRIER")


DESYNC = """[PG ID 2 PG GUID 10(TP) Rank 0]
\t - [0] Timeout at collective: ALLREDUCE, #6
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [1] joined but didn't finish collective #5 (count from 1)
\t     [3] finished collective #5, but didn't join collective #6 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #5 started ranks:
\t     [1] started ALLREDUCE
\t   #5 finished ranks:
\t     [3] finished ALLREDUCE
\t   #6 started ranks:
\t     [0, 2] started ALLREDUCE"""


def test_desync_report_over_many_lines() -> None:
    events = extract(DESYNC)
    found = [(e.what, e.ranks, e.seq, e.reason) for e in events]
    assert found == [
        ("desync", (1,), 5, "started"),
        ("desync", (3,), 5, "finished"),
        ("snapshot", (1,), 5, "started"),
        ("snapshot", (3,), 5, "finished"),
        ("snapshot", (0, 2), 6, "started"),
    ]
    assert events[-1].group == "10:TP"


def test_desync_report_where_some_never_joined() -> None:
    e = one(
        "\t - To our best knowledge, ranks [1, 5] are the lagging ranks that caused this timeout. They never joined any collectives"
    )
    assert (e.what, e.ranks, e.reason) == ("desync", (1, 5), "missing")


FR_TRACE = """Not all ranks joining collective, sequence number: 7
internal record id: 12
group info: default_pg
collective: nccl:all_reduce
missing ranks: {3}
input sizes: [[4]]
world size: 4
expected ranks: {0, 1, 2, 3}
collective state: scheduled
Collective sequence number: 9 has errors
group info: default_pg
collective: nccl:all_reduce
expected ranks: {0, 1, 2, 3}
error msg: Culprit rank 2; Error type: SIZE_OR_SYNTAX_MISMATCH, """


def test_fr_trace_summaries_missing_and_mismatch() -> None:
    missing, mismatch = extract(FR_TRACE)
    assert (missing.what, missing.seq, missing.ranks, missing.reason) == ("trace", 7, (3,), "missing")
    assert missing.members == (0, 1, 2, 3)
    assert (mismatch.seq, mismatch.ranks, mismatch.reason) == (9, (2,), "mismatch")


def test_fr_trace_of_torch_2_4() -> None:
    e = one("Not all ranks joining collective 5 at entry 12\nmissing ranks: {1}\nexpected ranks: 2")
    assert (e.what, e.seq, e.ranks) == ("trace", 5, (1,))


def test_records_are_given_back_unconsumed() -> None:
    given_ = records(DESYNC)
    assert extract_collectives(given_, 0)[1] == given_


def test_message_of_a_traceback_is_placed_where_the_traceback_stands() -> None:
    trace = Event(Span(4, 100, 900), Tags(rank=3))
    (e,) = collectives_in("[x/pair.cc:553] Connection closed by peer [10.0.0.3]:4490. This is", trace)
    assert (e.what, e.span, e.tags.rank) == ("closed", Span(4, 100, 900), 3)


@pytest.mark.parametrize(
    "text",
    [
        "Timeout(ms)=600000 is the default; watchdogs are enabled",
        "iteration 5/10 | loss 1.0 | number of nan iterations: 0",
        " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 62784",
        "assert 3 vs 4 in my test",
        "I use Rank 3 loss",
        "Call to action: write error [handling]",
    ],
)
def test_ordinary_lines_give_nothing(text: str) -> None:
    assert extract(text) == []


def test_numbers_of_any_length_do_not_break_it() -> None:
    long = "9" * 10_000
    extract(
        f"WorkNCCL(SeqNum={long}, OpType=A) caught collective operation timeout ran for {long} milliseconds"
    )
    extract(f"[Rank {long}]: Ranks {long} failed to pass monitoredBarrier")
    extract(f"[PG ID 0 PG GUID 0 Rank {long}] last enqueued NCCL work: {long}")


def test_huge_hostile_lines_take_linear_time() -> None:
    bait = [
        "Got completion from peer " * 200_000, "Rank 0 is running collective: CollectiveFingerPrint(" * 100_000,
        "[PG " * 1_000_000, "Using NET/IB : OOB a:1" * 200_000, "comm 0x1 rank 1 nranks 1 " * 200_000,
        "[" + "1, " * 1_000_000, "Connection closed by remote peer a.a.a." * 100_000, "store based barrier rank: 1" * 99_999,
    ]  # fmt: skip
    start = time.process_time()
    for text in bait:
        extract(text)
    assert time.process_time() - start < 5


def test_a_flood_of_different_events_is_bounded() -> None:
    text = "\n".join(
        f"[PG 0 Rank 1] Timeout at NCCL work: {i}, last enqueued NCCL work: {i}"
        for i in range(MAX_EVENTS + 50)
    )
    assert len(extract(text)) == MAX_EVENTS


PIECES = st.sampled_from(
    [*DESYNC.split("\n"), *FR_TRACE.split("\n"), WORK, "[PG ID 1 PG GUID 2(X) Rank 3]", "Rank", "[", "#5"]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=20).map(" ".join))
def test_any_text_is_survived(text: str) -> None:
    for event in extract(text, rank=1):
        assert event.what
