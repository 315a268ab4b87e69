"""Rule files to values. All mistakes of all files are found at once, each as `path:line: sentence`.

Files come as (path, text) pairs; a path's last two parts name the rule: `oom/cuda.toml` is `oom/cuda`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from triage.core.rules import quick_toml
from triage.core.rules.keylines import KeyLines, line_of_syntax_error
from triage.core.rules.model import Example, On, Role, Rule
from triage.core.rules.ruleset import Category, CauseEdge, FrameRow, RuleSet
from triage.errors import RuleError

_TEXTS = ("title", "role", "pattern", "exception", "frame", "unless", "phase", "raw")
_KEYS = (*_TEXTS, "on", "summary", "literals", "next_steps", "scheduler", "specificity", "match", "ignore")
_TABLES = {"taxonomy": "category", "causes": "edge", "frames": "row"}
_PHASES = ("", "init", "data", "forward", "backward", "optimizer", "checkpoint", "eval")
_SAME = ("rank", "node", "job")


def parse(
    files: Iterable[tuple[str, str]],
    *,
    taxonomy: Mapping[str, Category] | None = None,
    examples: bool = True,
) -> RuleSet:
    """The rule set of one folder's files.

    `taxonomy` serves folders without a taxonomy.toml of their own. `examples=False` reads each file only up to its
    first `[[match]]` table: a third of the time, for runs that do not check rules.
    Raises RuleError with every mistake found.
    """
    mistakes: list[str] = []
    readers: dict[str, _Reader] = {}
    rule_readers: list[_Reader] = []
    for path, text in sorted(files):
        parts = path.replace("\\", "/").split("/")
        stem = parts[-1].removesuffix(".toml")
        special = stem in _TABLES
        reader = _Reader(path, text if examples or special else _without_examples(text), mistakes)
        if reader.broken:
            continue
        if special:
            readers[stem] = reader
        elif len(parts) < 2:
            reader.wrong("", "a rule file lives in a folder named after its category")
        else:
            reader.id = f"{parts[-2]}/{stem}"
            rule_readers.append(reader)
    known = dict(taxonomy or {})
    if "taxonomy" in readers:
        known.update((c.name, c) for c in _taxonomy(readers["taxonomy"]))
    rules: dict[str, Rule] = {}
    for reader in rule_readers:
        rule = _rule(reader, known, examples)
        if rule.id in rules:
            reader.wrong("", f"rule {rule.id} exists already in {rules[rule.id].path}")
        rules[rule.id] = rule
    causes = _causes(readers["causes"], known, rules, alone=taxonomy is None) if "causes" in readers else ()
    frames = _frames(readers["frames"]) if "frames" in readers else ()
    if mistakes:
        raise RuleError(mistakes)
    return RuleSet(tuple(rules[key] for key in sorted(rules)), causes, frames, known)


class _Reader:
    """One decoded file with typed access; each wrong value becomes a mistake and a harmless default."""

    def __init__(self, path: str, text: str, mistakes: list[str]) -> None:
        self.path = path
        self.id = ""
        self._text = text
        self._lines: KeyLines | None = None
        self._mistakes = mistakes
        self.data: dict[str, Any] = {}
        self.broken = False
        try:
            self.data = quick_toml.loads(text)
        except (ValueError, RecursionError) as error:
            self.broken = True
            line = line_of_syntax_error(str(error), text)
            mistakes.append(f"{path}:{line}: not valid TOML: {str(error) or 'nested too deeply'}")

    def line(self, key: str, table: str = "", index: int = 0) -> int:
        if self._lines is None:
            self._lines = KeyLines(self._text)
        return self._lines.of(key, table, index)

    def wrong(self, key: str, sentence: str, table: str = "", index: int = 0) -> None:
        self._mistakes.append(f"{self.path}:{self.line(key, table, index)}: {sentence}")

    def unknown_keys(
        self, data: Mapping[str, Any], known: Iterable[str], table: str = "", index: int = 0
    ) -> None:
        for key in data:
            if key not in known:
                hint = _closest(key, list(known))
                more = f', did you mean "{hint[0]}"?' if hint else f"; known keys: {', '.join(known)}"
                self.wrong(key, f'unknown key "{key}"{more}', table, index)

    def text(self, data: Mapping[str, Any], key: str, table: str = "", index: int = 0) -> str:
        value = data.get(key, "")
        if not isinstance(value, str):
            self.wrong(key, f'"{key}" must be a text', table, index)
            return ""
        return value

    def texts(self, data: Mapping[str, Any], key: str, table: str = "", index: int = 0) -> tuple[str, ...]:
        """A text or an array of texts."""
        value = data.get(key, [])
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.wrong(key, f'"{key}" must be a text or an array of non-empty texts', table, index)
            return ()
        return tuple(value)

    def chosen(self, value: str, key: str, choices: Iterable[str], table: str = "", index: int = 0) -> bool:
        allowed = list(choices)
        if value in allowed:
            return True
        hint = _closest(value, allowed)
        more = f', did you mean "{hint[0]}"?' if hint else f"; one of: {', '.join(c for c in allowed if c)}"
        self.wrong(key, f'"{key}" cannot be "{value}"{more}', table, index)
        return False

    def tables(self, name: str) -> list[tuple[int, Mapping[str, Any]]]:
        value = self.data.get(name, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            self.wrong(name, f'"{name}" must be written as [[{name}]] tables')
            return []
        return list(enumerate(value))


def _without_examples(text: str) -> str:
    ends = [at for at in (text.find("\n[[match]]"), text.find("\n[[ignore]]")) if at >= 0]
    return text[: min(ends)] if ends else text


def _rule(reader: _Reader, known: Mapping[str, Category], examples: bool) -> Rule:
    data = reader.data
    reader.unknown_keys(data, _KEYS)
    category = reader.id.partition("/")[0]
    if category not in known or not known[category].failure:
        hint = _closest(category, [c.name for c in known.values() if c.failure])
        more = f', did you mean "{hint[0]}"?' if hint else ""
        reader.wrong("", f'unknown category "{category}" (the folder\'s name){more}')
    plain = {key: reader.text(data, key) for key in _TEXTS}
    for key in ("title", "role", "on", "summary"):
        if not data.get(key):
            reader.wrong("", f'"{key}" is missing')
    kinds = [On(v) for v in reader.texts(data, "on") if reader.chosen(v, "on", [o.value for o in On])]
    role = Role.ROOT
    if plain["role"] and reader.chosen(plain["role"], "role", [r.value for r in Role]):
        role = Role(plain["role"])
    reader.chosen(plain["phase"], "phase", _PHASES)
    drawn = kinds == [On.CONCLUSION]
    if (
        kinds
        and not drawn
        and not (plain["pattern"] or (kinds == [On.TRACE] and (plain["exception"] or plain["frame"])))
    ):
        reader.wrong(
            "on", "nothing to match: a rule has a pattern; one on traces alone may have exception or frame"
        )
    if On.TRACE not in kinds:
        for key in ("exception", "frame"):
            if plain[key]:
                reader.wrong(key, f'"{key}" only means something on traces')
    literals = reader.texts(data, "literals")
    if not literals and kinds != [On.TRACE] and not drawn:
        reader.wrong("literals", '"literals" is missing: only a rule on traces alone may try every text')
    return Rule(
        id=reader.id,
        category=category,
        title=plain["title"],
        role=role,
        on=kinds[0] if kinds else On.TRACE,
        also_on=tuple(kinds[1:]),
        literals=literals,
        pattern=plain["pattern"],
        exception=plain["exception"],
        frame=plain["frame"],
        unless=plain["unless"],
        scheduler=_scheduler(reader),
        specificity=_specificity(reader),
        phase=plain["phase"],
        summary="\n".join(reader.texts(data, "summary")),
        next_steps=_steps(reader),
        matches=_examples(reader, "match") if examples else (),
        ignores=_examples(reader, "ignore") if examples else (),
        path=reader.path,
        raw=plain["raw"],
    )


def _scheduler(reader: _Reader) -> bool:
    value = reader.data.get("scheduler", False)
    if not isinstance(value, bool):
        reader.wrong("scheduler", '"scheduler" must be true or false')
        return False
    return value


def _specificity(reader: _Reader) -> int:
    value = reader.data.get("specificity", 50)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100:
        reader.wrong("specificity", '"specificity" must be a whole number from 0 to 100')
        return 50
    return value


def _steps(reader: _Reader) -> tuple[str, ...]:
    """Each step is a text, or an array of alternatives of which the first that can be filled is shown."""
    value = reader.data.get("next_steps", [])
    steps: list[str] = []
    for step in value if isinstance(value, list) else [None]:
        lines: list[Any] = step if isinstance(step, list) else [step]
        if not lines or not all(isinstance(line, str) and line and "\n" not in line for line in lines):
            reader.wrong(
                "next_steps", '"next_steps" must be an array of one-line texts or of arrays of such texts'
            )
            return ()
        steps.append("\n".join(lines))
    return tuple(steps)


def _examples(reader: _Reader, table: str) -> tuple[Example, ...]:
    found = []
    for index, data in reader.tables(table):
        reader.unknown_keys(data, ("text", "source"), table, index)
        text = reader.text(data, "text", table, index)
        if not text:
            reader.wrong("text", f"[[{table}]] has no text", table, index)
        found.append(
            Example(text, reader.text(data, "source", table, index), reader.line("text", table, index))
        )
    return tuple(found)


def _taxonomy(reader: _Reader) -> list[Category]:
    reader.unknown_keys(reader.data, ("category",))
    found = []
    for index, data in reader.tables("category"):
        reader.unknown_keys(data, ("name", "title", "meaning", "rank", "failure"), "category", index)
        values = {key: reader.text(data, key, "category", index) for key in ("name", "title", "meaning")}
        for key, value in values.items():
            if not value:
                reader.wrong(key, f'"{key}" is missing', "category", index)
        rank, failure = data.get("rank", 0), data.get("failure", True)
        if not isinstance(rank, int) or not isinstance(failure, bool):
            reader.wrong(
                "rank", '"rank" must be a whole number and "failure" true or false', "category", index
            )
            continue
        found.append(Category(values["name"], values["title"], values["meaning"], rank, failure))
    return found


def _causes(
    reader: _Reader, known: Mapping[str, Category], rules: Mapping[str, Rule], *, alone: bool
) -> tuple[CauseEdge, ...]:
    reader.unknown_keys(reader.data, ("edge",))
    found: list[CauseEdge] = []
    for index, data in reader.tables("edge"):
        reader.unknown_keys(data, ("cause", "effect", "same", "within", "why", "role"), "edge", index)
        same = reader.text(data, "same", "edge", index) or "job"
        reader.chosen(same, "same", _SAME, "edge", index)
        role = reader.text(data, "role", "edge", index)
        reader.chosen(role, "role", ("", *(r.value for r in Role)), "edge", index)
        why = reader.text(data, "why", "edge", index)
        if not why:
            reader.wrong("why", '"why" is missing', "edge", index)
        within = data.get("within")
        if within is not None and (isinstance(within, bool) or not isinstance(within, int | float)):
            reader.wrong("within", '"within" must be a number of seconds', "edge", index)
            within = None
        ends = {}
        for key in ("cause", "effect"):
            ends[key] = reader.texts(data, key, "edge", index)
            if not ends[key]:
                reader.wrong(key, f'"{key}" is missing', "edge", index)
            for name in ends[key]:
                if name not in known and (name not in rules if alone or "/" not in name else False):
                    reader.wrong(key, f'"{name}" is neither a category nor a rule', "edge", index)
        found.extend(CauseEdge(c, e, same, why, within, role) for c in ends["cause"] for e in ends["effect"])
    return tuple(found)


def _frames(reader: _Reader) -> tuple[FrameRow, ...]:
    reader.unknown_keys(reader.data, ("row",))
    found = []
    for index, data in reader.tables("row"):
        reader.unknown_keys(data, ("file", "function", "phase", "owner", "weak", "outer"), "row", index)
        values = {key: reader.text(data, key, "row", index) for key in ("file", "function", "phase", "owner")}
        reader.chosen(values["phase"], "phase", _PHASES, "row", index)
        if not (values["file"] or values["function"]) or not (values["phase"] or values["owner"]):
            reader.wrong("", "a row has a file or a function, and says a phase or an owner", "row", index)
        flags = {"weak": data.get("weak", False), "outer": data.get("outer", False)}
        for key, value in flags.items():
            if not isinstance(value, bool):
                reader.wrong(key, f'"{key}" must be true or false', "row", index)
        found.append(FrameRow(**values, weak=flags["weak"] is True, outer=flags["outer"] is True))
    return tuple(found)


def _closest(word: str, known: Sequence[str]) -> list[str]:
    """The name that was meant, perhaps; only mistakes pay for the import."""
    import difflib

    return difflib.get_close_matches(word, known, 1)
