"""Where rule files lie, and reading them. Core parses what this returns."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

from triage.core.rules.parse import parse
from triage.core.rules.ruleset import RuleSet
from triage.errors import InputError, RuleError

_MAX_BYTES = 1 << 20
_MAX_FILES = 5_000


Folder = str | os.PathLike[str]


def shipped_folder() -> str:
    """The rules that come with the tool: `triage/_rules` in an installed wheel, `rules/` beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    folders = (os.path.join(package, "_rules"), os.path.join(os.path.dirname(package), "rules"))
    for folder in folders:
        if os.path.isfile(os.path.join(folder, "taxonomy.toml")):
            return folder
    raise InputError(f"the shipped rules are missing: neither {' nor '.join(folders)}")


def user_folder(environment: Mapping[str, str]) -> str | None:
    """`$XDG_CONFIG_HOME/triage/rules` (`~/.config/triage/rules`), if it is there."""
    home = environment.get("HOME")
    config = environment.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else None)
    folder = os.path.join(config, "triage", "rules") if config else None
    return folder if folder and os.path.isdir(folder) else None


def read_folder(folder: Folder) -> list[tuple[str, str]]:
    """(path, text) of the folder's `*.toml` files and of those one level down, sorted by path.

    Raises InputError when there is no such folder, RuleError with every file that cannot be read.
    """
    if not os.path.isdir(folder):
        raise InputError(f"no rules folder {os.fspath(folder)}: give an existing folder to --rules")
    found: list[tuple[str, str]] = []
    mistakes: list[str] = []
    for path in _toml_files(folder):
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                mistakes.append(f"{path}:1: not a regular file")
            elif status.st_size > _MAX_BYTES:
                mistakes.append(f"{path}:1: larger than 1 MiB, which no rule file is")
            else:
                with open(path, "rb") as file:
                    data = file.read(status.st_size)
                found.append((path, data.decode("utf-8")))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            mistakes.append(f"{path}:{line}: not UTF-8")
        except OSError as error:
            mistakes.append(f"{path}:1: cannot be read: {error.strerror or error}")
        if len(found) > _MAX_FILES:
            mistakes.append(f"{os.fspath(folder)}:1: more than {_MAX_FILES} files")
            break
    if mistakes:
        raise RuleError(mistakes)
    return found


def load(environment: Mapping[str, str], extra: Iterable[Folder] = (), *, examples: bool = False) -> RuleSet:
    """The shipped rules, then the user's, then those of each extra folder; a later rule replaces one of the same id.

    Raises RuleError with all mistakes of the first folder that has some, InputError when an extra folder is missing.
    """
    rules = parse(read_folder(shipped_folder()), examples=examples)
    mine = user_folder(environment)
    for folder in (*([mine] if mine else []), *extra):
        rules = rules.merged(parse(read_folder(folder), taxonomy=rules.taxonomy, examples=True))
    return rules


def _toml_files(folder: Folder) -> list[str]:
    paths: list[str] = []
    with os.scandir(os.fspath(folder)) as entries:
        for entry in entries:
            if entry.is_dir() and not entry.name.startswith("."):
                with os.scandir(entry.path) as inner:
                    paths.extend(e.path for e in inner if e.name.endswith(".toml"))
            elif entry.name.endswith(".toml"):
                paths.append(entry.path)
    return sorted(paths)
