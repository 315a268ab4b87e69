"""What `config`, `render` and `submit` share: which file is read, and what outranks it."""

from __future__ import annotations

import argparse
import errno
import os
import stat
from pathlib import Path

from triage.errors import ConfigError, UsageError
from triage.submit.config import Settings
from triage.submit.keys import FILE_NAME
from triage.submit.read import File, Layers, read_settings

_MOST = 8 * 1024 * 1024
"""Bytes of a configuration that are read."""


def add_configuration(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", metavar="CONFIG", nargs="?", default=FILE_NAME, help=f"default: {FILE_NAME} of this folder"
    )
    add_layers(parser)
    parser.usage = "%(prog)s [CONFIG] [option ...] [-- ARGUMENT ...]"


def add_layers(parser: argparse.ArgumentParser) -> None:
    """What outranks the file."""
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="outranks all else in the configuration; may be repeated",
    )


def load(arguments: argparse.Namespace, path: str | None = None) -> Settings:
    """The configuration that the command line names. Raises `ConfigError` or `UsageError`."""
    return load_text(arguments, read_file(arguments.config if path is None else path))


def load_text(arguments: argparse.Namespace, file: File) -> Settings:
    """The same of a file that was read, or is about to be changed. Raises `ConfigError`."""
    return read_settings(Layers(file, os.environ, arguments.behind, arguments.sets))


def read_file(path: str) -> File:
    try:
        data = _read(path)
    except OSError as error:
        hint = "; `triage init` writes one" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{path} cannot be read: {error.strerror}{hint}") from error
    if len(data) > _MOST:
        raise ConfigError(f"{path} is larger than {_MOST} bytes: it is no configuration")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: the file is no UTF-8 text") from error
    return File(path, str(Path(path).resolve().parent), text)


def read_template(path: str | None) -> str | None:
    """A site's own template; `None` is the shipped one."""
    if path is None:
        return None
    try:
        data = _read(path)
        if len(data) > _MOST:
            raise UsageError(f"--template {path} is larger than {_MOST} bytes: it is no template")
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--template {path} cannot be read: {error}") from error


def _read(path: str) -> bytes:
    """The bytes of a regular file, one more than are wanted; anything else might never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "it is a folder" if os.path.isdir(path) else "it is no regular file")
    with open(path, "rb") as file:
        return file.read(_MOST + 1)
