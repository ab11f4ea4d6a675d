"""Optionals: values that may be missing."""

from __future__ import annotations

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.functions import Library
from kschedweb.engine.cel.operations import unwrap_present
from kschedweb.engine.cel.syntax import INDEX, OPTIONAL_INDEX
from kschedweb.engine.cel.values import (
    LISTS,
    MISSING,
    NOTHING,
    LostValue,
    Mapping,
    OptionalValue,
    TypeName,
    Value,
    format_value,
)

LIBRARY = Library()


def is_zero(value: Value) -> bool:
    """Return True if a value is the zero value of its type."""
    if isinstance(value, Mapping):
        return not value.entries
    plain = value is None or type(value) in LISTS or isinstance(value, bool | int | float | str | bytes)
    return plain and type(value) is not TypeName and not value


def of_non_zero(value: Value) -> OptionalValue:
    return NOTHING if is_zero(value) else OptionalValue(value)


def first_value(values: list[Value]) -> OptionalValue:
    return OptionalValue(values[0]) if values else NOTHING


def last_value(values: list[Value]) -> OptionalValue:
    return OptionalValue(values[-1]) if values else NOTHING


def unwrap_values(values: list[Value]) -> list[Value]:
    """Return the values of the optionals in a list that have one."""
    result = []
    for value in values:
        if type(value) is not OptionalValue:
            raise EvaluationError(f"value {format_value(value)} is not optional")
        if type(value.value) is LostValue:
            raise ExpressionError("an optional's value gets lost in kube-scheduler")
        if value.value is not MISSING:
            result.append(value.value)
    return result


def _declare_functions() -> None:
    add = LIBRARY.add_overloads
    add("optional.of", "V -> optional_type(V)", OptionalValue)
    add("optional.ofNonZeroValue", "V -> optional_type(V)", of_non_zero)
    add("optional.none", "-> optional_type(V)", lambda: NOTHING)
    add("value", "optional_type(V) -> V", unwrap_present, member=True)
    add("hasValue", "optional_type(V) -> bool", lambda value: value.value is not MISSING, member=True)
    # `plan` computes these two: their second argument is evaluated only if it is needed.
    add("or", "optional_type(V), optional_type(V) -> optional_type(V)", member=True)
    add("orValue", "optional_type(V), V -> V", member=True)
    add(OPTIONAL_INDEX, ["list(V), int -> optional_type(V)", "optional_type(list(V)), int -> optional_type(V)"])
    add(OPTIONAL_INDEX, ["map(K, V), K -> optional_type(V)", "optional_type(map(K, V)), K -> optional_type(V)"])
    add(INDEX, ["optional_type(list(V)), int -> optional_type(V)", "optional_type(map(K, V)), K -> optional_type(V)"])
    add("last", "list(V) -> optional_type(V)", last_value, member=True)
    add("first", "list(V) -> optional_type(V)", first_value, member=True)
    add("optional.unwrap", "list(optional_type(V)) -> list(V)", unwrap_values)
    add("unwrapOpt", "list(optional_type(V)) -> list(V)", unwrap_values, member=True)


_declare_functions()
