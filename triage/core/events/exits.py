"""How processes ended, in the words of every launcher but torchrun, MPI's and the services'.

Formats: Slurm src/srun/task_state.c and src/srun/allocate.c (`srun: error: HOSTS: tasks N: ...`), deepspeed
launcher/launch.py, composer/cli/launcher.py, pdsh, CPython subprocess.py, torch multiprocessing/spawn.py, Lightning
fabric/strategies/launchers/subprocess_script.py, bash's job notices, Ray's `ActorDiedError`, docker compose, `kubectl
describe`, Kubeflow's training operator (`ExitedWithCode` events), sagemaker_training/errors.py, LSF's job report, flux-job, triage/submit/templates/megatron.sbatch.j2.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from triage.core.events.cluster_exits import STEPS as CLUSTER_STEPS
from triage.core.events.elastic import signal_number, signal_of
from triage.core.events.model import Event, Exit, Span
from triage.core.events.mpi_exits import STEPS as MPI_STEPS
from triage.core.events.mpi_exits import Step, completed
from triage.core.events.place import place
from triage.core.events.ranges import expand_hosts, expand_tasks
from triage.core.lazy import lazy
from triage.core.logs.record import Record
from triage.core.values import dataclass, field, replace

_LIMIT = 32_768
_SIGNAL_WORDS = {
    "Hangup": 1, "Interrupt": 2, "Quit": 3, "Illegal instruction": 4, "Trace/breakpoint trap": 5, "Aborted": 6,
    "Bus error": 7, "Floating point exception": 8, "Killed": 9, "User defined signal 1": 10,
    "Segmentation fault": 11, "User defined signal 2": 12, "Broken pipe": 13, "Terminated": 15,
}  # fmt: skip
"""glibc's strsignal texts on Linux."""
_WORDS = "|".join(re.escape(word) for word in _SIGNAL_WORDS)
_SRUN = lazy(
    r": tasks? (?P<tasks>\d[\d,-]{0,8000}): "
    rf"(?P<reason>Exited with exit code (?P<code>\d{{1,9}})|Out Of Memory|(?P<word>{_WORDS})(?: \(core dumped\))?)"
)
_HOSTS = lazy(r"[A-Za-z0-9][\w.,\[\]-]*")
_HOSTS_LIMIT = 16_384
_DEEPSPEED = lazy(r"exits with return code = (-?\d{1,9})")
_KILLING = lazy(r"^\W*Killing subprocess (\d{1,9})\s*$")
_ARGV0 = lazy(r"\[['\"]([^'\"]{1,400})['\"]")
_CALLED = lazy(
    r"CalledProcessError: Command .*?(?:returned non-zero exit status (\d{1,9})|died with <Signals\.(SIG\w{1,12}): \d+>)"
)
_SPAWN = lazy(
    r"process (\d{1,9}) terminated with (?:exit code (-?\d{1,9})|signal (?:Signals\.)?(SIG\w{1,12}|\d{1,3}))"
)
_PDSH = lazy(r"^pdsh@[\w.-]{1,120}: (\S{1,200}): (?:ssh|rsh|exec) exited with exit code (\d{1,9})")
_BASH = lazy(
    rf"^(?P<script>[^\s:][^:]{{0,400}}): line \d{{1,9}}:\s{{1,4}}(?P<pid>\d{{1,9}}) (?P<word>{_WORDS})"
    r"(?P<core>\s{1,40}\(core dumped\))?(?:\s{1,40}(?P<command>\S.*))?$"
)
_BARE = lazy(
    r"^(?P<word>Killed|Segmentation fault|Aborted|Bus error|Terminated)(?P<core> \(core dumped\))?\s*$"
)
_COMPOSER_CRASH = lazy(r"^Rank (\d{1,9}) crashed with exit code (-?\d{1,9})\.\s*$")
_COMPOSER_EXIT = lazy(r"^Global rank (\d{1,9}) \(PID (\d{1,9})\) exited with code (-?\d{1,9})\s*$")
_LIGHTNING = lazy(
    r"Child process with PID (\d{1,9}) terminated with code (-?\d{1,9})\. Forcefully terminating"
)
_RAY = lazy(r"[Ww]orker (?:died|unexpectedly exits|exit type: \w+)")
_RAY_TYPE = lazy(r"Worker exit type: (\w{1,40})")
_RAY_PID = lazy(r"Worker PID: (\d{1,9})")
_RAY_HOST = lazy(r"Worker IP address: ([\w.:]{1,64}?)(?=[\s.]*(?:\s|$))")
_CONTAINER = lazy(
    r"\b(?:container|docker|enroot|pyxis|apptainer|singularity)\b.{0,200}?\bexited with (?:exit )?(?:code|status) (\d{1,3})\b",
    re.IGNORECASE,
)
_COMPOSE = lazy(
    r"^(?:Container )?([A-Za-z][\w.-]{0,80}-\d{1,5}) exited with code (\d{1,3})(?: \(restarting\))?\s*$"
)
_POD = lazy(r"\bPod: [\w-]{1,80}[./]([\w.-]{1,120}) exited with code (\d{1,3})\b")
_OOM_KILLED = lazy(r"^\s*Reason:\s{1,20}OOMKilled\s*$")
_SAGEMAKER = lazy(r"^(?:sagemaker_training\.errors\.)?ExecuteUserScriptError:\s*$")
_LSF = lazy(r"^Exited (?:with exit code (\d{1,3})|with signal termination: (?:(\d{1,2})|([A-Z][\w /]{2,30}?))(?:, and core dumped)?"
                  r"|by signal (\d{1,2}))\.\s*$")  # fmt: skip
