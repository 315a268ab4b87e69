"""Scores the engine on labelled logs: `python tests/corpus/score.py fixtures/cases [--shuffle] [--case ID]`.

A case is a folder with `case.toml` (`[expect]` is the ground truth; what it does not state is not judged) and `logs/`.
`open` in it lists fields that the tool does not find yet: they are counted apart, and one that holds is a mistake too.
`--shuffle` explains each case again from a copy whose files sort the other way round, were made in the other order and
have one modification time: nothing may change. Exits 0 only if every field of every case holds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.api import explain
from triage.cli.exitcodes import of_verdict

LINKS = 12
"""Links of an exception chain that may carry the expected exception, message or frame."""
STABLE = ("rank", "exception", "message", "frame")
"""Fields of the root that the order of files must not change."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    logs: Path
    expect: Json
    open: tuple[str, ...] = ()


def cases_in(folders: list[Path], only: str | None = None) -> Iterator[Case]:
    for folder in folders:
        for path in sorted(folder.rglob("case.toml")):
            data = tomllib.loads(path.read_text())
            if "expect" not in data:
                raise SystemExit(f"{path}: no [expect] yet; write what the logs show")
            if only is None or only == data["id"]:
                yield Case(data["id"], path.parent / "logs", data["expect"], tuple(data.get("open", ())))


def explained(logs: Path) -> Json:
    """The verdict's JSON object, with the exit code that the command would give."""
    verdict = explain([logs])
    return verdict.to_json() | {"exit": int(of_verdict(verdict))}


def judge(expect: Json, verdict: Json) -> dict[str, bool]:
    """Which fields hold, by name."""
    root = verdict["root"] or {}
    links: list[Json] = [root, *(root.get("chain") or [])[:LINKS]]
    right = {expect["class"], *expect.get("also", [])}
    held = {"category": verdict["category"] in right}
    if "none" not in right or right == {"none"}:
        held["failed"] = verdict["failed"] is (right != {"none"})
    held["exit"] = verdict["exit"] == {"none": 0, "unknown": 11}.get(verdict["category"], 10)
    if "rank" in expect:
        held["rank"] = root.get("rank") == expect["rank"]
    if "host" in expect:
        held["node"] = _short(root.get("node")) == _short(expect["host"])
    if "exception" in expect:
        held["exception"] = any(_last(x.get("exception")) == _last(expect["exception"]) for x in links)
    if "message_contains" in expect:
        held["message"] = any(_flat(expect["message_contains"]) in _flat(x.get("message")) for x in links)
    if "frame" in expect:
        held["frame"] = any(_frame_holds(expect["frame"], x.get("frame")) for x in links)
    if "phase" in expect:
        held["phase"] = root.get("phase") == expect["phase"]
    if expect.get("downstream_ranks"):
        held["downstream"] = _downstream_holds(expect, verdict)
    for name, value in (expect.get("facts") or {}).items():
        held[f"fact:{name}"] = _close(value, verdict["facts"].get(name))
    return held


def _downstream_holds(expect: Json, verdict: Json) -> bool:
    got: set[int] = set()
    for row in verdict["downstream"]:
        got |= _ranks_of(row["ranks"])
    world = (expect.get("facts") or {}).get("world_size") or max(got, default=0) + 1
    return set(expect["downstream_ranks"]) <= got <= set(range(world)) and expect.get("rank") not in got


def _ranks_of(text: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _frame_holds(want: str, got: Mapping[str, Any] | None) -> bool:
    """`path[:line[ in function]]`, the path shortened from the left."""
    match = re.fullmatch(r"(.+?)(?::(\d+))?(?: in (.+))?", want.strip())
    if not got or match is None:
        return False
    path, line, function = match[1].lstrip("./…"), match[2], (match[3] or "").strip("()")
    file = str(got["file"])
    return (
        (file.endswith(path) or (path.endswith(file) and bool(file)))
        and (not line or got["line"] == int(line))
        and (not function or str(got["function"]).strip("()") == function)
    )


def _close(want: object, got: object) -> bool:
    if isinstance(want, float) and isinstance(got, int | float):
        return abs(want - got) <= max(0.02, 0.002 * abs(want))
    return want == got


def _short(host: object) -> str:
    return str(host or "").split(".")[0]


def _last(name: object) -> str:
    return str(name or "").rpartition(".")[2]


def _flat(text: object) -> str:
    return " ".join(str(text or "").split())


def reversed_copy(logs: Path, into: Path) -> Path:
    """The same tree listed in the opposite order: letters in front of top-level names, created last to first."""
    target = into / "logs"
    top = sorted((p for p in logs.iterdir() if p.is_file()), reverse=True)
    names = {p: f"{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}-{p.name}" for i, p in enumerate(top)}
    for path in sorted(logs.rglob("*"), reverse=True):
        if path.is_file():
            copy = target / (names[path] if path in names else path.relative_to(logs))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            os.utime(copy, (1_700_000_000, 1_700_000_000))
    return target


def moved(case: Case, verdict: Json) -> bool:
    """Whether the order of the files changes the answer."""
    with tempfile.TemporaryDirectory() as folder:
        other = explained(reversed_copy(case.logs, Path(folder)))
    roots = verdict["root"] or {}, other["root"] or {}
    return verdict["category"] != other["category"] or any(roots[0].get(k) != roots[1].get(k) for k in STABLE)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--case")
    parser.add_argument("--shuffle", action="store_true")
    arguments = parser.parse_args()
    right: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    total = perfect = order_dependent = confidently_wrong = right_and_sure = known = 0
    for case in cases_in(arguments.folders, arguments.case):
        verdict = explained(case.logs)
        held = judge(case.expect, verdict)
        bad = [name for name, good in held.items() if good is (name in case.open)]
        known += len(case.open)
        for name, good in held.items():
            key = "facts" if name.startswith("fact:") else name
            judged[key] += 1
            right[key] += good
        sure = verdict["confidence"] == "high"
        confidently_wrong += sure and not held["category"]
        right_and_sure += sure and held["category"]
        if arguments.shuffle and moved(case, verdict):
            order_dependent += 1
            bad.append("ORDER-DEPENDENT")
        total += 1
        perfect += not bad
        if bad:
            root = verdict["root"] or {}
            print(f"FAIL {case.id}: {', '.join(bad)}")
            print(
                f"     got {verdict['category']} rank={root.get('rank')} {root.get('exception')} {verdict['confidence']}"
            )
    print("  ".join(f"{name} {right[name]}/{judged[name]}" for name in judged))
    print(
        f"cases {total}  perfect {perfect}  confidently wrong {confidently_wrong}  right at high confidence "
        f"{right_and_sure}  open fields {known}"
        + (f"  order-dependent {order_dependent}" if arguments.shuffle else "")
    )
    return 0 if total and perfect == total else 1


if __name__ == "__main__":
    sys.exit(main())
