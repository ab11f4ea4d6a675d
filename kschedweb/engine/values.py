"""Data classes as ``dataclasses`` makes them, in a third of the time.

The standard library compiles each method of a class by itself, and up to seven of them: half a millisecond for a frozen
class, and the engine has two hundred on the way to its first answer. Here those that differ from class to class are
compiled at once, and the others are the same for all. Fields and slots are the standard library's own, and so are
``field``, ``fields`` and ``replace``. Of its options there are those below; ``InitVar`` is not known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, order=False, kw_only=False):
        def make(cls):
            return _build_class(cls, frozen=frozen, slots=slots, eq=eq, order=order, kw_only=kw_only)

        return make if cls is None else make(cls)


__all__ = ["dataclass"]

Field = dataclasses.Field[Any]
ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def _build_class(cls: type, *, frozen: bool, slots: bool, eq: bool, order: bool, kw_only: bool) -> type:
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else the standard library works out the signature, and writes it there
    own_names = {
        name for name in vars(cls) if name != "__hash__" or vars(cls)[name] is not None or "__eq__" not in vars(cls)
    }
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, slots=slots, kw_only=kw_only)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {"__init__": _make_init(cls, fields, frozen=frozen, slots=slots), "__repr__": _repr}
    methods["__match_args__"] = tuple(field.name for field in fields if field.init and not field.kw_only)
    if eq:
        compared = [field.name for field in fields if field.compare]
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        for method, sign in {"__eq__": "==", **(ORDER if order else {})}.items():
            both = f"{_tuple_source('self', compared)} {sign} {_tuple_source('other', compared)}"
            answer = f"{both} if other.__class__ is self.__class__ else NotImplemented"
            methods[method] = _compile_lazily(cls, method, "self, other", answer)
        methods["__hash__"] = (
            _compile_lazily(cls, "__hash__", "self", f"hash({_tuple_source('self', hashed)})") if frozen else None
        )
    if frozen:
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
    if frozen and slots:
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own_names:  # a method that the class itself has stays
            setattr(cls, name, method)
    return cls


def _compile_method(cls: type, name: str, source: str, names: dict[str, Any]) -> Callable[..., Any]:
    exec(source, names)  # noqa: S102  of names of fields alone
    method: Callable[..., Any] = names[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _compile_lazily(cls: type, name: str, arguments: str, answer: str) -> Callable[..., Any]:
    """A method that is compiled when it is called first, which most never are."""

    def method(*args: Any) -> Any:
        compiled = _compile_method(cls, name, f"def {name}({arguments}): return {answer}", {})
        setattr(cls, name, compiled)
        return compiled(*args)

    return method


def _make_init(cls: type, fields: tuple[Field, ...], *, frozen: bool, slots: bool) -> Callable[..., Any]:
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING, "set_attribute": object.__setattr__}
    assignment = "set_attribute(self, {0!r}, {1})" if frozen else "self.{0} = {1}"
    if frozen and slots:  # what sets a slot is faster than what sets any attribute
        names |= {f"set_{field.name}": getattr(cls, field.name).__set__ for field in fields}
        assignment = "set_{0}(self, {1})"
    arguments, body = _init_source(fields, names, assignment, slots=slots)
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _compile_method(cls, "__init__", f"def __init__(self{arguments}):\n " + "\n ".join(body or ["pass"]), names)


def _init_source(
    fields: tuple[Field, ...], names: dict[str, Any], assignment: str, *, slots: bool
) -> tuple[str, list[str]]:
    """(the arguments of ``__init__`` after ``self``, its lines); what these name is added to ``names``."""
    positional, keyword_only, body = [""], [""], []
    for field in fields:
        default, make = f"default_{field.name}", f"make_{field.name}"
        parameter, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            names[default] = field.default
            parameter = f"{field.name}={default}"
            value = field.name if field.init else default
        elif field.default_factory is not dataclasses.MISSING:
            names[make] = field.default_factory
            parameter = f"{field.name}=MISSING"
            value = f"{make}() if {field.name} is MISSING else {field.name}" if field.init else f"{make}()"
        elif not field.init:
            continue
        if field.init:
            (keyword_only if field.kw_only else positional).append(parameter)
        if field.init or slots or field.default is dataclasses.MISSING:  # with slots the class has no default
            body.append(assignment.format(field.name, value))
    return ", ".join([*positional, *(["*", *keyword_only[1:]] if keyword_only[1:] else [])]), body


def _tuple_source(owner: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in names)})"


@recursive_repr()
def _repr(self: Any) -> str:
    field_texts = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(field_texts)})"


def _refuse_setting(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
