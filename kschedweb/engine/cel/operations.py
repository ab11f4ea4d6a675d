"""Operators: equality, order, arithmetic, membership and indexes, with kube-scheduler's errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kschedweb.engine.cel.cost import MAX_LENGTH, check_size
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError, Panicked, no_such_overload
from kschedweb.engine.cel.quantities import Quantity
from kschedweb.engine.cel.values import (
    GO_NAMES,
    INT_MAX,
    INT_MIN,
    LISTS,
    MISSING,
    NOT_BOOL,
    TYPE_NAMES,
    UINT_MAX,
    Concatenated,
    DeviceMapping,
    Growing,
    LostValue,
    Mapping,
    OptionalValue,
    TypeName,
    Uint,
    Value,
    format_value,
    go_name,
    key_forms,
)
from kschedweb.engine.cel.versions import Version

# `values` cannot name these types itself: `versions` imports it.
TYPE_NAMES |= {Quantity: "kubernetes.Quantity", Version: "kubernetes.Semver"}
GO_NAMES |= {Quantity: "cel.Quantity", Version: "cel.Semver"}
NOT_BOOL |= {
    Quantity: "type conversion error from 'Quantity' to 'bool'",
    Version: "type conversion error from 'Semver' to 'bool'",
}
_NUMBERS = frozenset((int, Uint, float))
_ORDERED = frozenset((bool, int, Uint, float, str, bytes))
_KEYS = _NUMBERS | {bool}
# Go panics when it hashes a slice, which both hold.
_UNHASHABLE = frozenset((bytes, Version))


def equal(lhs: Value, rhs: Value) -> bool:
    """Return ``lhs == rhs``; raise EvaluationError where that is not defined."""
    if lhs is None or rhs is None:
        return lhs is rhs
    return equals_value(lhs, rhs)


def equals_value(lhs: Value, rhs: Value) -> bool:
    """Return the result of the left value's own `Equal`; raise EvaluationError if it has none for ``rhs``."""
    kind = type(lhs)
    if kind in _NUMBERS:
        return type(rhs) in _NUMBERS and lhs == lhs and rhs == rhs and _compare_numbers(lhs, rhs) == 0
    way = _SAME.get(kind)
    return way(lhs, rhs) if way else kind is type(rhs) and bool(lhs == rhs)


def _same_amounts(lhs: Quantity, rhs: Value) -> bool:
    if type(rhs) is not Quantity or rhs.computed:
        raise _incomparable_error(rhs)
    return lhs.compare(rhs) == 0


def _same_versions(lhs: Version, rhs: Value) -> bool:
    if type(rhs) is not Version:
        raise _incomparable_error(rhs)
    return lhs.compare(rhs) == 0


def _incomparable_error(value: Value) -> EvaluationError:
    return EvaluationError(value.words) if type(value) is LostValue else no_such_overload()


def _same_lists(lhs: list[Value], rhs: Value) -> bool:
    """Return True if two lists are equal.

    Elements that cannot be compared count as equal; in a list that ``+`` made they are an error.
    """
    if type(rhs) not in LISTS or len(lhs) != len(rhs):
        return False
    problem: EvaluationError | None = None
    for lhs_item, rhs_item in zip(lhs, rhs, strict=True):
        try:
            if not equal(lhs_item, rhs_item):
                return False
        except EvaluationError as error:
            problem = problem or error
    if problem and type(lhs) is Concatenated:
        raise problem
    return True


def _same_maps(lhs: Mapping, rhs: Value) -> bool:
    if not isinstance(rhs, Mapping) or len(lhs.entries) != len(rhs.entries):
        return False
    for key, value in lhs.items():
        other = rhs.find(key)
        if other is MISSING:
            return False
        try:
            if not equal(value, other):
                return False
        except EvaluationError:
            continue  # cel-go counts values that it cannot compare as equal
    return True


def _same_optionals(lhs: OptionalValue, rhs: Value) -> bool:
    if type(rhs) is not OptionalValue:
        return False
    if lhs.value is MISSING or rhs.value is MISSING:
        return lhs.value is rhs.value
    return equals_value(unwrap_present(lhs), rhs.value)


_SAME: dict[type, Callable[[Any, Value], bool]] = {
    Quantity: _same_amounts,
    Version: _same_versions,
    OptionalValue: _same_optionals,
    Mapping: _same_maps,
    DeviceMapping: _same_maps,
    **dict.fromkeys(LISTS, _same_lists),
}


def unwrap_present(optional: OptionalValue) -> Value:
    """Return the value of an optional; raise EvaluationError if it has none."""
    if optional.value is MISSING:
        raise EvaluationError("optional.none() dereference")
    if type(optional.value) is LostValue:
        raise EvaluationError(optional.value.words)
    return optional.value


