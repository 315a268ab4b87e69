"""Mistakes of a configuration, told on the line of `triage.toml` that makes them."""

from __future__ import annotations

import pytest

from tests.submit.runs import settings
from triage.core.megatron.finding import Finding
from triage.core.script.site import Site
from triage.submit.check import check_config

MODEL = """\
arguments = [
    "--num-layers", "32", "--hidden-size", "4096", "--seq-length", "4096",
    "--max-position-embeddings", "4096", "--micro-batch-size", "1",
    "--global-batch-size", "{batch}",
    "--num-attention-heads", "{heads}",
    "--tensor-model-parallel-size", "{tp}",
    {more}
]
"""


class Machine:
    """A machine of which the missing paths and the type of the file system are told."""

    def __init__(self, *missing: str, kind: str = "lustre") -> None:
        self.missing = missing
        self.kind = kind

    def exists(self, path: str) -> bool | None:
        return path not in self.missing

    def filesystem(self, path: str) -> str | None:  # noqa: ARG002
        return self.kind

    def site(self) -> Site:
        return Site()


def found(text: str, machine: Machine | None = None) -> dict[str, tuple[str, int | None]]:
    listed = check_config(settings(text), machine or Machine())
    return {
        item.check: (item.severity.value, item.line) for item in listed if item.check != "site/not-checked"
    }


def model(*, batch: int = 256, heads: int = 32, tp: int = 1, more: str = "", rest: str = "") -> str:
    return MODEL.format(batch=batch, heads=heads, tp=tp, more=more) + rest


def test_a_right_configuration_has_no_finding() -> None:
    assert found(model(rest='gpu = "h100"\n[job]\nnodes = 2\n')) == {}


@pytest.mark.parametrize(
    ("text", "machine", "check", "severity", "line"),
    [
        (model(), Machine("/lustre/me/Megatron-LM"), "environment/worktree-missing", "error", 1),
        ('worktree = "/w"\n' + model(), Machine("/w/pretrain_gpt.py"), "environment/program-missing", "error", 2),
        (model(), Machine("/lustre/me/Megatron-LM/.venv"), "environment/venv", "warning", 1),
        (model(rest="[job]\nnodes = 2\n"), Machine(kind="xfs"), "storage/log", "warning", None),
        (model(rest='logs = "/tmp/l"\n[job]\nnodes = 2\n'), Machine(), "storage/log", "warning", 9),
        (model(rest='launcher = "torchrun"\n'), Machine(), "environment/uv-run", "warning", 9),
        (model(tp=3), Machine(), "parallel/world-size", "error", 6),
        (model(heads=30, tp=4), Machine(), "model/heads", "error", 5),
        (model(batch=30), Machine(), "batch/global", "error", 4),
        (model(more='"--rampup-batch-size", "1", "1", "1"'), Machine(), "batch/rampup-ignored", "warning", 7),
        (model(), Machine("/lustre/me/Megatron-LM/logs"), "storage/log-folder", "info", None),
    ],
)  # fmt: skip
def test_each_mistake_of_the_seed_is_told_where_it_stands(
    text: str, machine: Machine, check: str, severity: str, line: int | None
) -> None:
    assert found(text, machine)[check] == (severity, line)


def test_an_environment_elsewhere_takes_the_place_of_the_worktrees_own() -> None:
    text = model(rest='[environment]\nUV_PROJECT_ENVIRONMENT = "/lustre/venv"\n')
    assert "environment/venv" not in found(text, Machine("/lustre/me/Megatron-LM/.venv"))
    assert found(text, Machine("/lustre/venv"))["environment/venv"] == ("warning", 1)


CONNECTIONS = '[environment]\nCUDA_DEVICE_MAX_CONNECTIONS = "{value}"\n'


@pytest.mark.parametrize(
    ("gpu", "more", "tp", "value", "check", "severity"),
    [
        ("h100", '"--use-torch-fsdp2", "--no-gradient-accumulation-fusion", "--untie-embeddings-and-output-weights", "--ckpt-format", "torch_dist"', 1, "1", "connections/not-one", "error"),
        ("b200", '"--use-megatron-fsdp", "--ckpt-format", "fsdp_dtensor"', 1, "1", "connections/not-one", "error"),
        ("h100", "", 2, "8", "connections/one", "error"),
        ("a100", '"--context-parallel-size", "2"', 1, "8", "connections/one", "error"),
        ("h100", '"--overlap-moe-expert-parallel-comm"', 1, "1", "connections/many", "warning"),
        ("h100", '"--overlap-moe-expert-parallel-comm"', 2, "1", "connections/one-or-many", "warning"),
        ("b200", "", 2, "1", "connections/no-effect", "info"),
        ("h100", "", 1, "1", "connections/none", "warning"),
        (None, "", 2, "8", "connections/either", "warning"),
    ],
)  # fmt: skip
def test_a_wrong_value_of_the_variable_is_told_in_every_row_of_the_table(
    gpu: str | None, more: str, tp: int, value: str, check: str, severity: str
) -> None:
    rest = (f'gpu = "{gpu}"\n' if gpu else "") + CONNECTIONS.format(value=value)
    text = model(tp=tp, more=more, rest=rest)
    line = text.split("\n").index(f'CUDA_DEVICE_MAX_CONNECTIONS = "{value}"') + 1
    assert found(text)[check] == (severity, line)


@pytest.mark.parametrize("gpu", ["h100", "b200", None])
@pytest.mark.parametrize("more", ["", '"--use-megatron-fsdp", "--ckpt-format", "fsdp_dtensor"', '"--overlap-moe-expert-parallel-comm"'])  # fmt: skip
@pytest.mark.parametrize("tp", [1, 2])
def test_what_the_template_decides_is_never_an_error(gpu: str | None, more: str, tp: int) -> None:
    text = model(tp=tp, more=more, rest=f'gpu = "{gpu}"\n' if gpu else "")
    listed = {name: item for name, item in found(text).items() if name.startswith("connections/")}
    assert all(severity != "error" for severity, _ in listed.values())
    assert not any(
        name in listed for name in ("connections/none", "connections/no-effect", "connections/one")
    )
    assert ("connections/either" in listed) == (gpu is None and tp == 2 and not more), (
        "an unknown GPU is told"
    )


def test_an_argument_that_is_not_given_is_told_where_the_arguments_stand() -> None:
    text = 'gpu = "h100"\narguments = ["--num-layers", "2"]\n'
    assert found(text)["batch/missing"] == ("error", 2)


def test_what_another_layer_says_has_no_line() -> None:
    listed = check_config(settings(model(), arguments=["--tensor-model-parallel-size", "3"]), Machine())
    wrong = [item for item in listed if item.check == "parallel/world-size"]
    assert [item.line for item in wrong] == [None]


def test_line_breaks_in_values_do_not_shift_the_lines() -> None:
    text = model(tp=3).replace('"--num-layers"', '"--title", "a\\n\\nb", "--num-layers"')
    assert found(text)["parallel/world-size"] == ("error", 6)


def test_logs_on_one_node_are_told_once() -> None:
    listed: list[Finding] = check_config(settings(model(rest="[job]\nnodes = 2\n")), Machine(kind="xfs"))
    assert [item.check for item in listed if item.check.startswith("storage/")] == ["storage/log"]
