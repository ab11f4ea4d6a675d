"""Operators: equality, order, arithmetic, membership and indexes, with the errors kube-scheduler has for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kschedweb.engine.cel.effort import MAX_LENGTH, bounded
from kschedweb.engine.cel.errors import EvaluationError, Panicked, Refused, no_such_overload
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
    Broken,
    Concatenated,
    DeviceMapping,
    Growing,
    Mapping,
    Perhaps,
    TypeName,
    Uint,
    Value,
    forms,
    go_name,
    shown,
)
from kschedweb.engine.cel.versions import Version

TYPE_NAMES |= {Quantity: "kubernetes.Quantity", Version: "kubernetes.Semver"}
GO_NAMES |= {Quantity: "cel.Quantity", Version: "cel.Semver"}
NOT_BOOL |= {
    Quantity: "type conversion error from 'Quantity' to 'bool'",
    Version: "type conversion error from 'Semver' to 'bool'",
}
_NUMBERS = frozenset((int, Uint, float))
_ORDERED = frozenset((bool, int, Uint, float, str, bytes))
_KEYS = _NUMBERS | {bool}
_UNHASHABLE = frozenset((bytes, Version))


def equal(left: Value, right: Value) -> bool:
    """``left == right``; raises EvaluationError where that is not defined."""
    if left is None or right is None:
        return left is right
    return same(left, right)


def same(left: Value, right: Value) -> bool:
    """Whether ``left`` says that it equals ``right``; raises EvaluationError where it cannot tell."""
    kind = type(left)
    if kind in _NUMBERS:
        return type(right) in _NUMBERS and left == left and right == right and _order(left, right) == 0
    way = _SAME.get(kind)
    return way(left, right) if way else kind is type(right) and bool(left == right)


def _same_amounts(left: Quantity, right: Value) -> bool:
    if type(right) is not Quantity or right.computed:
        raise _incomparable(right)
    return left.compare(right) == 0


def _same_versions(left: Version, right: Value) -> bool:
    if type(right) is not Version:
        raise _incomparable(right)
    return left.compare(right) == 0


def _incomparable(value: Value) -> EvaluationError:
    return EvaluationError(value.words) if type(value) is Broken else no_such_overload()


def _same_lists(left: list[Value], right: Value) -> bool:
    """Elements that cannot be told count as equal, in a list that ``+`` made they are an error."""
    if type(right) not in LISTS or len(left) != len(right):
        return False
    problem: EvaluationError | None = None
    for one, two in zip(left, right, strict=True):
        try:
            if not equal(one, two):
                return False
        except EvaluationError as error:
            problem = problem or error
    if problem and type(left) is Concatenated:
        raise problem
    return True


def _same_maps(left: Mapping, right: Value) -> bool:
    if not isinstance(right, Mapping) or len(left.entries) != len(right.entries):
        return False
    for key, value in left.items():
        other = right.find(key)
        if other is MISSING:
            return False
        try:
            if not equal(value, other):
                return False
        except EvaluationError:
            continue  # counts as equal
    return True


def _same_optionals(left: Perhaps, right: Value) -> bool:
    if type(right) is not Perhaps:
        return False
    if left.value is MISSING or right.value is MISSING:
        return left.value is right.value
    return same(present(left), right.value)


_SAME: dict[type, Callable[[Any, Value], bool]] = {
    Quantity: _same_amounts,
    Version: _same_versions,
    Perhaps: _same_optionals,
    Mapping: _same_maps,
    DeviceMapping: _same_maps,
    **dict.fromkeys(LISTS, _same_lists),
}


def present(optional: Perhaps) -> Value:
    """The value of an optional that has one; raises EvaluationError."""
    if optional.value is MISSING:
        raise EvaluationError("optional.none() dereference")
    if type(optional.value) is Broken:
        raise EvaluationError(optional.value.words)
    return optional.value


def native(value: Value) -> Value:
    """What is left of an optional's value after kube-scheduler unpacked and packed it again."""
    kind = type(value)
    if kind is Quantity:
        return Broken(f"unsupported conversion to ref.Val: (*resource.Quantity){value}")
    if kind is Version:
        return Broken(f"unsupported conversion to ref.Val: (semver.Version){value}")
    if kind is Perhaps:
        return None if value.value is MISSING else native(value.value)
    if kind is TypeName:
        return str(value)
    if kind is Broken:
        return Broken(f"unsupported conversion to ref.Val: (*errors.errorString){value.words}")
    if kind is Concatenated and any(type(item) in (Quantity, Version, Perhaps) for item in value):
        raise Refused("an optional's value gets lost in kube-scheduler")
    return value


