"""What well-known commands print, given what is known: the results of `$( )`.

Only text already in the script and the meaning of Slurm's own answers are used; nothing runs. `None` is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triage.core.script.arithmetic import arithmetic, number
from triage.core.script.holes import (
    FIRST_HOST,
    GPUS,
    HOSTS,
    NODE_LIST,
    OWN_HOST,
    USER,
    known,
    symbols,
)
from triage.core.script.printf import formatted
from triage.core.values import dataclass

_MOST = 64
_HOST_FILTERS = frozenset(
    {"getent", "host", "dig", "nslookup", "awk", "cut", "grep", "sed", "tr", "head", "tail", "xargs", "sort", "uniq",
     "egrep", "ssh", "tee", "cat", "perl", "rev", "python", "python3", "ip", "ifconfig"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A command in a substitution."""

    words: Sequence[str]
    """Its name without folder, and its arguments."""
    input: str
    """What it reads, with holes; empty if nothing is piped into it."""
    in_step: bool
    """Whether it runs in srun's tasks, rather than on the batch host, which is the first of the allocation."""
    outside: Callable[[str], str | None]


def output(asked: Asked) -> str | None:
    """What the command prints, `None` where that is not known."""
    name, *arguments = asked.words
    known_command = _COMMANDS.get(name)
    result = known_command(asked, arguments) if known_command else None
    if result is None and name in _HOST_FILTERS:
        marks = symbols(asked.input + "".join(arguments))
        if FIRST_HOST in marks or (HOSTS in marks and _takes_first(name, arguments)):
            return FIRST_HOST
        if OWN_HOST in marks:
            return OWN_HOST
    return result


def _takes_first(name: str, arguments: Sequence[str]) -> bool:
    text = " ".join(arguments)
    match name:
        case "head":
            return text in ("-n1", "-n 1", "-1", "-n 1 -", "--lines=1", "--lines 1")
        case "sed":
            return text in ("-n 1p", "1q", "-n 1{p;q}", "-n 1{p}", "q")
        case "awk":
            return text.replace(" ", "") in ("NR==1", "NR==1{print$1}", "NR==1{print}", "{print$1;exit}")
        case "grep":
            return "-m1" in text.replace(" ", "")
        case "cut":
            return text.replace(" ", "").endswith("-f1")
    return False


def _echo(_: Asked, arguments: list[str]) -> str | None:
    newline = "\n"
    while arguments and arguments[0] in ("-n", "-e", "-ne", "-en", "-E"):
        newline = "" if "n" in arguments[0] else newline
        arguments = arguments[1:]
    return " ".join(arguments) + newline


def _printf(_: Asked, arguments: list[str]) -> str | None:
    return formatted(arguments)


def _cat(asked: Asked, arguments: list[str]) -> str | None:
    return asked.input if not arguments or arguments == ["-"] else None


def _scontrol(_: Asked, arguments: list[str]) -> str | None:
    if (
        arguments[:1] == ["show"]
        and len(arguments) > 1
        and arguments[1] in ("hostnames", "hostname", "hostlistsorted")
    ):
        wanted = arguments[2:]
        return HOSTS if not wanted or any(NODE_LIST in item for item in wanted) else None
    return None


def _hostname(asked: Asked, _: list[str]) -> str | None:
    return OWN_HOST if asked.in_step else FIRST_HOST


def _head(asked: Asked, arguments: list[str]) -> str | None:
    if not _takes_first("head", arguments):
        return None
    if asked.input.strip() == HOSTS:
        return FIRST_HOST
    return asked.input.split("\n")[0] if known(asked.input) and asked.input else None


def _count_lines(asked: Asked, arguments: list[str]) -> str | None:
    if arguments not in (["-l"], ["-w"]):
        return None
    marks = symbols(asked.input)
    if marks == {HOSTS}:
        return asked.outside("SLURM_NNODES")
    if marks == {GPUS}:
        return asked.outside("SLURM_GPUS_ON_NODE")
    if marks or not asked.input:
        return None
    return str(asked.input.count("\n") if arguments == ["-l"] else len(asked.input.split()))


