"""Python loggers: `ERROR:name:`, `<stamp> - INFO - name - `, DeepSpeed, Hydra, loguru, vLLM, rich, old torchrun, and a bare stamp."""

from __future__ import annotations

import re

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import (
    DIGITS,
    LETTERS,
    LEVEL,
    Dialect,
    Sample,
    Stripped,
    level_letter,
)
from triage.core.logs.record import NO_TAGS, Stamp, Tags
from triage.core.logs.stamp import find_stamp

_ROOT = lazy(
    r"(DEBUG|INFO|WARNING|ERROR|CRITICAL)(?::([A-Za-z_][\w.\-]{0,120}):| {0,4}\| ([A-Za-z_][\w.:\-]{0,120}) {0,60}\| )"
)
_NAME = r"[\w.\-/]{1,120}"
_AFTER = tuple(
    re.compile(pattern)
    for pattern in (
        rf" ?- (?P<l>{LEVEL}) +- (?:(?P<o>{_NAME}) - )?",
        rf" ?- (?P<o>[\w.\-/ ]{{1,120}}?) +- (?P<l>{LEVEL}) +- ",
        rf" ?\| (?P<l>{LEVEL}) *\| (?:(?P<o>[^|\s]{{1,200}}:\d+) - |[^|]{{0,200}}\| )?",
        rf"\[(?P<o>{_NAME})\]\[(?P<l>{LEVEL})\](?: - )?",
        rf" (?P<o>{_NAME}): \[(?P<l>{LEVEL})\] ?",
        rf" \[ ?(?P<l>{LEVEL}) ?\] ?(?:\[(?P<o>[^\]\n]{{1,200}}:\d+(?::[\w<>]{{1,80}})?)\] ?)?(?P<r>\[(?:Rank|RANK) (?P<rank>\d{{1,7}})\] ?)?",
        rf" (?P<l>{LEVEL}) +\[(?P<o>[\w.\-]{{1,120}}:\d+)(?:, rank=(?P<rank>\d{{1,7}}))?\] ?",
        rf"\t(?P<node>[A-Za-z][\w.-]{{0,80}}):(?P<local>\d{{1,4}})\t(?P<o>[\w.]{{1,120}}:\d{{1,6}})\t(?P<l>{LEVEL})\t",
        r": (?P<l>[IWEF]) (?P<o>[\w./\-]{1,200}:\d{1,6})\] ?",
        rf" (?:(?P<o>{_NAME}) )?(?P<l>{LEVEL}): ",
        rf" (?P<l>{LEVEL}) +(?:(?P<o>{_NAME}) - (?P=o) - (?P=l): )?",
    )
)
_SEPARATOR = lazy(r"(?:: ?(?![\d:])| \|(?: |$)| -(?: |$)|\t| |$)")
"""What a collector puts between its stamp and the line. One blank belongs to it, further ones are the line's indent."""
_NAMED = lazy(r"\[[A-Za-z][\w.-]{0,24}\] (?=\d{4}-\d\d-\d\d )")
_LEVEL_BRACKET = lazy(rf"\[(?P<l>{LEVEL})[|:](?P<o>[\w.\-]{{1,120}}(?::\d{{1,6}})?)\] ?")
_LEVEL_STAMP = lazy(rf"\[(?P<l>{LEVEL})\|(?=\d{{4}}-)")
_ARROWS = lazy(r"\]? ?(?:([\w.\-]{1,120}:\d{1,6}) )?>> ")
_RICH_LEVEL = lazy(rf"(?P<l>{LEVEL}) +(?=\d\d-\d\d )")
_BRACKET_ORIGIN = lazy(r" \[([\w./\-]{1,120}:\d{1,6})\] ?")
_NEMO = lazy(r"\[NeMo ([EWIDC]) ")
_NEMO_ORIGIN = lazy(r"(?: rank(\d{1,7}))? ([^\s\]]{1,200}:\d{1,6})\] ?")


def _root(text: str) -> Stripped | None:
    match = _ROOT.match(text)
    if match is None:
        return None
    return Stripped(text[match.end() :], NO_TAGS, None, level_letter(match[1]), match[2] or match[3])


def _stamped(text: str) -> Stripped | None:
    bracketed = text[0] == "["
    name = _NAMED.match(text) if bracketed else None
    found = find_stamp(text, 0 if name is None else name.end())
    if found is None:
        return None
    stamp, end = found
    if text.startswith((" - ", " [", " |", "[", ": ", "\t"), end) or text[end : end + 1] == " ":
        for form in _AFTER:
            match = form.match(text, end)
            if match is not None:
                return _logged(text, stamp, match)
    separator = _SEPARATOR.match(text, end)
    if separator is not None:
        return Stripped(text[separator.end() :], NO_TAGS, stamp)
    return Stripped(text[end:], NO_TAGS, stamp) if text.startswith(("[", "<std"), end) else None


