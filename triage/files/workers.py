"""Inputs read by several processes at once: reading closely is Python, of which one thread runs at a time.

Each other process is a fork that reads its share into its own copy of the feeds and hands back what they kept, in memory
that both reach. Rules and the engine stay where they are: only their names travel. A share whose process failed is read
here, so that nothing is lost and an error is raised where it can be told.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from triage.core.analysis import Analysis
from triage.core.cause.keeper import NOTHING, Outcome
from triage.core.cause.twins import Form
from triage.core.cause.verdict import Skipped
from triage.core.rules.engine import Engine
from triage.core.rules.model import Rule
from triage.core.values import dataclass

MOST = 8
"""Processes of one call: others work on the same machine."""
FRAME = 256
"""Feeds handed back in one piece; the process that read them forgets them then."""

Share = Sequence[int]
"""Numbers of inputs, which are those of their feeds."""
Read = Callable[[Share], list[Skipped]]


def available() -> int:
    """How many processes may read: one where a fork is no way, because there are other threads or no such memory."""
    from threading import active_count

    if active_count() > 1 or not hasattr(os, "memfd_create"):
        return 1
    return min(MOST, len(os.sched_getaffinity(0)))


def divided(sizes: Sequence[int], count: int) -> list[Share]:
    """The inputs in shares of about the same number of bytes, as many as there are processes and inputs for them."""
    loads = [(0, n) for n in range(max(1, min(count, len(sizes))))]
    shares: list[list[int]] = [[] for _ in loads]
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        load, lightest = min(loads)
        shares[lightest].append(index)
        loads[lightest] = (load + sizes[index] + 1, lightest)
    return [sorted(share) for share in shares]


def read_shares(analysis: Analysis, shares: Sequence[Share], read: Read) -> list[Skipped]:
    """Reads the first share here and each other one in a process of its own; what all of them noted."""
    workers = [_started(analysis, share, read) for share in shares[1:]]
    try:
        notes = read(shares[0])
        for worker in workers:
            told = worker.told(analysis)
            notes.extend(read(worker.share) if told is None else told)
        return notes
    finally:
        for worker in workers:
            worker.stop()


@dataclass(slots=True)
class _Worker:
    share: Share
    pid: int
    """0 when it ended, or never began."""
    memory: BinaryIO
    """What it wrote, from the start."""

    def told(self, analysis: Analysis) -> list[Skipped] | None:
        """Waits for its end and puts what it kept into the feeds; None, and nothing is put, when it failed."""
        if not self.pid:
            return None
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        if status:
            return None
        known: dict[str | int, Any] = {rule.id: rule for rule in analysis.ruleset.rules}
        known[""] = analysis.engine
        self.memory.seek(0)
        for start in range(0, len(self.share), FRAME):
            for examples in _Loader(self.memory, known).load():
                known[examples[0]] = Form(*examples)
            outcomes = _Loader(self.memory, known).load()
            for index, outcome in zip(self.share[start : start + FRAME], outcomes, strict=True):
                analysis.feeds[index].close_as(outcome)
        notes: list[Skipped]
        notes, timeouts = _Loader(self.memory, known).load()
        analysis.engine.timeouts.extend(rule for rule in timeouts if rule not in analysis.engine.timeouts)
        return notes

    def stop(self) -> None:
        """Ends it where nobody waits for it any more."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.memory.close()


def _started(analysis: Analysis, share: Share, read: Read) -> _Worker:
    memory = open(os.memfd_create("triage"), "w+b")  # noqa: SIM115  (the worker closes it)
    try:
        pid = os.fork()
    except OSError:
        return _Worker(share, 0, memory)
    if pid:
        return _Worker(share, pid, memory)
    status = 1
    try:
        _write(analysis, share, read, memory)
        status = 0
    finally:
        os._exit(status)


def _write(analysis: Analysis, share: Share, read: Read, memory: BinaryIO) -> None:
    notes: list[Skipped] = []
    told = 0
    for start in range(0, len(share), FRAME):
        part = share[start : start + FRAME]
        notes.extend(read(part))
        forms = analysis.twins.forms if analysis.twins is not None else []
        _dump([form.examples for form in forms[told:]], memory)
        told = len(forms)
        _dump([analysis.feeds[index].outcome() for index in part], memory)
        for index in part:
            analysis.feeds[index].close_as(Outcome(0, 0, NOTHING))
    _dump((notes, analysis.engine.timeouts), memory)
    memory.flush()


def _dump(value: object, memory: BinaryIO) -> None:
    pickler = pickle.Pickler(memory, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {
        **copyreg.dispatch_table,
        Rule: lambda rule: (_known, (rule.id,)),
        Engine: lambda _: (_known, ("",)),
        Form: lambda form: (_known, (form.number,)),
    }
    pickler.dump(value)


def _known(name: str | int) -> Any:
    """Stands for what the reading process has already, by name."""
    raise LookupError(name)


class _Loader(pickle.Unpickler):
    """Reads what `_dump` wrote."""

    def __init__(self, memory: BinaryIO, known: dict[str | int, Any]) -> None:
        super().__init__(memory)
        self._by_name = known.__getitem__

    def find_class(self, module: str, name: str) -> Any:
        return (
            self._by_name
            if (module, name) == (__name__, _known.__name__)
            else super().find_class(module, name)
        )
