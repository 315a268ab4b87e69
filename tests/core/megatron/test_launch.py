from __future__ import annotations

import pytest

from triage.core.megatron.launch import UNKNOWN, Argument, Launch, Unresolved, Word, arguments


def parse(text: str) -> tuple[Argument, ...]:
    """`$X` is one word that is not known, `$X...` may be any number of words."""
    return arguments(
        Word(UNKNOWN, 7, word.endswith("...")) if word.startswith("$") else Word(word, 7)
        for word in text.split()
    )


def names(text: str) -> list[str | None]:
    return [item.name for item in parse(text)]


def test_the_last_of_two_equal_options_counts() -> None:
    launch = Launch(args=parse("--num-layers 4 --num-layers=8"))
    assert launch.int("--num-layers") == 8


def test_a_negative_number_is_a_value_not_an_option() -> None:
    assert parse("--seed -1")[0].values == ("-1",)


def test_an_equals_sign_inside_a_value_stays_there() -> None:
    assert parse("--load=a=b")[0].values == ("a=b",)


def test_hydra_overrides_are_options_by_their_dotted_name() -> None:
    assert parse("model.num_layers=4 +trainer.x=1") == (
        Argument("model.num_layers", ("4",), 7),
        Argument("+trainer.x", ("1",), 7),
    )


def test_an_unresolved_word_behind_an_option_with_a_value_is_the_value() -> None:
    assert names("--load $CKPT... --bf16") == ["--load", "--bf16"]


def test_an_unresolved_word_behind_a_switch_may_be_options() -> None:
    assert names("--bf16 $EXTRA...") == ["--bf16", None]


def test_an_unresolved_word_behind_a_full_option_may_be_options() -> None:
    assert names("--num-layers 4 $EXTRA...") == ["--num-layers", None]


def test_a_quoted_unresolved_word_alone_is_no_option() -> None:
    assert names("--num-layers 4 $QUOTED") == ["--num-layers"]


def test_an_unresolved_word_in_a_list_belongs_to_the_list() -> None:
    assert parse("--data-path 0.5 $A... 0.5 $B...")[0].values == ("0.5", UNKNOWN, "0.5", UNKNOWN)


def test_what_may_hide_is_neither_given_nor_absent() -> None:
    launch = Launch(args=parse("--bf16 $EXTRA..."))
    assert launch.flag("--bf16")
    assert launch.has("--fp16") is None
    for ask in (launch.flag, launch.int, launch.text, launch.size):
        with pytest.raises(Unresolved):
            ask("--fp16")


def test_options_in_another_file_hide_all_that_is_not_given() -> None:
    assert Launch(args=parse("--yaml-cfg x.yaml")).has("--bf16") is None


def test_without_hidden_options_what_is_not_given_has_its_default() -> None:
    launch = Launch(args=parse("--bf16"))
    assert not launch.flag("--fp16")
    assert launch.int("--num-layers") is None
    assert launch.int("--num-query-groups", default=1) == 1
    assert launch.size("--tensor-model-parallel-size") == 1


@pytest.mark.parametrize("value", ["", "x", "2.0", "0x8", "9" * 5000, "８"])
def test_what_is_no_number_is_not_known(value: str) -> None:
    launch = Launch(args=(Argument("--num-layers", (value,)),))
    with pytest.raises(Unresolved):
        launch.int("--num-layers")


def test_underscores_and_blanks_are_read_as_python_reads_them() -> None:
    assert Launch(args=(Argument("--train-samples", (" 9_765_625 ",)),)).int("--train-samples") == 9765625


def test_an_option_without_its_value_is_not_known() -> None:
    with pytest.raises(Unresolved):
        Launch(args=parse("--num-layers")).int("--num-layers")


def test_an_unknown_world_is_none_not_a_product() -> None:
    assert Launch(nodes=2).world_size is None
    assert Launch(nodes=2, gpus_per_node=8).world_size == 16