def _nvidia_smi(_: Asked, arguments: list[str]) -> str | None:
    lists = any(item in ("-L", "--list-gpus") or item.startswith("--query-gpu") for item in arguments)
    return GPUS if lists and not any(item in ("-i", "--id") for item in arguments) else None


def _grep(asked: Asked, arguments: list[str]) -> str | None:
    if symbols(asked.input) == {GPUS} and arguments[:1] == ["-c"]:
        return asked.outside("SLURM_GPUS_ON_NODE")
    return GPUS if symbols(asked.input) == {GPUS} and arguments in (["GPU"], ["gpu"]) else None


def _seq(_: Asked, arguments: list[str]) -> str | None:
    values = [number(item) for item in arguments if known(item)]
    if len(values) != len(arguments) or not 1 <= len(values) <= 3 or None in values:
        return None
    numbers = [value for value in values if value is not None]
    first, step, last = (
        (1, 1, numbers[0])
        if len(numbers) == 1
        else (numbers[0], 1, numbers[1])
        if len(numbers) == 2
        else numbers
    )
    if step == 0 or abs(last - first) // abs(step) >= _MOST:
        return None
    return "".join(f"{value}\n" for value in range(first, last + (1 if step > 0 else -1), step))


def _expr(_: Asked, arguments: list[str]) -> str | None:
    return _computed(" ".join(arguments))


def _bc(asked: Asked, arguments: list[str]) -> str | None:
    return _computed(asked.input.strip()) if not arguments else None


def _computed(text: str) -> str | None:
    result = arithmetic(text, lambda _: None) if known(text) and len(text) < 400 else None
    return None if result is None or result.assigned else str(result.value)


def _basename(_: Asked, arguments: list[str]) -> str | None:
    if not 1 <= len(arguments) <= 2 or not known(arguments[0]):
        return None
    name = arguments[0].rstrip("/").rpartition("/")[2]
    return name.removesuffix(arguments[1]) if len(arguments) == 2 and known(arguments[1]) else name


def _dirname(_: Asked, arguments: list[str]) -> str | None:
    if len(arguments) != 1 or not known(arguments[0]):
        return None
    folder = arguments[0].rstrip("/").rpartition("/")[0]
    return folder or ("/" if arguments[0].startswith("/") else ".")


def _pwd(asked: Asked, _: list[str]) -> str | None:
    return asked.outside("PWD")


def _cut(asked: Asked, arguments: list[str]) -> str | None:
    text = " ".join(arguments)
    if not known(asked.input) or not known(text):
        return None
    delimiter, field = "\t", None
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word.startswith("-d"):
            delimiter = word[2:] or (words.pop(0) if words else "")
        elif word.startswith("-f"):
            field = number(word[2:] or (words.pop(0) if words else ""))
    if field is None or len(delimiter) != 1 or field < 1:
        return None
    rows = [line.split(delimiter) for line in asked.input.splitlines()[:_MOST]]
    return "\n".join(row[field - 1] if len(row) >= field else row[0] if len(row) == 1 else "" for row in rows)


def _tr(asked: Asked, arguments: list[str]) -> str | None:
    if len(arguments) != 2 or not known(asked.input):
        return None
    first, second = (item.replace("\\n", "\n").replace("\\t", "\t") for item in arguments)
    if first == "-d":
        return asked.input.translate({ord(char): None for char in second}) if "[" not in second else None
    if first in ("[:upper:]", "A-Z") and second in ("[:lower:]", "a-z"):
        return asked.input.lower()
    if first in ("[:lower:]", "a-z") and second in ("[:upper:]", "A-Z"):
        return asked.input.upper()
    return asked.input.replace(first, second) if len(first) == 1 and len(second) == 1 else None


def _whoami(_: Asked, __: list[str]) -> str | None:
    return USER


_COMMANDS: dict[str, Callable[[Asked, list[str]], str | None]] = {
    "echo": _echo, "printf": _printf, "cat": _cat, "scontrol": _scontrol, "hostname": _hostname, "head": _head,
    "wc": _count_lines, "nvidia-smi": _nvidia_smi, "grep": _grep, "seq": _seq, "expr": _expr, "bc": _bc,
    "basename": _basename, "dirname": _dirname, "pwd": _pwd, "cut": _cut, "tr": _tr, "whoami": _whoami,
}  # fmt: skip
