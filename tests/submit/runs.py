"""Configurations for tests, from a few lines of TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triage.submit.config import Config, Settings
from triage.submit.read import File, Layers, read_settings

FOLDER = "/lustre/me/Megatron-LM"


def settings(
    text: str = "",
    *,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    sets: Sequence[str] = (),
    folder: str = FOLDER,
) -> Settings:
    return read_settings(Layers(File("triage.toml", folder, text), environment or {}, arguments, sets))


def config(text: str = "", *, sets: Sequence[str] = (), folder: str = FOLDER) -> Config:
    return settings(text, sets=sets, folder=folder).config
