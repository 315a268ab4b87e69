"""`dataclass`, `field` and `replace`, quick to import: use them as those of the standard library, which they are to type
checkers.

The standard library's take half a dozen modules to import, and generate and compile six methods for each frozen class. For
some hundred classes that was a third of the time in which a small folder is explained. Here only `__init__` is compiled, and
it fills the slots directly, which makes instances in a quarter of the time; the other methods are the same for all classes.
What reads the fields of a class, as `dataclasses.fields` and `asdict` do, finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """As `dataclasses.replace`, for values of a frozen class that was made here."""
        new, kept = value.__reduce__()
        content, place = list(kept), new.__match_args__.index
        for name, changed in changes.items():
            content[place(name)] = changed
        return new(*content)

    def field(**options):
        """As `dataclasses.field`, for classes that are made here."""
        return _Field(**options)

    def dataclass(cls=None, **options):
        """As `dataclasses.dataclass`; only classes with few options are made here."""
        if cls is not None:
            return _made(cls, slots=False)
        if options == {"frozen": True, "slots": True}:
            return _frozen
        if options == {"slots": True}:
            return _slotted
        if options == {"frozen": True}:
            return _frozen_open
        import dataclasses

        return dataclasses.dataclass(cls, **options)


def names(value: object) -> tuple[str, ...]:
    """The fields of a value whose class was made here; none of anything else."""
    return tuple(getattr(type(value), "__fields__", ()))


_NONE: Any = object()
"""Stands for a default that is not there."""


class _Field:
    """One field of a class, as far as it differs from a plain one."""

    __slots__ = ("compare", "default", "default_factory", "init", "repr", "type")

    def __init__(
        self,
        *,
        default: Any = _NONE,
        default_factory: Any = _NONE,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init, self.repr, self.compare = init, repr, compare
        self.type: Any = None


class _Fields:
    """`__dataclass_fields__`: those of the standard library, made when it asks for them."""

    def __get__(self, _: object, cls: type) -> dict[str, Any]:
        import dataclasses

        found: dict[str, Any] = {}
        for name, one in cls.__fields__.items():  # type: ignore[attr-defined]
            given = {"init": one.init, "repr": one.repr, "compare": one.compare, "kw_only": False}
            for option in ("default", "default_factory"):
                if getattr(one, option) is not _NONE:
                    given[option] = getattr(one, option)
            made: Any = dataclasses.field(**given)
            made.name, made.type, made._field_type = name, one.type, dataclasses._FIELD  # type: ignore[attr-defined]
            found[name] = made
        return found


class _Params:
    """`__dataclass_params__`, which the standard library asks for."""

    def __init__(self, *, frozen: bool) -> None:
        self.frozen = frozen


def _frozen(cls: type) -> type:
    return _sealed(_made(cls, slots=True))


def _frozen_open(cls: type) -> type:
    return _sealed(_made(cls, slots=False))


def _slotted(cls: type) -> type:
    return _made(cls, slots=True)


def _sealed(made: Any) -> type:
    content = _content([name for name, one in made.__fields__.items() if one.compare])
    whole = _content(list(made.__fields__))

    def __hash__(self: object) -> int:
        return hash(content(self))

    def __reduce__(self: object) -> tuple[type, tuple[object, ...]]:
        """For `copy` and `pickle`, which would set attributes."""
        return self.__class__, whole(self)

    made.__hash__, made.__reduce__ = __hash__, __reduce__
    made.__setattr__ = made.__delattr__ = _refuse
    made.__dataclass_params__ = _Params(frozen=True)
    return made  # type: ignore[no-any-return]


def _made(cls: type, *, slots: bool) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__
    fields, own = _fields(cls)
    made: Any = _with_slots(cls, own) if slots else cls
    content = _content([name for name, one in fields.items() if one.compare])

    def __eq__(self: object, other: object) -> bool:
        return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

    made.__fields__, made.__dataclass_fields__ = fields, _Fields()
    made.__dataclass_params__ = _Params(frozen=False)
    made.__match_args__ = tuple([name for name, one in fields.items() if one.init])  # type: ignore[misc]
    made.__init__ = _init(made, fields)
    made.__eq__, made.__hash__, made.__repr__ = __eq__, None, _repr
    return made  # type: ignore[no-any-return]


def _fields(cls: type) -> tuple[dict[str, _Field], list[str]]:
    """All fields in order, those of the classes above first, and the names of the class's own."""
    fields: dict[str, _Field] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields.update(base.__dict__.get("__fields__", {}))
    own = []
    for name, kind in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063  (`inspect` is half of the way)
        if str(kind).startswith("ClassVar"):
            continue
        given = cls.__dict__.get(name, _NONE)
        fields[name] = one = _field(given)
        one.type = kind
        own.append(name)
        if one.default is not _NONE:
            setattr(cls, name, one.default)
        elif given is not _NONE:
            delattr(cls, name)
    return fields, own


def _field(given: Any) -> _Field:
    """From a default, or from what `field` made, also that of the standard library."""
    if isinstance(given, _Field):
        return given
    if type(given).__module__ != "dataclasses":
        return _Field(default=given)
    from dataclasses import MISSING

    said = {name: getattr(given, name) for name in ("default", "default_factory", "init", "repr", "compare")}
    return _Field(**{name: value for name, value in said.items() if value is not MISSING})


def _with_slots(cls: Any, own: list[str]) -> Any:
    """The class once more, with slots: they cannot be given to one that is there."""
    above = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    parts = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in own and name not in ("__dict__", "__weakref__")
    }
    parts["__slots__"] = tuple([name for name in own if name not in above])
    made = type(cls)(cls.__name__, cls.__bases__, parts)
    made.__qualname__ = cls.__qualname__
    return made


def _init(made: Any, fields: dict[str, _Field]) -> Any:
    """The one method that is compiled for each class: arguments in the order of the fields, each into its slot.
    Names of its own that no field has, as in the standard library."""
    scope: dict[str, Any] = {"__dataclass_missing__": _NONE}
    arguments, lines = [], []
    for name, one in fields.items():
        value = argument = name
        store, default, new = (f"__dataclass_{what}_{name}__" for what in ("set", "default", "new"))
        scope[store] = _store(made, name)
        if one.default is not _NONE:
            scope[default] = one.default
            argument = f"{name}={default}"
        elif one.default_factory is not _NONE:
            scope[new] = one.default_factory
            argument = f"{name}=__dataclass_missing__"
            value = f"{new}() if {name} is __dataclass_missing__ else {name}"
        if one.init:
            arguments.append(argument)
        elif "=" in argument:
            lines.append(f"    {argument}")
        else:
            continue
        lines.append(f"    {store}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("    self.__post_init__()")
    exec("\n".join((f"def __init__({', '.join(('self', *arguments))}):", *lines, "    pass")), scope)
    return scope["__init__"]


def _store(made: Any, name: str) -> Callable[[object, Any], None]:
    """What puts a value into an instance, frozen or not."""
    slot = made.__dict__.get(name) or next(
        (b.__dict__[name] for b in made.__mro__ if name in b.__dict__), None
    )
    if hasattr(slot, "__set__"):
        return slot.__set__  # type: ignore[no-any-return, union-attr]
    return lambda value, content: value.__dict__.__setitem__(name, content)


def _content(names: list[str]) -> Callable[[object], tuple[Any, ...]]:
    """What is compared and hashed, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, one in self.__fields__.items() if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, *value: object) -> None:  # noqa: ARG001
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{name!r} of a value cannot be changed: use `replace`")
