"""How processes ended, in the words of the MPI launchers and of those that start processes as they do.

Formats: OpenMPI/PRRTE help-prterun.txt and help-orterun.txt, MPICH hydra and Intel MPI (`BAD TERMINATION` blocks), HPE's MPT,
PALS (`HOST: rank 3 exited with code 1`), IBM's jsrun, horovod/runner/gloo_run.py.
"""

from __future__ import annotations

from collections.abc import Callable

from triage.core.events.elastic import signal_of
from triage.core.events.model import Exit
from triage.core.lazy import lazy
from triage.core.values import replace

Step = tuple[tuple[str, ...], bool, bool, Callable[[Exit, str], Exit | None]]
"""Literals, whether the line is consumed, whether more lines belong to it, and the reader of the line."""

_NOTICED = lazy(
    r"(?:mpirun|mpiexec|orterun|prterun|prun|prte) noticed that process rank (\d{1,9}) with PID (\d{1,9}) on node (\S{1,200}) "
    r"exited(?: on(?: signal (\d{1,3}))?)?"
)
_IMPROPER = lazy(
    r"(?:mpirun|mpiexec|orterun|prterun|prun) has exited due to process rank (\d{1,9}) with PID (\d{1,9}) on node (\S{1,200})"
)
_PRIMARY = lazy(r"Primary job\s+terminated normally, but (\d{1,9}) process(?:es)? returned")
_DETECTED = lazy(
    r"(?P<by>mpirun|mpiexec|prterun|prun|Horovod) detected that one or more processes exited with non-zero status"
)
_ABORT = lazy(r"MPI_ABORT was invoked on rank (\d{1,9}) in communicator")
_HYDRA = lazy(r"^=\s+(?:RANK (?P<rank>\d{1,9}) )?PID (?P<pid>\d{1,9}) RUNNING AT (?P<host>\S{1,200})")
_HOROVOD = lazy(r"^Process (\d{1,9}) exit with status code (-?\d{1,9})\.\s*$")
_PALS = lazy(
    r"^(?:(?P<host>[A-Za-z][\w.-]{0,120}): )?rank (?P<rank>\d{1,9}) "
    r"(?:exited with code (?P<code>\d{1,3})|died from signal (?P<signal>\d{1,2}))(?: and dumped core)?\s*$"
)
_JSRUN = lazy(
    r"One or more process \(first noticed rank (\d{1,9})\) (?:terminated with signal (\d{1,2})|exited with (?:exit code )?(\d{1,3}))"
)
_MPT = lazy(r"\bMPT ERROR: Rank (\d{1,9})\(g:(\d{1,9})\) received signal SIG\w{1,10}\((\d{1,2})\)")

_PROCESS_NAME = lazy(
    r"^\W{0,4}Process name:\s*(?:\[(?:\[[\w,-]{1,40}\]|[\w@-]{1,80}),\s?(\d{1,9})\]|(\d{1,9}))"
)
_EXIT_CODE = lazy(r"^[\W]{0,20}(?:Exit code|EXIT CODE|Exit Code|ExitCode)[: ]\s{0,20}(-?\d{1,9})\s*$")
_ABORT_CODE = lazy(r"with errorcode (-?\d{1,9})")
_KILLED_BY = lazy(r"^=\s+KILLED BY SIGNAL: (\d{1,2})\b")
_EXIT_STRING = lazy(r"TERMINATED WITH THE EXIT STRING: .{1,80}\(signal (\d{1,2})\)")
_WRAPPED_SIGNAL = lazy(r"^\s*(?:on )?signal (\d{1,2})\b")
_MPT_PLACE = lazy(r"^\s*Process ID: (\d{1,9}), Host: ([\w.-]{1,120}), Program:")
_LITERALS = ("Process name", "xit code", "XIT CODE", "xit Code", "ExitCode", "errorcode", "KILLED BY", "EXIT STRING", "signal",
             "Process ID: ")  # fmt: skip

HYDRA_REASON = "BAD TERMINATION"
_ABORT_REASON = "MPI_ABORT"


