"""Quick dataclasses behave as those of the standard library: the same classes made by both."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import pytest

from triage.core import values


def classes(dataclass: Callable[..., Any]) -> tuple[Any, Any, Any, Any]:
    @dataclass(frozen=True, slots=True)
    class Empty:
        """Nothing."""

    @dataclass(frozen=True, slots=True)
    class One:
        only: float

    @dataclass(frozen=True, slots=True)
    class Base:
        """Two fields."""

        name: str
        number: int = 3

        @property
        def doubled(self) -> int:
            return 2 * self.number

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        number: int = 4
        items: dict[str, int] = field(default_factory=dict)
        held: str = field(default="", compare=False)
        hidden: str = field(default="", repr=False)

    return Empty, One, Base, Derived


QUICK, STANDARD = classes(values.dataclass), classes(dataclasses.dataclass)
ARGUMENTS: tuple[tuple[int, tuple[object, ...], dict[str, object]], ...] = (
    (0, (), {}),
    (1, (1.5,), {}),
    (2, ("a",), {}),
    (2, ("a", 7), {}),
    (2, (), {"number": 1, "name": "b"}),
    (3, ("a",), {}),
    (3, ("a", 5, {"x": 1}), {"held": "h", "hidden": "s"}),
    (1, (), {}),
    (2, (), {}),
    (2, ("a", 1, 2), {}),
    (2, ("a",), {"other": 1}),
    (0, (1,), {}),
)


def outcome(make: Callable[[], Any]) -> object:
    try:
        made = make()
    except TypeError:
        return TypeError
    return (repr(made), dataclasses.asdict(made), getattr(made, "doubled", None))


@pytest.mark.parametrize(("which", "given", "named"), ARGUMENTS)
def test_instances_are_made_and_shown_alike(
    which: int, given: tuple[object, ...], named: dict[str, object]
) -> None:
    quick, standard = QUICK[which], STANDARD[which]
    assert outcome(lambda: quick(*given, **named)) == outcome(lambda: standard(*given, **named))
    assert [f.name for f in dataclasses.fields(quick)] == [f.name for f in dataclasses.fields(standard)]
    assert quick.__match_args__ == standard.__match_args__
    assert quick.__slots__ == standard.__slots__


@pytest.mark.parametrize("made", [QUICK, STANDARD], ids=["quick", "standard"])
def test_equal_values_of_one_class_are_equal_and_hash_alike(made: tuple[Any, Any, Any, Any]) -> None:
    empty, one, base, derived = made
    nan = float("nan")
    assert empty() == empty()
    assert one(nan) == one(nan)
    assert one(1.0) != one(2.0)
    assert hash(base("a", 3)) == hash(base("a"))
    assert base("a", 4) != derived("a", 4)
    assert derived("a", held="x") == derived("a", held="y")
    assert derived("a", hidden="x") != derived("a", hidden="y")
    assert base("a") != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(derived("a"))


@pytest.mark.parametrize("made", [QUICK, STANDARD], ids=["quick", "standard"])
def test_a_value_is_changed_by_replace_only(made: tuple[Any, Any, Any, Any]) -> None:
    value = made[2]("a")
    assert replace(value, number=9).number == 9
    changes: tuple[Callable[[], object], ...] = (
        lambda: setattr(value, "number", 9),
        lambda: setattr(value, "new", 1),
        lambda: delattr(value, "name"),
    )
    for change in changes:
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            change()
    assert value == made[2]("a")


def test_each_instance_gets_a_dict_of_its_own() -> None:
    derived = QUICK[3]
    assert derived("a").items is not derived("b").items


@values.dataclass(frozen=True, slots=True)
class Outside:
    """At the module's level, where pickle finds it."""

    name: str
    numbers: tuple[int, ...] = ()


def test_a_value_is_copied_and_pickled() -> None:
    value = Outside("a", (1, 2))
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == copy.copy(value) == value


def mutable(dataclass: Callable[..., Any]) -> Any:
    @dataclass(slots=True)
    class Mutable:
        name: str
        numbers: list[int] = field(default_factory=list)
        own: list[int] = field(init=False, default_factory=list)
        fixed: int = field(init=False, default=5)
        later: int = field(init=False)

        def __post_init__(self) -> None:
            self.later = len(self.name)

    return Mutable


