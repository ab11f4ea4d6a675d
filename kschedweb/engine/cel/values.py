"""The values of an expression, and the names that kube-scheduler has for them.

CEL's null, bool, int, double, string, bytes and list are Python's ``None``, ``bool``, ``int``, ``float``, ``str``,
``bytes`` and ``list``. The others have classes here, in ``quantities`` and in ``versions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

Value = Any
INT_MAX: Final = (1 << 63) - 1
INT_MIN: Final = -INT_MAX - 1
UINT_MAX: Final = (1 << 64) - 1
# From this power of ten on Go's `%g` writes an exponent.
_LARGEST_PLAIN = 6
# Stands for the value of a missing key; None is CEL's null.
MISSING: Final = object()


class Uint(int):
    """An unsigned whole number of 64 bits."""

    __slots__ = ()


class Concatenated(list[Value]):
    """A list that ``+`` made, Go's ``concatList``: some operations treat it differently."""

    __slots__ = ()


class Growing(list[Value]):
    """A list that began empty as a variable of a comprehension, Go's ``mutableList``: ``+`` appends to it."""

    __slots__ = ()


LISTS: Final = frozenset((list, Concatenated, Growing))


class TypeName(str):
    """A type as a value; types with the same name are equal."""

    __slots__ = ()


class LostValue:
    """A value that kube-scheduler lost when it repacked an optional; using it gives the error ``words``."""

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        self.words = words


class OptionalValue:
    """An optional of CEL; ``MISSING`` if it has no value."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


NOTHING: Final = OptionalValue(MISSING)


class Mapping:
    """A map of CEL. ``default`` is the value at a missing key.

    ``entries`` holds strings under themselves, other keys under (class, key): 1, 1u and true are three keys.
    """

    __slots__ = ("default", "entries")

    def __init__(self, entries: dict[Any, Value], default: Value = MISSING) -> None:
        self.entries, self.default = entries, default

    def find(self, key: Value) -> Value:
        """Return the value at ``key`` or ``MISSING``; equal numbers of other types are found too."""
        if type(key) is str:
            return self.entries.get(key, self.default)
        for form in key_forms(key):
            value = self.entries.get(form, MISSING)
            if value is not MISSING:
                return value
        return self.default

    def keys(self) -> Iterator[Value]:
        return (key if type(key) is str else key[1] for key in self.entries)

    def items(self) -> Iterator[tuple[Value, Value]]:
        return ((key if type(key) is str else key[1], value) for key, value in self.entries.items())


class DeviceMapping(Mapping):
    """A map of the device; all its keys are strings."""

    __slots__ = ()


def key_forms(key: Value) -> Iterator[tuple[type, Value]]:
    """Yield the forms in which a map may hold a key that is no string: itself, then equal whole numbers."""
    kind = type(key)
    yield kind, key
    if kind is float:
        if INT_MIN < key < INT_MAX and key == int(key):
            yield int, int(key)
        if 0 <= key < 2.0**64 and key == int(key):
            yield Uint, Uint(key)
    elif kind is int and key >= 0:
        yield Uint, Uint(key)
    elif kind is Uint and key <= INT_MAX:
        yield int, int(key)


# CEL's names of the types.
TYPE_NAMES: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    Concatenated: "list",
    Growing: "list",
    Mapping: "map",
    DeviceMapping: "map",
    OptionalValue: "optional_type",
    TypeName: "type",
}
# The names of cel-go's types, which panics print.
GO_NAMES: dict[type, str] = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "*types.baseList",
    Concatenated: "*types.concatList",
    Growing: "*types.mutableList",
    Mapping: "*types.baseMap",
    DeviceMapping: "*types.baseMap",
    OptionalValue: "*types.Optional",
    TypeName: "*types.Type",
}


def go_name(value: Value) -> str:
    """Return the name of a value's type in Go."""
    if isinstance(value, Mapping) and value.default is not MISSING:
        return "cel.mapper"
    name = GO_NAMES[type(value)]
    return f"*{name}" if getattr(value, "computed", False) else name


# kube-scheduler's error where the result of an expression is no bool.
NOT_BOOL: dict[type, str] = {
    type(None): "type conversion error from 'null_type' to 'bool'",
    int: "unsupported type conversion from 'int' to bool",
    Uint: "unsupported type conversion from 'uint' to bool",
    float: "type conversion error from Double to 'bool'",
    str: "unsupported native conversion from string to 'bool'",
    bytes: "type conversion error from Bytes to 'bool'",
    list: "type conversion error from list to 'bool'",
    Concatenated: "type conversion error from list to 'bool'",
    Growing: "type conversion error from list to 'bool'",
    Mapping: "type conversion error from map to 'bool'",
    DeviceMapping: "type conversion error from map to 'bool'",
    TypeName: "type conversion not supported for 'type'",
}


def format_value(value: Value) -> str:
    """Return a value as Go's ``%v`` prints it in kube-scheduler's errors."""
    way = _FORMATTERS.get(type(value))
    return way(value) if way else str(value)


def _format_list(values: list[Value]) -> str:
    return f"[{', '.join(map(format_value, values))}]"


def _format_map(values: Mapping) -> str:
    return f"{{{', '.join(f'{format_value(key)}: {format_value(item)}' for key, item in values.items())}}}"


def _format_optional(value: OptionalValue) -> str:
    return "optional.none()" if value.value is MISSING else f"optional({format_value(value.value)})"


def format_double(number: float) -> str:
    """Return a number as Go's ``%g`` prints it: with the fewest digits that identify it."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "+Inf" if number > 0 else "-Inf"
    mantissa, _, exponent = repr(number).partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    if not digits:
        return f"{sign}0"
    # The place of the first digit that counts, as a power of ten.
    leading = len(whole) - 1 - (len(whole + part) - len(digits)) + int(exponent or 0)
    digits = digits.rstrip("0")
    if leading < -4 or leading >= _LARGEST_PLAIN:
        power = f"{'-' if leading < 0 else '+'}{abs(leading):02}"
        return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{power}"
    if leading < 0:
        return f"{sign}0.{'0' * (-leading - 1)}{digits}"
    digits = digits.ljust(leading + 1, "0")
    return f"{sign}{digits[: leading + 1]}{'.' * (len(digits) > leading + 1)}{digits[leading + 1 :]}"


_FORMATTERS: dict[type, Callable[[Any], str]] = {
    # Go's null value is an enum whose only member is 0.
    type(None): lambda _: "0",
    bool: lambda value: "true" if value else "false",
    float: format_double,
    bytes: lambda value: f"[{' '.join(map(str, value))}]",
    Mapping: _format_map,
    DeviceMapping: _format_map,
    OptionalValue: _format_optional,
    **dict.fromkeys(LISTS, _format_list),
}
