"""The options of sbatch and srun, and how getopt reads a list of them.

Source: SchedMD/slurm src/common/slurm_opt.c (`common_options`, `slurm_option_table_create`), 22.05 to 24.11; the
container options are pyxis's (NVIDIA/pyxis args.c).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from triage.core.script.state import Field
from triage.core.values import dataclass


class Argument(enum.Enum):
    """Whether an option takes a value."""

    NONE = "none"
    VALUE = "value"
    MAYBE = "maybe"
    """Only with `=`."""


_BOTH = {
    Argument.VALUE: (
        "account:A acctg-freq bbf begin:b bb cluster-constraint chdir:D clusters:M cluster comment constraint:C"
        " container container-id context core-spec:S cores-per-socket cpu-freq cpus-per-gpu cpus-per-task:c deadline"
        " delay-boot dependency:d distribution:m error:e exclude:x export extra extra-node-info:B gpu-bind tres-bind"
        " gpu-freq gpus:G gpus-per-node gpus-per-socket gpus-per-task tres-per-task gres gres-flags hint input:i"
        " job-name:J licenses:L mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mem-update mincpus"
        " network nodefile:F nodelist:w nodes:N ntasks:n ntasks-per-core ntasks-per-node ntasks-per-socket"
        " ntasks-per-tres ntasks-per-gpu open-mode output:o partition:p power prefer priority profile qos:q"
        " reservation segment signal sockets-per-node switches tasks-per-node thread-spec threads-per-core time:t"
        " time-min tmp wckey"
    ),
    Argument.NONE: (
        "contiguous help:h hold:H overcommit:O oversubscribe:s parsable quiet:Q reboot spread-job stepmgr test-only"
        " use-min-nodes usage verbose:v version:V"
    ),
    Argument.MAYBE: "exclusive oom-kill-step nice no-kill:k propagate resv-ports",
}
_SBATCH = {
    Argument.VALUE: "array:a batch export-file gid kill-on-invalid-dep uid wait-all-nodes wrap",
    Argument.NONE: "external ignore-pbs no-requeue wait:W",
    Argument.MAYBE: "requeue get-user-env",
}
_SRUN = {
    Argument.VALUE: (
        "accel-bind bcast-exclude cpu-bind cpu_bind epilog treewidth ignore-signals jobid threads:T mpi msg-timeout"
        " pack-group het-group prolog relative:r slurmd-debug task-epilog task-prolog wait:W"
    ),
    Argument.NONE: (
        "async debugger-test disable-status:X exact interactive label:l multi-prog no-allocate:Z preserve-env:E"
        " quit-on-interrupt unbuffered:u wait-for-children whole"
    ),
    Argument.MAYBE: "bcast compress external-launcher immediate:I kill-on-bad-exit:K overlap pty send-libs x11",
}
_PYXIS = {
    Argument.VALUE: (
        "container-image container-mounts container-workdir container-name container-save container-env environment"
    ),
    Argument.NONE: (
        "container-mount-home no-container-mount-home container-remap-root no-container-remap-root"
        " container-entrypoint no-container-entrypoint container-entrypoint-log container-writable container-readonly"
    ),
    Argument.MAYBE: "container-unshare",
}


@dataclass(frozen=True, slots=True)
class Known:
    name: str
    argument: Argument


def _table(*sources: Mapping[Argument, str]) -> tuple[dict[str, Known], dict[str, Known]]:
    """By long name and by letter."""
    long: dict[str, Known] = {}
    short: dict[str, Known] = {}
    for source in sources:
        for argument, text in source.items():
            for item in text.split():
                name, _, letter = item.partition(":")
                long[name] = Known(name, argument)
                if letter:
                    short[letter] = long[name]
    return long, short


SBATCH_LONG, SBATCH_SHORT = _table(_BOTH, _SBATCH, _PYXIS)
SRUN_LONG, SRUN_SHORT = _table(_BOTH, _SRUN, _PYXIS)
ALIASES = {"tasks-per-node": "ntasks-per-node", "cluster": "clusters", "cpu_bind": "cpu-bind"}
PLUGINS = frozenset(name for text in _PYXIS.values() for name in text.split())
"""Options that exist only where a site has the plugin."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it is given."""

    name: str
    """Its full long name without dashes; for an unknown one as it is written, with its dashes."""
    value: Field | None
    line: int
    recognised: bool = True
    missing: bool = False
    """It needs a value and has none."""


def text_of(given: Mapping[str, Option], name: str) -> str:
    """An option's value; empty where it is not given or has none."""
    option = given.get(name)
    return option.value.text if option is not None and option.value is not None else ""


def read_options(
    words: Sequence[Field], long: Mapping[str, Known], short: Mapping[str, Known]
) -> tuple[list[Option], int]:
    """The options at the front, as getopt_long with `+` reads them, and the place of the first other word."""
    found: list[Option] = []
    position = 0
    while position < len(words):
        word = words[position]
        text = word.text
        if text == "--":
            return found, position + 1
        if word.many:
            position += 1
            found.append(Option("", word, word.line, recognised=False))
            continue
        if text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            given = Field(value, word.line) if equals else None
            known = _by_name(name, long)
            option, position = _take(known, f"--{name}", given, words, position)
            found.append(option)
        elif text.startswith("-") and len(text) > 1:
            options, position = _cluster(words, position, short)
            found += options
        else:
            break
    return found, position


def _by_name(name: str, long: Mapping[str, Known]) -> Known | None:
    """getopt_long takes any beginning that fits one name only."""
    if name in long:
        return long[name]
    fitting = {known.name for key, known in long.items() if key.startswith(name)} if len(name) > 1 else set()
    return long[fitting.pop()] if len(fitting) == 1 else None


def _take(
    known: Known | None, written: str, given: Field | None, words: Sequence[Field], position: int
) -> tuple[Option, int]:
    line = words[position].line
    if known is None:
        return Option(written, given, line, recognised=False), position + 1
    name = ALIASES.get(known.name, known.name)
    if known.argument is Argument.VALUE and given is None:
        if position + 1 >= len(words):
            return Option(name, None, line, missing=True), position + 1
        return Option(name, words[position + 1], line), position + 2
    return Option(name, given, line), position + 1


def _cluster(words: Sequence[Field], position: int, short: Mapping[str, Known]) -> tuple[list[Option], int]:
    """`-N2`, `-N 2`, `-lu`."""
    word = words[position]
    letters, found = word.text[1:], []
    while letters:
        letter, letters = letters[0], letters[1:]
        known = short.get(letter)
        if known is None:
            found.append(Option(f"-{letter}", None, word.line, recognised=False))
            break
        if known.argument is Argument.NONE:
            found.append(Option(ALIASES.get(known.name, known.name), None, word.line))
            continue
        given = Field(letters, word.line) if letters else None
        if known.argument is Argument.MAYBE:
            return [*found, Option(known.name, given, word.line)], position + 1
        option, position = _take(known, word.text, given, words, position)
        return [*found, option], position
    return found, position + 1
