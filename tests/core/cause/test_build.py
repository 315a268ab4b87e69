"""How the selection is said: root fields, rows, chains, times, line numbers."""

from __future__ import annotations

from tests.core.cause.logs import (
    cancelled,
    dist_backend,
    explained,
    launcher_died,
    log,
    oom,
    stamped,
    steps,
    tagged,
    trace,
    verdict,
    watchdog,
)
from triage.core.cause.verdict import FACT_NAMES

CHAINED = (
    trace(
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/x.bin'", "open_data", "/app/data.py"
    )
    + "\n\nThe above exception was the direct cause of the following exception:\n\n"
    + trace("RuntimeError: could not start", "main", "/app/start.py")
)


def test_the_root_of_an_out_of_memory_error_has_all_its_fields() -> None:
    found = verdict(
        log("t.log", steps(1, 5), tagged(5, oom(1)), launcher_died((5, 1, 75), host="gpu2", per_node=4))
    )
    root = found.root
    assert root is not None
    assert (root.rank, root.ranks, root.local_rank, root.node, root.gpu) == (5, "5", 1, "gpu2", 1)
    assert (root.exception, root.attribution) == ("torch.OutOfMemoryError", "tag")
    assert root.message.startswith("CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert (root.time, root.time_source) == ("2026-12-01T10:01:40", "elastic")
    assert root.frame is not None
    assert (root.frame.file, root.frame.line, root.frame.function) == ("/app/model.py", 42, "forward_step")
    assert root.evidence is not None
    assert (root.evidence.path, root.evidence.first_line, root.evidence.last_line) == ("t.log", 6, 11)
    assert (found.facts["requested_gib"], found.facts["gpu_total_gib"], found.facts["gpu_free_gib"]) == (
        2.0,
        79.15,
        1.2,
    )


def test_unknown_facts_are_null_and_every_name_is_there() -> None:
    found = verdict(log("t.log", trace()))
    assert found.facts == dict.fromkeys(FACT_NAMES)


def test_a_server_of_the_internet_is_no_node_of_the_job() -> None:
    said = "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='s3.example.org', port=443): Max retries exceeded with url: /"
    root = verdict(log("t.log", tagged(3, trace(said)))).root
    assert root is not None
    assert root.node is None


def test_facts_say_how_far_training_came() -> None:
    found = verdict(log("t.log", steps(1, 5), tagged(0, trace())))
    assert (found.facts["last_iteration"], found.facts["train_iters"]) == (5, 1000)


def test_a_traceback_without_any_stamp_of_its_own_has_no_time() -> None:
    root = verdict(log("t.log", stamped(0), tagged(0, trace()), stamped(1))).root
    assert root is not None
    assert (root.time, root.time_source) == (None, "none")


def test_the_modification_time_of_a_file_never_becomes_a_time() -> None:
    root = verdict(log("rank_0.log", trace())).root
    assert root is not None
    assert root.time_source == "none"


def test_a_glog_stamp_gets_its_year_from_the_others_or_none() -> None:
    with_year = verdict(log("t.log", steps(1, 5), watchdog(0, 700))).root
    without = verdict(log("t.log", watchdog(0, 700))).root
    assert with_year is not None
    assert without is not None
    assert (with_year.time, without.time) == ("2026-12-01T10:11:40.000000", "12-01T10:11:40.000000")


def test_a_chain_lists_all_links_from_the_one_raised_first() -> None:
    root = verdict(log("t.log", tagged(0, CHAINED))).root
    assert root is not None
    assert [link.exception for link in root.chain] == ["FileNotFoundError", "RuntimeError"]
    assert root.exception == "FileNotFoundError"
    assert root.frame is not None
    assert root.frame.function == "open_data"


def test_a_single_traceback_has_an_empty_chain() -> None:
    root = verdict(log("t.log", tagged(0, trace()))).root
    assert root is not None
    assert root.chain == ()


def test_the_schedulers_line_is_the_message_and_no_exception() -> None:
    root = verdict(log("slurm-1.out", steps(1, 5), cancelled(20, "PREEMPTION"))).root
    assert root is not None
    assert root.exception is None
    assert root.message == "*** STEP 1234.0 ON gpu1 CANCELLED AT 2026-12-01T10:00:20 DUE TO PREEMPTION ***"


def test_what_the_roots_own_rank_did_afterwards_is_no_downstream_row() -> None:
    found = verdict(log("t.log", tagged(3, oom(3)), tagged(3, dist_backend()), tagged(0, dist_backend())))
    assert [(row.category, row.ranks, row.count) for row in found.downstream] == [("nccl", "0", 1)]


def test_one_row_a_rule_however_many_wordings() -> None:
    found = verdict(
        log("t.log", tagged(3, oom(3)), tagged(0, dist_backend()), tagged(1, trace("torch.distributed.DistBackendError: NCCL error: x", "barrier")))
    )  # fmt: skip
    assert [(row.rule, row.ranks, row.count) for row in found.downstream] == [
        ("nccl/process-group-error", "0-1", 2)
    ]


def test_ranks_that_are_not_known_count_as_one() -> None:
    found = verdict(log("t.log", tagged(3, oom(3)), dist_backend(), "unrelated", dist_backend()))
    assert [(row.ranks, row.count) for row in found.downstream] == [("", 1)]


def test_reasons_name_places_as_path_and_line() -> None:
    found = verdict(log("a/train.log", steps(1, 5), tagged(3, oom(3))))
    assert any("(a/train.log:6)" in reason for reason in found.reasons)
    assert not any("{" in reason for reason in found.reasons)


def test_line_numbers_are_asked_for_once_a_file() -> None:
    asked: list[int] = []
    logs = (
        log("a.log", steps(1, 5), tagged(3, oom(3))),
        log("b.log", tagged(0, dist_backend())),
        log("c.log", "all is well"),
    )
    found = explained(*logs, asked=asked)
    assert found.verdict.category == "oom"
    assert sorted(asked) == [0, 1]


def test_next_steps_are_for_failures_only_and_have_no_holes() -> None:
    failed = verdict(log("t.log", tagged(3, oom(3))))
    assert failed.next_steps
    assert not any("{" in text.replace("${", "") for text in failed.next_steps if "awk" not in text)
    assert verdict(log("t.log", steps(1, 5))).next_steps == ()


def test_scanned_ranks_are_those_that_wrote() -> None:
    found = verdict(log("t.log", tagged(3, oom(3)), tagged(0, dist_backend()), tagged(1, dist_backend())))
    assert found.scanned.ranks == "0-1,3"
    assert (found.scanned.files, found.scanned.ranks_missing) == (1, "")


def test_a_shared_file_proves_no_rank_missing() -> None:
    found = verdict(
        log(
            "t.log",
            "using world size: 8, data-parallel size: 8",
            tagged(3, oom(3)),
            tagged(0, dist_backend()),
        )
    )
    assert found.scanned.ranks_missing == ""


def test_of_one_ranks_file_that_is_all_there_is_the_other_ranks_are_missing() -> None:
    world = "using world size: 8, data-parallel size: 8"
    alone = verdict(log("rank_3.log", world, tagged(3, oom(3))))
    assert (alone.scanned.ranks_missing, alone.confidence) == ("0-2,4-7", "medium")
    assert "confidence is medium: ranks without a line may hide the cause" in alone.reasons
    assert verdict(log("rank_3.log", tagged(3, oom(3)))).scanned.ranks_missing == ""
    assert verdict(log("rank_3.log", tagged(3, oom(3))), log("t.log", world)).scanned.ranks_missing == ""


def test_the_chain_of_a_woven_or_labelled_stream_is_not_torn() -> None:
    woven = "\n".join(
        f"{n}: {line}" for line in trace("KeyError: 'tokens'").splitlines() for n in (0, 1)
    )  # fmt: skip
    root = verdict(log("s.out", woven)).root
    assert root is not None
    assert (root.exception, root.message) == ("KeyError", "'tokens'")


def test_steps_name_the_job_where_it_is_known_and_keep_the_shells_variable_where_it_is_not() -> None:
    known, bare = (verdict(log(name, watchdog(0, 700))).next_steps for name in ("slurm-4711.out", "main.out"))
    assert any("srun --overlap --jobid 4711 " in step for step in known)
    assert any("srun --overlap --jobid $JOB_ID " in step for step in bare)
    assert "JOB_ID" not in "".join(known)


def test_a_cancel_keeps_the_question_that_its_next_step_answers() -> None:
    steps = verdict(log("main.out", cancelled(50, what="JOB 1234"))).next_steps
    assert [step.partition(":")[0] for step in steps] == ["Who cancelled it", "If nobody did"]


def test_a_weak_init_yields_to_iterations_that_were_seen() -> None:
    crash = (
        "Traceback (most recent call last):\n"
        '  File "/w/train.py", line 9, in main\n    helper = Helper(batch)\n'
        '  File "/w/train.py", line 4, in __init__\n    raise RuntimeError("boom")\n'
        "RuntimeError: boom"
    )
    before, after = verdict(log("main.out", crash)).root, verdict(log("main.out", steps(1, 5), crash)).root
    assert before is not None
    assert after is not None
    assert (before.phase, after.phase) == ("init", None)
