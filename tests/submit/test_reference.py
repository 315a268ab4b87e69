"""The reference of keys in docs/configuration.md is the table of the code.

`python tests/submit/test_reference.py` writes it.
"""

from __future__ import annotations

from pathlib import Path

from triage.submit.initial import literal
from triage.submit.keys import KEYS, Key

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
HEAD = "| key | takes | default | meaning |\n|---|---|---|---|\n"


def row(key: Key) -> str:
    takes = f"{', '.join(key.choices)}" if key.choices else key.kind.value
    default = "" if key.default is None else f"`{literal(key.default)}`"
    return f"| `{key.name}` | {takes} | {default} | {key.about} Example: `{key.example}` |\n"


def reference() -> str:
    return HEAD + "".join(map(row, KEYS))


def test_the_documented_keys_are_those_of_the_code() -> None:
    assert reference() in PAGE.read_text()


def test_the_documented_mistakes_are_told(capsys: object) -> None:
    from triage.cli.main import main

    told = PAGE.read_text().split("```text\n")[1].split("```")[0]
    assert main(["config", str(PAGE.parents[1] / "fixtures/configurations/misspelt.toml")]) == 2
    printed = capsys.readouterr().err  # type: ignore[attr-defined]
    assert printed.replace(f"{PAGE.parents[1]}/", "") == told


if __name__ == "__main__":
    text = PAGE.read_text()
    before, _, rest = text.partition("## The keys\n\n")
    PAGE.write_text(
        f"{before}## The keys\n\n{reference()}\n## The script{rest.partition('## The script')[2]}"
    )