def _logged(text: str, stamp: Stamp, match: re.Match[str]) -> Stripped:
    groups = match.groupdict()
    rank, local = groups.get("rank"), groups.get("local")
    tags = NO_TAGS if rank is None else Tags(rank=int(rank))
    if local is not None:
        tags = Tags(node=groups["node"], local_rank=int(local))
    return Stripped(
        text[match.end() :], tags, stamp, level_letter(match["l"]), (groups.get("o") or "").strip()
    )


def _level_first(text: str) -> Stripped | None:
    match = _RICH_LEVEL.match(text)
    if match is None:
        return None
    found = find_stamp(text, match.end())
    if found is None:
        return None
    stamp, end = found
    origin = _BRACKET_ORIGIN.match(text, end)
    if origin is not None:
        return Stripped(text[origin.end() :], NO_TAGS, stamp, level_letter(match["l"]), origin[1])
    return Stripped(text[end + 1 :], NO_TAGS, stamp, level_letter(match["l"]))


def _level_bracket(text: str) -> Stripped | None:
    """transformers' `[INFO|trainer.py:2134] <stamp> >> `, LLaMA-Factory's `[INFO|<stamp>] mod:12 >> `, ms-swift's `[INFO:swift] `."""
    head = _LEVEL_STAMP.match(text) or _LEVEL_BRACKET.match(text)
    if head is None:
        return None
    origin = head.groupdict().get("o") or ""
    found = find_stamp(text, head.end())
    if found is None:
        return (
            Stripped(text[head.end() :], NO_TAGS, None, level_letter(head["l"]), origin) if origin else None
        )
    arrows = _ARROWS.match(text, found[1])
    if arrows is None:
        return None
    return Stripped(text[arrows.end() :], NO_TAGS, found[0], level_letter(head["l"]), arrows[1] or origin)


def _nemo(text: str) -> Stripped | None:
    match = _NEMO.match(text)
    if match is None:
        return None
    found = find_stamp(text, match.end())
    if found is None:
        return None
    stamp, end = found
    origin = _NEMO_ORIGIN.match(text, end)
    if origin is None:
        return None
    tags = NO_TAGS if origin[1] is None else Tags(rank=int(origin[1]))
    return Stripped(text[origin.end() :], tags, stamp, level_letter(match[1]), origin[2])


ROOT = Dialect(
    name="logging",
    first="DIWEC",
    strip=_root,
    samples=(
        Sample(
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0",
            "failed (exitcode: -9) local_rank: 0",
            level="E",
            origin="torch.distributed.elastic.multiprocessing.api",
        ),
        Sample("INFO | root | step 5 | loss 1.5", "step 5 | loss 1.5", level="I", origin="root"),
        Sample("WARNING:root:DALI iterator", "DALI iterator", level="W", origin="root"),
        Sample(
            "WARNING: could not find the metadata file",
            "WARNING: could not find the metadata file",
            taken=False,
        ),
    ),
)

LEVEL_FIRST = Dialect(
    name="logging",
    first="DIWECT",
    strip=_level_first,
    samples=(
        Sample(
            "INFO 08-19 20:31:50 [block_pool.py:316] Successfully reset prefix cache",
            "Successfully reset prefix cache",
            stamp="08-19 20:31:50",
            level="I",
            origin="block_pool.py:316",
        ),
    ),
)

LEVEL_BRACKET = Dialect(
    name="logging",
    first="[",
    behind="TDISWECF",
    strip=_level_bracket,
    samples=(
        Sample(
            "[INFO|trainer.py:2134] 2024-06-17 05:41:33,123 >> ***** Running training *****",
            "***** Running training *****",
            stamp="2024-06-17 05:41:33,123",
            level="I",
            origin="trainer.py:2134",
        ),
        Sample(
            "[WARNING|2025-01-02 05:41:33] llamafactory.model.loader:157 >> x",
            "x",
            stamp="2025-01-02 05:41:33",
            level="W",
            origin="llamafactory.model.loader:157",
        ),
        Sample("[INFO:swift] End time", "End time", level="I", origin="swift"),
        Sample("[INFO] plain", "[INFO] plain", taken=False),
    ),
)

NEMO = Dialect(
    name="nemo",
    first="[",
    behind="N",
    strip=_nemo,
    samples=(
        Sample(
            "[NeMo W 2025-08-13 10:12:40 rerun_state_machine:239] RerunStateMachine initialized",
            "RerunStateMachine initialized",
            stamp="2025-08-13 10:12:40",
            level="W",
            origin="rerun_state_machine:239",
        ),
        Sample(
            "[NeMo E 2024-05-01 05:00:00 rank3 exp_manager:393] x",
            "x",
            Tags(rank=3),
            "2024-05-01 05:00:00",
            "E",
            "exp_manager:393",
        ),
    ),
)