def repack_native(value: Value) -> Value:
    """Return an optional's value after kube-scheduler converted it to a Go value and back.

    Before 1.37 that loses the values that its adapter does not know.
    """
    kind = type(value)
    if kind is Quantity:
        return LostValue(f"unsupported conversion to ref.Val: (*resource.Quantity){value}")
    if kind is Version:
        return LostValue(f"unsupported conversion to ref.Val: (semver.Version){value}")
    if kind is OptionalValue:
        return None if value.value is MISSING else repack_native(value.value)
    if kind is TypeName:
        return str(value)
    if kind is LostValue:
        return LostValue(f"unsupported conversion to ref.Val: (*errors.errorString){value.words}")
    if kind is Concatenated and any(type(item) in (Quantity, Version, OptionalValue) for item in value):
        raise ExpressionError("an optional's value gets lost in kube-scheduler")
    return value


def repack_optional(value: Value) -> Value:
    """Return ``value`` after a read of a variable or a conditional, which repacks optionals only."""
    if type(value) is not OptionalValue or value.value is MISSING:
        return value
    return OptionalValue(repack_native(value.value))


def _compare_numbers(lhs: Any, rhs: Any) -> int:
    """Return -1, 0 or 1 for two numbers; beside a double a whole number counts as the nearest double."""
    if type(lhs) is float and type(rhs) is not float:
        return _order_double(lhs, rhs)
    if type(rhs) is float and type(lhs) is not float:
        return -_order_double(rhs, lhs)
    return int(lhs > rhs) - int(lhs < rhs)


def _order_double(number: float, whole: int) -> int:
    lowest, highest = (0, UINT_MAX) if type(whole) is Uint else (INT_MIN, INT_MAX)
    if number < lowest:
        return -1
    if number > float(highest):
        return 1
    return (number > float(whole)) - (number < float(whole))


def compare(lhs: Value, rhs: Value) -> int:
    """Return -1, 0 or 1; raise EvaluationError if the two values have no order."""
    kind, other = type(lhs), type(rhs)
    if kind in _NUMBERS:
        if kind is float and math.isnan(lhs):
            raise EvaluationError("NaN values cannot be ordered")
        if other not in _NUMBERS:
            raise no_such_overload()
        if other is float and math.isnan(rhs):
            raise EvaluationError("NaN values cannot be ordered")
        return _compare_numbers(lhs, rhs)
    if kind is not other:
        raise no_such_overload()
    return int(lhs > rhs) - int(lhs < rhs)


def is_ordered(value: Value) -> bool:
    """Return True if the type of a value has an order."""
    return type(value) in _ORDERED


def make_comparison(sign: str) -> Callable[[Value, Value], bool]:
    """Return the operator ``sign``, one of ``< <= > >=``."""
    accepted = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[sign]

    def operator(lhs: Value, rhs: Value) -> bool:
        kind = type(lhs)
        # The common case, without a call.
        if kind is int and type(rhs) is int:
            return (lhs > rhs) - (lhs < rhs) in accepted
        if kind not in _ORDERED:
            raise EvaluationError(f"no such overload: _{sign}_")
        return compare(lhs, rhs) in accepted

    return operator


def _whole_number(kind: type, number: int) -> Value:
    if kind is int:
        if not INT_MIN <= number <= INT_MAX:
            raise EvaluationError("integer overflow")
        return number
    if not 0 <= number <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _require_kind(sign: str, lhs: Value, rhs: Value, kinds: frozenset[type]) -> type:
    """Return the type that both operands of ``sign`` share, one of ``kinds``; raise EvaluationError."""
    kind = type(lhs)
    if kind not in kinds:
        # Strings implement Go's `Receiver` and accept any call, which then fails without a name.
        raise no_such_overload() if kind is str else EvaluationError(f"no such overload: _{sign}_")
    if type(rhs) is not kind:
        raise no_such_overload()
    return kind


def add(lhs: Value, rhs: Value) -> Value:
    """Return ``lhs + rhs``."""
    if type(lhs) in LISTS:
        return _concatenate(lhs, rhs)
    kind = _require_kind("+", lhs, rhs, _NUMBERS | {str, bytes})
    if kind is float:
        return lhs + rhs
    if kind is str or kind is bytes:
        check_size(len(lhs) + len(rhs), MAX_LENGTH)
        return lhs + rhs
    return _whole_number(kind, int(lhs) + int(rhs))


