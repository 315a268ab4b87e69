"""What a log's path says about who wrote it: job, node, rank, task, attempt, stream.

A field is set only where a name's wording or a launcher's folder layout says so. Words put in front of a name
(`aa-rank-2.err`) change nothing; a bare number is never taken for a rank.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence

from triage.core.lazy import lazy
from triage.core.logs.source import Source
from triage.core.shared import shared
from triage.core.values import dataclass, replace
from triage.files import ranked
from triage.files.hosts import looks_like_host, may_be_host
from triage.files.parts import parts_of
from triage.files.rendered import rendered
from triage.files.sniff import is_artifact, is_manifest

_COMPRESSED = lazy(r"\.(?:gz|xz|zst|bz2)$", re.I)
_SUFFIX = lazy(r"(?:\.(?:log|txt|out|err|stdout|stderr|output|error|json|o|e))+(?:\.\d{1,3})?$", re.I)
_ROTATED = lazy(r"(?<=[a-z])\.\d{1,2}$", re.I)
_STREAM = lazy(r"(?:^|[-_.])(?:std)?(out|err)(?=$|\.(?:log|txt|\d{1,3})\b)|\.(output|error)$", re.I)
_KERNEL = lazy(r"(?:(.*)[-_.])?(?:dmesg|kern|syslog)(?:[-_.](.*))?|(?:[a-z]{1,3}-)?(?:kernel|messages|journal|journalctl)", re.I)  # fmt: skip
_ORDERING = lazy(r"([a-z]{1,4})-(?=.)")
_ID = lazy(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{16,}(?![0-9a-z])", re.I)
_DATE = lazy(r"(?<!\d)20\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?:[-_.T]\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?(?!\d)")  # fmt: skip
_RAY = lazy(
    r"^(?:worker-[0-9a-f]{20,}-|python-core-|raylet\.|gcs_server|dashboard|runtime_env_|monitor\.|log_monitor)"
)

_B, _E = r"(?:^|(?<=[-_.]))", r"(?=$|[-_.])"
_LOCAL_RANK = lazy(_B + r"local[-_.]?rank[-_.=]?(\d{1,4})" + _E, re.I)
_NODE_RANK = lazy(_B + r"node[-_.]?rank[-_.=]?(\d{1,5})" + _E, re.I)
_RANK = lazy(_B + r"(?:(?:global|world)[-_.]?)?rank[-_.=]?(\d{1,6})" + _E, re.I)
_OTHER_RANK = lazy(_B + r"(?:mp|tp|pp|dp|cp|ep|etp|group|host|machine|role|model|data|pipe|tensor|expert|worker|server)[-_.]?rank[-_.=]?\d+" + _E, re.I)  # fmt: skip
_NODE_HOST = lazy(_B + r"node[-_.]?(\d{1,5})[-_]([a-z0-9][a-z0-9.-]*)$", re.I)
_NODE_UNDER = lazy(_B + r"node_(\d{1,5})" + _E, re.I)
_NODE_NUMBER = lazy(_B + r"(node-?)(0|[1-9]\d{0,4})" + _E, re.I)
_NODE_LETTER = lazy(_B + r"(node[-_]?[a-z])$", re.I)
_POD = lazy(r"[a-z0-9][a-z0-9-]*-(?:master|worker|launcher)-\d{1,5}", re.I)
_JOB_WORD = lazy(_B + r"(?:slurm|job[-_]?id|job|jobid)[-_.=]?(\d{1,9})(?:_(\d{1,7}))?(?:\.(?:\d{1,5}|batch|extern))?" + _E, re.I)  # fmt: skip
_SUBMITIT = lazy(r"(?:^|[-_.])(\d{1,9})(?:_(\d{1,7}))?_(\d{1,6})_log$")
_NEMO_RUN = lazy(r"(?:^|-)log-[\w.-]+_(\d{3,9})_(\d{1,3})$")
_NUMBER = lazy(r"(?:^|(?<=[-_.]))(\d{3,9})" + _E)
_DEPTH = 16
"""Folders above a file that are looked at."""
_TAIL = lazy(r"(.*[-_])(\d{1,4})")
_ATTEMPT = lazy(r"attempt[-_](\d{1,5})", re.I)


def source_of(path: str, siblings: Sequence[str] = ()) -> Source:
    """What one relative path says; `siblings` are the paths found with it."""
    return sources_of([path, *(other for other in siblings if other != path)])[0]


def sources_of(paths: Sequence[str]) -> list[Source]:
    """What each path says, given the others: whether numbers are those of nodes or tasks only the set can tell."""
    parts = parts_of(paths)
    whole = [parts[path].whole if path in parts else path for path in paths] if parts else paths
    sources = _sources(whole, ranked.led(whole))
    return [replace(s, path=p) if p in parts else s for s, p in zip(sources, paths, strict=True)]


def _sources(paths: Sequence[str], leaders: Mapping[int, int]) -> list[Source]:
    """As `sources_of`, of whole logs; `leaders` are the numbers of paths, each with that of the one which it follows."""
    leading = {paths[n] for n in leaders.values()}
    names = [_Name.of(path) for n, path in enumerate(paths) if n not in leaders]
    names = _without_ordering(names, leading)
    family = _Family.of(names)
    folders: dict[tuple[str, ...], Source] = {}
    said = {name.path: _source(name, family, folders) for name in names}
    if not all(ranked.leads(said[path]) for path in leading):
        return _sources(paths, {})
    sources = [
        ranked.of_rank(said[paths[leaders[n]]], path) if n in leaders else said[path]
        for n, path in enumerate(paths)
    ]
    sources = rendered(sources)
    jobs = {source.job for source in sources}
    runs = {name.path: name.run_id for name in names if name.run_id and name.run_id in jobs}
    return [
        replace(source, job=run)
        if source.job is None and (run := runs.get(paths[leaders.get(n, n)]))
        else source
        for n, source in enumerate(sources)
    ]


@dataclass(frozen=True, slots=True)
class _Name:
    """A path, cut up."""

    path: str
    folders: tuple[str, ...]
    file: str
    stem: str
    """The file's name without suffixes."""
    stream: str
    run_id: str | None
    """torchrun's run id where it is a number: a job's only if another path says so, for many scripts use $RANDOM."""

    @classmethod
    def of(cls, path: str) -> _Name:
        *folders, file = path.split("/")
        folders = folders[-_DEPTH:]
        file = file[:255]
        bare = _COMPRESSED.sub("", file)
        stem = _ROTATED.sub("", _SUFFIX.sub("", bare))
        match = _STREAM.search(bare)
        stream = shared((match[1] or match[2])[:3].lower()) if match else ""
        stem = re.sub(r"(?:^|[-_.])(?:stdout|stderr|out|err)$", "", stem, flags=re.I) or stem
        run_id = None
        if (
            len(folders) >= 3
            and _ATTEMPT.fullmatch(folders[-2])
            and (run := re.match(r"(\d{3,9})_", folders[-3]))
        ):
            run_id = run[1]
        return cls(path, tuple(f for f in folders if f not in ("", ".", "..")), file, stem, stream, run_id)


