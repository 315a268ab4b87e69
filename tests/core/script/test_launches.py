"""From a script to the `Launch` that Megatron's own checks take."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from triage.core.megatron.launch import UNKNOWN, Framework, Launch, Word, arguments
from triage.core.script.launchers import Launcher
from triage.core.script.launches import Run
from triage.core.script.read import read_script

ROWS = Path(__file__).parents[3] / "fixtures" / "preflight" / "configurations.jsonl"
HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8\n"


def runs(body: str, head: str = HEAD) -> tuple[Run, ...]:
    return read_script(head + body).runs


def launch(body: str) -> Launch:
    (run,) = runs(body)
    return run.launch


def words(row: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in row["args"].items():
        if value is True:
            found.append(name)
        elif value is not False and value is not None:
            found += [name, *(map(str, value) if isinstance(value, list) else [str(value)])]
    return found


def rendered(row: dict[str, Any], style: int) -> str:
    """A row as a script, its arguments in one of the ways in which people hand them over."""
    args = " ".join(shlex.quote(word) for word in words(row)).replace("'", '"')
    value = row["env"].get("CUDA_DEVICE_MAX_CONNECTIONS")
    export = f"export CUDA_DEVICE_MAX_CONNECTIONS={value}\n" if value is not None else ""
    head = (
        f"#!/bin/bash\n#SBATCH --nodes={row['nodes']}\n#SBATCH --ntasks-per-node=1\n"
        f"#SBATCH --gres=gpu:{row['gpu']}:{row['gpus_per_node']}\n\ncd /lustre/worktree\n{export}"
        'HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)\n'
    )
    torchrun = (
        "uv run python -m torch.distributed.run --nnodes=$SLURM_NNODES"
        f" --nproc-per-node={row['gpus_per_node']} --node-rank=%s --master-addr=$HOST --master-port=29500"
    )
    if style == 0:
        splices = (
            (torchrun % "$SLURM_NODEID")
            .replace("$HOST", "'\"$HOST\"'")
            .replace("$SLURM_NNODES", "'$SLURM_NNODES'")
        )
        return f"{head}srun bash -c '{splices} pretrain_gpt.py {args}'\n"
    if style == 1:
        return f'{head}L="{torchrun % chr(92)}$SLURM_PROCID"\nC="pretrain_gpt.py \\\n  {args}"\nsrun bash -c "$L $C" | tee x\n'.replace(
            '""', ""
        )
    return f"{head}A=({args})\ncat > s.sh <<EOF\n{torchrun % chr(92)}$SLURM_NODEID pretrain_gpt.py ${{A[@]}}\nEOF\nsrun sh s.sh\n"


@pytest.mark.skipif(not ROWS.exists(), reason="no judged configurations")
@pytest.mark.parametrize("style", [0, 1, 2])
def test_judged_configurations_are_read_back_from_scripts(style: int) -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert rows
    for row in rows:
        if style and any('"' in word or "'" in word for word in words(row)):
            continue
        found = read_script(rendered(row, style)).runs[0].launch
        expected = arguments(Word(word) for word in words(row))
        assert [(item.name, item.values) for item in found.args] == [
            (item.name, item.values) for item in expected
        ]
        assert (found.nodes, found.gpus_per_node, found.gpu) == (
            row["nodes"],
            row["gpus_per_node"],
            row["gpu"],
        )
        setting = found.env.get("CUDA_DEVICE_MAX_CONNECTIONS")
        assert (setting.value if setting else None) == row["env"].get("CUDA_DEVICE_MAX_CONNECTIONS")
        assert found.env_complete
        assert found.complete


@pytest.mark.parametrize(
    ("command", "launcher", "nodes", "processes", "program"),
    [
        ("torchrun --nnodes=2 --nproc_per_node 8 a.py --x", Launcher.TORCHRUN, 2, 8, "a.py"),
        ("python -u -m torch.distributed.run --nnodes 2:2 --nproc-per-node=gpu a.py", Launcher.TORCHRUN, 2, 8, "a.py"),
        ("python3 -m torch.distributed.launch --nproc_per_node=4 --use_env a.py", Launcher.TORCHRUN, 1, 4, "a.py"),
        ("torchrun --nnodes=1:4 --nproc-per-node=8 -m pkg.train --x 1", Launcher.TORCHRUN, None, 8, "pkg.train"),
        ("torchrun --nnodes=$N --nproc-per-node=8 --tee 3 -r 3 a.py", Launcher.TORCHRUN, None, 8, "a.py"),
        ("ft_launcher --ft-cfg-path $C --nnodes=2 --nproc-per-node=8 a.py", Launcher.TORCHRUN, 2, 8, "a.py"),
        ("accelerate launch --num_processes=16 --num_machines 2 --multi_gpu a.py", Launcher.ACCELERATE, 2, 8, "a.py"),
        ("deepspeed --num_nodes 2 --num_gpus=8 a.py --deepspeed", Launcher.DEEPSPEED, 2, 8, "a.py"),
        ("srun -n 16 --ntasks-per-node=8 -N 2 python a.py", Launcher.PYTHON, 2, 8, "a.py"),
        ("srun uv run --extra training torchrun --nnodes 2 --nproc-per-node 8 a.py", Launcher.TORCHRUN, 2, 8, "a.py"),
        ("srun ./numa.sh torchrun --nnodes 2 --nproc-per-node 8 a.py", Launcher.TORCHRUN, 2, 8, "a.py"),
        ("srun apptainer exec --nv --bind /a:/a i.sif torchrun --nproc-per-node 8 a.py", Launcher.TORCHRUN, 1, 8, "a.py"),
        ("srun nsys profile -t cuda --force-overwrite true python -m torch.distributed.run --nproc-per-node 8 a.py",
         Launcher.TORCHRUN, 1, 8, "a.py"),
        ("srun env A=1 numactl --cpunodebind=0 -m 0 torchrun --nproc-per-node 8 $DIR/a.py", Launcher.TORCHRUN, 1, 8, "a.py"),
        ("mpirun -np 16 --map-by ppr:8:node -x A --mca btl self python a.py", Launcher.PYTHON, 2, 8, "a.py"),
        ("srun $FLAGS torchrun --nnodes 2 --nproc-per-node 8 a.py", Launcher.TORCHRUN, 2, 8, "a.py"),
    ],
)  # fmt: skip
def test_launcher_in_all_its_forms(
    command: str, launcher: Launcher, nodes: int | None, processes: int | None, program: str
) -> None:
    (run,) = runs(command)
    assert run.started.launcher is launcher
    assert (run.launch.nodes, run.launch.gpus_per_node, run.launch.program) == (nodes, processes, program)


@pytest.mark.parametrize(
    "command",
    ["python preprocess.py --workers 8", "echo torchrun a.py", "srun hostname", "srun python -c 'import torch'",
     "pip install torchrun", "which torchrun", "scontrol show job torchrun"],
)  # fmt: skip
def test_other_commands_are_no_launch(command: str) -> None:
    assert runs(command) == ()


def test_unresolved_value_keeps_its_option_and_unresolved_words_may_be_options() -> None:
    found = launch(
        "srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers=$L --seq-length $S --bf16 $MORE"
    )
    assert [(item.name, item.values) for item in found.args] == [
        ("--num-layers", (UNKNOWN,)),
        ("--seq-length", (UNKNOWN,)),
        ("--bf16", ()),
        (None, ()),
    ]
    assert not found.complete


def test_sourced_file_and_container_may_set_variables() -> None:
    assert not launch("source env.sh\nsrun torchrun pretrain_gpt.py").env_complete
    assert launch("source ~/.bashrc\nsrun torchrun pretrain_gpt.py").env_complete
    assert not launch("srun --container-image=i torchrun pretrain_gpt.py").env_complete


def test_framework_is_told_from_the_program() -> None:
    assert launch("srun torchrun /a/pretrain_gpt.py").framework is Framework.MEGATRON
    assert launch("srun torchrun train.py").framework is Framework.UNKNOWN


def test_option_points_at_the_line_where_it_is_written() -> None:
    found = launch('ARGS="--num-layers 2 \\\n  --bf16 \\\n  --lr 1"\nsrun torchrun pretrain_gpt.py $ARGS\n')
    assert [(item.name, item.line) for item in found.args] == [
        ("--num-layers", 3),
        ("--bf16", 4),
        ("--lr", 5),
    ]


def test_branches_become_variants_that_belong_together() -> None:
    text = (
        'if [ "$1" = big ]; then TP=8; H=64; elif [ "$1" = mid ]; then TP=4; H=32; else TP=2; H=16; fi\n'
        "srun torchrun pretrain_gpt.py --tensor-model-parallel-size $TP --num-attention-heads $H\n"
    )
    (run,) = runs(text)
    assert run.launch.args[0].values == (UNKNOWN,)
    assert [tuple(item.values[0] for item in variant.args) for variant in run.variants] == [
        ("8", "64"),
        ("4", "32"),
        ("2", "16"),
    ]


def test_launch_in_a_branch_is_not_certain() -> None:
    first, second = runs('if [ -n "$DEBUG" ]; then srun torchrun a.py; else srun torchrun b.py; fi')
    assert first.command.way == ((0, 0),)
    assert second.command.way == ((0, 1),)