_FLUX = lazy(r"^flux-job: task\(s\) (?:exited with exit code (\d{1,3})|(\w[\w ]{2,30}?))\s*$")
_RENDERED = lazy(r"^==== job \d+ ended with exit code 0 in attempt \d+, ")
_CONTINUATION = 8
"""Lines after a launcher's announcement in which rank and code may stand."""


_LISTED = 1 << 17
"""Hosts and tasks that the lists of one batch of lines hold in all; lists beyond keep their first."""


def extract_exits(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Event], list[Record]]:
    """Exits of one stream. Lines that are an exit and nothing else are consumed, exception lines stay."""
    reader = _Reader(source)
    rest = [
        record
        for record in stream
        if not (worth is None or record.offset in worth or reader.pending is not None)
        or not reader.take(record)
    ]
    reader.flush()
    return reader.events, rest


@dataclass(slots=True)
class _Reader:
    """Walks over the records of one stream; `pending` is an exit whose rank or code stands on lines to come."""

    source: int
    events: list[Event] = field(default_factory=list)
    pending: Exit | None = None
    left: int = 0
    room: int = _LISTED
    """Names and numbers that lists may still hold."""

    def _bounded(self, found: Exit) -> Exit:
        self.room -= len(found.hosts) + len(found.ranks)
        return found if self.room >= 0 else replace(found, hosts=found.hosts[:1], ranks=found.ranks[:1])

    def take(self, record: Record) -> bool:
        """Whether the record needs no other reader."""
        text = record.text[:_LIMIT]
        if self.pending is not None and self._completes(self.pending, record, text):
            return True
        for literals, consumed, more, step in _STEPS:
            for literal in literals:
                if literal in text:
                    break
            else:
                continue
            found = step(Exit(*place(self.source, record), time=record.stamp), text)
            if found is None:
                continue
            found = self._bounded(found)
            if more:
                self.flush()
                self.pending, self.left = found, _CONTINUATION
            else:
                self.events.append(found)
            return consumed and not _GLUED.search(text)
        return False

    def flush(self) -> None:
        """Report an announcement that nothing completed."""
        if self.pending is not None:
            self.events.append(self.pending)
        self.pending = None

    def _completes(self, pending: Exit, record: Record, text: str) -> bool:
        found = completed(pending, text)
        if found is not None:
            span = Span(pending.span.source, pending.span.first, max(pending.span.last, record.end))
            self.pending = replace(found[0], span=span)
            if found[1]:
                self.flush()
            return True
        self.left -= 1
        if self.left <= 0:
            self.flush()
        return False


def _by_word(base: Exit, word: str, by: str) -> Exit:
    """An exit told by strsignal's words."""
    number = _SIGNAL_WORDS[word]
    return replace(base, by=by, signal=number, exitcode=-number, victim=number == 15, reason=word)


