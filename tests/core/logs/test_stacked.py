"""Prefixes stack in any order: every kind of stamp before and behind every kind of label, with the usual separators."""

import pytest

from triage.core.logs.line import decode_lines
from triage.core.logs.record import Tags
from triage.core.logs.records import to_records

BODY = [
    "Traceback (most recent call last):",
    '  File "/w/train.py", line 3, in main',
    "    loss.backward()",
    "ValueError: no",
]
STAMPS = [
    "2021-03-10T13:22:37.434Z", "2021-03-10T13:22:37.434123456Z", "2021-03-10T13:22:37+01:00", "2021-03-10 13:22:37,434",
    "2021-03-10 13:22:37", "[2021-03-10 13:22:37,434]", "[2021-03-10T13:22:37.434Z]", "2021/03/10 13:22:37",
    "[03/10/21 13:22:37]", "03/10/2021 13:22:37", "03-10 13:22:37", "Mar 10 13:22:37", "Wed Mar 10 13:22:37 2021",
    "Wed Mar 10 13:22:37 UTC 2021", "13:22:37.434", "[13:22:37]",
]  # fmt: skip
LABELS = {
    "[rank3]: ": Tags(rank=3),
    "[rank: 3] ": Tags(rank=3),
    "[1,3]<stderr>:": Tags(rank=3),
    "[prterun-gpu1-77@1,3]<stderr>: ": Tags(rank=3),
    "[3]<stderr>:": Tags(rank=3),
    "[default3]:": Tags(local_rank=3),
    "3: ": Tags(task=3),
    " 3: ": Tags(task=3),
    "gpu-3: ": Tags(node="gpu-3"),
    "worker-3  | ": Tags(actor="worker-3"),
    "[pod/train-3/pytorch] ": Tags(actor="train-3/pytorch"),
    "bench.cn-d003 [stderr] ": Tags(node="cn-d003", actor="bench.cn-d003"),
    "(WorkerDict pid=41, ip=10.0.0.1) ": Tags(node="10.0.0.1", pid=41, actor="WorkerDict pid=41"),
    "[gpu-3:5]: ": Tags(node="gpu-3", actor="gpu-3:5"),
    "gpu-3:5 err: ": Tags(node="gpu-3", actor="gpu-3:5"),
}
SEPARATORS = [" ", ": ", " | ", " - ", "\t"]


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("stamp", STAMPS)
def test_labels_stand_before_and_behind_a_stamp(stamp: str, separator: str) -> None:
    for label, tags in LABELS.items():
        for prefix in (stamp + separator + label, label + stamp + separator):
            got = to_records(decode_lines("".join(f"{prefix}{line}\n" for line in BODY).encode(), 0))
            assert [r.text for r in got] == BODY, prefix
            assert {r.tags for r in got} == {tags}, prefix
            assert all(r.stamp is not None for r in got), prefix


@pytest.mark.parametrize("label", ["[1,3]<stderr>:", "[rank3]: "])
def test_mpirun_puts_its_stamp_and_its_tag_side_by_side(label: str) -> None:
    got = to_records(decode_lines(f"Wed Mar 10 13:22:37 2021{label}x\n".encode(), 0))
    assert [(r.text, r.tags.rank) for r in got] == [("x", 3)]


def test_colon_that_goes_on_with_a_number_ends_no_stamp() -> None:
    got = to_records(decode_lines(b"10:02:11:45 left\n", 0))
    assert got[0].stamp is None
    assert got[0].text == "10:02:11:45 left"
