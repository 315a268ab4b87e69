"""Standard input and output: here-documents, and files that the script itself writes and reads back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from triage.core.script.state import Field, State, plain_path
from triage.core.script.tree import Redirect

if TYPE_CHECKING:
    from triage.core.script.flow import Flow

_TO_FILE = (">", ">>", ">|")
_OUTPUT = ("", "1", "&")


def stored(redirects: Sequence[Redirect]) -> bool:
    """Whether what is printed goes to a file."""
    return any(item.operator in _TO_FILE and item.descriptor in _OUTPUT for item in redirects)


def outputs(flow: Flow, redirects: Sequence[Redirect], state: State) -> list[Field]:
    """The files into which anything is printed."""
    return [
        Field(flow.expander.text(item.target, state), item.target[0].line)
        for item in redirects
        if item.operator in _TO_FILE and item.target
    ]


def redirect_input(flow: Flow, redirects: Sequence[Redirect], state: State) -> None:
    for redirect in redirects:
        inner = redirect.target[0] if redirect.target else None
        line = inner.line if inner is not None else 0
        if redirect.operator in ("<<", "<<<"):
            state.input, state.input_line = flow.expander.text(redirect.target, state), line
        elif redirect.operator == "<" and inner is not None and inner.kind == "process":
            state.input, state.input_line = flow.substitution(inner.text, state, line), line
        elif redirect.operator == "<":
            name = flow.expander.text(redirect.target, state)
            state.input, state.input_line = state.files.get(plain_path(name), ("", 0))


def here_line(redirects: Sequence[Redirect]) -> int | None:
    """In which line a here-document begins."""
    return next((item.target[0].line for item in redirects if item.operator == "<<" and item.target), None)


def redirect_output(flow: Flow, redirects: Sequence[Redirect], printed: str, state: State) -> str:
    """Remembers a file that is written; gives what is still printed."""
    for redirect in redirects:
        if redirect.operator in _TO_FILE and redirect.descriptor in _OUTPUT:
            path = plain_path(flow.expander.text(redirect.target, state))
            _write(flow, path, printed, flow.printed_line, state, append=redirect.operator == ">>")
            printed = ""
    return printed


def tee(flow: Flow, words: Sequence[Field], state: State, line: int) -> None:
    """`tee FILE`: writes what it reads."""
    append = any(word.text in ("-a", "--append") for word in words)
    for word in words:
        if not word.text.startswith("-") and state.input:
            _write(flow, plain_path(word.text), state.input, state.input_line or line, state, append=append)


def _write(flow: Flow, path: str, text: str, line: int, state: State, *, append: bool) -> None:
    if not path or path == "/dev/null":
        return
    if append and path in state.files:
        before, first = state.files[path]
        state.files[path] = (flow.expander.bounded(before + text), first)
    elif not append:
        state.files[path] = (text, line)
