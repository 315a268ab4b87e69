"""Whether the layers can be cut into pipeline stages."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.batch import GLOBAL, MICRO, SCHEDULE
from triage.core.megatron.finding import ARGUMENTS, CONFIG, Finding, Severity, unless
from triage.core.megatron.launch import Launch, Unresolved
from triage.core.megatron.layout import PP, layout
from triage.core.megatron.model import ELSEWHERE, LAYERS
from triage.core.megatron.stages import stages

FIRST = "--decoder-first-pipeline-num-layers"
LAST = "--decoder-last-pipeline-num-layers"
PER_VIRTUAL = "--num-layers-per-virtual-pipeline-stage"
VIRTUAL = "--num-virtual-stages-per-pipeline-rank"
LAYOUT = "--pipeline-model-parallel-layout"
EMBEDDING = "--account-for-embedding-in-pipeline-split"
LOSS = "--account-for-loss-in-pipeline-split"
OVERLAP_EXPERTS = "--overlap-moe-expert-parallel-comm"
GROUP_SIZE = "--microbatch-group-size-per-virtual-pipeline-stage"
HYBRID = ("--hybrid-layer-pattern", "--hybrid-override-pattern")
OTHER_SPLITS = (
    *HYBRID,
    *ELSEWHERE,
    "--standalone-embedding-stage",
    "--pipeline-model-parallel-split-rank",
    "--num-layers-at-start",
)
"""Options, some of older versions, that cut the layers in another way."""


def _depth(launch: Launch) -> int:
    """Layers as they are cut: an embedding or loss that counts is one more."""
    layers = launch.int(LAYERS)
    if layers is None:
        raise Unresolved(LAYERS)
    return layers + launch.flag(EMBEDDING) + launch.flag(LOSS)


def _virtual(launch: Launch) -> int | None:
    """Virtual stages per pipeline rank, `None` without interleaving (arguments.py:943-986)."""
    pp = launch.size(PP)
    if (pattern := launch.text(*HYBRID)) is not None:
        count = (pattern.split("/")[0].count("|") + 1) // pp
    elif (text := launch.text(LAYOUT)) is not None:
        count = len(stages(text)) // pp
    elif launch.flag(VIRTUAL):
        count = launch.size(VIRTUAL)
    elif launch.flag(PER_VIRTUAL):
        count = _depth(launch) // pp // launch.size(PER_VIRTUAL)
    else:
        return None
    return count if count > 1 else None


def layers(launch: Launch) -> Iterator[Finding]:
    """PP divides the layers, plus one each for an accounted embedding and loss (arguments.py:968, 997), unless they are
    cut unevenly."""
    severity = unless(launch, FIRST, LAST, LAYOUT, VIRTUAL, *OTHER_SPLITS)
    if severity is None:
        return
    depth, pp = _depth(launch), launch.size(PP)
    if depth % pp:
        extra = depth - (launch.int(LAYERS) or 0)
        shown = f"{LAYERS} {depth - extra}" + (f" + {extra} for the embedding or loss" if extra else "")
        yield Finding(
            severity,
            "pipeline/layers",
            f"{shown} is no multiple of PP {pp} ({depth} % {pp} = {depth % pp})",
            f"{ARGUMENTS}:{968 if launch.has(PER_VIRTUAL) else 997}",
            launch.line(LAYERS, PP),
        )


def deepspeed_layers(launch: Launch) -> Iterator[Finding]:
    """Megatron-DeepSpeed balances its stages, the embedding and the loss among them: what does not divide is slow."""
    number, pp = launch.int(LAYERS), launch.size(PP)
    if number is not None and number % pp and (number + 2) % pp:
        yield Finding(
            Severity.WARNING,
            "pipeline/layers",
            f"neither {LAYERS} {number} nor {number + 2} with embedding and loss is a multiple of PP {pp}",
            None,
            launch.line(LAYERS, PP),
        )


def virtual_layers(launch: Launch) -> Iterator[Finding]:
    """The layers per virtual stage divide those of a stage (arguments.py:972)."""
    if not launch.flag(PER_VIRTUAL) or launch.has(FIRST, LAST, VIRTUAL, LAYOUT, *OTHER_SPLITS) is not False:
        return
    depth, pp, per = _depth(launch), launch.size(PP), launch.size(PER_VIRTUAL)
    if depth % pp == 0 and depth // pp % per:
        yield Finding(
            Severity.ERROR,
            "pipeline/virtual-layers",
            f"{PER_VIRTUAL} {per} does not divide the {depth // pp} layers of a stage ({depth} / PP {pp})",
            f"{ARGUMENTS}:972",
            launch.line(PER_VIRTUAL),
        )


def virtual_needs_pipeline(launch: Launch) -> Iterator[Finding]:
    """Interleaving needs PP > 1, without overlapped communication PP > 2 (arguments.py:1002, 1006)."""
    virtual, pp = _virtual(launch), launch.size(PP)
    if virtual is None:
        return
    overlapped = not launch.flag("--no-overlap-p2p-communication")
    if pp <= (1 if overlapped else 2):
        yield Finding(
            Severity.ERROR,
            "pipeline/virtual-needs-pipeline",
            f"{virtual} virtual stages per rank need PP > {1 if overlapped else 2}, but PP is {pp}",
            f"{ARGUMENTS}:{1002 if overlapped else 1006}",
            launch.line(PER_VIRTUAL, VIRTUAL, LAYOUT, PP),
        )


def virtual_once(launch: Launch) -> Iterator[Finding]:
    """Virtual stages are described in one way (arguments.py:928)."""
    given = [name for name in (PER_VIRTUAL, VIRTUAL, LAYOUT) if launch.flag(name)]
    if len(given) > 1:
        yield Finding(
            Severity.ERROR,
            "pipeline/virtual-twice",
            f"only one of {' and '.join(given)} can be given",
            f"{ARGUMENTS}:928",
            launch.line(*given),
        )


def uneven_virtual(launch: Launch) -> Iterator[Finding]:
    """An uneven split counts virtual stages, not their layers (arguments.py:955)."""
    if launch.flag(PER_VIRTUAL) and launch.flag(FIRST, LAST) and launch.has(VIRTUAL, LAYOUT) is False:
        yield Finding(
            Severity.ERROR,
            "pipeline/uneven-virtual",
            f"with {FIRST} or {LAST}, {VIRTUAL} must be used instead of {PER_VIRTUAL}",
            f"{ARGUMENTS}:955",
            launch.line(PER_VIRTUAL),
        )


def accounted_conflict(launch: Launch) -> Iterator[Finding]:
    """An uneven split or a layout leaves nothing to account for (transformer_config.py:2235, 2252)."""
    uneven, drawn = launch.flag(FIRST, LAST), launch.flag(LAYOUT)
    accounted = launch.flag(EMBEDDING, LOSS)
    if (uneven and accounted) or (drawn and (uneven or accounted)):
        mine = LAYOUT if drawn else f"{FIRST} or {LAST}"
        other = f"{EMBEDDING} or {LOSS}" if accounted else f"{FIRST} or {LAST}"
        yield Finding(
            Severity.ERROR,
            "pipeline/splits-conflict",
            f"{mine} cannot be combined with {other}",
            f"{CONFIG}:{2235 if uneven and accounted else 2252}",
            launch.line(EMBEDDING, LOSS, FIRST, LAST),
        )


def uneven_split(launch: Launch) -> Iterator[Finding]:
    """What the first and last stages leave must fill the middle ones evenly (transformer_config.py:2312-2364)."""
    if not launch.flag(FIRST, LAST) or launch.has(LAYOUT, EMBEDDING, LOSS, *OTHER_SPLITS) is not False:
        return
    left, ranks, virtual = launch.int(LAYERS), launch.size(PP), _virtual(launch)
    if left is None:
        return
    for option, line in ((FIRST, 2312), (LAST, 2331)):
        own = launch.int(option)
        if own is None:
            continue
        left, ranks = left - own, ranks - 1
        if virtual and own % virtual:
            text = f"{option} {own} is no multiple of the {virtual} virtual stages per rank"
            yield _uneven(launch, text, line)
            return
    if bool(left) != bool(ranks):
        yield _uneven(launch, f"the ends leave {left} layers for {ranks} stages in the middle", 2342)
    elif ranks and left % ranks:
        yield _uneven(
            launch, f"the ends leave {left} layers, no multiple of the {ranks} stages in the middle", 2350
        )
    elif ranks and virtual and left // ranks % virtual:
        text = f"a middle stage has {left // ranks} layers, no multiple of its {virtual} virtual stages"
        yield _uneven(launch, text, 2364)


def _uneven(launch: Launch, text: str, line: int) -> Finding:
    return Finding(
        Severity.ERROR, "pipeline/uneven-split", text, f"{CONFIG}:{line}", launch.line(FIRST, LAST, LAYERS)
    )


def virtual_stages(launch: Launch) -> Iterator[Finding]:
    """With a number of virtual stages and an even split, PP divides the layers when the model is built, and the virtual
    stages divide those of a rank (megatron/core/transformer/transformer_block.py:157, 176); where the embedding or loss
    counts, the configuration asks it before (transformer_config.py:2383-2409)."""
    if not launch.flag(VIRTUAL) or launch.has(FIRST, LAST, PER_VIRTUAL, LAYOUT, *OTHER_SPLITS) is not False:
        return
    depth, pp, virtual = _depth(launch), launch.size(PP), launch.size(VIRTUAL)
    accounted = launch.flag(EMBEDDING, LOSS)
    block = "megatron/core/transformer/transformer_block.py"
    if depth % pp:
        text = f"{depth} layers are no multiple of PP {pp}"
        source = f"{block}:157" if not accounted else f"{CONFIG}:{2383 if virtual == 1 else 2396}"
    elif depth // pp % virtual:
        text = f"the {depth // pp} layers of a rank are no multiple of its {virtual} virtual stages"
        source = f"{CONFIG}:2409" if accounted else f"{block}:176"
    else:
        return
    yield Finding(Severity.ERROR, "pipeline/virtual-stages", text, source, launch.line(VIRTUAL, LAYERS))


def drawn_layout(launch: Launch) -> Iterator[Finding]:
    """A layout has a multiple of PP stages (arguments.py:945) and all layers
    (megatron/core/transformer/pipeline_parallel_layer_layout.py:107)."""
    text = launch.text(LAYOUT)
    if text is None or launch.has(*HYBRID, *ELSEWHERE) is not False:
        return
    drawn, pp = stages(text), launch.size(PP)
    count, layers_given = sum(stage.count("t") for stage in drawn), launch.int(LAYERS)
    if len(drawn) % pp:
        text, source = f"{LAYOUT} has {len(drawn)} stages, no multiple of PP {pp}", f"{ARGUMENTS}:945"
    elif layers_given is not None and count != layers_given:
        text = f"{LAYOUT} has {count} layers, but {LAYERS} is {layers_given}"
        source = "megatron/core/transformer/pipeline_parallel_layer_layout.py:107"
    else:
        return
    yield Finding(Severity.ERROR, "pipeline/layout", text, source, launch.line(LAYOUT))


def overlapped_experts(launch: Launch) -> Iterator[Finding]:
    """--overlap-moe-expert-parallel-comm with PP > 1 needs interleaving (transformer_config.py:3008)."""
    if launch.flag(OVERLAP_EXPERTS) and launch.size(PP) > 1 and _virtual(launch) is None:
        yield Finding(
            Severity.ERROR,
            "pipeline/overlap-experts",
            f"{OVERLAP_EXPERTS} with PP {launch.size(PP)} needs virtual pipeline stages ({PER_VIRTUAL} or {VIRTUAL})",
            f"{CONFIG}:3008",
            launch.line(OVERLAP_EXPERTS),
        )


def micro_batches(launch: Launch) -> Iterator[Finding]:
    """Interleaving needs at least PP micro-batches, and no small rest
    (megatron/core/pipeline_parallel/schedules.py:1160, 1172): the first step says so, not the start."""
    if (
        launch.has(GROUP_SIZE, SCHEDULE, "--decrease-batch-size-if-needed") is not False
        or _virtual(launch) is None
    ):
        return
    placed = layout(launch)
    size, micro = launch.int(GLOBAL), launch.int(MICRO)
    if micro is None or micro < 1:
        return
    count, rest = divmod(size if size is not None else micro * placed.dp, micro * placed.dp)
    if rest == 0 and (count < placed.pp or count % placed.pp):
        yield Finding(
            Severity.WARNING,
            "pipeline/micro-batches",
            f"{count} micro-batches per step are no multiple of PP {placed.pp}, which the interleaved schedule needs",
            f"megatron/core/pipeline_parallel/schedules.py:{1168 if count < placed.pp else 1180}",
            launch.line(GLOBAL, MICRO, PP),
        )
