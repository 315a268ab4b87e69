"""Megatron-LM's options by how many values they take."""

from __future__ import annotations

FLAGS = frozenset({"--bf16", "--fp16", "--sequence-parallel"})
"""Options without a value."""
LISTS = frozenset({"--data-path"})
"""Options with any number of values."""
