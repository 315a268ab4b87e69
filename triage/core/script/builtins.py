"""Commands of the shell itself that change what it knows: `export`, `read`, `cd`, `source`, `set` ..."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.core.script.assigning import assign_text, unset_element
from triage.core.script.expand import Expander
from triage.core.script.holes import Holes, known
from triage.core.script.printf import formatted
from triage.core.script.splitting import read_values, split
from triage.core.script.state import Field, State

_ACTIVATES = re.compile(
    r"(?:^|/)(?:activate|[\w.-]*bash_?rc|[\w.-]*profile(?:\.sh)?|conda\.sh|mamba\.sh|modules\.sh|modules?\.\w+|lmod\.sh"
    r"|init/\w+|bash_completion)$"
)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL | re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
ENDS = frozenset({"exit", "return", "break", "continue"})


def flags(words: Sequence[Field]) -> str:
    """The letters of all options of a declaration."""
    return "".join(word.text[1:] for word in words if word.text.startswith("-"))


def is_local(name: str, words: Sequence[Field]) -> bool:
    """Whether a declaration inside a function makes variables of its own."""
    return name == "local" or (name in ("declare", "typeset") and "g" not in flags(words))


def declare(name: str, words: Sequence[Field], state: State, expander: Expander) -> None:
    """`export A=1 B`, `declare -x A`, `local A=1`, `local -n R=A`, `declare -i N=2*3`."""
    letters = flags(words)
    exports = (name == "export" and "n" not in letters) or "x" in letters
    local = is_local(name, words) and state.scope is not None
    for word in words:
        match = _ASSIGNED.fullmatch(word.text)
        if local and _NAME.fullmatch(match[1] if match else word.text):
            _make_local(match[1] if match else word.text, state, given=match is not None)
        if match and "n" in letters and name != "export":
            _refer(match[1], match[3], state, expander.holes, word.line)
            continue
        target = match[1] if match else word.text
        if not _NAME.fullmatch(target):
            continue
        if name != "export" and "i" in letters:
            state.integers.add(target)
        if match:
            assign_text(expander, target, match[3], state, word.line, append=match[2] == "+")
        if not match and "A" in letters and target not in state.variables:
            state.assign(target, {}, word.line)
        if exports:
            state.exported.add(target)
        elif name == "export":
            state.exported.discard(target)
    if any(word.many for word in words):
        state.opaque = True


def _make_local(name: str, state: State, *, given: bool) -> None:
    new = state.scope is not None and name not in state.scope
    state.localize(name)
    state.references.pop(name, None)
    if new and not given:
        state.variables.pop(name, None)
        state.removed.add(name)


def _refer(name: str, target: str, state: State, holes: Holes, line: int) -> None:
    """`local -n NAME=TARGET`: one variable by two names."""
    state.references.pop(name, None)
    state.assign(name, holes.unknown(f"{name} is another variable's name"), line)
    if _NAME.fullmatch(target) and target != name:
        state.references[name] = state.references.get(target, target)


def read(words: Sequence[Field], state: State, holes: Holes, marks: str | None) -> None:
    """`read -r -d '' CMD <<EOF`, `IFS=, read A B <<< "$X"`: what is read, cut at the characters of IFS."""
    names, position, delimiter, arrays = [], 0, "\n", False
    while position < len(words):
        text = words[position].text
        if text.startswith("-") and len(text) > 1:
            arrays |= "a" in text
            if text[-1] in "dnNptu" and position + 1 < len(words):
                delimiter = words[position + 1].text if text[-1] == "d" else delimiter
                position += 1
            elif "d" in text:
                delimiter = text.partition("d")[2]
        elif _NAME.fullmatch(text):
            names.append(words[position])
        position += 1
    given = state.input
    text = given.partition("\n")[0] if delimiter == "\n" else given
    if not given or marks is None:
        values = [holes.unknown("it is read from a file or program" if not given else "IFS is not known")]
        values *= len(names)
    else:
        values = read_values(text, marks, len(names), holes)
    for name, value in zip(names, values, strict=False):
        if arrays and given and marks is not None:
            state.assign(name.text, tuple(split(text, marks)), name.line)
        else:
            state.assign(name.text, value, name.line)


def read_lines(words: Sequence[Field], state: State, holes: Holes) -> None:
    """`mapfile -t HOSTS < <(scontrol show hostnames ...)`."""
    name = next((word for word in reversed(words) if _NAME.fullmatch(word.text)), None)
    if name is not None:
        value = tuple(state.input.splitlines()) or (holes.unknown("it is read from a file or program"),)
        state.assign(name.text, value, name.line)


def change_directory(words: Sequence[Field], state: State, holes: Holes) -> None:
    """`cd`, `pushd`."""
    target = next((word.text for word in words if not word.text.startswith("-") or word.text == "-"), "~")
    if target == "-":
        state.directory = holes.unknown("cd -")
    elif target in (".", "./") or target == "":
        return
    elif target[:1] == "/" or not known(target[:1]) or target[:1] == "~" or not state.directory:
        state.directory = target
    else:
        state.directory = f"{state.directory.rstrip('/')}/{target.removeprefix('./')}"


def activates(words: Sequence[Field]) -> bool:
    """Whether a sourced file only makes an environment ready, and sets none of the script's own variables."""
    return bool(words) and _ACTIVATES.search(words[0].text) is not None


def set_options(words: Sequence[Field], state: State) -> None:
    """`set -a`, `set -- X Y`."""
    for index, word in enumerate(words):
        if word.text == "--":
            state.arguments = tuple(item.text for item in words[index + 1 :])
            return
        if re.fullmatch(r"[-+][b-np-z]*a[a-z]*", word.text):
            state.exports_all = word.text[0] == "-"
        if word.text == "allexport" and index:
            state.exports_all = words[index - 1].text[0] == "-"


def shift(words: Sequence[Field], state: State) -> None:
    if state.arguments is not None:
        amount = int(words[0].text) if words and words[0].text.isdigit() and len(words[0].text) < 4 else 1
        state.arguments = state.arguments[amount:]


def unset(words: Sequence[Field], state: State, expander: Expander) -> None:
    for word in words:
        if _NAME.fullmatch(word.text):
            state.unset(word.text)
        else:
            unset_element(expander, word.text, state, word.line)


def print_to(words: Sequence[Field], state: State, expander: Expander) -> None:
    """`printf -v NAME FORMAT ...`."""
    attached = words[0].text[2:]
    name, rest = (attached, words[1:]) if attached else (words[1].text if len(words) > 1 else "", words[2:])
    if _NAME.fullmatch(name):
        text = formatted([item.text for item in rest])
        unsure = expander.holes.unknown(f"{name} is printed in a way that is not understood")
        assign_text(expander, name, unsure if text is None else text, state, words[0].line)
