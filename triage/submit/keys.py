"""Every key of `triage.toml`, declared once: its kind, default and meaning. The reader, `triage init`, `triage config`
and the documentation are made from this table."""

from __future__ import annotations

import enum

from triage.core.values import dataclass
from triage.submit.config import ContainerKind, Launcher

FILE_NAME = "triage.toml"


class Kind(enum.Enum):
    """What a key takes."""

    TEXT = "text"
    PATH = "path"
    """Made absolute: the worktree from the file's folder, all others from the worktree."""
    COUNT = "whole number from 1"
    PORT = 'port number or "auto"'
    CHOICE = "one of"
    WORDS = "list of texts"
    TABLE = "table of texts"


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    """With its table: `job.nodes`."""
    kind: Kind
    default: str | int | tuple[str, ...] | None
    """`None`: not set."""
    about: str
    """A sentence for the file and the documentation."""
    example: str
    """As it may stand in the file."""
    choices: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def leaf(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it."""
        return None if self.kind is Kind.TABLE else f"TRIAGE_{self.name.replace('.', '_').upper()}"


_LAUNCHERS = tuple(item.value for item in Launcher)
_CONTAINERS = tuple(item.value for item in ContainerKind)

KEYS: tuple[Key, ...] = (
    Key("worktree", Kind.PATH, ".", "The Megatron-LM checkout, on storage that all nodes see. A relative path begins at this file's folder.", '"/lustre/me/Megatron-LM"'),
    Key("command", Kind.TEXT, "pretrain_gpt.py", "What trains: a Python file in the worktree, or \"-m MODULE\".", '"pretrain_gpt.py"'),
    Key("arguments", Kind.WORDS, (), "Its arguments, one text for each word.", '["--num-layers", "32", "--bf16"]'),
    Key("launcher", Kind.CHOICE, Launcher.UV.value, "Starts the workers: uv (uv run python -m torch.distributed.run), python (the same without uv, in a container for example) or torchrun.", '"uv"', _LAUNCHERS),
    Key("master_port", Kind.PORT, 29500, "Where the ranks meet on the first node; \"auto\" derives it from the job id, so that two jobs on a node do not collide.", '"auto"'),
    Key("gpu", Kind.TEXT, None, "The nodes' GPU type. What Megatron-LM needs in CUDA_DEVICE_MAX_CONNECTIONS depends on it.", '"h100"'),
    Key("logs", Kind.PATH, "logs", "Folder for all logs, on storage that all nodes see. A relative path begins at the worktree.", '"logs"'),
    Key("artifact", Kind.PATH, None, "A file that the run leaves when it is done, such as a metrics JSON.", '"results/metrics.json"'),
    Key("job.name", Kind.TEXT, "megatron", "Name of the job and of its logs.", '"llama-8b"'),
    Key("job.account", Kind.TEXT, None, "Account to charge.", '"research"'),
    Key("job.partition", Kind.TEXT, None, "Partition, or several with commas.", '"gpu"'),
    Key("job.nodes", Kind.COUNT, 1, "Nodes of the one worker group.", "2"),
    Key("job.gpus_per_node", Kind.COUNT, 8, "GPUs of each node; as many processes are started there.", "8"),
    Key("job.time", Kind.TEXT, None, "Time limit: MINUTES, HH:MM:SS or D-HH:MM:SS.", '"24:00:00"'),
    Key("job.qos", Kind.TEXT, None, "Quality of service.", '"normal"'),
    Key("job.constraint", Kind.TEXT, None, "Features that the nodes must have.", '"h100&ib"'),
    Key("job.reservation", Kind.TEXT, None, "Reservation to run in.", '"march"'),
    Key("job.options", Kind.WORDS, (), "Further options of sbatch.", '["--exclusive", "--mem=0"]'),
    Key("container.kind", Kind.CHOICE, ContainerKind.NONE.value, "How the program is contained: none, pyxis, apptainer or singularity.", '"pyxis"', _CONTAINERS),
    Key("container.image", Kind.TEXT, None, "The image: a registry's name or a file.", '"nvcr.io/nvidia/pytorch:25.03-py3"'),
    Key("container.mounts", Kind.WORDS, (), "Folders to mount, SOURCE:TARGET or one path for both. The worktree, its .venv and the logs are mounted anyway.", '["/lustre/data:/data"]'),
    Key("container.options", Kind.WORDS, (), "Further flags of the container.", '["--container-writable"]'),
    Key("hooks.setup", Kind.WORDS, (), "Shell commands that the batch script runs before it launches.", '["module load cuda/12.8"]'),
    Key("hooks.on_failure", Kind.WORDS, (), "Shell commands that a node runs in its log folder when its workers failed, to keep evidence.", '["cp /tmp/nccl-*.log ."]'),
    Key("environment", Kind.TABLE, None, "Variables for all processes.", '{ NCCL_DEBUG = "WARN" }'),
)  # fmt: skip
"""Those without a table come first, as in a file."""
BY_NAME = {key.name: key for key in KEYS}
TABLES = tuple(dict.fromkeys(key.table for key in KEYS if key.table))
