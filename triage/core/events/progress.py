"""Lines that show a training run going on, in the words of the usual programs.

Conservative: a line counts only if it names a step and something measured there, or is a fixed announcement.
Sources: Megatron-LM megatron/training/training.py (`training_log`) and checkpointing.py, tqdm std.py (`format_meter`),
transformers trainer_callback.py, deepspeed runtime/engine.py (`_report_progress`), torchtitan metrics.py,
fairseq progress_bar.py, mlperf_logging/mllog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import lru_cache

from triage.core.events.model import Event, Progress
from triage.core.events.place import place
from triage.core.lazy import lazy
from triage.core.logs.record import Record, Stamp
from triage.core.values import dataclass, field, replace

_LIMIT = 4096
"""Characters of a line that are looked at."""
_NUMBER = r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,4})?|nan|NaN|NAN|[-+]?inf|[-+]?INF"


@dataclass(frozen=True, slots=True)
class _Reading:
    kind: str = "iteration"
    iteration: int | None = None
    total: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    form: str = ""
    stamp: Stamp | None = None


_Reader = Callable[[str], _Reading | None]

_GLUED = lazy(r"Traceback \(|slurmstepd|srun: |\*\*\* |[Ee]rror\b|[Ee]rror:|\w(?:Error|Exception)\b|│")
_GLUED_WORDS = ("Traceback (", "slurmstepd", "srun: ", "*** ", "rror", "xception", "│")
"""Another writer's text on the same physical line: the record is left to the other readers as well."""


def extract_progress(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Event], list[Record]]:
    """Progress events; a record that carries more than its progress text is also handed on."""
    events: list[Event] = []
    rest: list[Record] = []
    for record in stream:
        reading = _read(record) if worth is None or record.offset in worth else None
        if reading is None:
            rest.append(record)
            continue
        span, tags, when = place(source, record)
        if when.at is None and reading.stamp is not None:
            when = replace(when, at=reading.stamp)
        events.append(
            Progress(
                span,
                tags,
                when,
                iteration=reading.iteration,
                total=reading.total,
                values=reading.values,
                kind=reading.kind,
                form=reading.form,
            )
        )
        if reading.form == "glued" or _is_glued(record.text[:_LIMIT]):
            rest.append(record)
    return events, rest


def _is_glued(text: str) -> bool:
    return any(word in text for word in _GLUED_WORDS) and _GLUED.search(text) is not None


def _read(record: Record) -> _Reading | None:
    if ":::MLLOG" in record.text:
        return _mllog(record.text)
    return _reading(record.text[:_LIMIT], record.level in ("E", "F"))


def shows_progress(text: str) -> bool:
    """Whether a line by itself shows that training goes on or has ended."""
    return any(word in text for word in WORDS) and _reading(text[:_LIMIT], False) is not None


@lru_cache(maxsize=1024)
def _reading(text: str, is_error: bool) -> _Reading | None:
    """Remembered, for many ranks print the same progress; they then share one value."""
    for literals, reader in _FORMS:
        for literal in literals:
            if literal in text:
                if (reading := reader(text)) is not None:
                    return reading
                break
    return None if is_error else _generic(text)


_MEGATRON = lazy(
    r"(?:^|[\]:>|])\s{0,8}iteration:?\s{1,12}(\d{1,12})\s{0,3}/\s{0,12}(\d{1,12})\s{1,3}(?:\d{1,3}%\s)?\|"
)
_FIELD = lazy(rf"([A-Za-z][^|:]{{0,60}}?)\s*:\s*({_NUMBER})(?![\w:])")
_NAMES = {
    "elapsed time per iteration (ms)": "elapsed_ms",
    "global batch size": "global_batch_size",
    "consumed samples": "consumed_samples",
    "global_batch_size_current": "global_batch_size",
}


