"""Lines of keys and list elements in every form of TOML."""

from __future__ import annotations

import tomllib

import pytest

from triage.submit.places import places

TEXT = '''\
a = 1 # [x]
"b c".d = """
[no]
x = 1
"""
list = [ # one
  "x]", 'y#',
  [1, 2],

  { k = "v" },
]
[t.u] # table
k = "# no" # yes
'q' = 3

[[many]]
z = { y = 1, "w.v" = [5] }
'''


def lines(text: str) -> dict[tuple[str, ...], int]:
    return {path: place.line for path, place in places(text).items()}


def test_every_key_and_element_has_the_line_that_it_stands_on() -> None:
    tomllib.loads(TEXT)
    assert lines(TEXT) == {
        ("a",): 1, ("b c", "d"): 2, ("list",): 6, ("list", "0"): 7, ("list", "1"): 7, ("list", "2"): 8,
        ("list", "2", "0"): 8, ("list", "2", "1"): 8, ("list", "3"): 10, ("list", "3", "k"): 10, ("t", "u"): 12,
        ("t", "u", "k"): 13, ("t", "u", "q"): 14, ("many",): 16, ("many", "z"): 17, ("many", "z", "y"): 17,
        ("many", "z", "w.v"): 17, ("many", "z", "w.v", "0"): 17,
    }  # fmt: skip


def test_a_key_over_several_lines_knows_its_last() -> None:
    found = places(TEXT)
    assert (found["list",].last, found["b c", "d"].last) == (11, 5)
    assert found["list",].whole
    assert not found["many", "z", "y"].whole


def test_line_ends_of_windows_count_once() -> None:
    assert lines(TEXT.replace("\n", "\r\n")) == lines(TEXT)


@pytest.mark.parametrize("text", ["a = [", "= 1", "[", 'a = "', "a", "[[[", 'a = """x'])
def test_what_is_no_toml_is_survived(text: str) -> None:
    assert isinstance(places(text), dict)
