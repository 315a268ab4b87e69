"""Values from all layers to `Settings`; every mistake is told at once, with its place and what would be right."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence

from triage.core.values import dataclass
from triage.errors import ConfigError
from triage.submit.build import build
from triage.submit.config import Layer, Origin, Settings
from triage.submit.keys import BY_NAME, KEYS, TABLES, Key, Kind
from triage.submit.places import Place, places
from triage.submit.values import Wrong, as_value

Value = str | int | tuple[str, ...]
_SYNTAX = re.compile(r" ?\(at line (\d+), column \d+\)| ?\(at end of document\)")


@dataclass(frozen=True, slots=True)
class Given:
    """A value as one layer gives it, checked by itself."""

    key: str
    value: Value
    origin: Origin
    elements: tuple[Origin, ...] = ()
    """Of a list."""


@dataclass(frozen=True, slots=True)
class File:
    """A `triage.toml`."""

    path: str
    """As the user gave it."""
    folder: str
    """Absolute: where its relative paths begin."""
    text: str


@dataclass(frozen=True, slots=True)
class Layers:
    """Everything that may say something about a run."""

    file: File
    environment: Mapping[str, str]
    arguments: Sequence[str] = ()
    """Behind `--`."""
    sets: Sequence[str] = ()
    """`KEY=VALUE`, the last one counts."""


def read_settings(layers: Layers) -> Settings:
    """Raises `ConfigError` with all mistakes."""
    given: dict[str, Given] = {}
    mistakes: list[str] = []
    for key in KEYS:
        if key.default is not None:
            given[key.name] = Given(key.name, key.default, Origin(Layer.DEFAULT, layers.file.path))
    for found in (
        *_from_file(layers.file),
        *_from_environment(layers.environment),
        *_from_sets(layers.sets),
    ):
        if isinstance(found, str):
            mistakes.append(found)
        else:
            given[found.key] = found
    given["arguments"] = _with_arguments(given["arguments"], layers.arguments, mistakes)
    settings = build(given, layers.file.folder, layers.environment.get("HOME", ""), mistakes)
    if mistakes or settings is None:
        raise ConfigError("\n".join(dict.fromkeys(mistakes)))
    return settings


def _from_file(file: File) -> Iterator[Given | str]:
    try:
        data = tomllib.loads(file.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        match = _SYNTAX.search(str(error))
        line = int(match[1]) if match and match[1] else file.text.rstrip("\n").count("\n") + 1
        yield f"{file.path}:{line}: {_SYNTAX.sub('', str(error))[:200]}; check the TOML around this line"
        return
    lines = places(file.text)
    for name, value in data.items():
        if name in TABLES and isinstance(value, dict):
            for leaf, inner in value.items():
                yield from _one(file, lines, (name, leaf), inner)
        else:
            yield from _one(file, lines, (name,), value)


def _one(
    file: File, lines: Mapping[tuple[str, ...], Place], path: tuple[str, ...], value: object
) -> Iterator[Given | str]:
    """A key of the file; a table of texts is one value for each text."""
    place = lines.get(path)
    line = place.line if place is not None else 1
    key = BY_NAME.get(".".join(path)) if "." not in "".join(path) else None
    if key is None:
        yield f"{file.path}:{line}: {_unknown('.'.join(path))}"
        return
    if key.kind is Kind.TABLE and isinstance(value, dict):
        for name, text in value.items():
            own = lines.get((*path, name))
            yield from _checked(key, name, text, Origin(Layer.FILE, file.path, own.line if own else line))
        return
    elements = (
        [lines.get((*path, str(number))) for number in range(len(value))] if isinstance(value, list) else []
    )
    origins = tuple(Origin(Layer.FILE, file.path, item.line if item else line) for item in elements)
    yield from _checked(key, None, value, Origin(Layer.FILE, file.path, line), origins)


def _from_environment(environment: Mapping[str, str]) -> Iterator[Given | str]:
    for key in KEYS:
        if key.variable is not None and (text := environment.get(key.variable)) is not None:
            yield from _checked(key, None, _typed(key, text), Origin(Layer.ENVIRONMENT, key.variable))


def _from_sets(sets: Sequence[str]) -> Iterator[Given | str]:
    for item in sets:
        name, equals, text = item.partition("=")
        name = name.strip()
        place = f"--set {name[:60]}"
        table, _, leaf = name.partition(".")
        key = BY_NAME.get(name)
        if not equals:
            yield f"{place}: write --set KEY=VALUE"
        elif table in BY_NAME and BY_NAME[table].kind is Kind.TABLE and leaf:
            yield from _checked(BY_NAME[table], leaf, text, Origin(Layer.SET, place))
        elif key is None or key.kind is Kind.TABLE:
            hint = f"write --set {name}.NAME=VALUE" if key is not None else _unknown(name)
            yield f"{place}: {hint}"
        else:
            yield from _checked(key, None, _typed(key, text), Origin(Layer.SET, place))


def _typed(key: Key, text: str) -> object:
    """What a text on the command line or in a variable means: TOML where a number or a list is due, else itself."""
    if key.kind in (Kind.TEXT, Kind.PATH, Kind.CHOICE):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _checked(
    key: Key, name: str | None, value: object, origin: Origin, elements: tuple[Origin, ...] = ()
) -> Iterator[Given | str]:
    full = key.name if name is None else f"{key.name}.{name}"
    try:
        yield Given(full, as_value(key, name, value), origin, elements)
    except Wrong as wrong:
        yield f"{origin}: {full[:80]} {wrong}"


def _with_arguments(given: Given, behind: Sequence[str], mistakes: list[str]) -> Given:
    """Those behind `--` come last, and thus outrank the others."""
    if not behind:
        return given
    origin = Origin(Layer.ARGUMENT, "after --")
    assert isinstance(given.value, tuple)
    elements = given.elements or (given.origin,) * len(given.value)
    for found in _checked(BY_NAME["arguments"], None, list(behind), origin):
        if isinstance(found, str):
            mistakes.append(found)
        else:
            assert isinstance(found.value, tuple)
            return Given(
                "arguments", given.value + found.value, origin, elements + (origin,) * len(found.value)
            )
    return given


def _unknown(name: str) -> str:
    """A key that does not exist: the one that was meant, else those of its table."""
    shown = name[:80]
    table = name.partition(".")[0]
    meant = difflib.get_close_matches(shown, TABLES, 1, 0.75)
    if meant and shown not in TABLES:
        return f"there is no key `{shown}`; did you mean the table [{meant[0]}]?"
    close = difflib.get_close_matches(shown, BY_NAME, 1, 0.75)
    close = close or [key for key in BY_NAME if key.rpartition(".")[2] == name.rpartition(".")[2]]
    close = close or difflib.get_close_matches(
        name.rpartition(".")[2][:80], [key.leaf for key in KEYS], 1, 0.75
    )
    if close:
        full = next(key for key in BY_NAME if close[0] in (key, key.rpartition(".")[2]))
        return f"there is no key `{shown}`; did you mean `{full}`?"
    inside = [key.leaf for key in KEYS if key.table == table and table]
    listed = ", ".join(inside or [*(key.name for key in KEYS if not key.table), *TABLES])
    return f"there is no key `{shown}`; {f'[{table}] has' if inside else 'there are'} {listed}"
