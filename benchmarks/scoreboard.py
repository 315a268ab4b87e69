"""`triage` beside what a user may take instead, on the same labelled cases in the same run.

    python -m benchmarks.scoreboard [CASES ...] [--peers FOLDER] [--nvrx CLONE] [--no-speed] [--no-robustness]

Prints the tables of docs/scoreboard.md. Peers are installed into FOLDER (kept for the next run); one that cannot be had
is left out with its reason. A peer reads one log, so it gets each case twice: its files one after another, and merged
by their printed times. What its answers count for is in peers.py, how the logs are changed in perturb.py.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import loggen, peers
from benchmarks.perturb import PERTURBATIONS, Files
from tests.corpus.score import Case, cases_in, explained, judge
from triage.core.logs.source import Source
from triage.files.inputs import Input
from triage.files.open import chunks

FIELDS = ("category", "rank", "exception", "frame", "phase")
SPEED = {"triage": 200_000_000, "peers": 20_000_000}
"""Bytes on which speed is measured: less for the slower ones."""

_STAMP = re.compile(rb"(?<!\d)\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?")


@dataclass(slots=True)
class Score:
    """How many fields of all cases hold."""

    held: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    named: int = 0
    """Right categories, where "an exception" names a category only if the label is `python`."""
    surely_wrong: int = 0
    per_case: dict[str, dict[str, bool]] = field(default_factory=dict)

    def add(self, case: str, fields: Mapping[str, bool], named: bool, sure: bool) -> None:
        kept = {name: fields[name] for name in FIELDS if name in fields}
        self.per_case[case] = kept
        self.judged.update(list(kept))
        self.held.update(name for name, good in kept.items() if good)
        self.named += named
        self.surely_wrong += sure and not kept["category"]

    def lost(self, other: Score) -> tuple[int, int]:
        """Fields that hold here and not there, and how many hold here."""
        pairs = [
            (other.per_case[c].get(n, False), good) for c, f in self.per_case.items() for n, good in f.items()
        ]
        return sum(good and not still for still, good in pairs), sum(good for _, good in pairs)


@dataclass(frozen=True, slots=True)
class Tool:
    """One line of the tables: a tool with the form of input it is given."""

    name: str
    fields: frozenset[str]
    score: Callable[[Sequence[tuple[Case, Files]]], Score]


def main() -> None:
    """Asks every tool about every case and prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", type=Path, default=[Path("fixtures/cases")])
    parser.add_argument("--peers", type=Path, default=Path(tempfile.gettempdir()) / "triage-peers")
    parser.add_argument(
        "--nvrx", type=Path, help="a clone of nvidia-resiliency-ext, where its repository is out of reach"
    )
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-robustness", action="store_true")
    arguments = parser.parse_args()
    cases = [(case, read(case.logs)) for case in cases_in(arguments.cases)]
    arguments.peers.mkdir(parents=True, exist_ok=True)
    found, missing = _peers(arguments.peers, arguments.nvrx)
    tools = [Tool("triage", frozenset(FIELDS), of_triage), *(t for peer in found for t in _tools(peer))]
    for reason in missing:
        print(f"left out: {reason}\n")
    plain = {tool.name: tool.score(cases) for tool in tools}
    print(f"{len(cases)} cases\n\n{_plain_table(tools, plain)}", flush=True)
    if not arguments.no_robustness:
        print(_robustness(tools, plain, cases), flush=True)
    if not arguments.no_speed:
        print(_speed(found))


def read(logs: Path) -> dict[str, bytes]:
    """The files of a case, as relative path to bytes."""
    return {str(p.relative_to(logs)): p.read_bytes() for p in sorted(logs.rglob("*")) if p.is_file()}


def of_triage(cases: Sequence[tuple[Case, Files]]) -> Score:
    """`triage.explain` on the folder of each case."""
    score = Score()
    for case, files in cases:
        with tempfile.TemporaryDirectory() as folder:
            verdict = explained(_written(files, Path(folder) / "logs"))
        held = judge(case.expect, verdict)
        score.add(case.id, held, held["category"], verdict["confidence"] == "high")
    return score


def of_peer(
    peer: peers.Peer,
    read_answer: Callable[[Mapping[str, Any]], peers.Answer],
    one: Callable[[Files], bytes],
    cases: Sequence[tuple[Case, Files]],
) -> Score:
    """A peer on one log for each case."""
    score = Score()
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / f"{at}.log" for at in range(len(cases))]
        for path, (_, files) in zip(logs, cases, strict=True):
            path.write_bytes(one(files))
        raw, _ = peer.ask(logs)
    for (case, _), each in zip(cases, raw, strict=True):
        answer = read_answer(each)
        held = judged(case.expect, answer, peer.fields)
        right = {case.expect["class"], *case.expect.get("also", [])}
        score.add(case.id, held, held["category"] and (not answer.generic or "python" in right), answer.sure)
    return score


def concatenated(files: Files) -> bytes:
    """One file after another, by name."""
    return b"".join(data if data.endswith(b"\n") else data + b"\n" for data in _plain(files))