def _fields(text: str) -> dict[str, float]:
    """`name: number` parts between bars."""
    values: dict[str, float] = {}
    for part in text.split("|")[:40]:
        if (match := _FIELD.match(part.strip())) is not None:
            values[_name(match[1])] = float(match[2])
    return values


@lru_cache(maxsize=512)
def _name(printed: str) -> str:
    """One shared text for each name: every line of progress has the same ones."""
    return _NAMES.get(printed, printed)


def _megatron(text: str) -> _Reading | None:
    if (match := _MEGATRON.search(text)) is None:
        return None
    return _Reading("iteration", int(match[1]), int(match[2]), _fields(text[match.end() :]), "megatron")


_ANNOUNCED: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("done", lazy(r"^\s*\[after training is done\]")),
    ("start", lazy(r"^\s*\[before the start of training step\]")),
    ("exiting", lazy(r"^\s*\[?exiting program (?:at iteration (?P<n>\d+)|after .{1,40})")),
    ("saved", lazy(r"^\W*successfully saved checkpoint (?:at|from) iteration\s+(?P<n>\d+)")),
    ("saving", lazy(r"^\W*saving checkpoint at iteration\s+(?P<n>\d+)")),
    ("loaded", lazy(r"^\W*successfully loaded checkpoint .*?(?:at|from) iteration\s+(?P<n>\d+)")),
    ("loading", lazy(r"^\W*loading (?:\w+ ){0,3}checkpoint from \S+(?: at iteration (?P<n>\d+))?")),
    (
        "eval",
        lazy(r"^[\W_]*(?:validation|test|evaluation) (?:loss|results) at (?:iteration (?P<n>\d+)|the end)"),
    ),
    ("eval", lazy(r"^\s*(?:Evaluating on \d+ samples|Evaluating iter \d+/\d+)")),
    ("saving", lazy(r"^\W*Saving model checkpoint to \S*?checkpoint-(?P<n>\d+)")),
    ("saving", lazy(r"^\W*Saving the checkpoint \(or staging")),
    ("saved", lazy(r"^\W*Finished saving the checkpoint\b.* in [\d.]+ seconds")),
    ("done", lazy(r"^\W*`Trainer\.fit` stopped: `max_(?:steps|epochs|time)=.{1,40}` reached")),
    ("success", lazy(r"^\W*success count == \d+ -> stop running")),
    (
        "done",
        lazy(
            r"^\W*[Tt]raining (?:is |has )?(?:completed?|done|finished)(?: successfully)?\b[\s.!:]*"
            r"(?:Do not forget to share.*|(?:in|after) [\d.:]+ ?\w{0,12}\.?|\d+ (?:epoch|step|iteration)s?\.?)?$"
        ),
    ),
    ("done", lazy(r"^\W*(?:\w+ \| )*done training in [\d.]+ seconds")),
    ("done", lazy(r"^\W*\d+ epochs completed in [\d.]+ hours")),
    ("no-result", lazy(r"^RESULT,\w{1,60},,\s*$")),
)
_ANNOUNCED_LITERALS = (
    "training is done", "start of training step", "exiting program", "checkpoint", "loss at ", "results at ",
    "Evaluating ", "Trainer.fit", "raining completed", "raining done", "raining finished", "raining is ", "raining complete", "raining has ", "done training", "epochs completed", "success count", "RESULT,",
)  # fmt: skip


def _announced(text: str) -> _Reading | None:
    for kind, pattern in _ANNOUNCED:
        if (match := pattern.search(text)) is not None:
            number = match.groupdict().get("n")
            values = _fields(text[match.end() :]) if kind == "eval" else {}
            return _Reading(kind, None if number is None else int(number[:12]), None, values, "announced")
    return None


