"""Where results go: standard output or a file. The only place that prints them."""

from __future__ import annotations

import os
import sys

from triage.errors import UsageError


def emit(text: str, path: str | None = None) -> None:
    """Writes a result; a reader that has gone away (`| head`) is no error."""
    if path is not None and path != "-":
        try:
            _write(text, path)
        except UsageError as error:
            emit(text)
            raise UsageError(f"{error}; the result was printed instead") from None
        return
    stream = sys.stdout
    try:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        quiet_stdout()
    except OSError as error:
        quiet_stdout()
        raise UsageError(f"standard output cannot be written: {error.strerror}") from None


def tell(text: str) -> None:
    """A word to the user beside the result, on standard error."""
    from triage.report.mask import safe

    sys.stderr.write("".join(f"triage: {line}\n" for line in safe(text).splitlines() or [""]))


def quiet_stdout() -> None:
    """Points standard output at nothing, so that the interpreter's last flush does not fail."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def _write(text: str, path: str) -> None:
    """All of the file or none of it."""
    part = f"{path}.{os.getpid()}.part"
    try:
        if os.path.lexists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return
        with open(part, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(part, os.path.realpath(path))
    except OSError as error:
        if os.path.exists(part):
            os.unlink(part)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def wants_color(choice: str) -> bool:
    """`--color` against the terminal, `NO_COLOR` and `TERM=dumb`."""
    if choice == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return choice == "always"


def terminal_width() -> int:
    """Columns of the terminal; 80 where the output is none."""
    if not sys.stdout.isatty():
        return 80
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80