def by_time(files: Files) -> bytes:
    """All files in one, by their printed times; a line without one stays behind the line before it."""
    blocks: list[tuple[bytes, int, int, bytes]] = []
    for file, data in enumerate(_plain(files)):
        at = b""
        for number, line in enumerate(data.splitlines(keepends=True)):
            at = (
                found[0].replace(b"/", b"-").replace(b"T", b" ")
                if (found := _STAMP.search(line[:200]))
                else at
            )
            blocks.append((at, file, number, line if line.endswith(b"\n") else line + b"\n"))
    return b"".join(line for *_, line in sorted(blocks))


def _plain(files: Files) -> Iterable[bytes]:
    """The contents, decompressed as a user would before handing them on."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder) / Path(name).name
            path.write_bytes(data)
            yield b"".join(chunks(Input(Source(name), str(path), len(data))))


def _written(files: Files, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def judged(expect: Mapping[str, Any], answer: peers.Answer, fields: frozenset[str]) -> dict[str, bool]:
    """Which fields of a label a peer's answer holds; what it never says, it does not hold."""
    right = {expect["class"], *expect.get("also", [])}
    calm = "none" in right and not answer.failed
    blank = "unknown" in right and answer.failed and (answer.generic or not answer.categories)
    held = {"category": calm or blank or bool(right & answer.categories)}
    for name in ("rank", "exception", "frame", "phase"):
        if name in expect:
            held[name] = name in fields and _holds(name, expect[name], answer)
    return held


def _holds(name: str, want: Any, answer: peers.Answer) -> bool:
    if name == "rank":
        return bool(answer.rank == want)
    if name == "exception":
        return str(want).rpartition(".")[2] in {e.rpartition(".")[2] for e in answer.exceptions}
    return name == "phase" and want in answer.phases


def _peers(folder: Path, clone: Path | None) -> tuple[list[peers.Peer], list[str]]:
    tried = [peers.gpualert(folder), peers.nvrx(folder, clone)]
    return [p for p in tried if isinstance(p, peers.Peer)], [p for p in tried if isinstance(p, str)]


def _tools(peer: peers.Peer) -> list[Tool]:
    answer = {"gpualert": peers.of_gpualert, "nvrx": peers.of_nvrx}[peer.driver]
    fields = peer.fields | {"category"}
    return [
        Tool(f"{peer.name}, {how}", fields, partial(of_peer, peer, answer, one))
        for how, one in (("concatenated", concatenated), ("merged", by_time))
    ]


def _plain_table(tools: Sequence[Tool], scores: Mapping[str, Score]) -> str:
    rows = [
        "| tool | category | named | " + " | ".join(FIELDS[1:]) + " | wrong and sure |",
        "|---|---|---|" + "---|" * 5,
    ]
    for tool in tools:
        score = scores[tool.name]
        cells = [
            _share(score.held["category"], score.judged["category"]),
            _share(score.named, score.judged["category"]),
        ]
        cells += [
            _share(score.held[n], score.judged[n]) if n in tool.fields else "never said" for n in FIELDS[1:]
        ]
        sure = str(score.surely_wrong) if "nvidia" not in tool.name else "never said"
        rows.append(f"| {tool.name} | {' | '.join(cells)} | {sure} |")
    return "\n".join(rows) + "\n"


def _robustness(
    tools: Sequence[Tool], plain: Mapping[str, Score], cases: Sequence[tuple[Case, Files]]
) -> str:
    rows = [
        "| logs changed | " + " | ".join(f"{t.name}: lost" for t in tools) + " | triage: wrong and sure |"
    ]
    rows.append("|---|" + "---|" * (len(tools) + 1))
    for name, change in PERTURBATIONS.items():
        changed = [(case, change(files)) for case, files in cases]
        scores = {tool.name: tool.score(changed) for tool in tools}
        lost = [_share(*plain[tool.name].lost(scores[tool.name])) for tool in tools]
        rows.append(f"| {name} | {' | '.join(lost)} | {scores['triage'].surely_wrong} |")
        _losses(name, plain["triage"], scores["triage"])
    return "\n".join(rows) + "\n"


def _losses(name: str, before: Score, after: Score) -> None:
    """What was lost, on standard error, to look at it."""
    for case, fields in before.per_case.items():
        if gone := [n for n, good in fields.items() if good and not after.per_case[case].get(n)]:
            print(f"{name}: {case} lost {', '.join(gone)}", file=sys.stderr)


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / whole:.1f} %)" if whole else "-"


def _speed(found: Sequence[peers.Peer]) -> str:
    rows = ["| tool | read | seconds per GB |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        loggen.write_ranks(logs, SPEED["triage"])
        started = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "triage", "explain", str(logs)], stdout=subprocess.DEVNULL, check=False
        )
        rows.append(_pace("triage", SPEED["triage"], time.monotonic() - started))
        shutil.rmtree(logs)
        logs.mkdir()
        loggen.write_ranks(logs, SPEED["peers"])
        one, empty = Path(folder) / "one.log", Path(folder) / "empty.log"
        one.write_bytes(b"".join(p.read_bytes() for p in sorted(logs.iterdir())))
        empty.touch()
        rows += [_pace(peer.name, SPEED["peers"], peer.ask([empty, one])[1]) for peer in found]
    return "\n".join(rows) + "\n"


def _pace(name: str, size: int, seconds: float) -> str:
    return f"| {name} | {size // 1_000_000} MB | {seconds * 1e9 / size:.0f} |"


if __name__ == "__main__":
    main()
