"""The house rules that a machine can check: who may import whom, and that core stays pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "triage"

EDGES: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "core": frozenset({"errors"}),
    "files": frozenset({"core", "errors"}),
    "report": frozenset({"core", "errors"}),
    "bundle": frozenset({"core", "errors", "files", "report"}),
    "schedulers": frozenset({"core", "errors"}),
    "store": frozenset({"core", "errors"}),
    "submit": frozenset({"core", "errors", "schedulers"}),
    "watch": frozenset({"core", "errors", "files", "schedulers", "store"}),
    "api": frozenset({"bundle", "core", "errors", "files"}),
    "cli": frozenset(
        {
            "bundle",
            "core",
            "errors",
            "files",
            "report",
            "schedulers",
            "store",
            "submit",
            "watch",
            "api",
            "__init__",
        }
    ),
    "__init__": frozenset({"api", "core"}),
    "__main__": frozenset({"cli"}),
}
ROOMS = ("megatron", "script", "jobs", "logs", "events", "rules", "cause", "analysis")
"""Rooms of core in the order data flows; a later one may import earlier ones."""
IMPURE = frozenset({
    "os", "sys", "io", "time", "subprocess", "socket", "threading", "pathlib", "random", "logging", "shutil",
    "tempfile", "urllib", "http", "asyncio", "multiprocessing", "rich", "watchdog", "tenacity",
})  # fmt: skip
OUTSIDE = frozenset({"regex", "ahocorasick_rs"})
"""What core may import from outside the standard library."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts), ast.parse(path.read_text())


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name: str) -> str | None:
    """The room of a module of core, `core.cause.clock` -> `cause`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "core" and parts[1] in ROOMS else None


def test_floors_import_downwards_only() -> None:
    wrong = []
    for name, tree in modules():
        own = name.split(".")[0]
        for target in imported(tree):
            if target.startswith("triage."):
                floor = target.split(".")[1]
                exists = (PACKAGE / f"{floor}.py").exists() or (PACKAGE / floor).is_dir()
                if exists and floor != own and floor not in EDGES[own]:
                    wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_rooms_of_core_import_earlier_rooms_only() -> None:
    wrong = []
    for name, tree in modules():
        own = room(name)
        if own is None:
            continue
        for target in imported(tree):
            other = room(target.removeprefix("triage."))
            if other is not None and ROOMS.index(other) > ROOMS.index(own):
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_core_is_pure() -> None:
    wrong = []
    for name, tree in modules():
        if name.split(".")[0] != "core":
            continue
        for target in imported(tree):
            if target.split(".")[0] in IMPURE:
                wrong.append(f"{name} imports {target}")
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"open", "print", "input"}
            ):
                wrong.append(f"{name}:{node.lineno} calls {node.func.id}")
    assert wrong == []


def test_core_depends_on_few_libraries() -> None:
    import sys

    wrong = []
    for name, tree in modules():
        if name.split(".")[0] != "core":
            continue
        for target in imported(tree):
            top = target.split(".")[0]
            if top not in sys.stdlib_module_names and top not in OUTSIDE and top != "triage":
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_modules_and_functions_stay_small() -> None:
    wrong = []
    for name, tree in modules():
        path = PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
        if (lines := path.read_text().count("\n")) > 400:
            wrong.append(f"{name}: {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > 60:
                    wrong.append(f"{name}.{node.name}: {length} lines")
    assert wrong == []
