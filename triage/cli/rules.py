"""`triage rules`: list, show, check and test the failure rules."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from typing import Any

from triage.cli.exitcodes import ExitCode
from triage.cli.output import emit
from triage.core.cause.frameworks import FRAMEWORKS
from triage.core.cause.verdict import FACT_NAMES
from triage.core.rules.engine import Engine
from triage.core.rules.lint import CHECK_TIMEOUT_S, Remark, event_of, lint, shadowed
from triage.core.rules.model import Rule
from triage.core.rules.parse import parse
from triage.core.rules.ruleset import RuleSet
from triage.errors import UsageError
from triage.files.rules import load, read_folder, shipped_folder, user_folder

SCHEMA = "triage.rules/1"

CONTEXT_NAMES = ("rank", "node", "local_rank", "gpu", "job_id", *FRAMEWORKS)
"""Names that a verdict fills into a rule's sentences beside captures and facts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "List, show, check and test the failure rules."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    lister = actions.add_parser("list", help="one line for each rule", formatter_class=parser.formatter_class)
    lister.add_argument("--category", metavar="NAME", help="only this category's")
    shower = actions.add_parser("show", help="all that a rule says", formatter_class=parser.formatter_class)
    shower.add_argument("id", metavar="ID", help="for example oom/cuda")
    checker = actions.add_parser(
        "check", help="every mistake of the rules in a folder", formatter_class=parser.formatter_class
    )
    checker.add_argument("folder", metavar="DIR", nargs="?", help="default: shipped and your own rules")
    tester = actions.add_parser(
        "test",
        help="run the examples of a rule, or of all, against the whole set",
        formatter_class=parser.formatter_class,
    )
    tester.add_argument("id", metavar="ID", nargs="?", help="default: all rules")
    for action in (lister, shower, checker, tester):
        if action is not checker:
            action.add_argument(
                "--rules",
                metavar="DIR",
                action="append",
                default=[],
                help="a folder with more rules",
            )
        action.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace) -> int:
    """Runs one action; exit code 2 when rules are wrong."""
    if arguments.action == "check":
        return _check(arguments.folder, arguments.format)
    ruleset = load(os.environ, arguments.rules, examples=arguments.action != "list")
    if arguments.action == "list":
        return _list(ruleset, arguments.category, arguments.format)
    if arguments.action == "show":
        return _show(_rule(ruleset, arguments.id), arguments.format)
    return _test(ruleset, [_rule(ruleset, arguments.id)] if arguments.id else ruleset.rules, arguments.format)


def _list(ruleset: RuleSet, category: str | None, form: str) -> int:
    if category is not None and category not in ruleset.taxonomy:
        raise UsageError(f"no category {category!r}; categories are {', '.join(ruleset.taxonomy)}")
    rules = [rule for rule in ruleset.rules if category in (None, rule.category)]
    if form == "json":
        return _json({"rules": [_brief(rule) for rule in rules]})
    width = max((len(rule.id) for rule in rules), default=0)
    emit("".join(f"{rule.id:{width}}  {rule.role.value:10}  {rule.title}\n" for rule in rules))
    return int(ExitCode.OK)


def _show(rule: Rule, form: str) -> int:
    if form == "json":
        full = _brief(rule) | {
            "literals": list(rule.literals),
            "pattern": rule.pattern,
            "exception": rule.exception,
            "frame": rule.frame,
            "unless": rule.unless,
            "summary": rule.summary.split("\n"),
            "next_steps": [step.split("\n") for step in rule.next_steps],
            "matches": [{"text": e.text, "source": e.source} for e in rule.matches],
            "ignores": [e.text for e in rule.ignores],
            "path": rule.path,
        }
        return _json({"rules": [full]})
    lines = [f"{rule.id}: {rule.title}", f"  file         {rule.path}", f"  role         {rule.role.value}"]
    lines.append(f"  on           {', '.join(kind.value for kind in (rule.on, *rule.also_on))}")
    lines.append(f"  specificity  {rule.specificity}")
    for name in ("exception", "pattern", "frame", "unless"):
        if value := getattr(rule, name):
            lines.append(f"  {name:12} {value}")
    lines += [f"  says         {line}" for line in rule.summary.split("\n")]
    lines += [f"  next         {line}" for step in rule.next_steps for line in step.split("\n")]
    for example in rule.matches:
        lines.append(f"  seen         {example.source}")
        lines += [f"    {line}" for line in example.text.strip("\n").split("\n")]
    emit("\n".join(lines) + "\n")
    return int(ExitCode.OK)


