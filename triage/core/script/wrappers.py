"""Commands that start another command: `srun`, `mpirun`, `env`, containers, `uv run`, profilers, `bash -c`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.core.script.slurm_options import SRUN_LONG, SRUN_SHORT, Option, read_options
from triage.core.script.state import Field
from triage.core.values import dataclass, field

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A command in front of another, with its own options."""

    name: str
    """`srun`, `mpirun`, `apptainer`, `docker`, `container` (others), `uv`, `env` ..."""
    options: tuple[Option, ...] = ()
    line: int = 0
    settings: tuple[Field, ...] = ()
    """`NAME=VALUE` words of env."""

    def get(self, *names: str) -> Option | None:
        return next((item for item in reversed(self.options) if item.name in names), None)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a wrapper's options are read, and how many words stand between them and the command."""

    name: str
    values: frozenset[str] = field(default_factory=frozenset)
    """Options with a value in the next word."""
    pairs: frozenset[str] = field(default_factory=frozenset)
    """Options with two."""
    subcommands: frozenset[str] = field(default_factory=frozenset)
    """One of these must follow the name."""
    operands: int = 0


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_APPTAINER = _Shape(
    "apptainer",
    _names(
        "-B --bind --mount --env --env-file -H --home --pwd --cwd -W --workdir --overlay -o --scratch -S --app --security"
        " --network --network-args --dns --hostname --apply-cgroups --pem-path --nvccli-path --fusemount --cpus --memory"
    ),
    subcommands=_names("exec run shell"),
    operands=1,
)
_DOCKER = _Shape(
    "docker",
    _names(
        "-v --volume --mount -e --env --env-file --name --network --net --ipc --shm-size --gpus --device -w --workdir -u"
        " --user --entrypoint --ulimit --cap-add --security-opt -h --hostname --runtime -p --publish --pid --label -l"
        " --cpus -m --memory --uts --group-add --log-driver --log-opt --platform --add-host --tmpfs"
    ),
    subcommands=_names("run exec"),
    operands=1,
)
_MPI = _Shape(
    "mpirun",
    _names(
        "-n -np --np -c --n -N --npernode -npernode -ppn --ppn -perhost -host --host -H -hosts --hostfile -hostfile"
        " -machinefile --machinefile -f -x --map-by -map-by --bind-to -bind-to --rank-by -rank-by --tag-output-to -wdir"
        " --wdir --output-filename -rf --rankfile -path --prefix -prefix -cpus-per-proc --report-uri -iface -launcher"
        " -bootstrap --oversubscribe-to -rr-to --timeout --personality --dvm --app"
    ),
    pairs=_names("--mca -mca -env -genv --gmca -gmca --prtemca --pmixmca"),
)
_SHAPES: dict[str, _Shape] = {
    "mpirun": _MPI, "mpiexec": _MPI, "mpiexec.hydra": _MPI, "orterun": _MPI, "prterun": _MPI,
    "apptainer": _APPTAINER, "singularity": _APPTAINER, "docker": _DOCKER, "podman": _DOCKER, "podman-hpc": _DOCKER,
    "nvidia-docker": _DOCKER,
    "shifter": _Shape("container", _names("--image -i --volume -V --env -e --module -m --workdir -w --entrypoint")),
    "enroot": _Shape("container", _names("--mount -m --env -e --rc --conf -c"), subcommands=_names("start"), operands=1),
    "uv": _Shape(
        "uv",
        _names(
            "--extra --group --with --with-requirements --with-editable --package --python -p --env-file --index-url"
            " --directory --project --no-group --only-group --cache-dir --config-file --index --link-mode --no-extra"
        ),
        subcommands=_names("run"),
    ),
    "poetry": _Shape("poetry", subcommands=_names("run")), "pipenv": _Shape("poetry", subcommands=_names("run")),
    "pixi": _Shape("poetry", _names("-e --environment --manifest-path"), subcommands=_names("run")),
    "conda": _Shape("conda", _names("-n --name -p --prefix --cwd"), subcommands=_names("run")),
    "mamba": _Shape("conda", _names("-n --name -p --prefix --cwd"), subcommands=_names("run")),
    "micromamba": _Shape("conda", _names("-n --name -p --prefix --cwd"), subcommands=_names("run")),
    "exec": _Shape("exec", _names("-a")), "time": _Shape("time", _names("-f -o")), "nohup": _Shape("nohup"),
    "command": _Shape("command"), "builtin": _Shape("command"), "setsid": _Shape("setsid"), "sudo": _Shape("sudo", _names("-u -g")),
    "nice": _Shape("nice", _names("-n")), "ionice": _Shape("nice", _names("-c -n")),
    "stdbuf": _Shape("stdbuf", _names("-o -e -i")), "timeout": _Shape("timeout", _names("-s -k --signal"), operands=1),
    "taskset": _Shape("numactl", operands=1),
    "numactl": _Shape("numactl", _names("-N -m -C -l -i --cpunodebind --membind --physcpubind --interleave --preferred")),
    "nsys": _Shape(
        "profiler",
        _names(
            "-t -o -s -c -w -x -f -e -b -d -y --trace --output --sample --capture-range --capture-range-end --duration"
            " --delay --force-overwrite --export --stats --kill --wait --stop-on-exit --cuda-memory-usage --cudabacktrace"
            " --cuda-graph-trace --gpu-metrics-device --gpu-metrics-devices --python-sampling --python-backtrace --env-var"
            " --nic-metrics --osrt-threshold --session-new --session --show-output --cpuctxsw --backtrace"
        ),
        subcommands=_names("profile launch"),
    ),
    "ncu": _Shape("profiler", _names("-o --export -k --kernel-name -c --launch-count -s --set --section")),
    "dlprof": _Shape("profiler"), "py-spy": _Shape("profiler", _names("-o -r -f -d"), subcommands=_names("record")),
    "catchsegv": _Shape("catchsegv"), "unbuffer": _Shape("unbuffer"), "xvfb-run": _Shape("xvfb"),
}  # fmt: skip