_BAR = lazy(
    r"(?P<label>[^|%\r]{0,80}?)(?P<percent>\d{1,3})%\|[^|]{0,300}\|\s{0,12}(?P<n>\d{1,12})/(?P<total>\d{1,12})"
    r"\s\[(?P<state>[^\[\]]{0,40}<[^\[\]]{0,600})\]"
)
_EPOCH = lazy(r"\b[Ee]p(?:och)?\b\s{0,3}[\[:=#]{0,2}\s{0,3}(\d{1,9})")
_NOT_TRAINING = lazy(
    r"valid|eval|sanity|test|map|load|token|down|filter|generat|fetch|compil|shard|split|convert|process|pack|sav|read|build",
    re.IGNORECASE,
)
_TRAINING = lazy(r"train|epoch|step|iter|progress", re.IGNORECASE)
_WORD = lazy(r"[A-Za-z]{2}")
"""A label of figures only (`1/2  21.7G  0.038  640:`) is a row of a training's table."""
_GLOBAL_STEP = lazy(r"\bglobal_step=(\d{1,12})")
_PAIR = lazy(rf"\b([A-Za-z_][\w/ ]{{0,40}}?)\s?=\s?({_NUMBER})(?![\w:])")


def _bar(text: str) -> _Reading | None:
    """A progress bar of tqdm or Lightning that counts steps; the last one where several share the line."""
    found = next(reversed(list(_BAR.finditer(text))), None)
    if found is None:
        return None
    label = found["label"].rsplit("]", 1)[-1].strip(" :\t")
    state = found["state"]
    if (
        not re.search(r"it/s|s/it", state)
        or _NOT_TRAINING.search(label)
        or (_WORD.search(label) and not _TRAINING.search(label))
    ):
        return None
    values = {name: float(value) for name, value in _PAIR.findall(state)}
    step, total = int(found["n"]), int(found["total"])
    form = "glued" if text[found.end() :].strip() else "bar"
    epoch = _EPOCH.search(label)
    if epoch is not None:
        values["epoch"] = float(epoch[1])
        form = "epoch" if form == "bar" else form
    if (match := _GLOBAL_STEP.search(state)) is not None:
        return _Reading("iteration", int(match[1]), None, values, form if form == "glued" else "lightning")
    return _Reading("iteration" if step else "start", step, total, values, form)


_DICT = lazy(r"\{'(loss|eval_\w{1,40}|train_runtime|train_loss|grad_norm|learning_rate)': ")
_DICT_STEP = lazy(r"'(?:iteration|global_step/max_steps)': '(\d{1,12})/(\d{1,12})'")
_DICT_PAIR = lazy(rf"'(\w{{1,60}})': '?({_NUMBER})'?(?=[,}}])")


def _hf_dict(text: str) -> _Reading | None:
    """transformers' `{'loss': 2.1, 'learning_rate': 5e-05, 'epoch': 0.01}`, alone or after a bar; ms-swift adds where it
    stands: `'iteration': '98/100'`."""
    if (match := _DICT.search(text)) is None or (
        match.start() and "%|" not in text and text[: match.start()].strip()
    ):
        return None
    values = {name: float(value) for name, value in _DICT_PAIR.findall(text[match.start() :])}
    if len(values) < 2:
        return None
    kind = "eval" if match[1].startswith("eval_") else "done" if "train_runtime" in values else "iteration"
    if (step := _DICT_STEP.search(text, match.start())) is not None:
        return _Reading(kind, int(step[1]), int(step[2]), values, "swift")
    return _Reading(kind, None, None, values, "transformers")


_DEEPSPEED = lazy(r"\b(?:global_)?step=(\d{1,12}), (?:skipped=|RunningAvgSamplesPerSec=)")
_METER = lazy(
    r"^(?:\w{1,20}: )?Epoch: \[(\d{1,9})\]\s{1,4}\[\s{0,12}(\d{1,12})/(\d{1,12})\]\s{1,4}(?:eta|\w)"
)
_METER_PAIR = lazy(rf"\b([a-z][\w ]{{0,20}}?): ({_NUMBER})(?![\w:])")
_COMPOSER = lazy(
    r"^\W*(?:\[epoch=\d{1,9}(?:/\d{1,9})?\])?\[(?:batch=(\d{1,12})(?:/(\d{1,12}))?\]:|step=(\d{1,12})/(\d{1,12})(?:,[^\]\n]{1,80})?\])"
)
_NEMO = lazy(r"\bTraining epoch (\d{1,9}), iteration (\d{1,12})/\d{1,12} \|")


