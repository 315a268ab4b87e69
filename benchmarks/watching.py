"""What watching costs: a thousand jobs at rest, and 4,096 logs that grow: `python benchmarks/watching.py [jobs|logs|restart]`.

Time is real; the scheduler is scripted, and counts what it is asked.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import loggen
from tests.support import engine, ruleset
from tests.watch.scripted import AtOnce, Cluster, Job, NoEvents
from triage import explain
from triage.core.analysis import Analysis
from triage.core.jobs.identity import JobId
from triage.files.tail import Tail
from triage.store.database import Database
from triage.store.jobs import NewJob, remember, set_watched
from triage.watch.daemon import Daemon
from triage.watch.loop import Loop
from triage.watch.options import Options
from triage.watch.poller import Poller
from triage.watch.world import World

SECONDS = 120.0


def cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def memory() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Counting(Cluster):
    """Answers in real time."""

    def clock(self) -> float:
        return time.time()


FIRST = Analysis(ruleset(), engine())


def analysis() -> Analysis:
    return Analysis(FIRST.ruleset, FIRST.engine, anchors=FIRST.anchors)


def daemon_of(folder: Path, numbers: range) -> tuple[Counting, Daemon]:
    """A daemon with jobs that have run for a day, each with a result to wait for; their logs lie in one folder."""
    now = time.time()
    cluster = Counting(
        folder,
        now,
        {JobId(n): Job(submitted=now - 90_000, started=now - 86_400, limit=200_000) for n in numbers},
    )
    database = Database(str(folder / "state"))
    world = World(cluster, database, lambda _: None, time.time, random.random, analysis)
    loop = Loop(world, Poller(cluster, AtOnce(), time.time), NoEvents(), wait=time.sleep)  # type: ignore[arg-type]
    for n in numbers:
        cluster.output(JobId(n)).write_text("hello\n")
        job = NewJob(JobId(n), "daemon", now, options=Options(artifacts=(f"out-{n}.json",)).as_json())
        set_watched(database, remember(database, job), True)
    return cluster, Daemon(loop, world, Options())


def turns(daemon: Daemon, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        daemon.loop.rest(min(daemon.turn(), 2.0))


def jobs() -> None:
    """Calls of the scheduler against one watcher for each job, processor time and memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "many").mkdir()
        (folder / "one").mkdir()
        cluster, many = daemon_of(folder / "many", range(1000, 2000))
        used = cpu()
        turns(many, 20)
        print(f"1000 jobs: {cpu() - used:.1f} s of processor time in the first 20 s")
        for what, wait in (("the first minutes", 0.0), ("at rest", 120.0)):
            turns(many, wait)
            cluster.calls, used = 0, cpu()
            turns(many, SECONDS)
            share = (cpu() - used) / SECONDS
            print(f"1000 jobs, {what}: {cluster.calls} calls in {SECONDS:.0f} s, {share:.2%} of a core, {memory():.0f} MB")  # fmt: skip
        one, single = daemon_of(folder / "one", range(1, 2))
        turns(single, 10)
        one.calls = 0
        turns(single, SECONDS)
        print(f"one watcher per job: {1000 * one.calls} calls for a thousand, {1000 * one.calls / max(1, cluster.calls):.0f} times as many")  # fmt: skip


def logs(count: int = 4096) -> None:
    """Each grows by 1 kB every ten seconds; a part of them every second."""
    line = b" [2026-12-01 10:00:00] iteration       10/    5000 | consumed samples: 1 | elapsed time per iteration (ms): 100.0 | lm loss: 2.5E+00 |\n"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"rank-{n}.log" for n in range(count)]
        for path in paths:
            path.write_bytes(line * 8)
        tail = Tail([name], Analysis(ruleset(), engine()))
        tail.discover()
        tail.look()
        used, writing, began = cpu(), 0.0, time.monotonic()
        for second in range(60):
            mark = cpu()
            for path in paths[second % 10 :: 10]:
                with open(path, "ab") as file:
                    file.write(line * 8)
            writing += cpu() - mark
            if second % 10 == 0:
                tail.discover()
            tail.look()
            time.sleep(max(0.0, began + second + 1 - time.monotonic()))
        share = (cpu() - used - writing) / (time.monotonic() - began)
        print(f"{count} logs: {share:.1%} of a core, {memory():.0f} MB")
        mark = time.monotonic()
        with open(paths[7], "ab") as file:
            file.write(
                b'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: bad\n'
            )
        tail.look()
        verdict = tail.explained(quick=True).verdict
        print(f"a failure of rank 7 is told after {time.monotonic() - mark:.2f} s: {verdict.summary}")
        while not tail.catch_up(0.3, everything=True):
            pass
        print(f"all of them are read closely: {time.monotonic() - mark:.2f} s")
        mark = time.monotonic()
        tail.explained()
        print(f"the verdict on all of them: {time.monotonic() - mark:.2f} s")


def restart(gigabytes: float = 2.0) -> None:
    """A daemon that starts anew reads the logs of its jobs again."""
    with tempfile.TemporaryDirectory() as name:
        loggen.write_ranks(Path(name), int(gigabytes * 1e9))
        tail = Tail([name], Analysis(ruleset(), engine()))
        tail.discover()
        used, longest, looks, more = cpu(), 0.0, 0, True
        while more:
            mark = time.monotonic()
            more = tail.look().more
            longest, looks = max(longest, time.monotonic() - mark), looks + 1
        print(f"{gigabytes:g} GB read again: {cpu() - used:.1f} s of processor time in {looks} looks, the longest {longest:.2f} s, {memory():.0f} MB")  # fmt: skip
        whole = explain([name])
        assert (tail.explained().verdict.root, tail.explained().verdict.summary) == (
            whole.root,
            whole.summary,
        )


if __name__ == "__main__":
    what = sys.argv[1:] or ["jobs", "logs", "restart"]
    for name in what:
        {"jobs": jobs, "logs": logs, "restart": restart}[name]()