def repacked(value: Value) -> Value:
    """``value`` after it was read as a variable or came out of a condition: only an optional changes."""
    if type(value) is not Perhaps or value.value is MISSING:
        return value
    return Perhaps(native(value.value))


def _order(left: Any, right: Any) -> int:
    """-1, 0 or 1 for two numbers; a whole one beside a double counts as the nearest double."""
    if type(left) is float and type(right) is not float:
        return _order_double(left, right)
    if type(right) is float and type(left) is not float:
        return -_order_double(right, left)
    return int(left > right) - int(left < right)


def _order_double(number: float, whole: int) -> int:
    lowest, highest = (0, UINT_MAX) if type(whole) is Uint else (INT_MIN, INT_MAX)
    if number < lowest:
        return -1
    if number > float(highest):
        return 1
    return (number > float(whole)) - (number < float(whole))


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1; raises EvaluationError where the two have no order."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS:
        if kind is float and math.isnan(left):
            raise EvaluationError("NaN values cannot be ordered")
        if other not in _NUMBERS:
            raise no_such_overload()
        if other is float and math.isnan(right):
            raise EvaluationError("NaN values cannot be ordered")
        return _order(left, right)
    if kind is not other:
        raise no_such_overload()
    return int(left > right) - int(left < right)


def ordered(value: Value) -> bool:
    """Whether values like this one have an order."""
    return type(value) in _ORDERED


def comparison(sign: str) -> Callable[[Value, Value], bool]:
    """The operator ``sign``, one of ``< <= > >=``."""
    accepted = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[sign]

    def operator(left: Value, right: Value) -> bool:
        kind = type(left)
        if kind is int and type(right) is int:
            return (left > right) - (left < right) in accepted
        if kind not in _ORDERED:
            raise EvaluationError(f"no such overload: _{sign}_")
        return compare(left, right) in accepted

    return operator


def _whole_number(kind: type, number: int) -> Value:
    if kind is int:
        if not INT_MIN <= number <= INT_MAX:
            raise EvaluationError("integer overflow")
        return number
    if not 0 <= number <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _needs(sign: str, left: Value, right: Value, kinds: frozenset[type]) -> type:
    """The kind of both operands of ``sign``, which is one of ``kinds``; raises EvaluationError."""
    kind = type(left)
    if kind not in kinds:
        # A string takes any call, and then finds that it has no such operator.
        raise no_such_overload() if kind is str else EvaluationError(f"no such overload: _{sign}_")
    if type(right) is not kind:
        raise no_such_overload()
    return kind


def add(left: Value, right: Value) -> Value:
    """``left + right``."""
    if type(left) in LISTS:
        return _joined(left, right)
    kind = _needs("+", left, right, _NUMBERS | {str, bytes})
    if kind is float:
        return left + right
    if kind is str or kind is bytes:
        bounded(len(left) + len(right), MAX_LENGTH)
        return left + right
    return _whole_number(kind, int(left) + int(right))


def _joined(left: list[Value], right: Value) -> list[Value]:
    if type(right) not in LISTS:
        raise no_such_overload()
    bounded(len(left) + len(right))
    if type(left) is Growing:
        left.extend(list(right))
        return left
    if not left or not right:
        return left or right
    made = Concatenated(left)
    made.extend(right)
    return made