def _deepspeed(text: str) -> _Reading | None:
    """`step=10, skipped=0, lr=[...]`; the engine prints step 0 before the training."""
    if (match := _DEEPSPEED.search(text)) is None:
        return None
    step = int(match[1])
    return _Reading("iteration" if step else "start", step, None, {}, "deepspeed")


def _meter(text: str) -> _Reading | None:
    """torchvision's and detection's MetricLogger, which counts inside an epoch."""
    if (match := _METER.match(text)) is None:
        return None
    values = {name: float(value) for name, value in _METER_PAIR.findall(text[match.end() :])}
    return _Reading("iteration", int(match[2]), int(match[3]), values | {"epoch": float(match[1])}, "epoch")


def _composer(text: str) -> _Reading | None:
    """Composer's `[batch=3/100]:` and OLMo's `[step=50/65355,epoch=0]`."""
    if (match := _COMPOSER.match(text)) is None:
        return None
    step, total = match[1] or match[3], match[2] or match[4]
    return _Reading("iteration", int(step), int(total) if total else None, {}, "composer")


def _nemo(text: str) -> _Reading | None:
    if (match := _NEMO.search(text)) is None:
        return None
    values = _fields(text[match.end() :]) | {"epoch": float(match[1])}
    step = values.get("global_step")
    if step is not None and step == step and abs(step) < 1e15:
        return _Reading("iteration", int(step), None, values, "nemo")
    return _Reading("iteration", int(match[2]), None, values, "epoch")


_FORMS: tuple[tuple[tuple[str, ...], _Reader], ...] = (
    (("iteration",), _megatron),
    (("%|",), _bar),
    (("{'",), _hf_dict),
    (("step=",), _deepspeed),
    (("Epoch: [",), _meter),
    (("[batch=", "[step="), _composer),
    (("Training epoch ",), _nemo),
    (_ANNOUNCED_LITERALS, _announced),
)
_GENERIC_LITERALS = ("oss", "tep", "ter", "atch", "pdate")
WORDS = (":::MLLOG", *(literal for literals, _ in _FORMS for literal in literals), *_GENERIC_LITERALS)
"""One of these stands in every line that shows progress."""

_STEP = lazy(
    r"(?<![\w.-])(?:global[_ ]?step|total[_ ]step|step|iter|iteration|num_updates|update|batch)s?\b[\"']?\s{0,3}[:=#]?\s{0,3}[\[\"']?"
    r"\s{0,12}(\d{1,12})(?:\s{0,3}/\s{0,12}(\d{1,12}))?(?![\d.]*\w)",
    re.IGNORECASE,
)
_MEASURED = lazy(
    r"(?<![A-Za-z])((?:[a-z]{2,10}[ _]){0,3}(?:loss|lr|learning[ _]rate|grad[ _]norm|gnorm|ppl|perplexity|ce|wps|tps|mfu|tflops?)"
    rf"(?:_\w{{1,20}})?)[\"']?\s{{0,3}}[:=]?\s{{0,8}}[\"']?({_NUMBER})(?!\w)",
    re.IGNORECASE,
)
_RATE = lazy(
    rf"(?<![\w.])({_NUMBER})\s?(?:img|images?|samples?|tokens?|seqs?|sequences?)\s?(?:/|per )\s?s(?:ec(?:ond)?)?\b"
)
_LOSS_ALONE = lazy(rf"^\W{{0,8}}(?:[Tt]rain(?:ing)?[ _])?[Ll]oss\s?[:=]\s?({_NUMBER})\W{{0,4}}$")
"""A program that prints its loss and nothing else."""
_BEAT = lazy(r"^\W{0,8}(?:\w{1,20}[\] :|,-]{1,4}){0,4}(?:global_step|step|iteration)=(\d{1,12})\W{0,8}$")
_UNLIKE = lazy(
    r"rror|xception|nexpected|ailed|arning|nvalid|kipp|xpected|--|File \"|config|argument|[a-z_.]\([a-z)]|every|interval",
    re.I,
)


def _generic(text: str) -> _Reading | None:
    """`step 84 | loss 1.9` in any order of names, or a bare `heartbeat iteration=12`; no sentence, no settings."""
    head = text[:600]
    if "oss" in head and len(head) < 60 and (alone := _LOSS_ALONE.match(head)) is not None:
        return _Reading("iteration", None, None, {"loss": float(alone[1])}, "generic")
    if not ("tep" in head or "ter" in head or "atch" in head or "pdate" in head) or _UNLIKE.search(head):
        return None
    if (match := _BEAT.match(head)) is not None:
        return _Reading("iteration", int(match[1]), None, {}, "generic")
    match = _STEP.search(head, 0, 240)
    measured = _MEASURED.search(head) if match is not None else None
    if match is not None and measured is None and (rate := _RATE.search(head)):
        return _Reading("iteration", int(match[1]), None, {"rate": float(rate[1])}, "generic")
    if match is None or measured is None:
        return None
    total = int(match[2]) if match[2] else None
    in_epoch = _EPOCH.search(head) is not None and "lobal" not in match[0] and "otal" not in match[0]
    values = {measured[1].lower(): float(measured[2])}
    return _Reading("iteration", int(match[1]), total, values, "epoch" if in_epoch else "generic")


_MLLOG_KINDS = {
    "run_start": "start",
    "epoch_start": "iteration",
    "epoch_stop": "iteration",
    "block_start": "iteration",
    "block_stop": "iteration",
    "tracked_stats": "iteration",
    "eval_start": "eval",
    "eval_stop": "eval",
    "eval_accuracy": "eval",
}
_MLLOG_KEY = lazy(r'"time_ms": (\d{10,14}).{0,200}?"key": "(\w{1,60})"')
_MLLOG_STATUS = lazy(r'"status": "(\w{1,20})"')


def _mllog(text: str) -> _Reading | None:
    """One `:::MLLOG {json}` line; a line cut by srun still shows its key."""
    if (match := _MLLOG_KEY.search(text, 0, _LIMIT)) is None:
        return None
    stamp = Stamp(text=match[1], seconds=int(match[1]) / 1000, resolution=1e-3, utc=True)
    if match[2] == "run_stop":
        status = _MLLOG_STATUS.search(text, 0, _LIMIT)
        kind = {"success": "success", "aborted": "aborted"}.get(status[1] if status else "", "done")
    elif (kind := _MLLOG_KINDS.get(match[2], "")) == "":
        return None
    values, step = _mllog_values(text[text.find("{", 0, _LIMIT) :])
    return _Reading(kind, step, None, values, "mllog", stamp)


def _mllog_values(text: str) -> tuple[dict[str, float], int | None]:
    """Numbers of `value` and `metadata`, and the step if one is given (`step_num`)."""
    import json

    try:
        entry = json.loads(text) if len(text) <= _LIMIT else {}
    except (ValueError, RecursionError):
        return {}, None
    values: dict[str, float] = {}
    for part in ("value", "metadata"):
        held = entry.get(part) if isinstance(entry, dict) else None
        pairs = (
            held.items()
            if isinstance(held, dict)
            else [(str(entry.get("key")), held)]
            if held is not None
            else []
        )
        for name, value in pairs:
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and name != "lineno"
                and abs(value) < 1e300
            ):
                values[str(name)] = float(value)
    step = values.get("step_num", values.get("step"))
    return values, int(step) if step is not None and step == step else None
