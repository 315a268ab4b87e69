"""The command line: what is printed where, and the exit code of every way to end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import triage
from triage import errors
from triage.cli import explain as explain_command
from triage.cli.exitcodes import ExitCode, of_error
from triage.cli.main import COMMANDS, main
from triage.core.cause.verdict import Evidence, Root, Verdict
from triage.report import FORMATS
from triage.report.schema import schema_text

OOM = Verdict(
    failed=True,
    category="oom",
    rule="oom/cuda",
    ended=True,
    confidence="high",
    summary="rank 5 ran out of GPU memory",
    root=Root(
        rank=5, ranks="5", exception="torch.OutOfMemoryError", message="m", evidence=Evidence("a.err", 1, 2)
    ),
    facts={},
)
ROOT = Path(triage.__file__).parent.parent


class FakeApi(types.ModuleType):
    """Stands for `triage.api`: remembers how it was called."""

    def __init__(self, answer: Verdict | BaseException) -> None:
        super().__init__("triage.api")
        self.answer = answer
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def explain(self, paths: Any, **options: Any) -> Verdict:
        self.calls.append((paths, options))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def explain_why_not(self, paths: Any, rank: int, **options: Any) -> tuple[str, ...]:
        self.calls.append((paths, {"rank": rank, **options}))
        return (f"rank {rank} came later", "\x1b[2Jand its error is downstream")


Fake = Callable[[Verdict | BaseException], FakeApi]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    def install(answer: Verdict | BaseException) -> FakeApi:
        api = FakeApi(answer)
        monkeypatch.setitem(sys.modules, "triage.api", api)
        monkeypatch.setattr(triage, "api", api, raising=False)
        return api

    return install


def run_tool(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "triage", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


@pytest.mark.parametrize(
    ("category", "code"),
    [("none", 0), ("unknown", 11), ("oom", 10), ("cancelled", 10), ("timeout", 10), ("preempted", 10)],
)
def test_exit_code_is_that_of_the_verdict(fake: Fake, category: str, code: int) -> None:
    fake(replace(OOM, failed=category != "none", category=category, rule=None))
    assert main(["explain", "logs"]) == code


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_offered(fake: Fake, capsys: pytest.CaptureFixture[str], name: str) -> None:
    fake(OOM)
    assert main(["explain", "logs", "--format", name]) == 10
    out = capsys.readouterr()
    assert "rank 5 ran out of GPU memory" in out.out
    assert out.err == ""


def test_format_names_are_those_of_the_table() -> None:
    assert tuple(FORMATS) == explain_command.FORMAT_NAMES


def test_json_is_alone_on_standard_output(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake(OOM)
    main(["explain", "logs", "--format", "json", "--color", "always"])
    assert json.loads(capsys.readouterr().out)["root"]["rank"] == 5


def test_flags_reach_the_library(fake: Fake) -> None:
    api = fake(OOM)
    main(["explain", "a", "b", "--attempt", "2", "--job", "77_1", "--rules", "r1", "--rules", "r2"])
    ((paths, options),) = api.calls
    assert paths == ["a", "b"]
    assert {k: options[k] for k in ("attempt", "job", "rules")} == {
        "attempt": 2,
        "job": "77_1",
        "rules": ("r1", "r2"),
    }


@pytest.mark.parametrize(
    ("name", "workspace", "base"),
    [
        ("text", "/w", "."),
        ("markdown", "", "."),
        ("json", "/w", None),
        ("github", "/w", "/w"),
        ("github", "", "."),
    ],
)
def test_files_are_named_from_where_they_are_opened(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, name: str, workspace: str, base: str | None
) -> None:
    api = fake(OOM)
    monkeypatch.setenv("GITHUB_WORKSPACE", workspace)
    main(["explain", "logs", "--format", name])
    main(["explain", "logs", "--format", name, "--why-not", "3"])
    assert [options["base"] for _, options in api.calls] == [base, base]


def test_why_not_prints_the_answer_without_terminal_control(
    fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    api = fake(OOM)
    assert main(["explain", "logs", "--why-not", "3"]) == 0
    assert capsys.readouterr().out == "rank 3 came later\nand its error is downstream\n"
    assert api.calls[0][1]["rank"] == 3


def test_why_not_as_json_is_what_its_schema_says(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake(OOM)
    assert main(["explain", "logs", "--why-not", "3", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, json.loads(schema_text("why-not")))
    assert data["reasons"] == ["rank 3 came later", "and its error is downstream"]


@pytest.mark.parametrize(
    ("name", "begin"), [("markdown", "### Why not rank 3\n\n- rank 3"), ("github", "::notice title=")]
)
def test_why_not_follows_the_other_formats_too(
    name: str, begin: str, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    fake(OOM)
    main(["explain", "logs", "--why-not", "3", "--format", name])
    assert capsys.readouterr().out.startswith(begin)


def test_output_file_is_written_whole_and_nothing_is_printed(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake(OOM)
    target = tmp_path / "verdict.json"
    assert main(["explain", "logs", "--format", "json", "-o", str(target)]) == 10
    assert json.loads(target.read_text())["category"] == "oom"
    assert capsys.readouterr().out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["verdict.json"]


def test_output_file_that_cannot_be_written_is_told(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake(OOM)
    assert main(["explain", "logs", "-o", str(tmp_path / "no" / "x.json")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_colour_follows_the_flag_and_the_terminal(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake(OOM)
    main(["explain", "logs"])
    assert "\x1b" not in capsys.readouterr().out
    main(["explain", "logs", "--color", "always"])
    assert "\x1b[1;31m" in capsys.readouterr().out


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colour_on_a_terminal_that_does_not_want_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    from triage.cli import output

    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert output.wants_color("auto")
    monkeypatch.setenv(variable, value)
    assert not output.wants_color("auto")
    assert output.wants_color("always")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("u"), 2),
        (errors.ConfigError("c"), 2),
        (errors.RuleError(["a.toml:1: x", "a.toml:2: y"]), 2),
        (errors.InputError("i"), 3),
        (errors.SchedulerError("s", transient=False), 4),
        (errors.StoreError("d"), 6),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_code_and_its_sentence(
    fake: Fake, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    fake(error)
    assert main(["explain", "logs"]) == code
    out = capsys.readouterr()
    assert out.out == ""
    for line in str(error).splitlines() or ["interrupted"]:
        assert f"triage: {line}\n" in out.err


def test_every_error_of_the_tree_is_in_the_table() -> None:
    for kind in errors.TriageError.__subclasses__():
        error = kind.__new__(kind)
        assert of_error(error) in (
            ExitCode.USAGE,
            ExitCode.NO_INPUT,
            ExitCode.NO_SCHEDULER,
            ExitCode.NO_STORE,
        )


def test_error_text_cannot_move_the_cursor(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake(errors.InputError("\x1b[2Jevil\x07.log: no such file"))
    main(["explain", "logs"])
    assert capsys.readouterr().err == "triage: evil.log: no such file\n"


def test_bug_is_reported_with_what_to_report(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake(ValueError("boom password=hunter2"))
    assert main(["explain", "my logs"]) == 70
    err = capsys.readouterr().err
    for part in (
        "ValueError: boom",
        "a bug in triage",
        "explain.py:",
        triage.__version__,
        "Python 3",
        "triage explain 'my logs'",
    ):
        assert part in err
    assert "hunter2" not in err
    assert "Traceback (most recent call last)" not in err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["explain"],
        ["explane", "logs"],
        ["explain", "logs", "--attempt", "0"],
        ["explain", "logs", "--attempt", "x"],
        ["explain", "logs", "--why-not", "-1"],
        ["explain", "logs", "--width", "5"],
        ["explain", "logs", "--format", "xml"],
        ["explain", "logs", "--frmat", "json"],
        ["--frobnicate"],
        ["schema", "nothing"],
    ],
)
def test_wrong_usage_is_2_and_goes_to_standard_error(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert "usage" in out.err


def test_mistyped_command_gets_a_hint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["explane"])
    assert "did you mean `triage explain`" in capsys.readouterr().err
    main([str(tmp_path)])
    assert f"triage explain {tmp_path}" in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name}" in out for name in COMMANDS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"triage {triage.__version__}\n"


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids="-".join)
def test_help_fits_a_narrow_terminal(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, "--help"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_help_tells_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    told = capsys.readouterr().out.partition("exit codes:")[2]
    assert {int(number) for number in re.findall(r"\d+", told)} == {code.value for code in ExitCode}


def test_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "verdict"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "triage.verdict/1"


def test_reader_that_went_away_is_no_error(tmp_path: Path) -> None:
    script = (
        "import sys, types; api = types.ModuleType('triage.api'); sys.modules['triage.api'] = api\n"
        "import triage; triage.api = api\n"
        "from tests_support import OOM; api.explain = lambda paths, **kw: OOM\n"
        "from triage.cli.main import main; sys.exit(main(['explain', 'x']))\n"
    )
    (tmp_path / "tests_support.py").write_text(
        "from triage.core.cause.verdict import Verdict\n"
        "OOM = Verdict(True, 'oom', 'oom/cuda', True, 'high', 'summary', None, {}, reasons=('x ' * 100,) * 5000)\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    tool = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )
    assert tool.stdout is not None
    assert tool.stderr is not None
    tool.stdout.read(10)
    tool.stdout.close()
    assert tool.stderr.read() == b""
    tool.stderr.close()
    assert tool.wait(60) == 10


def test_full_disk_on_standard_output_is_told() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "triage", "schema"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert "standard output cannot be written" in done.stderr


def test_ascii_terminal_gets_escapes_and_no_crash() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert run_tool("schema", env=env).returncode == 0


def test_help_imports_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys; from triage.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    loaded = set(done.stderr.split())
    heavy = {
        "rich",
        "regex",
        "ahocorasick_rs",
        "zstandard",
        "json",
        "tomllib",
        "triage.cli.explain",
        "triage.core",
    }
    assert "argparse" in loaded
    assert not loaded & heavy


def test_help_answers_at_once() -> None:
    best = min(_seconds_for_help() for _ in range(3))
    assert best < 0.3 + _seconds_for_bare_python()


def _seconds_for_help() -> float:
    start = time.perf_counter()
    run_tool("--help")
    return time.perf_counter() - start


def _seconds_for_bare_python() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", ""], check=True)
    return time.perf_counter() - start


def test_commands_have_the_two_functions() -> None:
    from importlib import import_module

    for module, text in COMMANDS.values():
        assert text
        if module != "triage.cli.rules" or (ROOT / "triage" / "cli" / "rules.py").exists():
            loaded = import_module(module)
            assert callable(loaded.add_arguments)
            assert callable(loaded.run)


@pytest.mark.parametrize(
    ("record", "code", "said"),
    [
        ("JobID|State|ExitCode\n7|OUT_OF_MEMORY|0:125\n", 10, "ran out of host memory"),
        ("JobID|State|ExitCode\n7|COMPLETED|0:0\n", 0, "completed"),
        ("hello\n", 3, "is no record of a job"),
        ("JobID|State|ExitCode\n7|COMPLETED|0:0\n8|FAILED|1:0\n", 3, "about several jobs"),
    ],
)
def test_saved_output_of_slurm_is_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record: str, code: int, said: str
) -> None:
    (tmp_path / "log").write_text("hello\n")
    (tmp_path / "saved").write_text(record)
    assert main(["explain", str(tmp_path / "log"), "--record", str(tmp_path / "saved")]) == code
    told = capsys.readouterr()
    assert said in told.out + told.err
