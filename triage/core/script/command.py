"""A command as the script would run it: the outcome of evaluating a script."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.script.decisions import Way
from triage.core.script.state import Field
from triage.core.script.wrappers import Wrapper
from triage.core.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Variable:
    """An exported variable as a command sees it."""

    text: str | None
    """With holes; `None` where the script unset it."""
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """Words after expansion, behind all wrappers."""

    words: tuple[Field, ...]
    """The name first, without what stands in `wrappers`."""
    line: int
    wrappers: tuple[Wrapper, ...] = ()
    """`srun`, `env`, containers ... from the outermost to the innermost."""
    environment: Mapping[str, Variable] = field(default_factory=dict)
    """What the script exported, put in front of the command, or handed over with `env`."""
    way: Way = ()
    """The undecided branches in which it stands."""
    repeated: bool = False
    """In a loop."""
    background: bool = False
    lost: tuple[str, ...] = ()
    """Variables that the script exports and srun keeps from its tasks."""
    outputs: tuple[Field, ...] = ()
    """Files into which what it prints is redirected."""
    directory: str = ""
    """Where `cd` led before; empty is the folder of submission."""
    opaque: bool = False
    """A file was sourced before that may have set anything."""
    activated: bool = False
    """An environment (`conda activate`, `source .venv/bin/activate`, `module load`) was activated before."""

    @property
    def name(self) -> str:
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    def wrapper(self, name: str) -> Wrapper | None:
        """The innermost wrapper of that name."""
        return next((item for item in reversed(self.wrappers) if item.name == name), None)

    @property
    def container(self) -> Wrapper | None:
        """The container program around it, apptainer, docker or another one."""
        return self.wrapper("apptainer") or self.wrapper("docker") or self.wrapper("container")