def _srun(base: Exit, text: str) -> Exit | None:
    if (match := _SRUN.search(text)) is None:
        return None
    listed = text[max(0, match.start() - _HOSTS_LIMIT) : match.start()].split(" ")[-1]
    hosts = expand_hosts(listed) if _HOSTS.fullmatch(listed) else ()
    if not hosts:
        return None
    ranks = expand_tasks(match["tasks"])
    base = replace(
        base,
        by="srun",
        hosts=hosts,
        host=hosts[0] if len(hosts) == 1 else None,
        ranks=ranks,
        reason=match["reason"],
    )
    if match["word"]:
        return replace(_by_word(base, match["word"], "srun"), reason=match["reason"])
    return replace(base, exitcode=int(match["code"]) if match["code"] else None)


def _deepspeed(base: Exit, text: str) -> Exit | None:
    """The command is that of the process started last, whichever failed: its `--local_rank` tells nothing."""
    if (match := _DEEPSPEED.search(text)) is None:
        return None
    code = int(match[1])
    binary = _ARGV0.search(text)
    return replace(
        base, by="deepspeed", exitcode=code, signal=signal_of(code),
        binary=binary[1] if binary else "", victim=code == -15, reason=match[0], host=base.tags.node,
    )  # fmt: skip


def _killing(base: Exit, text: str) -> Exit | None:
    if (match := _KILLING.match(text)) is None:
        return None
    return replace(
        base, by="deepspeed", pid=int(match[1]), victim=True, reason="Killing subprocess", host=base.tags.node
    )


def _called(base: Exit, text: str) -> Exit | None:
    """torch.distributed.launch up to 1.8 raises it with the command of its last process, as DeepSpeed does."""
    if (match := _CALLED.search(text)) is None:
        return None
    number = signal_number(match[2]) if match[2] else None
    binary = _ARGV0.search(text)
    return replace(
        base, by="python", exitcode=int(match[1]) if match[1] else (-number if number else None), signal=number,
        binary=binary[1] if binary else "", victim=number == 15,
        reason=(match[1] and f"returned non-zero exit status {match[1]}") or f"died with {match[2]}",
    )  # fmt: skip


def _spawn(base: Exit, text: str) -> Exit | None:
    if (match := _SPAWN.search(text)) is None:
        return None
    number = signal_number(match[3]) if match[3] else None
    code = int(match[2]) if match[2] else (-number if number else None)
    return replace(
        base,
        by="python",
        local_rank=int(match[1]),
        exitcode=code,
        signal=number or signal_of(code),
        reason=match[0],
    )


def _composer_crash(base: Exit, text: str) -> Exit | None:
    """Composer looks at its processes in order of rank and stops at the first that failed."""
    if (match := _COMPOSER_CRASH.match(text)) is None:
        return None
    code = int(match[2])
    return replace(
        base, by="composer", rank=int(match[1]), exitcode=code, signal=signal_of(code), first=True, reason=match[0].strip()
    )  # fmt: skip


def _composer_exit(base: Exit, text: str) -> Exit | None:
    """Told once all are ended: SIGTERM and SIGKILL are the launcher's own here, but for the one that it said crashed."""
    if (match := _COMPOSER_EXIT.match(text)) is None:
        return None
    code = int(match[3])
    return replace(
        base, by="composer", rank=int(match[1]), pid=int(match[2]), exitcode=code, signal=signal_of(code),
        victim=code in (-15, -9), reason=match[0].strip(),
    )  # fmt: skip


def _lightning(base: Exit, text: str) -> Exit | None:
    if (match := _LIGHTNING.search(text)) is None:
        return None
    code = int(match[2])
    return replace(
        base, by="lightning", pid=int(match[1]), exitcode=code, signal=signal_of(code), victim=code == -15,
        reason=match[0].partition(". ")[0],
    )  # fmt: skip


def _pdsh(base: Exit, text: str) -> Exit | None:
    if (match := _PDSH.match(text)) is None:
        return None
    return replace(base, by="pdsh", host=match[1], exitcode=int(match[2]), reason=match[0].partition(": ")[2])


def _bash(base: Exit, text: str) -> Exit | None:
    if (match := _BASH.match(text)) is None:
        return None
    base = _by_word(base, match["word"], "bash")
    return replace(base, pid=int(match["pid"]), binary=(match["command"] or "").partition(" ")[0])


