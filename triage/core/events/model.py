"""Events: the smallest things a rule may match. Values only; who and when are what the log says, unresolved."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.logs.record import NO_TAGS, Stamp, Tags
from triage.core.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `[first, last)` of source number `source`; line numbers are counted only when they are shown."""

    source: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Interval:
    """When something happened, as bounds from the stamped lines of the same stream."""

    at: Stamp | None = None
    """The event's own stamp."""
    after: Stamp | None = None
    """The nearest stamp before it in its stream."""
    before: Stamp | None = None
    """The nearest stamp after it in its stream."""


@dataclass(frozen=True, slots=True)
class Event:
    """Common to all events."""

    span: Span
    tags: Tags = NO_TAGS
    when: Interval = Interval()


@dataclass(frozen=True, slots=True)
class Message(Event):
    """A line (or a few that belong together) outside any traceback."""

    text: str = ""
    """Without prefixes; continuation lines joined by newlines."""
    level: str = ""
    dialect: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """`File "file", line line, in function`."""

    file: str
    line: int | None
    function: str
    code: str = ""
    """The source text below it, stripped; empty where none is printed."""


@dataclass(frozen=True, slots=True)
class Link:
    """One exception of a chain."""

    exception: str | None
    """As printed, module path included; None where the log ends before it."""
    message: str
    """All lines of the message, joined by newlines, trailing blanks kept off."""
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    notes: tuple[str, ...] = ()
    relation: str = ""
    """How it stands to the link printed before it: empty (the first), `cause` (direct cause), `context`
    (during handling), `embedded` (a traceback inside the message of the next), `group` (member of a group)."""
    rank: int | None = None
    """A rank named by the block itself (`Traceback ... (RANK 3)`)."""


@dataclass(frozen=True, slots=True)
class Trace(Event):
    """A Python traceback with its chain, first raised first."""

    links: tuple[Link, ...] = ()
    style: str = "python"
    """`python`, `rich`, `loguru`, `faulthandler`, `thread`, `logged`, `ignored`, `error-file`, `list` (a one-line repr), `summary`,
    `bare` (its last line alone)."""
    label: str = ""
    """The text before the header where there is one: a log message, `Exception in thread Thread-3`."""
    complete: bool = True
    """False when the log was cut or woven so that the exception line is missing."""
    woven: bool = False
    """True when it was untangled from lines that several processes wrote at once."""
    logged: bool = False
    """True when a logger printed it on behalf of the program (label at the line's start, level below error)."""


@dataclass(frozen=True, slots=True)
class Progress(Event):
    """A line that shows training going on."""

    iteration: int | None = None
    total: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    """`lm loss`, `elapsed_ms`, `global_batch_size` ... where printed."""
    kind: str = "iteration"
    """`iteration`, `done` (`[after training is done]`), `saving`, `saved`, `loading`, `loaded`, `start`, `eval`, `exiting`, `success` (MLLOG run_stop status success), `aborted`, `no-result` (MLPerf's script ends without a result)."""
    form: str = ""
    """Which program's wording it is: `megatron`, `mllog`, `bar` (tqdm), `epoch` (a count inside an epoch) ..."""


