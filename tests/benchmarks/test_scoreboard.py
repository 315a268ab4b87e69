from __future__ import annotations

from benchmarks.peers import NVRX_CLASSES, RAISED, Answer, of_gpualert, of_nvrx
from benchmarks.scoreboard import Score, by_time, concatenated, judged
from triage.files.rules import load

OOM = {"class": "oom", "rank": 3, "exception": "torch.OutOfMemoryError", "phase": "backward"}
ALL = frozenset({"rank", "exception", "phase"})


def test_every_class_of_a_peer_stands_for_categories_that_there_are() -> None:
    known = {rule.category for rule in load({}).rules}
    assert set().union(*NVRX_CLASSES.values()) <= known
    assert known >= RAISED


def test_a_peer_that_names_no_rank_does_not_hold_it() -> None:
    answer = Answer(
        True, frozenset({"oom"}), exceptions=frozenset({"OutOfMemoryError"}), phases=frozenset({"backward"})
    )
    assert judged(OOM, answer, ALL) == {"category": True, "rank": False, "exception": True, "phase": True}


def test_silence_is_right_for_a_healthy_run_and_wrong_for_a_dead_one() -> None:
    assert judged({"class": "none"}, Answer(False), ALL)["category"]
    assert not judged({"class": "none"}, Answer(True, frozenset({"oom"})), ALL)["category"]
    assert not judged(OOM, Answer(False), ALL)["category"]


def test_an_exception_of_no_kind_is_right_where_the_cause_is_unknown() -> None:
    assert judged({"class": "unknown"}, Answer(True, RAISED, generic=True), ALL)["category"]
    assert not judged({"class": "unknown"}, Answer(True, frozenset({"oom"})), ALL)["category"]


def test_answers_are_read_from_what_the_peers_print() -> None:
    said = of_gpualert({"label": "NCCL communication error", "confidence": "HIGH"})
    assert (said.sure, "nccl" in said.categories, said.generic) == (True, True, False)
    primary = {"failure_class": "cuda_oom", "rank": "3", "phase": "steady_mid"}
    told = of_nvrx({"primary": primary, "exceptions": ["torch.OutOfMemoryError"]})
    assert (told.rank, told.failed, "backward" in told.phases) == (3, True, True)
    assert not of_nvrx({"primary": None, "exceptions": []}).failed


def test_lost_fields_are_those_that_held_before() -> None:
    before, after = Score(), Score()
    before.add("a", {"category": True, "rank": True, "frame": False}, True, True)
    after.add("a", {"category": False, "rank": True, "frame": True}, False, True)
    assert before.lost(after) == (1, 2)
    assert (before.surely_wrong, after.surely_wrong, after.judged["category"]) == (0, 1, 1)


def test_a_peer_s_one_log_has_every_line_and_the_merged_one_is_in_order() -> None:
    files = {"b.log": b"2026-12-01 04:00:02 late\nits next line", "a.log": b"2026-12-01T04:00:01 early\n"}
    assert concatenated(files) == b"2026-12-01 04:00:02 late\nits next line\n2026-12-01T04:00:01 early\n"
    assert by_time(files) == b"2026-12-01T04:00:01 early\n2026-12-01 04:00:02 late\nits next line\n"