@pytest.mark.parametrize(
    "made", [mutable(values.dataclass), mutable(dataclasses.dataclass)], ids=["quick", "standard"]
)
def test_a_class_that_may_change_is_equal_by_content_and_never_hashed(made: Any) -> None:
    one = made("abc")
    assert (one.numbers, one.own, one.fixed, one.later) == ([], [], 5, 3)
    assert one == made("abc", [])
    one.numbers.append(1)
    assert one != made("abc")
    one.later = 9
    assert copy.copy(one) == one
    assert repr(one).endswith("Mutable(name='abc', numbers=[1], own=[], fixed=5, later=9)")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(TypeError):
        made("abc", [], [])


def test_classes_with_other_options_are_those_of_the_standard_library() -> None:
    @values.dataclass(frozen=True, order=True)
    class Ordered:
        number: int

    assert sorted([Ordered(2), Ordered(1)]) == [Ordered(1), Ordered(2)]


def test_replace_is_that_of_the_standard_library() -> None:
    one = QUICK[3]("a", 5, {"x": 1}, held="h", hidden="s")
    several: list[dict[str, Any]] = [{}, {"name": "b"}, {"number": 7, "held": "other"}, {"items": {}}]
    for changes in several:
        assert values.replace(one, **changes).__reduce__() == replace(one, **changes).__reduce__()
    with pytest.raises((TypeError, ValueError)):
        values.replace(one, unknown=1)


def test_no_name_of_a_field_meets_one_of_the_makers_own() -> None:
    """Fields called `missing`, `set_a`, `new_a` or `default_a`, beside a field `a`."""

    @values.dataclass(frozen=True, slots=True)
    class Named:
        missing: int
        set_a: int
        new_a: int
        default_a: int
        a: list[int] = field(default_factory=list)
        b: int = 7

    made = Named(1, 2, 3, 4)
    assert (made.missing, made.set_a, made.new_a, made.default_a, made.a, made.b) == (1, 2, 3, 4, [], 7)
    assert Named(1, 2, 3, 4, [5]).a == [5]


def opened(dataclass: Callable[..., Any]) -> tuple[Any, Any]:
    @dataclass
    class Open:
        name: str
        numbers: list[int] = field(default_factory=list)
        size: int | None = None

        @cached_property
        def doubled(self) -> str:
            return 2 * self.name

    @dataclass(frozen=True)
    class Shut:
        name: str
        size: int = 3

        @cached_property
        def doubled(self) -> str:
            return 2 * self.name

    return Open, Shut


@pytest.mark.parametrize(
    "made", [opened(values.dataclass), opened(dataclasses.dataclass)], ids=["quick", "standard"]
)
def test_classes_without_slots_compute_things_once(made: tuple[Any, Any]) -> None:
    free, shut = made
    one, other = free("a"), free("a")
    one.numbers.append(1)
    one.size = 4
    assert (other.numbers, other.size, one.doubled, one.__dict__["doubled"]) == ([], None, "aa", "aa")
    assert one != other
    assert shut("b").doubled == "bb"
    assert hash(shut("b")) == hash(shut("b", 3))
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        shut("b").size = 5
    assert [f.name for f in dataclasses.fields(shut)] == ["name", "size"]


@pytest.mark.parametrize("made", [values.field, dataclasses.field], ids=["quick", "standard"])
def test_fields_of_either_kind_are_understood(made: Callable[..., Any]) -> None:
    @values.dataclass(frozen=True, slots=True)
    class Mixed:
        items: list[int] = made(default_factory=list)
        held: str = made(default="h", compare=False, repr=False)

    assert repr(Mixed()) == f"{Mixed.__qualname__}(items=[])"
    assert Mixed(held="x") == Mixed(held="y")
    assert values.names(Mixed()) == ("items", "held")
    assert values.names("text") == ()


def test_a_class_of_the_standard_library_may_stand_on_a_quick_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Wider(Outside):
        more: int = 5

    assert dataclasses.asdict(Wider("a", more=6)) == {"name": "a", "numbers": (), "more": 6}


def test_importing_what_explains_takes_no_dataclasses_of_the_standard_library() -> None:
    code = "import sys, triage.api, triage.report, triage.cli.explain; print({'dataclasses', 'inspect', 'json'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )
