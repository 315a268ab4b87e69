"""`Config`: a run as its `triage.toml` describes it, complete and checked; `Settings` adds where each value came from."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field

from triage.core.values import dataclass


class Launcher(enum.Enum):
    """What starts the workers of a node."""

    UV = "uv"
    """`uv run python -m torch.distributed.run`: the worktree's own environment, whatever the node has."""
    PYTHON = "python"
    """`python -m torch.distributed.run`: the Python that stands first on PATH, in a container for example."""
    TORCHRUN = "torchrun"


class ContainerKind(enum.Enum):
    NONE = "none"
    PYXIS = "pyxis"
    """Slurm's plugin: flags of srun."""
    APPTAINER = "apptainer"
    SINGULARITY = "singularity"


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked of Slurm; `None` leaves it to the site."""

    name: str = "megatron"
    account: str | None = None
    partition: str | None = None
    nodes: int = 1
    gpus_per_node: int = 8
    time: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    options: tuple[str, ...] = ()
    """Further options of sbatch, as they stand behind `#SBATCH`."""


@dataclass(frozen=True, slots=True)
class Container:
    kind: ContainerKind = ContainerKind.NONE
    image: str | None = None
    mounts: tuple[str, ...] = ()
    """`SOURCE:TARGET` or one path for both; worktree and logs are mounted without being named."""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """One run. Paths are absolute."""

    worktree: str
    logs: str
    command: str = "pretrain_gpt.py"
    """A Python file, or `-m MODULE`."""
    arguments: tuple[str, ...] = ()
    launcher: Launcher = Launcher.UV
    master_port: int | None = 29500
    """`None` derives it from the job id."""
    gpu: str | None = None
    artifact: str | None = None
    """What the run leaves when it is done."""
    job: Job = field(default_factory=Job)
    environment: Mapping[str, str] = field(default_factory=dict)
    container: Container = field(default_factory=Container)
    setup: tuple[str, ...] = ()
    """Shell commands that the batch script runs before it launches."""
    on_failure: tuple[str, ...] = ()
    """Commands that each failing node runs in its log folder."""

    @property
    def module(self) -> str | None:
        """The module's name where the command is one."""
        return self.command[3:].strip() if self.command.startswith("-m ") else None


class Layer(enum.Enum):
    """Where a value may come from; a later one outranks an earlier one."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    ARGUMENT = "argument"
    """Behind `--`."""
    SET = "set"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from."""

    layer: Layer
    place: str = ""
    """The file, the variable or the option."""
    line: int | None = None

    def __str__(self) -> str:
        return self.place if self.line is None else f"{self.place}:{self.line}"


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration together with the origin of each key, and of each argument."""

    config: Config
    origins: Mapping[str, Origin]
    """By key: `job.nodes`, `environment.NCCL_DEBUG`."""
    arguments: tuple[Origin, ...] = ()
    """One for each of `config.arguments`."""