def _concatenate(lhs: list[Value], rhs: Value) -> list[Value]:
    if type(rhs) not in LISTS:
        raise no_such_overload()
    check_size(len(lhs) + len(rhs))
    if type(lhs) is Growing:
        lhs.extend(list(rhs))
        return lhs
    if not lhs or not rhs:
        return lhs or rhs
    result = Concatenated(lhs)
    result.extend(rhs)
    return result


def subtract(lhs: Value, rhs: Value) -> Value:
    """Return ``lhs - rhs``."""
    kind = _require_kind("-", lhs, rhs, _NUMBERS)
    return lhs - rhs if kind is float else _whole_number(kind, int(lhs) - int(rhs))


def multiply(lhs: Value, rhs: Value) -> Value:
    """Return ``lhs * rhs``."""
    kind = _require_kind("*", lhs, rhs, _NUMBERS)
    return lhs * rhs if kind is float else _whole_number(kind, int(lhs) * int(rhs))


def divide(lhs: Value, rhs: Value) -> Value:
    """Return ``lhs / rhs``; whole numbers are truncated towards zero."""
    kind = _require_kind("/", lhs, rhs, _NUMBERS)
    if kind is float:
        if rhs:
            return lhs / rhs
        # Go divides doubles by zero as IEEE 754 says; Python raises an error.
        return math.nan if not lhs or lhs != lhs else math.copysign(math.inf, lhs) * math.copysign(1, rhs)
    if not rhs:
        raise EvaluationError("division by zero")
    amount = abs(int(lhs)) // abs(int(rhs))
    return _whole_number(kind, amount if (lhs < 0) == (rhs < 0) else -amount)


def modulo(lhs: Value, rhs: Value) -> Value:
    """Return ``lhs % rhs``, with the sign of ``lhs``."""
    kind = _require_kind("%", lhs, rhs, frozenset((int, Uint)))
    if not rhs:
        raise EvaluationError("modulus by zero")
    if kind is int and lhs == INT_MIN and rhs == -1:
        raise EvaluationError("integer overflow")
    amount = abs(int(lhs)) % abs(int(rhs))
    return _whole_number(kind, amount if lhs >= 0 else -amount)


def negate(value: Value) -> Value:
    """Return ``-value``."""
    kind = type(value)
    if kind is int:
        return _whole_number(int, -value)
    if kind is float:
        return -value
    raise no_such_overload() if kind in (bool, str) else EvaluationError("no such overload: -_")


def invert(value: Value) -> bool:
    """Return ``!value``."""
    if type(value) is not bool:
        raise no_such_overload()
    return not value


def is_member(element: Value, container: Value) -> bool:
    """Return ``element in container``."""
    if type(container) in LISTS:
        return contains(container, element)
    if isinstance(container, Mapping):
        return has_key(container, element)
    raise no_such_overload()


def contains(elements: list[Value], element: Value) -> bool:
    """Return True if a list contains ``element``; elements that cannot be compared do not count."""
    for other in elements:
        try:
            if equals_value(element, other):
                return True
        except EvaluationError:
            continue
    return False


def has_key(mapping: Mapping, key: Value) -> bool:
    """Return True if a map has ``key``."""
    if type(key) is str:
        return key in mapping.entries
    if type(mapping) is DeviceMapping or not mapping.entries:
        return False
    check_hashable(key)
    return type(key) in _KEYS and any(form in mapping.entries for form in key_forms(key))


def check_hashable(value: Value) -> None:
    """Raise Panicked if kube-scheduler cannot use a value as a key of a Go map."""
    if type(value) in _UNHASHABLE:
        raise Panicked(f"internal error: runtime error: hash of unhashable type {go_name(value)}")


def lookup(container: Value, key: Value) -> Value:
    """Return ``container[key]`` or ``container.key``, ``MISSING`` if there is none; raise EvaluationError."""
    if isinstance(container, Mapping):
        return container.find(key)
    if type(container) in LISTS:
        place = _list_index(key)
        return container[place] if 0 <= place < len(container) else MISSING
    return MISSING


def missing_key_error(container: Value, key: str) -> EvaluationError:
    """Return kube-scheduler's error for a key that ``lookup`` did not find; ``key`` is its printed form."""
    return EvaluationError(f"index out of bounds: {key}" if type(container) in LISTS else f"no such key: {key}")


def _list_index(key: Value) -> int:
    kind = type(key)
    if kind is int:
        return int(key)
    if kind is Uint or kind is float:
        whole = kind is Uint or (INT_MIN < key < INT_MAX and key == int(key))
        if whole and key <= INT_MAX:
            return int(key)
        raise EvaluationError(f"unsupported index value {format_value(key)} in list")
    raise EvaluationError(f"unsupported index type '{TYPE_NAMES[kind]}' in list")