@dataclass(frozen=True, slots=True)
class Facts(Event):
    """Sizes and settings that a line or a dump states: names of `facts` in the verdict, values typed."""

    values: Mapping[str, int | float | str | bool] = field(default_factory=dict)
    origin: str = ""
    """`arguments` (a dump), `command` (a command line), `world` (initialisation lines), `memory`,
    `environment` (WORLD_SIZE of an environment, NCCL's nranks), `iteration`.
    Where two disagree, the earlier of this order wins."""
    placed: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Hosts with their global ranks, where a launcher prints them."""
    nodelist: tuple[str, ...] = ()
    """The job's hosts in the scheduler's order."""


@dataclass(frozen=True, slots=True)
class Manifest(Facts):
    """How a node was launched, as its script wrote it down."""

    host: str = ""
    node_rank: int = 0
    said: Mapping[str, str] = field(default_factory=dict)
    """Command, commit, environment and versions, by name: what all nodes should have in common."""


@dataclass(frozen=True, slots=True)
class Exit(Event):
    """How a process ended, as its launcher tells it."""

    by: str = ""
    """`torchrun` (summary block or `failed (exitcode` line), `srun`, `deepspeed`, `mpirun`, `python`."""
    host: str | None = None
    rank: int | None = None
    """Global rank, only where printed as such."""
    local_rank: int | None = None
    ranks: tuple[int, ...] = ()
    """Tasks named by one srun line."""
    hosts: tuple[str, ...] = ()
    pid: int | None = None
    exitcode: int | None = None
    """Negative for a signal, as torchrun prints it."""
    signal: int | None = None
    time: Stamp | None = None
    first: bool = False
    """Stands under `Root Cause (first observed failure)`."""
    victim: bool = False
    """The launcher itself ended it (`Sending process N closing signal SIGTERM`, exit -15)."""
    reason: str = ""
    """`Out Of Memory`, `Terminated`, `Segmentation fault`, or the summary's traceback text."""
    binary: str = ""
    """What ran: the executable, or the program that the summary's heading names."""
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Collective(Event):
    """What one line of the process group, NCCL, gloo or the store says about a collective or a peer."""

    what: str = ""
    """`timeout` (a watchdog or blocking wait gave up), `enqueued` (last enqueued/completed pair), `error` (a
    collective failed with an asynchronous exception), `aborted` (the watchdog thread ended with an exception),
    `dump` (dump signal), `heartbeat` (the watchdog itself is stuck), `wait` (gloo gave up waiting), `closed`
    (a peer's connection ended), `connect` (a peer could not be reached), `link` (a transport gave up on a peer),
    `mismatch` (two ranks run different collectives), `barrier` (who did and did not reach a barrier), `desync` and
    `snapshot` (torch's desync report), `trace` (fr_trace's conclusion), `store` (a key or client never came),
    `member` (position in a group), `comm` (rank in an NCCL communicator), `address` (an address of the host)."""
    group: str = ""
    """GUID with description, `10:TENSOR_MODEL_PARALLEL_GROUP`; `#3` or `#3:description` where only the number that
    each process counts for itself is printed (equal numbers on two ranks need not be one group)."""
    group_rank: int | None = None
    op: str = ""
    seq: int | None = None
    last_enqueued: int | None = None
    last_completed: int | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    ranks: tuple[int, ...] = ()
    """Ranks that the line names (missing, in another collective ...): positions in `group`, but global ones for
    `trace`, `dump` and `member`."""
    size: int | None = None
    """Members of the group or communicator, or clients expected, where printed."""
    members: tuple[int, ...] = ()
    """Global ranks of all members, where printed."""
    peer: str = ""
    """Host or address at the other end; for `address` the host's own; for `comm` where on its bus the GPU is."""
    shape: str = ""
    """Tensor shape or size as printed; for gloo's `closed` the peer's port."""
    other: str = ""
    """For `mismatch`: what the rank in `ranks` runs instead, as `#seq op shape`."""
    reason: str = ""
    """A word or the text that says how: `closed`, `reset`, `missing`, `started`, `finished`, an exception's text."""


@dataclass(frozen=True, slots=True)
class Words(Event):
    """A plain line right before a launcher's or another rank's report of a failure: perhaps a program's last words."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Mark(Event):
    """Here an attempt of the job begins, or may begin."""

    kind: str = ""
    """`restart` (torchrun restarts its workers), `requeue` (Slurm starts the job again), `start` (a header counts
    it), `begin` (a program prints what it prints once, when it starts), `preempted` (Slurm ended the job and may start
    it again)."""
    what: str = ""
    """Which beginning: `world`, `dump` or `torchrun`."""
    number: int | None = None
    """The attempt's number as printed: torchrun's restart count, Slurm's restart count, a header's number."""