def subtract(left: Value, right: Value) -> Value:
    """``left - right``."""
    kind = _needs("-", left, right, _NUMBERS)
    return left - right if kind is float else _whole_number(kind, int(left) - int(right))


def multiply(left: Value, right: Value) -> Value:
    """``left * right``."""
    kind = _needs("*", left, right, _NUMBERS)
    return left * right if kind is float else _whole_number(kind, int(left) * int(right))


def divide(left: Value, right: Value) -> Value:
    """``left / right``; whole numbers are cut off towards zero."""
    kind = _needs("/", left, right, _NUMBERS)
    if kind is float:
        if right:
            return left / right
        return math.nan if not left or left != left else math.copysign(math.inf, left) * math.copysign(1, right)
    if not right:
        raise EvaluationError("division by zero")
    amount = abs(int(left)) // abs(int(right))
    return _whole_number(kind, amount if (left < 0) == (right < 0) else -amount)


def modulo(left: Value, right: Value) -> Value:
    """``left % right``, with the sign of ``left``."""
    kind = _needs("%", left, right, frozenset((int, Uint)))
    if not right:
        raise EvaluationError("modulus by zero")
    if kind is int and left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    amount = abs(int(left)) % abs(int(right))
    return _whole_number(kind, amount if left >= 0 else -amount)


def negate(value: Value) -> Value:
    """``-value``."""
    kind = type(value)
    if kind is int:
        return _whole_number(int, -value)
    if kind is float:
        return -value
    raise no_such_overload() if kind in (bool, str) else EvaluationError("no such overload: -_")


def invert(value: Value) -> bool:
    """``!value``."""
    if type(value) is not bool:
        raise no_such_overload()
    return not value


def holds(element: Value, within: Value) -> bool:
    """``element in within``."""
    if type(within) in LISTS:
        return contains(within, element)
    if isinstance(within, Mapping):
        return has_key(within, element)
    raise no_such_overload()


def contains(elements: list[Value], element: Value) -> bool:
    """Whether a list contains ``element``; elements of which that cannot be told do not count."""
    for other in elements:
        try:
            if same(element, other):
                return True
        except EvaluationError:
            continue
    return False


def has_key(within: Mapping, key: Value) -> bool:
    if type(key) is str:
        return key in within.entries
    if type(within) is DeviceMapping or not within.entries:
        return False
    hashable(key)
    return type(key) in _KEYS and any(form in within.entries for form in forms(key))


def hashable(value: Value) -> None:
    """Raise Panicked where kube-scheduler cannot look a value up."""
    if type(value) in _UNHASHABLE:
        raise Panicked(f"internal error: runtime error: hash of unhashable type {go_name(value)}")


def at(within: Value, key: Value) -> Value:
    """``within[key]`` or ``within.key``, ``MISSING`` where there is no such place; raises EvaluationError."""
    if isinstance(within, Mapping):
        return within.find(key)
    if type(within) in LISTS:
        place = _place(key)
        return within[place] if 0 <= place < len(within) else MISSING
    return MISSING


def missing(within: Value, key: str) -> EvaluationError:
    """What kube-scheduler says where ``at`` found nothing; ``key`` as it shows it."""
    return EvaluationError(f"index out of bounds: {key}" if type(within) in LISTS else f"no such key: {key}")


def _place(key: Value) -> int:
    kind = type(key)
    if kind is int:
        return int(key)
    if kind is Uint or kind is float:
        whole = kind is Uint or (INT_MIN < key < INT_MAX and key == int(key))
        if whole and key <= INT_MAX:
            return int(key)
        raise EvaluationError(f"unsupported index value {shown(key)} in list")
    raise EvaluationError(f"unsupported index type '{TYPE_NAMES[kind]}' in list")
