"""Hostile scripts: no crash, no blow-up, and it is said that something was left out."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from triage.core.script.facts import Nothing
from triage.core.script.read import check_script, read_script

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n"
SCRIPTS = sorted((Path(__file__).parents[3] / "fixtures" / "scripts").glob("*.sbatch"))


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        ("A=aaaaaaaaaa\n" + "A=$A$A\n" * 60, True),
        ("A=(1 2 3)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40, True),
        ("f() { f; f; }\nf\n", True),
        ('A=\'eval "$A$A"\'\neval "$A"\n', True),
        ("".join(f"for a{i} in {{1..64}}; do " for i in range(5)) + "A=$a1; " + "done; " * 5, True),
        ("A=" + "a*" * 100 + "\nB=" + "a" * 4000 + "\n" + "C=${B%$A}\n" * 500, True),
        ("$(" * 50_000, True),
        ("srun " * 3000 + "python x.py", False),
        ("srun torchrun " + "--a b " * 20_000, False),
        ("A=$((" + "(" * 50_000 + "1" + ")" * 50_000 + "))", False),
        ("A=$((2**63**9)); B=$((1/0)); C=$((1<<100))", False),
        ("(" * 50_000, False),
        ("if x; then " * 3000, False),
        ('"' * 50_001, False),
        ("`" * 20_001, False),
        ("A=" + "${a:-" * 400 + "x" + "}" * 400, False),
        ("A=" + "$(" * 400 + "echo" + ")" * 400, False),
        ("A=" + "${a[" * 400 + "1" + "]}" * 400, False),
        ("f() { " + "if [ $X ]; then " * 30 + "f; " + "fi; " * 30 + "}\nf", True),
        ("".join(f"[ -e f{i} ] && srun torchrun t.py && exit\n" for i in range(40)), False),
        ("cat <<E > f\n" * 2000, False),
        ("\0" * 50_000 + "\U000f0000" * 100, False),
    ],
)
def test_bomb_is_cut_off(body: str, cut: bool) -> None:
    start = time.perf_counter()
    script = read_script(HEAD + body)
    findings = check_script(script, Nothing())
    assert time.perf_counter() - start < 20
    assert len(findings) < 100
    assert script.truncated or not cut
    assert any(item.check == "script/limit" for item in findings) == script.truncated


def test_megabyte_is_read_only_up_to_the_limit() -> None:
    script = read_script(HEAD + "# comment\n" * 120_000 + "srun torchrun train.py\n")
    assert script.truncated
    assert script.runs == ()


def test_broken_pieces_of_real_scripts_never_crash() -> None:
    source = "".join(path.read_text() for path in SCRIPTS)
    rng = random.Random(7)
    for _ in range(150):
        start = rng.randrange(len(source))
        piece = list(source[start : start + rng.randrange(2500)])
        for _ in range(rng.randrange(30)):
            if piece:
                piece[rng.randrange(len(piece))] = rng.choice("\"'`$(){}[]\\\n;&|<>#=*!~ ")
        check_script(read_script("".join(piece)), Nothing())


def test_script_is_read_within_fifty_milliseconds() -> None:
    texts = [path.read_text() for path in SCRIPTS]
    start = time.perf_counter()
    for text in texts:
        check_script(read_script(text), Nothing())
    assert (time.perf_counter() - start) / len(texts) < 0.05
