from __future__ import annotations

import pytest

from benchmarks.perturb import (
    PERTURBATIONS,
    after_a_healthy_line,
    coloured,
    cut_short,
    labelled,
    merged,
    reversed_order,
    skewed,
    with_a_healthy_rank,
    without_stamps,
)

TWO_NODES = {
    "node-a.err": b"[2026-12-31 23:59:30] a\nplain\n",
    "node-b.err": b"[2026-12-31 23:59:30] b\n[rank3]:[W1231 23:59:59.337000 x.cpp:1] c\n",
}


def test_order_is_turned_round_and_nothing_else() -> None:
    turned = reversed_order(TWO_NODES)
    assert sorted(turned.values()) == sorted(TWO_NODES.values())
    assert [turned[name] for name in sorted(turned)] == [TWO_NODES["node-b.err"], TWO_NODES["node-a.err"]]


def test_the_clock_of_every_second_node_goes_ahead_into_the_next_year() -> None:
    files = skewed(TWO_NODES)
    assert files["node-a.err"] == TWO_NODES["node-a.err"]
    assert files["node-b.err"] == b"[2027-01-01 00:01:00] b\n[rank3]:[W0101 00:01:29.337000 x.cpp:1] c\n"


def test_stamps_go_and_their_lines_stay() -> None:
    files = without_stamps(
        {"a.log": b"[2026-12-31 23:59:30] a\n[rank3]:[W1231 23:59:59.337000 x.cpp:1] c\nstep 12:5\n"}
    )
    assert files["a.log"] == b"a\n[rank3]:[Wx.cpp:1] c\nstep 12:5\n"


def test_labels_are_the_ranks_of_the_names_and_as_wide_as_the_widest() -> None:
    files = labelled({"rank-2.err": b"x\n", "rank-10.err": b"y\nz\n"})
    assert files == {"rank-2.err": b" 2: x\n", "rank-10.err": b"10: y\n10: z\n"}


def test_out_and_err_of_one_task_share_a_label() -> None:
    assert set(labelled({"a.out": b"x\n", "a.err": b"y\n", "b.out": b"z\n"}).values()) == {
        b"0: x\n",
        b"0: y\n",
        b"1: z\n",
    }


def test_streams_are_woven_line_by_line_and_a_torn_end_gets_its_line_end() -> None:
    assert merged({"a": b"1\n3\n4", "b": b"2"}) == {"merged.log": b"1\n2\n3\n4\n"}


def test_the_end_is_cut_colour_and_health_are_added() -> None:
    assert cut_short({"a": b"0123456789"}) == {"a": b"0123456"}
    assert coloured({"a": b"x\r\n"}) == {"a": b"\x1b[31mx\x1b[0m\n"}
    assert after_a_healthy_line({"a": b"x\n"})["a"].endswith(b"|\nx\n")
    assert "rank-4.log" in with_a_healthy_rank({"rank-3.log": b"x\n"})


@pytest.mark.parametrize(
    "name", [n for n in PERTURBATIONS if n not in ("files in reverse order", "a healthy rank added")]
)
def test_compressed_files_and_json_stay_as_they_are(name: str) -> None:
    files = {"error.json": b'{"a": 1}\n', "old.log.gz": b"\x1f\x8b\x00\x01"}
    changed = PERTURBATIONS[name](files)
    assert {n: changed[n] for n in files} == files
