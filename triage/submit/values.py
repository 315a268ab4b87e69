"""One value of one key: its type, and what Slurm, the shell or a file name could not carry unchanged."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from triage.core.script.allocation import minutes
from triage.core.script.slurm_options import SBATCH_LONG
from triage.submit.keys import Key, Kind

MOST_TEXT = 120_000
"""Bytes of one text: Linux passes no longer argument or variable to a program (MAX_ARG_STRLEN, 128 KiB)."""
MOST_WORDS = 600_000
"""Bytes of one list; Linux passes no more than about 2 MB of arguments and variables together."""
_MOST_DIRECTIVE = 1000
"""Characters of one `#SBATCH` value; Slurm's own limits lie above it."""
_MOST_PATH, _MOST_PART = 3800, 255
"""Bytes of a path, with room for what is put behind it, and of a name in it (Linux limits.h)."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OPTION = re.compile(r"--([a-z][a-z-]*)(?:=(.*))?", re.DOTALL)
_SHADOWED = {
    "job-name": "job.name", "account": "job.account", "partition": "job.partition", "nodes": "job.nodes",
    "gpus-per-node": "job.gpus_per_node", "time": "job.time", "qos": "job.qos", "constraint": "job.constraint",
    "reservation": "job.reservation", "output": "logs", "error": "logs",
}  # fmt: skip
"""Options of sbatch that have a key of their own."""
_FORBIDDEN = {
    "ntasks": "the script starts one task per node",
    "ntasks-per-node": "the script starts one task per node",
    "chdir": "set worktree",
    "open-mode": "the script always appends",
    "wrap": "the script is written from this file",
    "array": "pass it to triage submit",
    "parsable": "triage submit reads sbatch's answer",
    "wait": "triage submit reads sbatch's answer",
    "test-only": "use triage submit --dry-run",
    "help": "it only prints",
    "usage": "it only prints",
    "version": "it only prints",
    "gpus": "set job.gpus_per_node",
    "gres": "set job.gpus_per_node and gpu",
    "comment": "triage submit marks the job there",
}

_RESERVED = re.compile(
    r"(?:SLURM|SBATCH|SRUN|TRIAGE|BASH|COMP)_\w*|MASTER_(?:ADDR|PORT)|NNODES|GPUS_PER_NODE|WORLD_SIZE"
    r"|TORCHELASTIC_ERROR_FILE"
)
"""Variables that the script sets, that Slurm reads, or that bash runs (`BASH_ENV`)."""
_BASH = frozenset(
    [
        "_",
        "BASH",
        "BASHOPTS",
        "BASHPID",
        "CDPATH",
        "DIRSTACK",
        "ENV",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FIGNORE",
        "FUNCNAME",
        "GLOBIGNORE",
        "GROUPS",
        "HISTCMD",
        "IFS",
        "LINENO",
        "OLDPWD",
        "OPTARG",
        "OPTIND",
        "PIPESTATUS",
        "POSIXLY_CORRECT",
        "PPID",
        "PROMPT_COMMAND",
        "PS4",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "UID",
    ]
)
"""Variables that change what bash does, or that bash changes itself (bash(1), Shell Variables)."""


class Wrong(Exception):
    """What is wrong with a value and what is allowed; follows the key's name in a sentence."""


def as_value(key: Key, name: str | None, value: object) -> str | int | tuple[str, ...]:
    """A value of TOML as the key's own. Raises `Wrong`."""
    match key.kind:
        case Kind.COUNT:
            return _number(value, 1, 100_000, key.example)
        case Kind.PORT:
            return "auto" if value == "auto" else _number(value, 1024, 65535, '29500, or "auto"')
        case Kind.CHOICE:
            return _choice(key, value)
        case Kind.WORDS:
            return _words(key, value)
        case Kind.TABLE:
            if name is None:
                raise Wrong(f"is {_shown(value)}, but must be a table of texts, such as {key.example}")
            if not _NAME.fullmatch(name):
                raise Wrong("is no name of a variable: letters, digits and _ only")
            if is_own_variable(name):
                raise Wrong("cannot be set here: it belongs to bash, to Slurm or to the script itself")
            return _text(_scalar(value))
        case Kind.TEXT | Kind.PATH:
            text = _text(value)
            _CHECKS.get(key.name, _any)(text)
            return text


def is_own_variable(name: str) -> bool:
    """Whether a variable belongs to bash, to Slurm or to the script itself."""
    return name in _BASH or _RESERVED.fullmatch(name) is not None


def _number(value: object, low: int, high: int, example: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"is {_shown(value)}, but must be a whole number, such as {example}")
    if not low <= value <= high:
        raise Wrong(f"is {value}, but must lie between {low} and {high}")
    return value


