"""Facts in command lines: launchers as shells and DeepSpeed echo them, Python's argv lists, Hydra overrides.

Defaults: torch/distributed/run.py (`--nnodes` is `1:1`), accelerate's `--num_processes` counts all processes.
"""

from __future__ import annotations

import re
from itertools import pairwise

from triage.core.events.names import ALIASES, number, settle, transformer_only
from triage.core.lazy import lazy

LIMIT = 16_384
"""Characters of one command that are read."""

_TRACE = lazy(r"^\s{0,8}\++ ?(?=\S)")
_LAUNCHER = lazy(
    r"(?:^|[\s/'\"=;&|])(torchrun|deepspeed|torch\.distributed\.(?:run|launch)|deepspeed\.launcher\.\w+|accelerate|composer|srun"
    r"|mpirun|mpiexec|python[\d.]*)(?=['\"\s,]|$)"
)
_WORD = lazy(r"(?:[^\s'\"\\]++|'[^']*+'|\"(?:[^\"\\]|\\.)*+\"|\\.)++", re.DOTALL)
_UNQUOTE = lazy(r"'([^']*+)'|\"((?:[^\"\\]|\\.)*+)\"|\\(.)", re.DOTALL)
"""Words as a shell splits them; a quote that is never closed is left out. Both run in linear time."""
_QUOTED = lazy(r"'((?:[^'\\]|\\.){0,8192})'|\"((?:[^\"\\]|\\.){0,8192})\"")
_FLAG = lazy(r"--?([A-Za-z][\w.-]{0,80})(?:=(.*))?", re.DOTALL)
_OVERRIDE = lazy(r"\+{0,2}([A-Za-z_][\w.@/-]{0,160})=(.{0,80})", re.DOTALL)
_JSON = lazy(r"\"(\w{2,60})\"\s?:\s?(\d{1,13})(?=\s*[,}\]]|$)")
_SECONDARY = frozenset(
    {"rollout", "ref", "critic", "reward", "reward_model", "teacher", "generation", "inference"}
)
"""Parts of an override's path that belong to other models than the one trained."""
_HYDRA = {"trainer.num_nodes": "nnodes", "trainer.nnodes": "nnodes", "trainer.devices": "nproc_per_node"}
_FOREIGN_FLAGS = frozenset({"world_size", "data_parallel_size", "sequence_length"})
"""Names that as flags mean something of the script's own."""
_FLAG_NAMES = ALIASES | {"tp_size": "tp", "pp_size": "pp", "cp_size": "cp", "ep_size": "ep"}
_SERVERS = ("sglang", "vllm", "launch_server")
"""Whose parallel sizes are those of a server beside the training."""
_PYTHON = lazy(r"(?:\S*/)?python[\d.]*")
_JSON_NAMES = ALIASES | {"train_batch_size": "global_batch_size"}


def is_command(text: str) -> bool:
    """An echoed command with options; not a usage text, not a frame, not an argv list."""
    if " --" not in text and "=" not in text:
        return False
    head = text[:LIMIT]
    if any(mark in head for mark in ("usage: ", "[--", 'File "', "['", '["')):
        return False
    traced = _TRACE.match(head)
    launcher = _LAUNCHER.search(head, 0, 2048)
    if launcher is None:
        return traced is not None and " --" in head
    return traced is not None or " -" in head or ".py" in head


def command_facts(text: str) -> dict[str, int]:
    """Facts of a command line in shell form."""
    text = _TRACE.sub("", text[:LIMIT])
    return token_facts(_words(text))


def _words(text: str) -> list[str]:
    """Words as a shell splits them, those of a quoted command (`bash -c 'cd x && torchrun ...'`) too."""
    words: list[str] = []
    for word in _WORD.findall(text):
        plain = _UNQUOTE.sub(r"\1\2\3", word)
        if " -" in plain and words[-1:] in (["-c"], ["-lc"]):
            words.extend(_UNQUOTE.sub(r"\1\2\3", inner) for inner in _WORD.findall(plain))
        else:
            words.append(plain)
    return words


def list_facts(text: str) -> dict[str, int]:
    """Facts of a command printed as a Python list (`['python', '-u', 'train.py', '--seq-length', '4096']`)."""
    start = max(0, text.find("['"), text.find('["'))
    return token_facts([single or double for single, double in _QUOTED.findall(text[start : start + LIMIT])])


