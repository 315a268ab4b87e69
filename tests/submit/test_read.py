"""Precedence, origins, and mistakes told all at once where they stand."""

from __future__ import annotations

import pytest

from tests.submit.runs import FOLDER, config, settings
from triage.errors import ConfigError
from triage.submit.config import Config, ContainerKind, Job, Launcher, Layer
from triage.submit.keys import BY_NAME, KEYS


def mistakes(text: str = "", **layers: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(text, **layers)  # type: ignore[arg-type]
    return str(caught.value).split("\n")


def test_an_empty_file_is_the_defaults_of_the_types() -> None:
    assert config() == Config(worktree=FOLDER, logs=f"{FOLDER}/logs")
    assert Job() == config().job


def test_each_layer_outranks_the_one_below() -> None:
    file = "[job]\nnodes = 2\n"
    variables = {"TRIAGE_JOB_NODES": "3"}
    assert settings().origins["job.nodes"].layer is Layer.DEFAULT
    found = [
        settings(file),
        settings(file, environment=variables),
        settings(file, environment=variables, sets=["job.nodes=4"]),
        settings(file, environment=variables, sets=["job.nodes=4", "job.nodes=5"]),
    ]
    assert [item.config.job.nodes for item in found] == [2, 3, 4, 5]
    assert [str(item.origins["job.nodes"]) for item in found] == [
        "triage.toml:2", "TRIAGE_JOB_NODES", "--set job.nodes", "--set job.nodes",
    ]  # fmt: skip


def test_arguments_behind_dashes_come_last_and_each_knows_its_line() -> None:
    text = 'arguments = [\n  "--lr", "1", # "--no"\n  "--bf16",\n]\n'
    found = settings(text, arguments=["--lr", "2"])
    assert found.config.arguments == ("--lr", "1", "--bf16", "--lr", "2")
    assert [item.line for item in found.arguments] == [2, 2, 3, None, None]
    assert [item.layer for item in found.arguments[2:4]] == [Layer.FILE, Layer.ARGUMENT]


def test_values_on_the_command_line_are_texts_unless_a_number_or_a_list_is_due() -> None:
    found = config(sets=["job.name=12", "job.nodes=12", 'arguments=["--bf16"]', "environment.A=1=2", "master_port=auto"])  # fmt: skip
    assert (found.job.name, found.job.nodes, found.arguments) == ("12", 12, ("--bf16",))
    assert (found.environment, found.master_port) == ({"A": "1=2"}, None)


def test_relative_paths_begin_at_the_file_and_the_rest_at_the_worktree() -> None:
    found = config('worktree = "../tree"\nlogs = "runs/logs"\nartifact = "out/m.json"\n')
    assert found.worktree == "/lustre/me/tree"
    assert found.logs == "/lustre/me/tree/runs/logs"
    assert found.artifact == "/lustre/me/tree/out/m.json"
    assert (
        settings('worktree = "~/tree"', environment={"HOME": "/home/me"}).config.worktree == "/home/me/tree"
    )


def test_every_key_can_be_set_in_the_file() -> None:
    text = "".join(f"{key.name} = {key.example}\n" for key in KEYS)
    found = settings(text)
    assert set(found.origins) == {key.name for key in KEYS if key.name != "environment"} | {
        "environment.NCCL_DEBUG"
    }
    assert all(origin.layer is Layer.FILE for origin in found.origins.values())
    assert found.config.container.kind is ContainerKind.PYXIS
    assert found.config.launcher is Launcher.UV


def test_all_mistakes_are_told_at_once_with_their_lines() -> None:
    text = """\
worktre = "/x"
launcher = "uvx"
master_port = 80
[job]
nodes = "two"
time = "soon"
options = ["--exclusive", "--exclusve", "--nodes=3"]
[jobs]
name = "x"
[environment]
"A-B" = "1"
"""
    assert mistakes(text) == [
        "triage.toml:1: there is no key `worktre`; did you mean `worktree`?",
        "triage.toml:2: launcher is 'uvx', but must be one of uv, python, torchrun; did you mean 'uv'?",
        "triage.toml:3: master_port is 80, but must lie between 1024 and 65535",
        "triage.toml:5: job.nodes is 'two', but must be a whole number, such as 2",
        "triage.toml:6: job.time is 'soon', but must be MINUTES, HH:MM:SS or D-HH:MM:SS",
        "triage.toml:7: job.options holds --exclusve, which sbatch does not know; did you mean --exclusive?",
        "triage.toml:8: there is no key `jobs`; did you mean the table [job]?",
        "triage.toml:11: environment.A-B is no name of a variable: letters, digits and _ only",
    ]


def test_mistakes_of_all_layers_come_together_and_an_outranked_one_is_told_too() -> None:
    found = mistakes(
        "[job]\nnodes = 0\n",
        environment={"TRIAGE_JOB_NODES": "x"},
        sets=["job.nodes=2", "nodes=3", "job.nodes"],
    )
    assert found == [
        "triage.toml:2: job.nodes is 0, but must lie between 1 and 100000",
        "TRIAGE_JOB_NODES: job.nodes is 'x', but must be a whole number, such as 2",
        "--set nodes: there is no key `nodes`; did you mean `job.nodes`?",
        "--set job.nodes: write --set KEY=VALUE",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('worktree = "/x"\nnodes = = 2\n', 2),
        ('a = """\n\n', 1),
        ("[job]\nnodes = 1\n[job]\n", 3),
        ("a = [", 1),
    ],
)
def test_a_syntax_error_has_its_line(text: str, line: int) -> None:
    (found,) = mistakes(text)
    assert found.startswith(f"triage.toml:{line}: ")


def test_a_container_needs_an_image_and_an_image_a_container() -> None:
    assert mistakes('[container]\nkind = "pyxis"\n') == [
        "triage.toml:2: container.kind is 'pyxis', so container.image must name the image"
    ]
    (found,) = mistakes('[container]\nimage = "a.sqsh"\n')
    assert found.startswith("triage.toml:2: container.image has no effect while container.kind is 'none'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("job.name", "a/b"), ("job.name", "a%j"), ("job.name", "a\nb"), ("logs", "a%b"), ("logs", "a\\b"),
        ("job.account", "a\nb"), ("job.partition", ""), ("command", "--nproc-per-node"), ("job.qos", "a\x1bb"),
        ("worktree", "a\x00b"), ("job.name", "packjob"), ("container.image", "-x"), ("job.name", "x" * 201),
    ],
)  # fmt: skip
def test_what_slurm_or_the_shell_cannot_carry_is_refused(name: str, value: str) -> None:
    (found,) = mistakes(sets=[f"{name}={value}"])
    assert found.startswith(f"--set {name}: {name} ")


@pytest.mark.parametrize("name", ["BASH_ENV", "PS4", "IFS", "UID", "MASTER_ADDR", "SLURM_JOB_ID", "TRIAGE_JOB_ID", "SHELLOPTS"])  # fmt: skip
def test_variables_that_are_bashs_slurms_or_the_scripts_own_are_refused(name: str) -> None:
    (found,) = mistakes(f'[environment]\n{name} = "1"\n')
    assert found.startswith(f"triage.toml:2: environment.{name} ")


def test_keys_are_declared_once_and_have_a_default_that_is_allowed() -> None:
    assert len(BY_NAME) == len(KEYS)
