"""Where the tool keeps what outlives a call."""

from __future__ import annotations

from triage.core.folders import state_folder


def test_the_folder_is_the_named_one_else_that_of_xdg() -> None:
    assert state_folder({"TRIAGE_STATE": "/s", "XDG_STATE_HOME": "/x"}) == "/s"
    assert state_folder({"XDG_STATE_HOME": "/x", "HOME": "/h"}) == "/x/triage"
    assert state_folder({"XDG_STATE_HOME": "relative", "HOME": "/h"}) == "/h/.local/state/triage"
    assert state_folder({}) == "/.local/state/triage"