def _without_ordering(names: list[_Name], leading: Collection[str]) -> list[_Name]:
    """Letters in front that only order the files of a folder (`aa-node-b.err`, `ab-node-a.err`) are taken off.

    Each path of `leading` stands for several whose names begin alike.
    """
    fronts: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        match = _ORDERING.match(name.stem)
        words = [match[1] if match else ""] * (2 if name.path in leading else 1)
        fronts.setdefault(name.folders, []).extend(words)
    ordered = {
        folder
        for folder, words in fronts.items()
        if len(words) > 1
        and len(set(words)) == len(words)
        and len({len(word) for word in words}) == 1
        and words[0]
    }
    return [replace(n, stem=_ORDERING.sub("", n.stem, count=1)) if n.folders in ordered else n for n in names]


@dataclass(frozen=True, slots=True)
class _Family:
    """Wordings whose numbers in one folder are 0..n-1 with n > 1: a launcher's numbering, not a machine room's."""

    nodes: frozenset[tuple[str, str]]
    """(folder, `node` or `node-`)"""
    tails: frozenset[tuple[str, str]]
    """(folder, all of the stem before its last number)"""

    @classmethod
    def of(cls, names: Sequence[_Name]) -> _Family:
        nodes: dict[tuple[str, str], set[int]] = {}
        tails: dict[tuple[str, str], set[int]] = {}
        for name in names:
            folder = posixpath.dirname(name.path)
            if match := _NODE_NUMBER.search(name.stem):
                nodes.setdefault((folder, match[1].lower()), set()).add(int(match[2]))
            for depth, part in enumerate(name.folders):
                if match := _NODE_NUMBER.search(part):
                    key = ("/".join(name.folders[:depth]), match[1].lower())
                    nodes.setdefault(key, set()).add(int(match[2]))
            if match := _TAIL.fullmatch(name.stem):
                tails.setdefault((folder, match[1]), set()).add(int(match[2]))
        return cls(_counting(nodes), _counting(tails))


