"""Scripts that a script writes and hands to sbatch: `sbatch <<EOF`, `cat > job.sh <<EOF` and `sbatch job.sh`, `--wrap`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from triage.core.script.command import Command, Variable
from triage.core.script.decisions import Way
from triage.core.script.slurm_options import SBATCH_LONG, SBATCH_SHORT, Option, read_options, text_of
from triage.core.script.state import State, plain_path
from triage.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Submission:
    """A script that is submitted, and what it starts with."""

    text: str
    """With holes where the submitting script puts in what is not known."""
    first_line: int
    """In which line of the whole text it begins."""
    options: tuple[Option, ...]
    """On sbatch's command line, which outranks the directives."""
    environment: Mapping[str, Variable]
    directory: str
    made: frozenset[str]
    """Folders that were made before."""
    way: Way


def submissions(command: Command, state: State, before: Sequence[Command]) -> Iterator[Submission]:
    """What an sbatch command submits; nothing where its text is not known."""
    options, position = read_options(command.words[1:], SBATCH_LONG, SBATCH_SHORT)
    given = {item.name: item for item in options}
    rest = command.words[1 + position :]
    text, line = "", 0
    if "wrap" in given:
        text, line = f"#!/bin/sh\n{text_of(given, 'wrap')}", given["wrap"].line - 1
    elif rest:
        text, line = state.files.get(plain_path(rest[0].text), ("", 0))
    elif state.input:
        text, line = state.input, state.input_line
    if not text.startswith("#!"):
        return
    kept = command.environment if (text_of(given, "export") or "ALL").startswith("ALL") else {}
    made = (word.text for item in before if item.name == "mkdir" for word in item.words[1:])
    outranking = tuple(item for item in options if item.name != "wrap" and item.recognised)
    yield Submission(text, line, outranking, kept, state.directory, frozenset(made), command.way)