def _bare(base: Exit, text: str) -> Exit | None:
    match = _BARE.match(text)
    return None if match is None else _by_word(base, match["word"], "bash")


def _ray(base: Exit, text: str) -> Exit | None:
    if _RAY.search(text) is None:
        return None
    pid, host = _RAY_PID.search(text), _RAY_HOST.search(text)
    kind = _RAY_TYPE.search(text)
    if pid is None or (kind is not None and kind[1].startswith("INTENDED")):
        return None
    reason = "Ray worker died" if kind is None else f"Ray worker died: {kind[1]}"
    return replace(base, by="ray", pid=int(pid[1]), host=host[1] if host else None, reason=reason)


def _compose(base: Exit, text: str) -> Exit | None:
    if (match := _COMPOSE.match(text)) is None:
        return None
    return replace(base, by="container", host=match[1], exitcode=int(match[2]), reason=match[0].strip())


def _pod(base: Exit, text: str) -> Exit | None:
    if (match := _POD.search(text)) is None:
        return None
    return replace(base, by="kubernetes", host=match[1], exitcode=int(match[2]), reason=match[0])


def _oom_killed(base: Exit, text: str) -> Exit | None:
    return replace(base, by="kubernetes", reason="OOMKilled") if _OOM_KILLED.match(text) else None


def _sagemaker(base: Exit, text: str) -> Exit | None:
    return replace(base, by="sagemaker", reason="ExecuteUserScriptError") if _SAGEMAKER.match(text) else None


def _lsf(base: Exit, text: str) -> Exit | None:
    if (match := _LSF.match(text)) is None:
        return None
    base = replace(base, by="lsf", reason=match[0].strip())
    if match[1]:
        return replace(base, exitcode=int(match[1]))
    number = int(match[2] or match[4]) if match[2] or match[4] else _SIGNAL_WORDS.get(match[3])
    return base if number is None else replace(base, signal=number, exitcode=-number)


def _flux(base: Exit, text: str) -> Exit | None:
    if (match := _FLUX.match(text)) is None:
        return None
    if match[1]:
        return replace(base, by="flux", exitcode=int(match[1]), reason=match[0].strip())
    return _by_word(base, match[2], "flux") if match[2] in _SIGNAL_WORDS else None


def _container(base: Exit, text: str) -> Exit | None:
    if (match := _CONTAINER.search(text)) is None:
        return None
    return replace(base, by="container", exitcode=int(match[1]), reason=match[0][-160:])


def _rendered(base: Exit, text: str) -> Exit | None:
    """The last line of a script that triage rendered. Its failure is its step's, which tells more; its success is an
    end that is seen nowhere else."""
    return replace(base, by="script", exitcode=0, reason=text) if _RENDERED.match(text) else None


_GLUED = lazy(r"\S\s*srun: error: |Traceback \(most")
"""Another writer's text before or after the exit on the same line."""

_STEPS: tuple[Step, ...] = (
    ((": task ", ": tasks "), True, False, _srun),
    (("exits with return code",), True, False, _deepspeed),
    (("Killing subprocess",), True, False, _killing),
    (("CalledProcessError: Command",), False, False, _called),
    (("crashed with exit code",), True, False, _composer_crash),
    (("exited with code",), True, False, _composer_exit),
    (("Child process with PID",), True, False, _lightning),
    ((" terminated with ",), False, False, _spawn),
    (("pdsh@",), True, False, _pdsh),
    ((": line ",), True, False, _bash),
    (("Killed", "Segmentation fault", "Aborted", "Bus error", "Terminated"), True, False, _bare),
    *MPI_STEPS,
    *CLUSTER_STEPS,
    (("Worker PID: ",), False, False, _ray),
    (("exited with code",), True, False, _compose),
    (("Pod: ",), False, False, _pod),
    (("OOMKilled",), False, True, _oom_killed),
    (("ExecuteUserScriptError",), False, True, _sagemaker),
    (("Exited ",), False, False, _lsf),
    (("flux-job: ",), True, False, _flux),
    (("==== job ",), True, False, _rendered),
    (("exited with",), False, False, _container),
)
WORDS = tuple(literal for literals, *_ in _STEPS for literal in literals)
"""One of these stands in every line that is read, but for those that complete an announcement."""