STAMPED = Dialect(
    name="logging",
    first="[MTWFSJAOND" + DIGITS,
    behind=LETTERS + " " + DIGITS,
    strip=_stamped,
    samples=(
        Sample(
            "[2024-02-09 08:48:08,092] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1)",
            "failed (exitcode: 1)",
            stamp="2024-02-09 08:48:08,092",
            level="E",
            origin="torch.distributed.elastic.multiprocessing.api",
        ),
        Sample(
            "[2025-04-24 00:32:12,695] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 771201",
            "Killing subprocess 771201",
            stamp="2025-04-24 00:32:12,695",
            level="I",
            origin="launch.py:315:sigkill_handler",
        ),
        Sample(
            "[2025-04-24 00:32:12,695] [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.14.4",
            "DeepSpeed info: version=0.14.4",
            Tags(rank=0),
            "2025-04-24 00:32:12,695",
            "I",
            "logging.py:96:log_dist",
        ),
        Sample(
            "2026-12-01 10:00:00,123 - INFO - trainer - epoch 1",
            "epoch 1",
            stamp="2026-12-01 10:00:00,123",
            level="I",
            origin="trainer",
        ),
        Sample(
            "2025-02-27 16:58:41,884 - root - WARNING - ENV[X] = 1",
            "ENV[X] = 1",
            stamp="2025-02-27 16:58:41,884",
            level="W",
            origin="root",
        ),
        Sample(
            "06/17/2024 05:41:33 - INFO - llamafactory.hparams.parser - Process rank: 0",
            "Process rank: 0",
            stamp="06/17/2024 05:41:33",
            level="I",
            origin="llamafactory.hparams.parser",
        ),
        Sample(
            "2024-05-11 10:00:00.123 | ERROR    | pkg.mod:main:42 - it failed",
            "it failed",
            stamp="2024-05-11 10:00:00.123",
            level="E",
            origin="pkg.mod:main:42",
        ),
        Sample(
            "[2024-08-14 02:11:07,274][root][INFO] - train, rank: 2",
            "train, rank: 2",
            stamp="2024-08-14 02:11:07,274",
            level="I",
            origin="root",
        ),
        Sample(
            "[2024-04-18 15:55:06] CRITICAL [olmo.util:158, rank=6] Uncaught HfHubHTTPError: 429",
            "Uncaught HfHubHTTPError: 429",
            Tags(rank=6),
            "2024-04-18 15:55:06",
            "F",
            "olmo.util:158",
        ),
        Sample(
            "2025-01-20 10:27:36.590\tnid005143:3\tolmo.train:967\tINFO\t[step=46/65355,epoch=0]",
            "[step=46/65355,epoch=0]",
            Tags(node="nid005143", local_rank=3),
            "2025-01-20 10:27:36.590",
            "I",
            "olmo.train:967",
        ),
        Sample(
            "2020-10-10 12:00:01,123 maskrcnn_benchmark.trainer INFO: Start training",
            "Start training",
            stamp="2020-10-10 12:00:01,123",
            level="I",
            origin="maskrcnn_benchmark.trainer",
        ),
        Sample(
            "[03/17/23 20:01:40] INFO     colossalai - colossalai - INFO: /data/train_gpt_demo.py:314",
            "/data/train_gpt_demo.py:314",
            stamp="03/17/23 20:01:40",
            level="I",
            origin="colossalai",
        ),
        Sample(
            "[2026-05-30 03:18:32] A3 rc=1 peak_mem=562MiB",
            "A3 rc=1 peak_mem=562MiB",
            stamp="2026-05-30 03:18:32",
        ),
        Sample("18:11:06.680 [rank4]:x", "[rank4]:x", stamp="18:11:06.680"),
        Sample(
            "[titan] 2025-02-27 16:58:40,120 - root - INFO - Starting job",
            "Starting job",
            stamp="2025-02-27 16:58:40,120",
            level="I",
            origin="root",
        ),
        Sample(
            "2024-01-01 00:00:00.123456: I tensorflow/core/platform/cpu_feature_guard.cc:210] This binary",
            "This binary",
            stamp="2024-01-01 00:00:00.123456",
            level="I",
            origin="tensorflow/core/platform/cpu_feature_guard.cc:210",
        ),
        Sample("Dec 01 10:00:00 Unexpected error: x", "Unexpected error: x", stamp="Dec 01 10:00:00"),
        Sample("[1]:", "[1]:", taken=False),
        Sample("2026-12-01: notes", "2026-12-01: notes", taken=False),
    ),
)
