"""Scripts that a script writes and submits are checked like any other, in the lines where they are written."""

from __future__ import annotations

import pytest

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.facts import Nothing
from triage.core.script.read import check_script, read_script

JOB = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8
cd /lustre/w
srun uv run torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):1 train.py
"""
RIGHT = JOB.replace("node=4", "node=8")


def found(text: str) -> list[Finding]:
    return [
        item
        for item in check_script(read_script(f"#!/bin/bash\n{text}"), Nothing())
        if not item.check.startswith(("site/", "script/"))
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"sbatch <<'E'\n{JOB}E\n",
        f"J=$(sbatch --parsable <<'E'\n{JOB}E\n)\n",
        f"cat > j.sh <<'E'\n{JOB}E\nsbatch ./j.sh\n",
        f"cat <<'E' > $RUN/j.sh\n{JOB}E\nchmod +x $RUN/j.sh\nsbatch --parsable $RUN/j.sh\n",
        f"tee j.sh <<'E' > /dev/null\n{JOB}E\nsbatch j.sh\n",
        f"cat <<'E' | sbatch\n{JOB}E\n",
        f"(\ncat <<'E'\n{JOB}E\n) > j.sh\nsbatch j.sh\n",
        f"f() {{\ncat > j.sh <<'E'\n{JOB}E\nsbatch j.sh\n}}\nf\n",
        f"for seed in 1 2; do\nsbatch <<'E'\n{JOB}E\ndone\n",
        f"sbatch -N 2 <<'E'\n{JOB}E\n",
    ],
)
def test_mistake_is_found_where_it_is_written(text: str) -> None:
    (item,) = found(text)
    line = next(
        number for number, line in enumerate(f"#!/bin/bash\n{text}".split("\n"), 1) if "--nproc" in line
    )
    assert (item.check, item.severity, item.line) == ("torchrun/processes", Severity.ERROR, line)
    assert found(text.replace("node=4", "node=8")) == []


def test_command_line_outranks_directives() -> None:
    assert [item.check for item in found(f"sbatch -N 4 <<'E'\n{RIGHT}E\n")] == ["torchrun/nodes"]
    assert found(f"sbatch --gpus-per-node=h100:4 --gres= <<'E'\n{JOB}E\n") == []


def test_what_is_exported_before_reaches_the_job() -> None:
    text = f"export N=4\nsbatch <<'E'\n{JOB.replace('node=4', 'node=$N')}E\n"
    assert [item.check for item in found(text)] == ["torchrun/processes"]
    assert found(text.replace("sbatch", "sbatch --export=NONE")) == []


def test_value_that_is_put_in_and_not_known_is_no_mistake() -> None:
    text = f"sbatch <<E\n{JOB}E\n".replace("nodes=2", "nodes=$1").replace("gpu:h100:8", "gpu:$2")
    assert found(text.replace("$(hostname)", "\\$(hostname)").replace("SBATCH --n", "SBATCH $X --n")) == []


def test_wrapped_command_is_a_script() -> None:
    text = 'sbatch -N2 --gres=gpu:8 --wrap "cd /w; srun uv run torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=h:1 t.py"\n'
    assert ("torchrun/processes", 2) in [(item.check, item.line) for item in found(text)]


def test_folder_that_the_submitting_script_makes_is_there_in_time() -> None:
    class Missing(Nothing):
        def exists(self, path: str) -> bool | None:
            return False if path == "logs" else None

    text = (
        f"#!/bin/bash\nmkdir -p logs/x\nsbatch <<'E'\n{RIGHT.replace('--gres', '--output=logs/%j --gres')}E\n"
    )
    made = [item.check for item in check_script(read_script(text), Missing())]
    assert "storage/log-folder" not in made
    assert "storage/log-folder" in [
        item.check for item in check_script(read_script(text.replace("mkdir", "echo")), Missing())
    ]


def test_submission_in_a_branch_is_not_certain() -> None:
    (item,) = found(f"if [ -e x ]; then\nsbatch <<'E'\n{JOB}E\nfi\n")
    assert item.severity is Severity.WARNING


def test_script_that_submits_itself_without_end_is_cut_off() -> None:
    text = "cat > a.sh <<'E'\n#!/bin/bash\nsbatch a.sh\nsbatch a.sh\nE\nsbatch a.sh\n"
    assert len(read_script(f"#!/bin/bash\n{text}").submitted) <= 16
