from __future__ import annotations

from triage.core.rules.template import fill, names


def test_the_first_line_whose_names_are_all_known_is_taken() -> None:
    template = "GPU {gpu}: {free} of {total}\nGPU: {free} of {total}\nno memory"
    assert fill(template, {"gpu": 0, "free": 1.25, "total": "79"}) == "GPU 0: 1.25 of 79"
    assert fill(template, {"gpu": None, "free": "", "total": 79}) == "GPU:  of 79"
    assert fill(template, {}) == "no memory"
    assert fill("only {x}", {"y": 1}) is None


def test_shell_text_is_left_alone() -> None:
    text = "echo ${MASTER_ADDR} {A} ${x} {} {1} {a b} $(date) '%s'"
    assert names(text) == ()
    assert fill(text, {"x": 1}) == text


def test_a_value_is_never_read_as_a_template_and_stays_on_one_short_line() -> None:
    assert fill("{a}", {"a": "{b}\n  c", "b": "no"}) == "{b} c"
    assert len(fill("{a}", {"a": "x" * 100_000}) or "") == 300