def _check(folder: str | None, form: str) -> int:
    shipped = parse(read_folder(shipped_folder()))
    remarks: list[Remark] = []
    count = 0
    if folder is None:
        sources = read_folder(shipped_folder())
        remarks += lint(shipped, sources, names=(*FACT_NAMES, *CONTEXT_NAMES), shipped=True) + shadowed(
            shipped
        )
        count = len(shipped.rules)
        folder = user_folder(os.environ)
    if folder is not None:
        sources = read_folder(folder)
        own = parse(sources, taxonomy=shipped.taxonomy)
        remarks += lint(own, sources, names=(*FACT_NAMES, *CONTEXT_NAMES))
        count += len(own.rules)
    wrong = [remark for remark in remarks if remark.error]
    if form == "json":
        _json({"checked": count, "remarks": [_remark(remark) for remark in remarks]})
    else:
        notes = "".join(f"{remark}{'' if remark.error else ' (note)'}\n" for remark in remarks)
        emit(f"{notes}{count} rules, {len(wrong)} mistakes\n")
    return int(ExitCode.USAGE if wrong else ExitCode.OK)


def _test(ruleset: RuleSet, rules: Sequence[Rule], form: str) -> int:
    engine = Engine(ruleset, timeout_s=CHECK_TIMEOUT_S)
    results = [result for rule in rules for result in _examples(engine, rule)]
    bad = [result for result in results if not result["ok"]]
    if form == "json":
        _json({"results": results})
    else:
        shown = results if len(rules) == 1 else bad
        lines = "".join(
            f"{'ok  ' if result['ok'] else 'FAIL'} {result['rule']}:{result['line']} {result['expect']:6} {result['first']}\n"
            for result in shown
        )
        emit(f"{lines}{len(rules)} rules, {len(results)} examples, {len(bad)} failed\n")
    return int(ExitCode.USAGE if bad else ExitCode.OK)


def _examples(engine: Engine, rule: Rule) -> list[dict[str, Any]]:
    """What the whole set says to each example: `first` is the rule that wins."""
    found = []
    for expect, examples in (("match", rule.matches), ("ignore", rule.ignores)):
        for example in examples:
            kinds = [
                [match.rule.id for match in engine.match(event_of(rule, example.text, on))]
                for on in (rule.on, *rule.also_on)
            ]
            hit = next((ids for ids in kinds if rule.id in ids), None)
            ids = hit if hit is not None else kinds[0]
            found.append(
                {
                    "rule": rule.id,
                    "line": example.line,
                    "expect": expect,
                    "ok": (hit is not None) == (expect == "match"),
                    "first": ids[0] if ids else "-",
                    "all": ids,
                }
            )
    return found


def _rule(ruleset: RuleSet, rule_id: str) -> Rule:
    rule = ruleset.get(rule_id)
    if rule is None:
        import difflib

        close = difflib.get_close_matches(rule_id, [r.id for r in ruleset.rules], 1)
        hint = f"did you mean {close[0]}?" if close else "`triage rules list` shows all"
        raise UsageError(f"no rule {rule_id!r}; {hint}")
    return rule


def _brief(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "category": rule.category,
        "title": rule.title,
        "role": rule.role.value,
        "on": [kind.value for kind in (rule.on, *rule.also_on)],
        "specificity": rule.specificity,
        "scheduler": rule.scheduler,
        "phase": rule.phase or None,
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {"path": remark.path, "line": remark.line, "sentence": remark.sentence, "error": remark.error}


def _json(value: dict[str, Any]) -> int:
    emit(json.dumps({"schema": SCHEMA, **value}, indent=2, ensure_ascii=False) + "\n")
    return int(ExitCode.OK)
