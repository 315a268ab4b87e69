"""From bytes to verdict: pieces, order, storms, hostile bytes, the schema."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence

import jsonschema
import pytest

from tests.core.cause.logs import (
    analysed,
    cancelled,
    dist_backend,
    explained,
    launcher_died,
    log,
    oom,
    prefixed,
    stamped,
    step,
    steps,
    tagged,
    trace,
    verdict,
    watchdog,
)
from tests.support import Log, comparable, differences, engine, ruleset, verdict_of
from triage.core.analysis import Analysis, Choice
from triage.core.cause.keeper import KINDS
from triage.core.cause.verdict import Verdict
from triage.core.logs.source import Source
from triage.report.schema import schema_text

STORM = 100_000
OTHERS = trace("RuntimeError: sample 7 is broken") + "\n"
JOB = (
    log("rank-0.err", stamped(0), steps(1, 30), tagged(0, dist_backend()), stamped(600)),
    log("rank-7.err", stamped(0), tagged(7, oom(7)), stamped(60)),
    log(
        "slurm-12.out",
        "using world size: 8, data-parallel size: 8",
        launcher_died((7, 1, 77), (0, 1, 70)),
        cancelled(700),
    ),
)


def no_places(_source: int, offsets: Sequence[int]) -> list[tuple[str, int]]:
    return [("a.log", 1)] * len(offsets)


def by_bytes(size: int) -> Callable[[bytes], Iterator[bytes]]:
    return lambda data: (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_pieces_in_which_bytes_come_change_nothing(size: int) -> None:
    whole = comparable(verdict_of(JOB), JOB)
    assert not differences(whole, comparable(verdict_of(JOB, pieces=by_bytes(size)), JOB))


def test_the_order_of_the_sources_changes_nothing() -> None:
    whole = comparable(verdict_of(JOB), JOB)
    for shuffled in itertools.permutations(JOB):
        assert not differences(whole, comparable(verdict_of(shuffled), shuffled))


def test_sources_may_be_fed_in_turn() -> None:
    analysis = Analysis(ruleset(), engine())
    feeds = [analysis.open(Source(one.path)) for one in JOB]
    for at in range(0, max(len(one.data) for one in JOB), 100):
        for feed, one in zip(feeds, JOB, strict=True):
            feed.feed(one.data[at : at + 100])
    for feed in feeds:
        feed.close()
    assert analysis.verdict(no_places).category == verdict(*JOB).category == "oom"


def test_the_slow_twin_says_the_same() -> None:
    assert not differences(comparable(verdict_of(JOB), JOB), comparable(verdict_of(JOB, naive=True), JOB))


def test_asking_twice_gives_the_same_answer() -> None:
    analysis = analysed(JOB)
    assert analysis.verdict(no_places) == analysis.verdict(no_places)


@pytest.mark.parametrize("mtimes", [(1.0, 9e9, 5.0), (9e9, 1.0, None)])
def test_modification_times_order_nothing(mtimes: tuple[float | None, ...]) -> None:
    def of(times: Sequence[float | None]) -> Verdict:
        analysis = Analysis(ruleset(), engine())
        for one, mtime in zip(JOB, times, strict=True):
            feed = analysis.open(Source(one.path, mtime=mtime))
            feed.feed(one.data)
            feed.close()
        return analysis.verdict(no_places)

    assert of(mtimes) == of((None, None, None))


def test_a_storm_of_tracebacks_behind_the_root_stays_bounded() -> None:
    one = log("t.log", stamped(0), tagged(3, oom(3)), stamped(1), OTHERS * STORM)
    analysis = analysed([one])
    found = analysis.verdict(no_places)
    assert found.root is not None
    assert (found.category, found.root.rank) == ("oom", 3)
    assert sum(len(feed.holding.kept) for feed in analysis.feeds) < 100
    assert found.scanned.bytes == len(one.data)


@pytest.mark.parametrize("front", ["", "[rank1]: ", "[default1]:"])
def test_a_storm_before_the_root_does_not_hide_it(front: str) -> None:
    storm = prefixed(front, OTHERS) + "\n"
    found = verdict(log("t.log", storm * 600, tagged(3, oom(3)), stamped(1)))
    assert found.root is not None
    assert (found.category, found.root.rank) == ("oom", 3)
    assert found.root.evidence is not None
    assert found.root.evidence.first_line == 600 * storm.count("\n") + 1


def test_a_storm_of_ever_new_exits_stays_bounded() -> None:
    lines = "\n".join(f"srun: error: n{n}: task {n}: Exited with exit code 1" for n in range(KINDS + 2000))
    analysis = analysed([log("slurm-1.out", lines, tagged(3, oom(3)))])
    assert len(analysis.feeds[0].holding.kept) <= KINDS + 1000
    assert analysis.verdict(no_places).failed


def test_one_line_of_megabytes_is_no_obstacle() -> None:
    found = verdict(log("t.log", "x" * (4 << 20), tagged(3, oom(3)), "y" * (4 << 20)))
    assert found.category == "oom"


def test_random_bytes_are_no_failure_and_no_success() -> None:
    rng = random.Random(7)
    found = verdict(Log("t.log", rng.randbytes(200_000)))
    assert (found.category, found.ended, found.confidence) == ("none", False, "low")


@pytest.mark.parametrize("kind", ["error-file", "artifact"])
@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[1]", b"\xff\xfe", b'{"message": 3}', b"[" * 5000])
def test_a_broken_json_file_breaks_nothing(kind: str, data: bytes) -> None:
    analysis = Analysis(ruleset(), engine())
    feed = analysis.open(Source("x.json", kind=kind))
    feed.feed(data)
    feed.close()
    assert not analysis.verdict(no_places).failed


def test_an_artifact_says_nothing_of_a_failure_whatever_it_quotes() -> None:
    analysis = Analysis(ruleset(), engine())
    feed = analysis.open(Source("metrics.json", kind="artifact"))
    feed.feed(json.dumps({"world_size": 8, "note": trace(), "loss": 2.0}).encode())
    feed.close()
    found = analysis.verdict(no_places)
    assert (found.failed, found.facts["world_size"]) == (False, 8)


def test_an_error_file_is_a_traceback_of_its_rank() -> None:
    body = {
        "message": {
            "message": "ValueError: bad luck",
            "extraInfo": {"py_callstack": trace(), "timestamp": "1764583200"},
        }
    }
    found = verdict(Log("run/attempt_0/1/error.json", json.dumps(body).encode()))
    assert found.root is not None
    assert (found.category, found.root.exception, found.root.local_rank) == ("python", "ValueError", 1)
    assert found.root.time is None


def test_an_error_file_of_any_size_says_its_exception_and_where_it_was_raised() -> None:
    said = "ValueError: bad luck " + "x" * (5 << 20)
    body = {"message": {"message": said, "extraInfo": {"py_callstack": trace(said)}}}
    found = verdict(Log("run/attempt_0/1/error.json", json.dumps(body).encode()))
    assert found.root is not None
    assert (found.root.exception, found.root.local_rank) == ("ValueError", 1)
    assert (found.root.message or "").startswith("bad luck")
    small = verdict(log("run/attempt_0/1/stderr.log", trace("ValueError: bad luck"))).root
    assert small is not None
    assert found.root.frame == small.frame is not None


def test_a_choice_reaches_jobs_and_attempts() -> None:
    one = explained(log("slurm-1.out", oom()), log("slurm-2.out", trace()), job="1").verdict
    assert (one.job, one.category) == ("1", "oom")
    assert analysed([log("slurm-2.out", trace())]).verdict(no_places, Choice(attempt=1)).category == "python"


CASES = {
    "nothing at all": (),
    "an empty file": (log("t.log", ""),),
    "a run that goes on": (log("t.log", steps(1, 5)),),
    "a root with downstream": JOB,
    "no rank": (log("t.log", trace()),),
    "a chain": (log("t.log", trace() + "\n\nDuring handling of the above exception, another exception occurred:\n\n" + oom()),),
    "two causes": (log("rank_1.log", oom()), log("rank_2.log", trace("ModuleNotFoundError: No module named 'x'"))),
    "a time limit": (log("slurm-1.out", steps(1, 5), cancelled(9, "TIME LIMIT")),),
    "a hang": (log("slurm-1.out", steps(1, 5), cancelled(900, "TIME LIMIT")),),
    "a hang at exit": (log("slurm-1.out", step(1, 0), "[after training is done] datetime: x", cancelled(900)),),
    "a cancel": (log("slurm-1.out", steps(1, 5), cancelled(9)),),
    "an exit code only": (log("t.log", launcher_died((2, 1, 70))),),
    "sigkill": (log("t.log", launcher_died((2, -9, 70))),),
    "a silent culprit": tuple(log(f"rank_{r}.err", watchdog(r, 700)) for r in (0, 1, 3)),
    "last words": (
        log("t.log", "giving up: the lock is held by another", tagged(0, dist_backend()), tagged(1, dist_backend()), launcher_died((2, 1, 7))),
    ),
    "two attempts": (log("t.log", steps(1, 3), oom(), cancelled(9, "JOB REQUEUE"), steps(1, 3, 90), trace()),),
    "two jobs": (log("slurm-1.out", oom()), log("slurm-2.out", trace())),
    "nan and infinity in a line": (log("t.log", step(1, 0).replace("2.5E+00", "nan"), step(2, 1).replace("2.5E+00", "inf"), oom()),),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_verdict_fits_the_schema(name: str) -> None:
    plain = json.loads(json.dumps(verdict(*CASES[name]).to_json(), allow_nan=False))
    jsonschema.validate(plain, json.loads(schema_text("verdict")))
