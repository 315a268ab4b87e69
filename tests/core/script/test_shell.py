"""The evaluator against bash itself, and what it must leave unknown."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from triage.core.script.allocation import Allocation
from triage.core.script.holes import FIRST_HOST, NODE_ID, flat, known, readable
from triage.core.script.shell import Evaluated, evaluate

SAME = [
    "A=x; B=$A$A; OUT=${B}y",
    "A='a b'; OUT=\"$A\"' c'\\ d",
    "OUT=$'a\\tb\\x41\\'c'",
    "OUT=${A:-default}",
    "A=; OUT=${A-set}:${A:-empty}:${A:+x}:${B+y}",
    "OUT=${A:=given}$A",
    "A=abc; OUT=${#A}",
    "A=/x/y/z.tar.gz; OUT=${A##*/}:${A%/*}:${A%%.*}:${A#*.}",
    "A=a.b.c; OUT=${A//./_}:${A/b/Z}:${A^^}:${A:2:1}:${A: -1}",
    "A=5; OUT=$((A * 2 + 3 % 2 - (1 << 2))):$(( -7 / 2 )):$(( A > 3 ? 1 : 2 )):$((010))",
    "OUT=$((2 ** 10)):$((1 && 0 || 1)):$[3+4]",
    'A=(a "b c" d); OUT="${A[1]}:${#A[@]}:${A[*]}"',
    'A=(a); A+=(b c); A[1]=z; OUT="${A[@]}"',
    'declare -A M=([x]=1 [y]=2); M[z]=3; K=z; OUT="${M[x]}${M[$K]}"',
    "A=a; A+=b; OUT=$A",
    "read -r -d '' OUT <<EOF || true\none\n  two $((1+1))\nEOF",
    "read -r -d '' OUT <<'EOF' || true\n$A `x`\nEOF",
    "read A OUT <<< 'one two three'",
    "OUT=$(echo a b | tr ' ' ,)",
    "OUT=`echo \\`echo x\\``",
    "OUT=$(cat <<EOF\nline's $((1+1))\nEOF\n)",
    "OUT=$(basename /a/b.c .c):$(dirname /a/b):$(expr 3 \\* 4)",
    "OUT=$(echo 'a,b,c' | cut -d, -f2)",
    "if [ 3 -gt 2 ] && [ -n x ]; then OUT=yes; else OUT=no; fi",
    "X=ab; if [[ $X == a* && ! -z $X ]]; then OUT=1; elif true; then OUT=2; fi",
    "[ a = b ] && OUT=1 || OUT=2",
    "OUT=; for i in 1 2 3; do [ $i = 2 ] && continue; OUT+=$i; done",
    "OUT=; for i in a b c; do OUT+=$i; [ $i = b ] && break; done",
    "OUT=; for i in $(seq 1 3) {7..9}; do OUT=$OUT$i; done",
    "case foo.py in *.sh) OUT=1 ;; *.py | *.pyx) OUT=2 ;; *) OUT=3 ;; esac",
    "f() { local x=$1; shift; OUT=$x-$#-$*; }; f a b c",
    "f() { echo in; return 0; echo no; }; OUT=$(f)",
    "A=1; (A=2); { B=3; }; OUT=$A$B",
    "set -- x y; OUT=$1$2$#",
    'eval "OUT=a\\ b"',
    "A=B; B=c; OUT=${!A}",
    "i=1; ((i++)); ((i += 2)); OUT=$i",
    "A='x   y'; set -- $A; OUT=$#",
    'A="--a 1 \\\n  --b 2"; OUT=$(echo $A)',
    "OUT=a#b # comment",
    "A=1; unset A; OUT=${A:-gone}",
    "false || OUT=or; true && OUT=$OUT-and",
    'A=(); OUT=x"${A[@]}"y${#A[@]}',
    "B='--layers 12'; export A=$B; OUT=$A",
    "B='--layers 12'; declare -x A=$B; OUT=$A",
    "B='a b'; readonly A=x$B; f() { local D=$B; OUT=$A-$D; }; f",
    "A=1; export A+=$(echo 2 3); OUT=$A",
    "OUT=; A=4; f() { local A=3; OUT+=$A; }; f; OUT+=$A",
    "OUT=; A=4; f() { local A; OUT+=${A:-none}; A=3; OUT+=$A; }; f; OUT+=$A",
    "A=4; B=1; f() { declare A=3; typeset -i B=2; declare -g C=5; local -r D=6; }; f; OUT=$A$B$C${D:-gone}",
    'A=(a b); f() { local A=(x); local -a B=(y); }; f; OUT="${A[*]}${B-}"',
    "A=1; f() { local A=2; g; OUT=$A; }; g() { A=3; }; f; OUT=$OUT$A",
    "A=1; f() { local A=2; return 0; }; f || true; OUT=$A",
    'f() { local -n r=$1; OUT="${r[*]}"; r+=(z); }; A=(x y); f A; OUT="$OUT:${A[*]}"',
    "i=3; A=$((++i)); B=$((i++)); C=$((--i)); OUT=$A$B$C$i",
    "A=3; : $((A+=1)) $((B = A * 2)); OUT=$A:$B",
    "A=1; (( A <<= 3 )); ((A |= 1)); let A-=2; OUT=$A:$(( (B = 2) + B ))",
    "OUT=~+x; OUT='~'",
    'A=(a "b c"); set -- "${A[*]}" "x${A[*]}y"; OUT="$#:$1:$2"',
    'f() { set -- "$*" "${*}"; OUT="$#:$1"; }; f a "b c"',
    'A=(a "b c"); eval "set -- ${A[*]@Q}"; OUT="$#:$2"',
    'A=(); set -- "${A[*]}"; OUT=$#',
    'A=(1 2); IFS=,; B="${A[*]}"; C=${A[*]}; unset IFS; OUT="$B:$C"',
    "IFS=',' read -r A B <<< '2,4'; OUT=$A:$B",
    "IFS=: read -r A B <<< 'a:b:c'; OUT=$A-$B",
    "IFS=, read -r A B C <<< 'x,,z,'; OUT=$A-$B-$C",
    "IFS=, read -r A <<< 'a,b,'; OUT=$A",
    'IFS=, read -ra A <<< 2,4,; OUT="${#A[@]}${A[1]}"',
    'OLD=$IFS; IFS=,; read -r A B <<< 2,4; IFS=$OLD; C="x y"; set -- $C; OUT=$A:$B:$#',
    'IFS=,; P=($(echo 2,4)); unset IFS; OUT="${P[0]}:${P[1]}"',
    'IFS=,; A=",a,,b c,"; set -- $A x$A; OUT="$#:$1:$2:$3:$4:$5:$6"',
    'IFS=; A="a b"; set -- $A; OUT=$#',
    "IFS= read -r OUT <<< ' a  b '",
    "read -r A B <<< '  a   b  c  '; OUT=$A:$B",
    "declare -i A=3*4; OUT=$A",
    "declare -i A=3; A+=4; OUT=$A",
    "declare -i A; A=2+3; B=2+3; OUT=$A:$B",
    "N=2; G=8; declare -ix W=N*G; OUT=$W",
    "f() { local -i n=$1*2; OUT=$n; n=n+1; OUT=$OUT:$n; }; f 4",
    "case a in a) OUT=1 ;& b) OUT+=2 ;; c) OUT+=3 ;; esac",
    "case ab in a*) OUT=1 ;;& *b) OUT+=2 ;;& c) OUT+=3 ;; *) OUT+=4 ;; esac",
    "case x in x) OUT=1 ;& y) OUT+=2 ;;& z) OUT+=3 ;; x) OUT+=4 ;& q) OUT+=5 ;; esac",
    "A=(a b c); unset 'A[0]'; OUT=\"${A[*]}:${#A[@]}:${A[1]}:${A[0]-gone}:${!A[*]}\"",
    'A=(a b c); unset A[-1]; OUT="${A[*]}:${#A[@]}"; A+=(z); OUT+="${A[*]}"',
    "A=(a b c); unset 'A[1]'; A+=(z); i=3; OUT=\"${A[i]}:${A[-1]}:${!A[*]}\"",
    'A=(a b c); unset \'A[0]\'; A=("${A[@]}"); OUT="${A[0]}:${#A[@]}"',
    "declare -A M=([x]=1 [y]=2); unset 'M[x]'; OUT=\"${M[*]}:${M[x]-no}\"",
    'set -- a b c d; OUT="${@:2}|${@:2:2}|${*:3}|${@: -1}|${@:1:1}"',
    'set -- a b c d; A=("${@:2}"); OUT="${#A[@]}${A[0]}"',
    'f() { local cmd=$1; shift; OUT="$cmd:${@:1:$#-1}"; }; f x y z w',
    'A=(a b c d); OUT="${A[@]:1:2}|${A[*]:2}|${A[@]: -2}|${A[@]:0:1}"',
    'A=(a b c d); B=("${A[@]:1}"); OUT="${#B[@]}"',
    "printf -v OUT '%s-%02d' a 7",
    "printf -v OUT '%s,' a b c; OUT=${OUT%,}",
    'printf -v OUT "%5.2s|%-4d|%x|%%" abc 3 255',
    "OUT=$(printf '%s\\n' a b | head -n1)",
    "OUT=$(printf 'a\\tb')",
    'A=([2]=x [5]=y); OUT="${A[5]}:${#A[@]}:${!A[*]}"',
    'A=(a [3]=d e); OUT="${A[4]}:${!A[*]}"',
    'A=(a b); A[5]=z; OUT="${!A[*]}:${A[5]}:${#A[@]}"',
    "A=(x); A[0]+=y; OUT=${A[0]}",
    'A=(1 2 3); A[-1]=9; OUT="${A[*]}"',
    "declare -A M; M[a]=1; M[a]+=2; k=a; OUT=${M[$k]}",
    'declare -A M=([7b]="--num-layers 32" [13b]="--num-layers 40"); S=13b; OUT="${M[$S]}"',
    "set -- -n 4 -g 8; while [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; -g) G=$2; shift 2;; *) shift;; esac; done; OUT=$N:$G",
    'set -- --nodes=4; for a in "$@"; do case $a in --nodes=*) OUT=${a#*=};; esac; done',
    "x=5; until [ $x -le 2 ]; do x=$((x-1)); done; OUT=$x",
    "for ((i=0;i<3;i++)); do OUT+=$i; done",
    'A=(a b c); OUT="${A[@]/#/--}"',
    'let "A=3*4" B=2; OUT=$A:$B',
    "((A=5, B=A*2)); OUT=$A:$B",
    "A=(2 4); OUT=$((A[0]*A[1]))",
    'N="2*4"; OUT=$((N))',
    "A=$'line1\\nline2'; mapfile -t B <<< \"$A\"; OUT=${B[1]}:${#B[@]}",
    'A="x"; OUT="${A/#x/y}${A/%x/z}${A/#q/y}"',
    'f() { echo "$1"; }; export -f f; OUT=$(bash -c "f 3")',
    "OUT=$(bash <<< 'echo 3')",
    "OUT=$(bash -s <<'E'\necho 4\nE\n)",
]
"""Scripts of builtins alone, with their answer in OUT: bash is the oracle."""


@pytest.mark.parametrize(
    "script",
    [
        "OUT=$(<args.txt)",
        "OUT=$(< args.txt)",
        "f() { local -n r=$1; OUT=$r; }; f $X",
        "A=1; B=$((A && (A += 1))); OUT=$A",
        "A=(1 2); ((A[0]++)); OUT=${A[0]}",
        "IFS=$X; A=a,b; set -- $A; OUT=$1",
        "IFS=$X read A OUT <<< a,b",
        "IFS=, read A OUT <<< $X",
        "while IFS=, read A B; do OUT=$A; done <<EOF\n1,2\n1,3\n2,4\nEOF",
    ],
)
def test_what_cannot_be_told_is_no_value(script: str) -> None:
    assert not known(value(evaluate(script, Allocation())))


def value(found: Evaluated, name: str = "OUT") -> str:
    return flat(found.state.variables[name])


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash to compare with")
@pytest.mark.parametrize("script", SAME)
def test_same_answer_as_bash(script: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'{script}\nprintf "%s" "$OUT"'],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    assert value(evaluate(script, Allocation())) == done.stdout


@pytest.mark.parametrize(
    "script",
    [
        "OUT=$UNSET_SOMEWHERE",
        "OUT=$(python -c 'print(3)')",
        "OUT=$(date +%s)",
        "if [ -f x ]; then OUT=1; else OUT=2; fi",
        'OUT=1; if [ -n "$X" ]; then OUT=2; fi',
        "OUT=1; grep -q x f && OUT=2",
        "OUT=0; for f in *.py; do OUT=$((OUT+1)); done; OUT=$((OUT + $(ls | wc -l)))",
        "OUT=1; while read l; do OUT=$l; done < f",
        "read OUT < file",
        "source settings.sh; OUT=${TP:-2}",
        "OUT=${A[$i]}",
        "OUT=$RANDOM",
        "OUT=$((X / 2))",
        "f() { if [ -e y ]; then OUT=1; return; fi; OUT=2; }; f",
        "OUT=1; for i in $LIST; do OUT=$i; done",
        "OUT=a; trap 'OUT=b' USR1; [ -d /x ] || OUT=c",
    ],
)
def test_what_depends_on_the_world_is_unknown(script: str) -> None:
    assert not known(value(evaluate(script, Allocation())))


def test_branch_that_only_appends_hides_only_what_it_adds() -> None:
    found = evaluate('CMD="run --a 1"; if [ -n "$W" ]; then CMD="$CMD --w"; fi; CMD="$CMD --z"', Allocation())
    assert readable(value(found, "CMD")) == "run --a 1 <?> --z"
    assert [found.holes.chosen(value(found, "CMD"), branch).split() for branch in (0, 1)] == [
        ["run", "--a", "1", "--w", "--z"],
        ["run", "--a", "1", "--z"],
    ]


@pytest.mark.parametrize(
    "script",
    [
        'OUT=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)',
        "OUT=$(scontrol show hostname $SLURM_NODELIST | head -1)",
        "OUT=$(scontrol show hostnames | sed -n 1p)",
        "OUT=$(hostname)",
        "N=($(scontrol show hostnames $SLURM_JOB_NODELIST)); OUT=${N[0]}",
        'A=$(scontrol show hostnames "$SLURM_JOB_NODELIST"); B=($A); OUT=$(getent hosts ${B[0]} | cut -d" " -f1)',
        'mapfile -t N < <(scontrol show hostnames "$SLURM_JOB_NODELIST"); OUT=${N[0]}',
        'N=($(scontrol show hostnames)); OUT=$(srun --nodes=1 --ntasks=1 -w "${N[0]}" hostname --ip-address)',
    ],
)
def test_first_host_in_all_its_spellings(script: str) -> None:
    assert value(evaluate(script, Allocation(nodes=2, tasks_per_node=1))) == FIRST_HOST


def test_numbers_of_the_allocation() -> None:
    job = Allocation(nodes=4, tasks_per_node=1, gpus_per_node=8)
    for text in ("$SLURM_NNODES", "${SLURM_JOB_NUM_NODES}", "$(scontrol show hostnames | wc -l)"):
        assert value(evaluate(f"OUT={text}", job)) == "4"
    assert value(evaluate("OUT=$(nvidia-smi -L | wc -l)", job)) == "8"
    assert value(evaluate("OUT=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)", job)) == "8"


def test_node_number_is_zero_in_the_batch_script_and_its_own_in_the_step() -> None:
    job = Allocation(nodes=2, tasks_per_node=1)
    commands = evaluate(
        "srun echo-1 $SLURM_NODEID\nsrun bash -c 'echo-2 $SLURM_NODEID $SLURM_PROCID'", job
    ).commands
    assert [[word.text for word in command.words[1:]] for command in commands] == [["0"], [NODE_ID, NODE_ID]]


def test_child_sees_only_what_is_exported() -> None:
    found = evaluate("A=1; export B=2; bash -c 'prog $A $B ${A:-none}'", Allocation())
    assert [readable(word.text) for word in found.commands[0].words] == ["prog", "<?>", "2", "none"]


def test_written_file_is_followed_when_it_is_run() -> None:
    text = "N=3\ncat > run.sh <<EOF\nprog $N \\$1\nEOF\nsrun bash ./run.sh x\n"
    found = [command for command in evaluate(text, Allocation()).commands if command.name == "prog"]
    assert [[word.text for word in command.words] for command in found] == [["prog", "3", "x"]]
    assert found[0].line == 3


def test_environment_of_a_command_from_every_side() -> None:
    text = "export A=1; B=2 env C=3 -u D srun --export=ALL,E=5 prog"
    environment = evaluate(text, Allocation()).commands[0].environment
    assert {name: item.text for name, item in environment.items()} == {
        "A": "1", "B": "2", "C": "3", "D": None, "E": "5"
    }  # fmt: skip


def test_exit_in_an_undecided_branch_leaves_the_other_known() -> None:
    assert value(evaluate("OUT=1; if [ ! -d x ]; then OUT=2; exit 1; fi", Allocation())) == "1"
