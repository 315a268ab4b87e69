"""`triage check`: what will fail in a job script, before it is submitted."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from triage.cli.configuration import add_layers, load, load_text, read_file, read_template
from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit, wants_color
from triage.cli.preflight import ask_site, findings_of_config, findings_of_script, open_script
from triage.core.megatron.finding import Finding, Severity
from triage.core.script.read import read_script
from triage.core.script.site import Site
from triage.core.values import replace
from triage.errors import ConfigError, InputError, UsageError
from triage.files.facts import Mount, NotAScript, read_mounts
from triage.report.check import CHECK_FORMATS, Checked, CheckOptions
from triage.report.mask import safe
from triage.submit.keys import FILE_NAME

TAKES_REST = True
CONFIGURATION = ".toml"

_EPILOG = """\
exit codes: 0 no errors, 1 errors found (with --strict also warnings),
2 wrong usage or configuration, 3 a path that cannot be read or is no script,
70 a bug in triage

examples:
  triage check
  triage check run_megatron.slurm
  triage check jobs/*.sbatch --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check configurations and job scripts without running them:\n"
        "Megatron-LM's rules, torchrun, Slurm, storage."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help=f"configuration (*.toml) or shell script (default: {FILE_NAME})",
    )
    parser.add_argument(
        "--format", choices=tuple(CHECK_FORMATS), default="text", help="output format (default: text)"
    )
    add_layers(parser)
    parser.add_argument("--template", metavar="FILE", help="a site's own template for the script")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="show the smallest changes that remove findings, where one is certain",
    )
    parser.add_argument(
        "--write", action="store_true", help="with --fix: make them, and check what they leave"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    parser.add_argument("-v", "--verbose", action="store_true", help="show notes (info) in text output too")
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours in text output (default: auto)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Checks and prints; what could not be read, or met a bug, is told after the findings of the rest."""
    if arguments.write and not arguments.fix:
        raise UsageError("--write makes the changes of --fix: give both")
    examine = _Examiner(arguments, read_mounts(), ask_site(os.environ))
    results: list[Checked] = []
    repairs: list[str] = []
    unread: list[str] = []
    wrong: list[str] = []
    bugs: list[Exception] = []
    for path in arguments.paths or [FILE_NAME]:
        try:
            found, repair = examine.both(path)
        except NotAScript as error:
            unread.append(f"{path} {error}")
        except ConfigError as error:
            wrong.append(str(error))
        except Exception as error:
            sys.stderr.write(safe(f"triage: {path} could not be checked\n"))
            bugs.append(error)
        else:
            results.append(Checked(path, tuple(found)))
            repairs.append(repair)
    if results:
        options = CheckOptions(arguments.verbose, wants_color(arguments.color))
        emit(CHECK_FORMATS[arguments.format](results, options))
    if arguments.format == "text":
        emit("".join(repairs))
    else:
        sys.stderr.write("".join(repairs))
    if bugs:
        raise bugs[0]
    if wrong:
        raise ConfigError("\n".join(wrong + unread))
    if unread:
        raise InputError("\n".join(unread))
    counted = (Severity.ERROR, Severity.WARNING) if arguments.strict else (Severity.ERROR,)
    failed = any(result.count(severity) for result in results for severity in counted)
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


class _Examiner:
    """Findings of a path, and what `--fix` does about them."""

    def __init__(
        self, arguments: argparse.Namespace, mounts: Sequence[Mount], site: Callable[[], Site]
    ) -> None:
        self._arguments = arguments
        self._mounts = mounts
        self._site = site
        self._template = read_template(arguments.template)

    def both(self, path: str) -> tuple[Sequence[Finding], str]:
        """The findings, those that are left after `--write`, and the repairs told."""
        judge = self._judge(path)
        found = judge(None)
        if not self._arguments.fix:
            return found, ""
        from triage.cli import fix

        if path.endswith(CONFIGURATION):
            text, logs = read_file(path).text, load(self._arguments, path).config.logs
            repair = fix.repair_config(path, text, logs, found, judge)
        else:
            repair = fix.repair_script(path, found, judge)
        if self._arguments.write:
            fix.write(repair)
            found = judge(None)
        return found, fix.told(repair, written=self._arguments.write)

    def _judge(self, path: str) -> Callable[[str | None], Sequence[Finding]]:
        """The findings of a text that would stand in the path, or of the one that does."""

        def of_config(text: str | None) -> Sequence[Finding]:
            file = read_file(path)
            settings = load_text(self._arguments, file if text is None else replace(file, text=text))
            return findings_of_config(settings, self._mounts, self._site, self._template)

        def of_script(text: str | None) -> Sequence[Finding]:
            script = open_script(path)[1] if text is None else read_script(text)
            return findings_of_script(path, script, self._mounts, self._site)

        return of_config if path.endswith(CONFIGURATION) else of_script
