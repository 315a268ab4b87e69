"""Whether a file's first bytes are those of a log."""

from __future__ import annotations

from triage.core.lazy import lazy

SAMPLE = 8192

_BEGINNINGS = (
    b"PK\x03\x04",  # zip: torch.save, .npz, wheels
    b"\x93NUMPY",
    b"MMIDIDX\x00",  # Megatron's indexed dataset
    b"\x89PNG\r\n",
    b"\xff\xd8\xff",
    b"SQLite format 3\x00",
    b"\x89HDF\r\n",
    b"%PDF-",
)
"""Of binary files."""
_CONTROL = bytes(set(range(32)) - {0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x1B}) + b"\x7f"
_HOLE = lazy(rb"\x00{64,}")
_LIMIT = 0.05
"""Share of control bytes above which a sample is no text: random data has 11 %, token ids more."""


def is_tar(first: bytes) -> bool:
    """Whether these are the first bytes of a tar archive (POSIX.1-1988: the magic in the first header)."""
    return first[257:262] == b"ustar"


def why_not_text(sample: bytes) -> str:
    """The reason why the first bytes of a file are not those of a log; empty for text (and for an empty file).

    A run of NUL bytes is a hole that a truncated or rotated log leaves on a network file system: it speaks neither way.
    """
    if sample.startswith(b"\x7fELF"):
        core = len(sample) > 17 and 4 in (sample[16], sample[17])  # ET_CORE in either byte order
        return "core dump" if core else "binary"
    if sample[8:10] == b'{"' and sample[4:8] == bytes(4):  # safetensors: a 64-bit length, then JSON
        return "binary"
    if sample.startswith(_BEGINNINGS):
        return "binary"
    if is_tar(sample):
        return "archive"
    text = _HOLE.sub(b"", sample) if b"\0" in sample else sample
    if not text:
        return ""
    control = len(text) - len(text.translate(None, _CONTROL))
    return "binary" if control > _LIMIT * len(text) else ""


_NOT_LOGS: dict[str, str] = {
    **dict.fromkeys((".py", ".pyi", ".sh", ".bash", ".slurm", ".sbatch", ".cu", ".cpp", ".cc", ".h", ".patch", ".diff"), "source code"),
    **dict.fromkeys((".toml", ".yaml", ".yml", ".cfg", ".ini"), "configuration"),
    **dict.fromkeys((".md", ".rst", ".html", ".ipynb"), "documentation"),
    **dict.fromkeys((".json", ".csv", ".tsv"), "data, not a log"),
}  # fmt: skip


_ARTIFACT = lazy(r"(?:^|[-_.])(?:metrics?|results?)[-_.\w]*\.json$")


def is_artifact(name: str) -> bool:
    """A training's own result file by its name (`metrics.json`): it states sizes, and is no log."""
    lower = name.lower()
    return lower.endswith(".json") and _ARTIFACT.search(lower) is not None


def is_manifest(name: str) -> bool:
    """A node's launch manifest, which rendered scripts write."""
    return name == "launch.json"


def why_not_log(name: str) -> str:
    """The reason why a file of this name in a job's folder would mislead when it is read as a log; else empty."""
    lower = name.lower()
    if lower == "error.json" or lower.endswith(("-error.json", "_error.json")):
        return ""
    if is_artifact(name) or is_manifest(name):
        return ""
    dot = lower.rfind(".")
    return _NOT_LOGS.get(lower[dot:], "") if dot > 0 else ""
