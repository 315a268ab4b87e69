"""The options of the programs that start training processes, and the program that they start.

Sources: torch/distributed/run.py (`get_args_parser`), torch/distributed/launch.py, deepspeed/launcher/runner.py,
accelerate/commands/launch.py, nvidia_resiliency_ext/fault_tolerance/launcher.py.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from triage.core.script.holes import known
from triage.core.script.state import Field
from triage.core.values import dataclass


class Launcher(enum.Enum):
    """Who starts the processes of a node."""

    TORCHRUN = "torchrun"
    DEEPSPEED = "deepspeed"
    ACCELERATE = "accelerate"
    PYTHON = "python"
    """Nobody but srun or mpirun: one process per task."""


@dataclass(frozen=True, slots=True)
class Flag:
    """An option of the launcher; `value` is `None` for a switch."""

    value: Field | None
    line: int


@dataclass(frozen=True, slots=True)
class Started:
    """A command taken apart."""

    launcher: Launcher
    flags: dict[str, Flag]
    """The launcher's own, by name with `_` between words."""
    complete: bool
    """False where other flags may hide in something that could not be resolved."""
    program: Field | None
    """The Python file or module that is started."""
    arguments: tuple[Field, ...]
    module: bool
    """Started as `python -m torch.distributed.run`, not by the launcher's own name."""
    line: int


_TORCHRUN = frozenset(
    [
        "nnodes",
        "nproc_per_node",
        "rdzv_backend",
        "rdzv_endpoint",
        "rdzv_id",
        "rdzv_conf",
        "max_restarts",
        "monitor_interval",
        "start_method",
        "role",
        "log_dir",
        "redirects",
        "tee",
        "local_ranks_filter",
        "node_rank",
        "master_addr",
        "master_port",
        "local_addr",
        "logs_specs",
        "numa_binding",
        "event_log_handler",
        "signals_to_handle",
        "duplicate_stdout_filters",
        "duplicate_stderr_filters",
    ]
)
_DEEPSPEED = frozenset(
    [
        "hostfile",
        "include",
        "exclude",
        "num_nodes",
        "num_gpus",
        "min_elastic_nodes",
        "max_elastic_nodes",
        "master_port",
        "master_addr",
        "node_rank",
        "launcher",
        "launcher_args",
        "ssh_port",
        "venv_script",
        "bind_core_list",
        "autotuning",
    ]
)
_ACCELERATE = frozenset(
    [
        "config_file",
        "num_processes",
        "num_machines",
        "machine_rank",
        "main_process_ip",
        "main_process_port",
        "mixed_precision",
        "rdzv_backend",
        "rdzv_conf",
        "role",
        "max_restarts",
        "monitor_interval",
        "tee",
        "log_dir",
        "dynamo_backend",
        "dynamo_mode",
        "gpu_ids",
        "num_cpu_threads_per_process",
        "deepspeed_config_file",
        "zero_stage",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "zero3_init_flag",
        "zero3_save_16bit_model",
        "offload_optimizer_device",
        "offload_param_device",
        "deepspeed_hostfile",
        "deepspeed_multinode_launcher",
        "fsdp_sharding_strategy",
        "fsdp_offload_params",
        "fsdp_auto_wrap_policy",
        "fsdp_transformer_layer_cls_to_wrap",
        "fsdp_state_dict_type",
        "main_training_function",
        "same_network_backend",
        "downcast_bf16",
        "fsdp_backward_prefetch",
        "fsdp_use_orig_params",
        "fsdp_cpu_ram_efficient_loading",
        "fsdp_sync_module_states",
        "fsdp_activation_checkpointing",
        "enable_cpu_affinity",
    ]
)
_VALUES = {Launcher.TORCHRUN: _TORCHRUN, Launcher.DEEPSPEED: _DEEPSPEED, Launcher.ACCELERATE: _ACCELERATE}
_LETTERS = {"r": "redirects", "t": "tee", "H": "hostfile", "i": "include", "e": "exclude"}
_SWITCHES = frozenset(
    [
        "standalone",
        "module",
        "no_python",
        "run_path",
        "use_env",
        "virtual_local_rank",
        "multi_gpu",
        "use_deepspeed",
        "use_fsdp",
        "no_local_rank",
        "no_ssh",
        "force_multi",
        "elastic_training",
        "bind_cores_to_rank",
        "enable_each_rank_log",
        "save_pid",
        "quiet",
        "debug",
        "cpu",
        "tpu",
    ]
)
_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?(?:-\w+)?")
NAMES = {
    "torchrun": Launcher.TORCHRUN, "ft_launcher": Launcher.TORCHRUN, "deepspeed": Launcher.DEEPSPEED,
}  # fmt: skip
"""Launchers by the name of their program; ft_launcher takes torchrun's options and its own."""
_MODULES = {
    "torch.distributed.run": Launcher.TORCHRUN, "torch.distributed.launch": Launcher.TORCHRUN,
    "torch.distributed.elastic.run": Launcher.TORCHRUN, "deepspeed.launcher.runner": Launcher.DEEPSPEED,
    "nvidia_resiliency_ext.fault_tolerance.launcher": Launcher.TORCHRUN,
    "deepspeed": Launcher.DEEPSPEED, "accelerate.commands.launch": Launcher.ACCELERATE,
}  # fmt: skip
_FAULT_TOLERANCE = ("ft_", "fault_tol_")
"""How ft_launcher's own options begin; all but one take a value."""
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL | re.ASCII)


