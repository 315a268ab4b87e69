"""Every script under fixtures/scripts yields what its second line says it yields, and nothing else.

`# expects: CHECK SEVERITY LINE, ...` or `# expects: none`. What could not be resolved (`script/...`) is left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triage.core.script.facts import Nothing
from triage.core.script.read import check_script, read_script

SCRIPTS = sorted((Path(__file__).parents[3] / "fixtures" / "scripts").glob("*.sbatch"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_findings_are_those_announced(path: Path) -> None:
    text = path.read_text()
    announced = text.split("\n")[1].removeprefix("# expects: ")
    findings = check_script(read_script(text), Nothing())
    found = {f"{item.check} {item.severity.value} {item.line}" for item in findings}
    assert {item for item in found if not item.startswith(("script/", "site/not-checked "))} == (
        set() if announced == "none" else set(announced.split(", "))
    )


NUMBERS = [
    ("seed-splices", "--num-attention-heads 32", "--num-attention-heads 33", "model/heads"),
    ("seed-splices", "--num-layers 32", "--num-layers 33", "pipeline/layers"),
    ("seed-splices", "h100:8", "h100:4", "torchrun/processes"),
    ("seed-splices", "--global-batch-size 128", "--global-batch-size 129", "batch/global"),
    ("seed-splices", "MAX_CONNECTIONS=1", "MAX_CONNECTIONS=2", "connections/one"),
    ("seed-splices", "--node-rank=${NODE_RANK}", "--node-rank=0", "torchrun/node-rank"),
    ("seed-splices", "--nnodes='\"${NNODES}\"'", "--nnodes=1", "torchrun/one-group"),
    ("seed-splices", "'\"${MASTER_ADDR}\"'", "127.0.0.1", "rendezvous/localhost"),
    ("seed-splices", "--ntasks=${NNODES} --ntasks-per-node=1", "--ntasks=4 --nodes=2", "torchrun/tasks"),
    ("launcher-and-command-in-variables", "--num-layers 48", "--num-layers 49", "pipeline/layers"),
    ("launcher-and-command-in-variables", "GPUS_PER_NODE=8", "GPUS_PER_NODE=6", "torchrun/processes"),
    ("arrays-and-size-by-case", "HEADS=40", "HEADS=41", "model/heads"),
    ("arrays-and-size-by-case", "--nproc-per-node=8", "--nproc-per-node=7", "torchrun/processes"),
    ("optional-flags-in-a-branch", "--num-attention-heads 32", "--num-attention-heads 34", "model/heads"),
    ("optional-flags-in-a-branch", "--ntasks-per-node=4", "--ntasks-per-node=5", "torchrun/processes"),
    ("one-step-per-node", "--nnodes=2", "--nnodes=3", "torchrun/nodes"),
    ("deepspeed-hostfile", "--num_gpus 8", "--num_gpus 9", "torchrun/processes"),
    ("export-keeps-variables-from-tasks", "--nproc-per-node=8", "--nproc-per-node=9", "torchrun/processes"),
    ("array-of-sizes-and-options", "--hidden-size 3840", "--hidden-size 3841", "model/hidden-size"),
    ("array-of-sizes-and-options", "--global-batch-size 64", "--global-batch-size 66", "batch/global"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "check"), NUMBERS)
def test_one_number_made_wrong_is_found(name: str, right: str, wrong: str, check: str) -> None:
    text = next(path for path in SCRIPTS if path.stem == name).read_text()
    assert right in text
    before = {item.check for item in check_script(read_script(text), Nothing())}
    after = {item.check for item in check_script(read_script(text.replace(right, wrong, 1)), Nothing())}
    assert check not in before
    assert check in after


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_fixture_is_shell_that_parses(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("#!/bin/bash\n# expects: ")
    assert re.search(r"^#SBATCH ", text, re.M)