def _choice(key: Key, value: object) -> str:
    if value in key.choices:
        return str(value)
    close = difflib.get_close_matches(str(value)[:60].lower(), key.choices, 1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise Wrong(f"is {_shown(value)}, but must be one of {', '.join(key.choices)}{meant}")


def _scalar(value: object) -> object:
    """A variable's number as it is written."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Wrong(f"is {_shown(value)}, but must be a text in quotes")
    if "\0" in value:
        raise Wrong("holds a NUL character, which no program can be given")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise Wrong("is no valid UTF-8 text") from None
    if size > MOST_TEXT:
        raise Wrong(f"has {size} bytes, but no program can be given more than {MOST_TEXT} in one text")
    return value


def _words(key: Key, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise Wrong(f"is {_shown(value)}, but must be a list of texts, such as {key.example}")
    found = []
    for item in value:
        text = _text(_scalar(item))
        _CHECKS.get(key.name, _any)(text)
        found.append(text)
    if (size := sum(len(item.encode()) + 1 for item in found)) > MOST_WORDS:
        raise Wrong(f"has {size} bytes, but no program can be given more than {MOST_WORDS}")
    return tuple(found)


def _any(text: str) -> None:
    """Whatever it is, the shell can quote it."""


def _filled(text: str) -> None:
    if not text.strip():
        raise Wrong("is empty: give it a value or take the key out")


def _directive(text: str) -> None:
    """What sbatch reads back as it is (src/sbatch/opt.c: a line is a line, and `packjob` and `hetjob` part jobs)."""
    _filled(text)
    if any(not char.isprintable() for char in text):
        raise Wrong(f"is {_shown(text)}: a line break or control character cannot stand in an #SBATCH line")
    if len(text.encode()) > _MOST_DIRECTIVE:
        raise Wrong(f"has {len(text.encode())} bytes, but Slurm takes no more than {_MOST_DIRECTIVE}")
    if re.search(r"packjob|hetjob", text, re.I):
        raise Wrong("holds `packjob` or `hetjob`, which part heterogeneous jobs in an #SBATCH line")


def _job_name(text: str) -> None:
    _directive(text)
    if re.search(r"[/\\%]", text) or text in (".", ".."):
        raise Wrong(f"is {_shown(text)}, but is a part of the log's file name: no /, \\ or %")
    if len(text.encode()) > 200:
        raise Wrong(f"has {len(text.encode())} bytes, but is a part of the log's file name: at most 200")


def _logs(text: str) -> None:
    _path(text)
    _directive(text)
    if re.search(r"[%\\]", text):
        raise Wrong(
            f"is {_shown(text)}, but Slurm gives % and \\ in a log's path a meaning of their own: choose another folder"
        )


def _path(text: str) -> None:
    _filled(text)
    if len(text.encode()) > _MOST_PATH or any(len(part.encode()) > _MOST_PART for part in text.split("/")):
        raise Wrong(f"is {_shown(text)}, which is longer than a path can be")


def _time(text: str) -> None:
    if minutes(text) is None or not re.fullmatch(r"[0-9:-]+", text):
        raise Wrong(f"is {_shown(text)}, but must be MINUTES, HH:MM:SS or D-HH:MM:SS")


def _option(text: str) -> None:
    _directive(text)
    match = _OPTION.fullmatch(text)
    if match is None:
        raise Wrong(f"holds {_shown(text)}, but an option is written --NAME or --NAME=VALUE")
    name = match[1]
    if name in _SHADOWED:
        raise Wrong(f"holds --{name}: set {_SHADOWED[name]} instead")
    if name in _FORBIDDEN:
        raise Wrong(f"holds --{name}: {_FORBIDDEN[name]}")
    if name not in SBATCH_LONG:
        close = difflib.get_close_matches(name, SBATCH_LONG, 1)
        meant = f"; did you mean --{close[0]}?" if close else ""
        raise Wrong(f"holds --{name}, which sbatch does not know{meant}")


def _command(text: str) -> None:
    _path(text)
    if text.startswith("-") and not (text.startswith("-m ") and re.fullmatch(r"[\w.]+", text[3:].strip())):
        raise Wrong(f"is {_shown(text)}, but must be a Python file, or -m and a module's name")


def _image(text: str) -> None:
    _filled(text)
    if text.startswith("-"):
        raise Wrong(f"is {_shown(text)}, but an image's name does not begin with a dash")


def _mount(text: str) -> None:
    _filled(text)
    if "," in text or text.count(":") > 2 or not text.startswith("/"):
        raise Wrong(
            f"holds {_shown(text)}, but a mount is SOURCE:TARGET with absolute paths, or one for both, without commas"
        )


_CHECKS: Mapping[str, Callable[[str], None]] = MappingProxyType({
    "worktree": _path, "artifact": _path, "logs": _logs, "command": _command, "gpu": _directive,
    "job.name": _job_name, "job.account": _directive, "job.partition": _directive, "job.time": _time,
    "job.qos": _directive, "job.constraint": _directive, "job.reservation": _directive, "job.options": _option,
    "container.image": _image, "container.mounts": _mount,
})  # fmt: skip


def _shown(value: object) -> str:
    """A value for a message, on one line and not too long."""
    text = ascii(value) if not isinstance(value, str) or not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