def read_command(words: Sequence[Field]) -> Started | None:
    """A command that starts Python processes, `None` for any other."""
    if not words:
        return None
    name = words[0].text.rpartition("/")[2]
    if (launcher := NAMES.get(name)) is not None:
        return _launched(launcher, words[1:], words[0].line, module=False)
    if name in ("accelerate", "accelerate-launch"):
        rest = words[2:] if len(words) > 1 and words[1].text == "launch" else words[1:]
        if name == "accelerate" and rest is not words[2:] and (len(words) < 2 or words[1].text != "launch"):
            return None
        return _launched(Launcher.ACCELERATE, rest, words[0].line, module=False)
    return _python(words) if _PYTHON.fullmatch(name) else None


def _python(words: Sequence[Field]) -> Started | None:
    """`python -u -m torch.distributed.run ...`, `python train.py ...`."""
    position, line = 1, words[0].line
    while position < len(words):
        text = words[position].text
        if text.startswith("-") and text.endswith("m") and re.fullmatch(r"-[a-zA-Z]*m", text):
            if position + 1 >= len(words):
                return None
            target = words[position + 1]
            if (launcher := _MODULES.get(target.text)) is not None:
                return _launched(launcher, words[position + 2 :], target.line, module=True)
            return Started(Launcher.PYTHON, {}, True, target, tuple(words[position + 2 :]), False, line)
        if text in ("-c", "-") or text.startswith("-c") or (text.startswith("--") and text != "--"):
            return None
        if not text.startswith("-"):
            break
        position += 2 if text in _PYTHON_VALUES else 1
    if position >= len(words) or words[position].many:
        return None
    program = words[position]
    name = program.text.rpartition("/")[2]
    if (launcher := NAMES.get(name)) is not None:
        return _launched(launcher, words[position + 1 :], program.line, module=True)
    return Started(Launcher.PYTHON, {}, True, program, tuple(words[position + 1 :]), False, line)


def _launched(launcher: Launcher, words: Sequence[Field], line: int, *, module: bool) -> Started:
    """The launcher's flags up to the program, which is the first word that is neither flag nor value."""
    flags: dict[str, Flag] = {}
    complete, position = True, 0
    last_file = max((index for index, word in enumerate(words) if word.text.endswith(".py")), default=-1)
    while position < len(words):
        word = words[position]
        position += 1
        if word.many:
            if position > last_file:
                return Started(launcher, flags, False, word, tuple(words[position:]), module, line)
            complete = False
            continue
        match = _FLAG.fullmatch(word.text)
        if match is None:
            return Started(launcher, flags, complete, word, tuple(words[position:]), module, line)
        name = _LETTERS.get(match[1], match[1].replace("-", "_"))
        if match[1] == "m":
            name = "module"
        if match[2] is not None:
            flags[name] = Flag(Field(match[2], word.line), word.line)
        elif position < len(words) and _has_value(
            launcher, name, words[position], more=position + 1 < len(words)
        ):
            flags[name] = Flag(words[position], word.line)
            position += 1
        else:
            flags[name] = Flag(None, word.line)
    return Started(launcher, flags, complete, None, (), module, line)


def _has_value(launcher: Launcher, name: str, following: Field, *, more: bool) -> bool:
    """Whether the next word is the value of a flag; of one that is not known, unless it looks like the program."""
    if name in _VALUES[launcher] or any(item.startswith(name) for item in _VALUES[launcher] if len(name) > 5):
        return True
    if name.startswith(_FAULT_TOLERANCE) and name != "ft_ignore_missing_cfg":
        return True
    if name in _SWITCHES or following.text.startswith("-"):
        return False
    return known(following.text) and not following.text.endswith(".py") and more