def token_facts(tokens: list[str]) -> dict[str, int]:
    """Facts of an argument vector, Hydra overrides and JSON arguments included."""
    flags = [(name, value) for name, value in _flags(tokens) if name not in _FOREIGN_FLAGS]
    serves = any(word in token for token in tokens[:40] for word in _SERVERS)
    found = settle(flags, aliases=ALIASES if serves else _FLAG_NAMES)
    for token in tokens:
        if token.startswith("{") or "={" in token:
            found |= {k: v for k, v in json_facts(token).items() if k not in found}
    overrides = _overrides(tokens)
    found |= {name: value for name, value in overrides.items() if name not in found}
    found |= _launch(tokens, dict(flags), found)
    return transformer_only(found)


def json_facts(text: str) -> dict[str, int]:
    """Facts in a JSON object that is (part of) one line."""
    return transformer_only(settle(_JSON.findall(text[:LIMIT]), aliases=_JSON_NAMES))


def _flags(tokens: list[str]) -> list[tuple[str, str]]:
    """`--name value` and `--name=value` as pairs, names in snake case."""
    pairs = []
    for index, token in enumerate(tokens):
        match = _FLAG.fullmatch(token)
        if match is None or not token.startswith("--"):
            continue
        value = match[2]
        if value is None:
            value = tokens[index + 1] if index + 1 < len(tokens) else ""
        pairs.append((match[1].rpartition(".")[2].replace("-", "_"), value))
    return pairs


def _overrides(tokens: list[str]) -> dict[str, int]:
    """Hydra's `path.name=value`; the trained model's own keys before those of its helpers."""
    main: list[tuple[str, str]] = []
    other: list[tuple[str, str]] = []
    for token in tokens:
        match = None if token.startswith("-") else _OVERRIDE.fullmatch(token)
        if match is None or "." not in match[1]:
            continue
        path, _, name = match[1].rpartition(".")
        name = _HYDRA.get(match[1], name)
        (other if _SECONDARY & set(path.split(".")) else main).append((name, match[2]))
    aliases = {name: fact for name, fact in ALIASES.items() if name not in _FOREIGN_FLAGS}
    return settle(other, aliases=aliases) | settle(main, aliases=aliases)


def _launch(tokens: list[str], flags: dict[str, str], found: dict[str, int]) -> dict[str, int]:
    """What the launcher's own options say about nodes and processes."""
    names = {token.rsplit("/", 1)[-1] for token in tokens}
    if "accelerate" in names:
        total = number(flags.get("num_processes", ""))
        nodes = number(flags.get("num_machines", ""))
        return {k: v for k, v in (("world_size", total), ("nnodes", nodes)) if v is not None}
    if "deepspeed" in names:
        gpus, nodes = number(flags.get("num_gpus", "")), number(flags.get("num_nodes", ""))
        return {k: v for k, v in (("nproc_per_node", gpus), ("nnodes", nodes)) if v is not None}
    if "composer" in names:
        return _composer(tokens, flags)
    if names & {"torchrun", "torch.distributed.run", "torch.distributed.launch"}:
        low, _, high = flags.get("nnodes", "1").partition(":")
        if low == high and (nodes := number(low)) is not None:
            return {"nnodes": nodes}
        if "nnodes" not in flags and "nproc_per_node" in found:
            return {"nnodes": 1}
    return _tasks(tokens, names)


def _composer(tokens: list[str], flags: dict[str, str]) -> dict[str, int]:
    """`composer -n 8 train.py`: all processes, unless more nodes are spoken of (composer/cli/launcher.py)."""
    said = {flag: number(value) for flag, value in reversed(list(pairwise(tokens)))}
    if (total := said.get("--world_size")) is not None:
        return {"world_size": total}
    per_node = said.get("-n") or said.get("--nproc")
    if per_node is None:
        return {}
    alone = not flags.keys() & {"node_rank", "base_rank", "master_addr"}
    return {"nproc_per_node": per_node} | ({"nnodes": 1} if alone else {})


def _tasks(tokens: list[str], names: set[str]) -> dict[str, int]:
    """`mpirun -np 8 python train.py`: as many processes, unless what it starts is a launcher or a script."""
    starts = next((at for at, token in enumerate(tokens) if _PYTHON.fullmatch(token)), None)
    if starts is None or not names & {"mpirun", "mpiexec", "horovodrun"}:
        return {}
    for flag, value in pairwise(tokens[:starts]):
        if flag in ("-n", "-np", "--np") and (count := number(value)) is not None:
            return {"ntasks": count}
    return {}