def _counting(seen: dict[tuple[str, str], set[int]]) -> frozenset[tuple[str, str]]:
    return frozenset(
        key for key, numbers in seen.items() if len(numbers) > 1 and max(numbers) == len(numbers) - 1
    )


def _source(name: _Name, family: _Family, folders: dict[tuple[str, ...], Source]) -> Source:
    source = replace(_said_by_folders(name.folders, family, folders), path=name.path, stream=name.stream)
    if name.file.lower().endswith("error.json"):
        source = replace(source, kind="error-file")
    elif is_manifest(name.file):
        source = replace(source, kind="manifest")
    elif is_artifact(name.file):
        source = replace(source, kind="artifact")
    elif kernel := _KERNEL.fullmatch(name.stem):
        host = next((word for word in kernel.groups() if word and may_be_host(word)), None)
        source = replace(source, kind="kernel", node=source.node or host)
    source = _torchrun(source, name)
    if source.kind == "kernel" or _RAY.match(name.file):
        return source
    return _said_by_file(source, name, family)


def _said_by_folders(
    folders: tuple[str, ...], family: _Family, known: dict[tuple[str, ...], Source]
) -> Source:
    """What the folders say, inner ones last; `known` holds those that other files were in."""
    source = Source("")
    for depth, folder in enumerate(folders):
        below = folders[: depth + 1]
        if below not in known:
            known[below] = _said_by_folder(source, folder, "/".join(folders[:depth]), family)
        source = known[below]
    return source


def _torchrun(source: Source, name: _Name) -> Source:
    """`<run id>/attempt_N/<local rank>/{stdout.log,stderr.log,error.json}` (torch/distributed/elastic/multiprocessing)."""
    if len(name.folders) >= 2 and name.folders[-1].isdecimal() and len(name.folders[-1]) <= 4:
        attempt = _ATTEMPT.fullmatch(name.folders[-2])
        if attempt and name.file.lower().startswith(("stdout", "stderr", "error.json")):
            return replace(source, attempt=int(attempt[1]), local_rank=int(name.folders[-1]))
    return source


def _said_by_folder(source: Source, folder: str, parent: str, family: _Family) -> Source:
    if match := _ATTEMPT.fullmatch(folder):
        return replace(source, attempt=int(match[1]))
    source = _ranks(source, folder)
    if match := _NODE_HOST.search(folder):
        host = match[2] if may_be_host(match[2]) else source.node
        return replace(source, node_rank=int(match[1]), node=host)
    if (named := _node(source, folder, parent, family)) is not source:
        return named
    if looks_like_host(folder) or _POD.fullmatch(folder):
        return replace(source, node=folder)
    rest = _without_marks(folder)
    if not _has_number(rest):
        return source
    if match := _JOB_WORD.search(rest):
        return replace(source, job=_job(match[1], match[2]))
    if match := re.fullmatch(r"(?:.*[-_.])?(\d{5,9})", rest):
        return replace(source, job=match[1])
    return source


def _said_by_file(source: Source, name: _Name, family: _Family) -> Source:
    folder = posixpath.dirname(name.path)
    stem = name.stem if name.stem.isdecimal() else _without_marks(name.stem)
    before = source
    source = _ranks(source, stem)
    if match := _NODE_HOST.search(stem):
        rest = _RANK.sub("", match[2]).strip("-_.")
        if may_be_host(rest):
            return replace(source, node_rank=int(match[1]), node=rest)
    source = _node(source, stem, folder, family)
    if _POD.fullmatch(stem):
        return replace(source, node=stem, rank=before.rank)
    said = _slurm(source, stem, name, family)
    if (source.node, source.node_rank, said.job) == (before.node, before.node_rank, before.job):
        if host := re.search(r"(?:^|-)(ip(?:-\d{1,3}){4})$", stem):
            return replace(source, node=host[1])
        if looks_like_host(stem):
            return replace(source, node=stem)
    return said


def _without_marks(text: str) -> str:
    """Without what is unique to each run: hashes, and dates."""
    text = _ID.sub("", text) if len(text) >= 16 else text
    return _DATE.sub("", text) if "20" in text else text