def completed(pending: Exit, text: str) -> tuple[Exit, bool] | None:
    """The announced exit with what this line adds, and whether nothing more is to come; None where it adds nothing."""
    if not any(literal in text for literal in _LITERALS):
        return None
    if (match := _PROCESS_NAME.match(text)) is not None:
        return replace(pending, rank=int(match[1] or match[2])), False
    if (match := _EXIT_CODE.match(text)) is not None:
        code = int(match[1])
        return replace(pending, exitcode=code, signal=signal_of(code)), pending.reason != HYDRA_REASON
    if pending.reason == _ABORT_REASON and (match := _ABORT_CODE.search(text)) is not None:
        code = int(match[1])
        return replace(pending, exitcode=code, signal=signal_of(code)), True
    if pending.reason == HYDRA_REASON:
        match = _KILLED_BY.match(text) or _EXIT_STRING.search(text)
        return None if match is None else (_signalled(pending, int(match[1])), True)
    if (match := _MPT_PLACE.match(text)) is not None:
        return replace(pending, pid=int(match[1]), host=match[2]), True
    if pending.exitcode is None and (match := _WRAPPED_SIGNAL.match(text)) is not None:
        return _signalled(pending, int(match[1])), True
    return None


def _signalled(base: Exit, number: int) -> Exit:
    return replace(base, signal=number, exitcode=-number, victim=number == 15)


def _noticed(base: Exit, text: str) -> Exit | None:
    """The one whose signal ended the job; that the signal may be SIGTERM does not make it a victim."""
    if (match := _NOTICED.search(text)) is None or match[4] is None:
        return None
    number = int(match[4])
    return replace(
        base, by="mpirun", rank=int(match[1]), pid=int(match[2]) or None, host=match[3], signal=number,
        exitcode=-number, reason=match[0],
    )  # fmt: skip


def _noticed_wrapped(base: Exit, text: str) -> Exit | None:
    match = _NOTICED.search(text)
    if match is None or match[4] is not None or text[match.end() :].strip():
        return None
    return replace(
        base, by="mpirun", rank=int(match[1]), pid=int(match[2]) or None, host=match[3], reason=match[0]
    )


def _improper(base: Exit, text: str) -> Exit | None:
    if (match := _IMPROPER.search(text)) is None:
        return None
    return replace(
        base, by="mpirun", rank=int(match[1]), pid=int(match[2]) or None, host=match[3], reason=match[0]
    )


def _detected(base: Exit, text: str) -> Exit | None:
    match = _DETECTED.search(text)
    if match is not None:
        return replace(base, by="horovod" if match["by"] == "Horovod" else "mpirun", reason=match[0])
    match = _PRIMARY.search(text)
    return None if match is None else replace(base, by="mpirun", reason=match[0])


def _abort(base: Exit, text: str) -> Exit | None:
    if (match := _ABORT.search(text)) is None:
        return None
    return replace(base, by="mpirun", rank=int(match[1]), reason=_ABORT_REASON)


def _hydra(base: Exit, text: str) -> Exit | None:
    if (match := _HYDRA.match(text)) is None:
        return None
    rank = int(match["rank"]) if match["rank"] else None
    return replace(
        base, by="mpirun", rank=rank, pid=int(match["pid"]), host=match["host"], reason=HYDRA_REASON
    )


def _horovod(base: Exit, text: str) -> Exit | None:
    if (match := _HOROVOD.match(text)) is None:
        return None
    code = int(match[2])
    return replace(
        base, by="horovod", rank=int(match[1]), exitcode=code, signal=signal_of(code), victim=code == -15,
        reason=match[0].strip(),
    )  # fmt: skip


def _pals(base: Exit, text: str) -> Exit | None:
    match = _PALS.match(text)
    if match is None or (host := match["host"] or base.tags.node) is None:
        return None
    base = replace(base, by="mpirun", rank=int(match["rank"]), host=host, reason=match[0].strip())
    return (
        _signalled(base, int(match["signal"]))
        if match["signal"]
        else replace(base, exitcode=int(match["code"]))
    )


def _jsrun(base: Exit, text: str) -> Exit | None:
    if (match := _JSRUN.search(text)) is None:
        return None
    base = replace(base, by="jsrun", rank=int(match[1]), reason=match[0])
    return _signalled(base, int(match[2])) if match[2] else replace(base, exitcode=int(match[3]))


def _mpt(base: Exit, text: str) -> Exit | None:
    if (match := _MPT.search(text)) is None:
        return None
    return _signalled(replace(base, by="mpirun", rank=int(match[2]), reason=match[0]), int(match[3]))


STEPS: tuple[Step, ...] = (
    (("noticed that process rank",), True, False, _noticed),
    (("noticed that process rank",), True, True, _noticed_wrapped),
    (("has exited due to process rank",), True, False, _improper),
    (("Primary job", "detected that one or more processes"), True, True, _detected),
    (("MPI_ABORT was invoked",), True, True, _abort),
    (("RUNNING AT",), True, True, _hydra),
    (("exit with status code",), True, False, _horovod),
    (("rank ",), True, False, _pals),
    (("first noticed rank",), True, False, _jsrun),
    (("MPT ERROR: ",), True, True, _mpt),
)
