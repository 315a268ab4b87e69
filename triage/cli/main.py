"""`triage`: finds the asked command, runs it, and turns every error into an exit code.

Only the module of the asked command is imported, so that `triage --help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import NoReturn

from triage import __version__
from triage.cli.output import terminal_width
from triage.errors import TriageError

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "bundle": ("triage.cli.bundle", "pack what an expert needs to look at a failure elsewhere"),
        "check": (
            "triage.cli.check",
            "what will fail in a configuration or job script, before it is run",
        ),
        "config": ("triage.cli.config", "show a configuration, and where each value came from"),
        "explain": ("triage.cli.explain", "what failed, where and why, from a run's logs"),
        "init": ("triage.cli.init", "write a commented configuration, from a batch script if you have one"),
        "render": ("triage.cli.render", "print the batch script of a configuration"),
        "rules": ("triage.cli.rules", "list, check and test the failure rules"),
        "hold": ("triage.cli.hold", "forbid, or allow again, that a job is ended early"),
        "history": (
            "triage.cli.history",
            "jobs that were watched, how they ended, and what early ends saved",
        ),
        "daemon": ("triage.cli.daemon", "watch many jobs in the background"),
        "watch": ("triage.cli.watch", "follow a job, say why it failed, end it early on its result"),
        "schema": ("triage.cli.schema", "print the JSON Schema of an output"),
        "submit": ("triage.cli.submit", "check a configuration or job script and submit it, exactly once"),
    }
)
"""Name -> module with `add_arguments(parser)` and `run(arguments) -> int`, and one line of help. With `TAKES_REST`, what
stands behind `--` is handed on as `arguments.behind`."""

_EXIT_CODES = """\
exit codes:
   0 no failure                      6 the state folder cannot be used
   1 check found errors             10 a failure, explained
   2 wrong usage or rules           11 a failure of unknown cause
   3 no readable input              12 watch: cancelled by someone else
   4 the scheduler does not answer  70 a bug in triage
   5 submit: refused               130 interrupted
"""


class HelpText(argparse.RawDescriptionHelpFormatter):
    """Help in the terminal's width: argparse would import `shutil` to ask for it, whether or not help is shown."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line; returns its exit code and never raises."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except TriageError as error:
        from triage.cli.exitcodes import of_error

        _complain(str(error))
        return int(of_error(error))
    except BrokenPipeError:
        from triage.cli.output import quiet_stdout

        quiet_stdout()
        return 0
    except Exception as error:
        return _bug(error, words)


def _run(words: list[str]) -> int:
    if not words or words[0] not in COMMANDS:
        return _no_command(words)
    module = import_module(COMMANDS[words[0]][0])
    parser = argparse.ArgumentParser(prog=f"triage {words[0]}", formatter_class=HelpText, allow_abbrev=False)
    module.add_arguments(parser)
    own, behind = words[1:], []
    if getattr(module, "TAKES_REST", False) and "--" in own:
        own, behind = own[: own.index("--")], own[own.index("--") + 1 :]
    code: int = module.run(parser.parse_args(own, argparse.Namespace(behind=behind)))
    return code


def _no_command(words: list[str]) -> int:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="triage",
        usage="triage COMMAND ...",
        description="Explains failed training jobs: Megatron-LM and torchrun on Slurm.",
        epilog=f"commands:\n{commands}\n\n{_EXIT_CODES}\n`triage COMMAND --help` tells more.",
        formatter_class=HelpText,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    if words and not words[0].startswith("-"):
        _unknown_command(parser, words[0])
    if parser.parse_args(words).version:
        from triage.cli.output import emit

        emit(f"triage {__version__}\n")
        return 0
    parser.print_help(sys.stderr)
    return 2


def _unknown_command(parser: argparse.ArgumentParser, word: str) -> NoReturn:
    import difflib
    import os

    close = difflib.get_close_matches(word, COMMANDS, 1)
    if close:
        hint = f"did you mean `triage {close[0]}`?"
    elif os.path.exists(word):
        hint = f"to explain these logs: triage explain {word}"
    else:
        hint = f"commands are {', '.join(COMMANDS)}"
    parser.error(_plain(f"no command {word!r}; {hint}"))


def _plain(text: str) -> str:
    from triage.report.mask import safe

    return safe(text)


def _complain(text: str) -> None:
    sys.stderr.write("".join(f"triage: {line}\n" for line in _plain(text).splitlines() or [""]))


def _bug(error: Exception, words: list[str]) -> int:
    """A short report: where it happened and what a maintainer needs, without the log's text."""
    import platform
    import shlex
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-6:]
    where = "".join(f"    {frame.filename}:{frame.lineno} in {frame.name}\n" for frame in frames)
    sys.stderr.write(
        _plain(
            f"triage: a bug in triage, not in your job: {type(error).__name__}: {str(error)[:200]}\n{where}"
            "please report it with the lines above and these, and if you can the log that caused it:\n"
            f"    triage {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
            f"    triage {shlex.join(words)}\n"
        )
    )
    return 70


if __name__ == "__main__":
    sys.exit(main())