def _has_number(text: str) -> bool:
    return any(character.isdecimal() for character in text)


def _ranks(source: Source, text: str) -> Source:
    """Ranks that a word says; two different ones in a name say nothing."""
    if "rank" not in text.lower():
        return source
    if match := _LOCAL_RANK.search(text):
        source = replace(source, local_rank=int(match[1]))
    if match := _NODE_RANK.search(text):
        source = replace(source, node_rank=int(match[1]))
    text = _OTHER_RANK.sub("", _NODE_RANK.sub("", _LOCAL_RANK.sub("", text)))
    said = {int(number) for number in _RANK.findall(text)}
    return replace(source, rank=said.pop()) if len(said) == 1 else source


def _node(source: Source, text: str, folder: str, family: _Family) -> Source:
    """`node_2` is a number in the job, `node-b` and `node012` are names, `node2` depends on its siblings."""
    if "node" not in text.lower():
        return source
    if match := _NODE_UNDER.search(text):
        return replace(source, node_rank=int(match[1]))
    if match := _NODE_LETTER.search(text):
        return replace(source, node=match[1])
    if match := _NODE_NUMBER.search(text):
        if match[2] == "0" or (folder, match[1].lower()) in family.nodes:
            return replace(source, node_rank=int(match[2]))
        if match.start() == 0 and match.end() == len(text):
            return replace(source, node=text)
    return source


def _slurm(source: Source, stem: str, name: _Name, family: _Family) -> Source:
    """Slurm's `%x-%j-%N-%t` and its subsets, submitit's `%j_%t_log`, NeMo-Run's `log-%x_%j_<restarts>`."""
    if not _has_number(stem):
        return source
    if match := _SUBMITIT.search(stem):
        return replace(source, job=_job(match[1], match[2]), task=int(match[3]))
    if match := _NEMO_RUN.search(stem):
        return replace(source, job=match[1], attempt=int(match[2]))
    if match := _JOB_WORD.search(stem):
        return _after_job(replace(source, job=_job(match[1], match[2])), stem[match.end() :])
    said = {source.rank, source.node_rank, source.local_rank} - {None}
    if not said and (match := _TAIL.fullmatch(stem)):
        counted = (posixpath.dirname(name.path), match[1]) in family.tails
        if counted and not _COUNTS_RUNS.search(match[1]):
            return replace(source, task=int(match[2]))
    numbers = [m for m in _NUMBER.finditer(stem) if int(m[1]) not in said and _is_job(m, stem, name)]
    if numbers:
        match = max(numbers, key=lambda m: len(m[1]))
        return _after_job(replace(source, job=shared(match[1])), stem[match.end() :])
    return source


_COUNTS_RUNS = lazy(r"(?:^|[-_])(?:result|run|exp|trial|try|seed|part|epoch|step|attempt|iter|version|fold|stage|phase|job|test)s?[-_]$", re.I)  # fmt: skip


def _is_job(match: re.Match[str], stem: str, name: _Name) -> bool:
    """A number where Slurm's patterns put `%j`: alone, first, or after the job's name; five digits unless a suffix
    of batch output says more."""
    batch_output = name.stream and stem[: match.start()].endswith(("-", "."))
    if len(match[1]) < 5 and not batch_output and match[0] != stem:
        return False
    if re.fullmatch(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", match[1]):
        return False
    return not re.search(
        r"(?:seed|seq|len|step|iter|port|pid|bs|lr|hidden|ckpt)[-_.]?$", stem[: match.start()], re.I
    )


def _after_job(source: Source, rest: str) -> Source:
    """`-HOST`, `-TASK` or `-HOST-TASK` after the job's number. `_3` may be a task or an array's index: not said."""
    match = re.fullmatch(r"[-_.](?:([a-z][a-z0-9.-]*?)[-_.])?(\d{1,6})", rest, re.I)
    if match and match[1] is None:
        return replace(source, task=int(match[2])) if rest[0] in "-." and source.task is None else source
    if match and may_be_host(match[1]):
        return replace(source, node=match[1], task=int(match[2]))
    word = rest[1:]
    if looks_like_host(word) or (may_be_host(word) and not _RANK.search(word)):
        return replace(source, node=word)
    return source


def _job(number: str, index: str | None) -> str:
    return shared(number if index is None else f"{number}_{index}")
