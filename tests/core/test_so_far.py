"""A verdict while the streams still grow: the one that a whole reading of the same bytes gives."""

from __future__ import annotations

import pytest

from tests.support import Log, case_logs, comparable, engine, locating, ruleset, verdict_of
from triage.core.analysis import Analysis
from triage.files.layout import sources_of

CASES = ("shape-two-node", "c18-hang-mbridge3427-after-training-done", "b24-hostoom-slurm-oomkill")


@pytest.mark.parametrize("name", CASES)
def test_asking_early_and_often_changes_nothing(name: str) -> None:
    logs = case_logs(name)
    analysis = Analysis(ruleset(), engine())
    feeds = [analysis.open(source) for source in sources_of([log.path for log in logs])]
    cuts = (0.3, 0.7, 1.0)
    fed = [0] * len(logs)
    for cut in cuts:
        for index, log in enumerate(logs):
            end = int(len(log.data) * cut)
            feeds[index].feed(log.data[fed[index] : end])
            fed[index] = end
        seen = [Log(log.path, log.data[:end]) for log, end in zip(logs, fed, strict=True)]
        if any(log.data for log in seen):
            early = analysis.so_far().verdict(locating(seen))
            assert comparable(early, logs) == comparable(verdict_of(seen), logs)


def test_what_did_not_grow_is_not_read_again() -> None:
    analysis = Analysis(ruleset(), engine())
    first, second = (analysis.open(source) for source in sources_of(["rank_0.log", "rank_1.log"]))
    first.feed(b"a\n")
    second.feed(b"b\n")
    before = analysis.so_far().feeds
    second.feed(b"c\n")
    after = analysis.so_far().feeds
    assert after[0] is before[0]
    assert after[1] is not before[1]
    assert (before[1].size, after[1].size) == (2, 4)
