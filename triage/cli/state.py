"""The store of the user of this environment."""

from __future__ import annotations

from collections.abc import Mapping

from triage.core.folders import state_folder
from triage.files.network import is_on_network
from triage.store.database import Database


def open_store(environment: Mapping[str, str]) -> Database:
    """Raises StoreError with what to do."""
    folder = state_folder(environment)
    return Database(folder, is_on_network(folder))
