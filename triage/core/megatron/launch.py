"""`Launch`: what a training run will be started with, as far as its script says; the input of all checks."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping

from triage.core.megatron.options import FLAGS, LISTS
from triage.core.values import dataclass, field


class Unknown(enum.Enum):
    """A value that is given but could not be resolved. Neither absent nor a default, and never guessed."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN

Value = str | Unknown
Number = int
"""`int` under a name that `Launch.int` does not hide."""


class Framework(enum.Enum):
    """Whose rules the program follows."""

    MEGATRON = "megatron-lm"
    """Megatron-LM as it is now."""
    OLDER = "older megatron-lm"
    """Megatron-LM of another version: arithmetic holds, the rest may not."""
    FORK = "megatron fork"
    NEMO = "nemo"
    DEEPSPEED = "megatron-deepspeed"
    UNKNOWN = "unknown"
    """Nothing says that it is Megatron: a program whose options merely look alike."""


class Unresolved(Exception):
    """A check asked for what is not known; it then says nothing. Never leaves the room: `preflight` catches it."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command line after the shell has split it."""

    text: Value
    line: int | None = None
    """Where it stands in the file, from 1; `None` where there is no file."""
    many: bool = False
    """With `UNKNOWN`: it may as well be no word or several, options among them (an unquoted `$EXTRA_ARGS`)."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An option with its values, in the order of the command line; the last one of a name counts."""

    name: str | None
    """With its dashes, `--bf16`; `None` for a place that may hold any options (`$EXTRA_ARGS`)."""
    values: tuple[Value, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """An environment variable as the script leaves it."""

    value: Value | None
    """`None` where the script unsets it."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A command with its allocation and environment. `None` is "not known" for numbers and the GPU type."""

    nodes: int | None = None
    """Nodes of the one worker group."""
    gpus_per_node: int | None = None
    """Processes per node, of which each drives one GPU (torchrun's --nproc-per-node)."""
    gpu: str | None = None
    """Type as the script or site says it: `h100`, `a100_80gb`, `NVIDIA-B200`."""
    args: tuple[Argument, ...] = ()
    env: Mapping[str, Setting] = field(default_factory=dict)
    """What the script sets or unsets; a name that is missing is inherited, thus normally unset."""
    env_complete: bool = True
    """False where something else may set variables: a sourced file, an unresolved `--export`, a container image."""
    framework: Framework = Framework.MEGATRON
    program: str | None = None
    """The Python file or module, `pretrain_gpt.py`."""
    nodes_line: int | None = None
    gpus_line: int | None = None
    gpu_line: int | None = None
    program_line: int | None = None

    @property
    def world_size(self) -> int | None:
        if self.nodes is None or self.gpus_per_node is None:
            return None
        return self.nodes * self.gpus_per_node

    @property
    def complete(self) -> bool:
        """Whether every option is visible, so that one not seen is really not given."""
        return all(item.name is not None and item.name not in ELSEWHERE for item in self.args)

    def find(self, *names: str) -> Argument | None:
        """The one that counts of all that are called so."""
        return next((item for item in reversed(self.args) if item.name in names), None)

    def has(self, *names: str) -> bool | None:
        """Whether one of the options is given; `None` where it may hide in what could not be resolved."""
        if self.find(*names) is not None:
            return True
        return False if self.complete else None

    def flag(self, *names: str) -> bool:
        """Whether a switch is on. Raises `Unresolved` where that cannot be seen."""
        given = self.has(*names)
        if given is None:
            raise Unresolved(names[0])
        return given

    def text(self, *names: str, default: str | None = None) -> str | None:
        """The first value, `default` without the option. Raises `Unresolved` where it is not known."""
        item = self.find(*names)
        if item is None:
            if not self.complete:
                raise Unresolved(names[0])
            return default
        if not item.values or isinstance(item.values[0], Unknown):
            raise Unresolved(names[0])
        return item.values[0]

    def int(self, *names: str, default: Number | None = None) -> Number | None:
        """The first value as Python's `int` reads it. Raises `Unresolved` where it is not known or no number."""
        text = self.text(*names)
        if text is None:
            return default
        if not is_int(text):
            raise Unresolved(names[0])
        return int(text)

    def size(self, *names: str) -> Number:
        """A parallel size: 1 where it is not given. Raises `Unresolved` where it is not known or below 1, which has
        its own check."""
        number = self.int(*names, default=1)
        if number is None or number < 1:
            raise Unresolved(names[0])
        return number

    def line(self, *names: str) -> Number | None:
        """The line of the first of the options that is given, for a finding to point at."""
        found = (self.find(name) for name in names)
        return next((item.line for item in found if item is not None and item.line is not None), None)


def is_int(text: str) -> bool:
    """Whether Python's `int` reads it, and it is short enough to be a number that someone meant."""
    return len(text) <= 18 and _INT.fullmatch(text) is not None


_INT = re.compile(r"\s*[+-]?[0-9]+(?:_[0-9]+)*\s*")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*", re.ASCII)
_OVERRIDE = re.compile(r"[+~]{0,2}\w+(?:\.\w+)+", re.ASCII)

ELSEWHERE = frozenset({"--yaml-cfg"})
"""Options that read the other options from a file."""


def arguments(words: Iterable[Word]) -> tuple[Argument, ...]:
    """Groups words behind the program's name into options, as argparse does; Hydra's `model.num_layers=32` is an
    option too, by its dotted name without dashes. Words before the first option that
    are no options (positionals) are left out, except unresolved ones, which may hold options."""
    found: list[Argument] = []
    for word in words:
        if isinstance(word.text, Unknown):
            if found and _takes(found[-1], word):
                found[-1] = _with(found[-1], UNKNOWN)
            elif word.many:
                found.append(Argument(None, (), word.line))
        elif (name := word.text.partition("=")[0]) and (
            _OPTION.fullmatch(name) or (name != word.text and _OVERRIDE.fullmatch(name))
        ):
            value = word.text[len(name) + 1 :]
            found.append(Argument(name, (value,) if "=" in word.text else (), word.line))
        elif found and found[-1].name is not None:
            found[-1] = _with(found[-1], word.text)
    return tuple(found)


def _takes(item: Argument, word: Word) -> bool:
    """Whether an unresolved word is a value of the option before it."""
    if item.name is None or item.name in FLAGS:
        return False
    return not word.many or not item.values or item.name in LISTS


def _with(item: Argument, value: Value) -> Argument:
    return Argument(item.name, (*item.values, value), item.line)