def peel(words: Sequence[Field]) -> tuple[Wrapper, Sequence[Field]] | None:
    """The wrapper at the front and the words behind it, `None` where the first word wraps nothing."""
    if not words:
        return None
    name = words[0].text.rpartition("/")[2]
    if name == "srun":
        options, position = read_options(words[1:], SRUN_LONG, SRUN_SHORT)
        return Wrapper("srun", tuple(options), words[0].line), words[1 + position :]
    if name == "env":
        return _env(words)
    shape = _SHAPES.get(name)
    return None if shape is None else _shaped(shape, words)


def _env(words: Sequence[Field]) -> tuple[Wrapper, Sequence[Field]]:
    position, options, settings = 1, [], []
    while position < len(words):
        text = words[position].text
        if _ASSIGNMENT.match(text):
            settings.append(words[position])
        elif text in ("-u", "--unset", "-C", "--chdir") and position + 1 < len(words):
            options.append(Option(text, words[position + 1], words[position].line))
            position += 1
        elif text.startswith("-"):
            options.append(Option(text, None, words[position].line))
        else:
            break
        position += 1
    return Wrapper("env", tuple(options), words[0].line, tuple(settings)), words[position:]


def _shaped(shape: _Shape, words: Sequence[Field]) -> tuple[Wrapper, Sequence[Field]] | None:
    position, options = 1, []
    wanted = shape.subcommands
    operands = shape.operands
    while position < len(words):
        word = words[position]
        text = word.text
        if text.startswith("-") and text != "-" and not (text == "--" and not wanted):
            name, equals, value = text.partition("=")
            if equals:
                options.append(Option(name, Field(value, word.line), word.line))
            elif name in shape.values and position + 1 < len(words):
                position += 1
                options.append(Option(name, words[position], word.line))
            else:
                options.append(Option(name, None, word.line))
                position += 2 if name in shape.pairs else 0
        elif word.many and (wanted or operands or position + 1 < len(words)):
            options.append(Option("", None, word.line, recognised=False))
        elif wanted:
            if text not in wanted:
                return None
            wanted = frozenset()
        elif operands:
            operands -= 1
            options.append(Option("operand", word, word.line))
        elif text != "--":
            break
        position += 1
    return Wrapper(shape.name, tuple(options), words[0].line), words[position:]
