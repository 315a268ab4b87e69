"""`render`: a configuration to a batch script. Nothing but its arguments and the template decides the result."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from triage.core.jobs import handshake
from triage.errors import ConfigError
from triage.submit.config import Config, ContainerKind, Launcher
from triage.submit.connections import connections
from triage.submit.quoting import Quoted, directive, quoted, words

if TYPE_CHECKING:
    from jinja2 import Template

Word = TypeVar("Word")

_LAUNCHERS = {
    Launcher.UV: ("uv run python -m torch.distributed.run", "uv run python"),
    Launcher.PYTHON: ("python -m torch.distributed.run", "python"),
    Launcher.TORCHRUN: ("torchrun", "python3"),
}
"""What starts the workers, and the Python that writes the manifest."""
SHIPPED = "megatron.sbatch.j2"


def render(config: Config, *, token: str = "", template: str | None = None) -> str:
    """The script. `token` marks one submission (letters and digits); `template` is a site's own text.

    Raises `ConfigError` where the template cannot be filled in.
    """
    import jinja2

    own = template is not None
    launcher, python = _LAUNCHERS[config.launcher]
    try:
        return _compile(shipped() if template is None else template).render(
            config=config,
            token=token,
            directives=tuple(directives(config)),
            command=("-m", config.module) if config.module is not None else (config.command,),
            arguments=tuple(argument_lines(config.arguments)),
            launcher=Quoted(launcher),
            python=Quoted(python),
            connections=connections(config),
            container=tuple(container(config)),
            setup="\n".join(config.setup),
            on_failure="\n".join(config.on_failure),
            handshake=handshake,
            manifest=Quoted(part("manifest.py")),
        )
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"the template's line {error.lineno}: {error.message}") from error
    except (jinja2.TemplateError, TypeError, ArithmeticError, RecursionError) as error:
        if not own:
            raise
        raise ConfigError(f"the template cannot be filled in: {error}") from error


def shipped() -> str:
    """The template that comes with the tool."""
    return part(SHIPPED)


def part(name: str) -> str:
    """A file beside the template."""
    return (importlib.resources.files("triage.submit") / "templates" / name).read_text("utf-8")


def _compile(text: str) -> Template:
    """Every value is quoted for bash unless a filter has quoted it for sbatch."""
    import jinja2

    from triage.submit.bounded import Bounded

    def finalize(value: object) -> Quoted:
        text = quoted(str(value) if isinstance(value, jinja2.Undefined) else value)
        environment.spend(len(text))
        return text

    environment = Bounded(
        undefined=jinja2.StrictUndefined, finalize=finalize, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    environment.filters |= {"directive": directive, "words": words}
    return environment.from_string(text)


def directives(config: Config) -> Iterator[str]:
    """The options behind `#SBATCH`, in the order of the documentation's script."""
    job = config.job
    optional = {"account": job.account, "partition": job.partition}
    yield f"--job-name={job.name}"
    yield from (f"--{name}={value}" for name, value in optional.items() if value is not None)
    yield f"--nodes={job.nodes}"
    yield "--ntasks-per-node=1"
    yield f"--gpus-per-node={job.gpus_per_node}"
    rest = {"time": job.time, "qos": job.qos, "constraint": job.constraint, "reservation": job.reservation}
    yield from (f"--{name}={value}" for name, value in rest.items() if value is not None)
    yield f"--output={config.logs}/%x-%j.out"
    yield f"--error={config.logs}/%x-%j.err"
    yield "--open-mode=append"
    yield from job.options


def argument_lines(
    arguments: Sequence[Word], text: Callable[[Word], str] = str
) -> Iterator[tuple[Word, ...]]:
    """The arguments, each option on a line with its values."""
    line: list[Word] = []
    for word in arguments:
        if text(word).startswith("--") and line:
            yield tuple(line)
            line = []
        line.append(word)
    if line:
        yield tuple(line)


def container(config: Config) -> Iterator[str]:
    """Flags of srun (pyxis) or the words in front of bash, with worktree, its .venv and the logs mounted."""
    given = config.container
    if given.kind is ContainerKind.NONE or given.image is None:
        return
    venv = config.environment.get("UV_PROJECT_ENVIRONMENT", "")
    own = [config.worktree, config.logs, *([venv] if venv.startswith("/") else [])]
    mounts = [*dict.fromkeys(f"{path}:{path}" for path in own)]
    mounts += [mount if ":" in mount else f"{mount}:{mount}" for mount in given.mounts]
    if given.kind is ContainerKind.PYXIS:
        yield f"--container-image={given.image}"
        yield f"--container-mounts={','.join(mounts)}"
        yield f"--container-workdir={config.worktree}"
        yield f"--container-env={','.join(_variables(config))}"
        yield from given.options
        return
    yield from (given.kind.value, "exec", "--nv", f"--pwd={config.worktree}")
    yield from (f"--bind={mount}" for mount in mounts)
    yield from given.options
    yield given.image


def _variables(config: Config) -> Iterator[str]:
    """What the image must not set otherwise: its own values outrank inherited ones (pyxis)."""
    yield from ("MASTER_ADDR", "MASTER_PORT", "NNODES", "GPUS_PER_NODE", "WORLD_SIZE")
    found = connections(config)
    if found is not None and found.value is not None:
        yield "CUDA_DEVICE_MAX_CONNECTIONS"
    yield from config.environment
