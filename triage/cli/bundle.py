"""`triage bundle`: what an expert needs to look at a failure elsewhere, in one archive."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from triage.cli.output import emit, tell
from triage.cli.progress import ProgressBar
from triage.errors import InputError, UsageError

if TYPE_CHECKING:
    from triage.bundle.make import Made
    from triage.core.cause.verdict import Verdict
    from triage.files.inputs import Collected

_CASES = os.path.join("fixtures", "cases")
_EPILOG = """\
exit codes: 0 written, 2 wrong usage, 3 no readable input, 70 a bug in triage

examples:
  triage bundle logs/
  triage bundle 4812 --anonymize -o 4812.tar.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Pack the evidence of a failed run into one archive: the parts of the logs\n"
        "that matter, what the scheduler said, and the verdict, secrets masked.\n"
        "`triage explain` on the archive gives the same verdict."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="log file, folder or pattern; or one job id, whose logs are found; or a bundle",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the archive to FILE (default: triage-bundle-NAME.tar.gz)",
    )
    parser.add_argument(
        "--anonymize",
        action="store_true",
        help="replace hosts, users, paths and other names, each always by the same",
    )
    parser.add_argument(
        "--as-case",
        metavar="ID",
        type=_case_id,
        help="write no archive but a labelled case to be, fixtures/cases/ID",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json prints the archive's bundle.json"
    )
    parser.add_argument("--attempt", type=int, metavar="N", help="explain attempt N (from 1)")
    parser.add_argument("--job", metavar="ID", help="explain this job where the logs hold several")
    parser.add_argument("--record", metavar="FILE", help="what is known of the job: a triage-JOBID.json")
    parser.add_argument("--scheduler", choices=("slurm", "local"), help="whom to ask about a job id")
    parser.add_argument(
        "--rules", action="append", default=[], metavar="DIR", help="folder with more rules; may be repeated"
    )


def run(arguments: argparse.Namespace) -> int:
    """Packs, explains what was packed, and says whether the answer is the same."""
    from triage import api
    from triage.bundle.make import Asked, made, told_alike
    from triage.bundle.pack import manifest_text
    from triage.bundle.same import differences
    from triage.bundle.vocabulary import Vocabulary
    from triage.cli.explain import asked_for
    from triage.core.logs.regions import Anchors
    from triage.files.rules import load

    path = _target(arguments)
    if os.path.lexists(path) and not arguments.force:
        raise UsageError(f"{path} exists: give -o another file, or --force to replace it")
    paths, record = asked_for(arguments)
    if not paths:
        raise InputError("the job has no log that can be read, so there is nothing to pack")
    collected = api.collected_of(paths)
    chosen: dict[str, Any] = {
        "attempt": arguments.attempt,
        "job": arguments.job,
        "rules": tuple(arguments.rules),
    }
    bar = ProgressBar(sys.stderr, time.monotonic)
    try:
        verdict = api.explain_collected(collected, progress=bar, record=record, **chosen).verdict
    finally:
        bar.close()
    known = record or api.record_of(collected, verdict.job)
    asked = Asked(known, *_choice(arguments, collected), api.own_rules(chosen["rules"]))
    rules = load(os.environ, chosen["rules"])
    anonymous = Vocabulary(load({}, examples=True).rules) if arguments.anonymize else None
    packed = made(collected.inputs, verdict, asked, Anchors(rules.literals()), anonymous)
    if arguments.as_case is not None:
        again = _written_case(packed, path, arguments.as_case, chosen)
    else:
        again = _written(packed, path, chosen["rules"])
    wrong = differences(packed.manifest.verdict, told_alike(again.to_json()))
    if arguments.format == "json":
        emit(manifest_text(packed.manifest))
    else:
        emit(_said(packed, path, collected))
    if wrong:
        tell(
            f"what was written is explained differently from the logs ({', '.join(wrong)}): say so where you hand it on"
        )
    return 0


def _choice(arguments: argparse.Namespace, collected: Collected) -> tuple[str | None, int | None]:
    if collected.bundled is not None and arguments.job is None and arguments.attempt is None:
        return collected.bundled.job, collected.bundled.attempt
    return arguments.job, arguments.attempt


def _default_name(paths: list[str], anonymous: bool) -> str:
    """Of the folder or job; a folder's name is one of those that are replaced."""
    if anonymous and not paths[0].isdecimal():
        return "triage-bundle-anonymous.tar.gz"
    base = os.path.basename(os.path.abspath(paths[0]))
    base = re.sub(r"^triage-bundle-|\.tar\.gz$", "", base)
    return f"triage-bundle-{re.sub(r'[^A-Za-z0-9_.-]+', '_', base).strip('._')[:80] or 'logs'}.tar.gz"


def _written(packed: Made, path: str, rules: tuple[str, ...]) -> Verdict:
    """Writes all of the archive or none of it; the verdict on what was written."""
    from triage import api
    from triage.bundle.pack import write

    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "xb") as file:
            write(file, packed.manifest, packed.logs)
        again = api.explain(part, rules=rules)
        os.replace(part, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if os.path.lexists(part):
            os.unlink(part)
    return again


def _written_case(packed: Made, path: str, name: str, chosen: dict[str, Any]) -> Verdict:
    """Writes all of the folder or none of it; the verdict on its logs."""
    import shutil

    from triage import api
    from triage.bundle.case import case_files

    part = f"{path}.{os.getpid()}.part"
    try:
        for below, data in case_files(name, packed):
            file = os.path.join(part, below)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "xb") as out:
                out.write(data)
        again = api.explain(os.path.join(part, "logs"), **chosen)
        os.rename(part, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return again


def _target(arguments: argparse.Namespace) -> str:
    """What is written. Raises UsageError where it may not be."""
    if arguments.as_case is None:
        return str(arguments.output or _default_name(arguments.paths, arguments.anonymize))
    if arguments.output or arguments.force:
        raise UsageError("--as-case writes fixtures/cases/ID, which must not exist: leave out -o and --force")
    if not os.path.isdir(_CASES):
        raise UsageError(f"there is no folder {_CASES} here: run it in the root of a checkout of triage")
    return os.path.join(_CASES, arguments.as_case)


def _case_id(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{1,79}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no case id: small letters, digits and hyphens")
    return text


def _said(packed: Made, path: str, collected: Collected) -> str:
    from triage.report.view import bytes_text

    verdict = packed.manifest.verdict
    names = ", names replaced where they are stated" if packed.manifest.anonymized else ""
    whole = sum(one.size for one in collected.inputs)
    if os.path.isdir(path):
        return (
            f"{path}: {len(packed.logs)} file{'s' if len(packed.logs) != 1 else ''}\n"
            f"look through them{names}, and write the label into {os.path.join(path, 'case.toml')}\n"
        )
    return (
        f"{path}: {bytes_text(os.path.getsize(path))} of {bytes_text(whole)} in {len(collected.inputs)} "
        f"file{'s' if len(collected.inputs) != 1 else ''}\n"
        f"explained as {verdict['rule'] or verdict['category']}, confidence {verdict['confidence']}\n"
        f"secrets are masked by their usual forms{names}; look through it before you hand it on\n"
    )
