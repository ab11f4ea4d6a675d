"""Functions on lists and sets."""

from __future__ import annotations

from kschedweb.engine.cel.cost import check_size
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError, no_such_overload
from kschedweb.engine.cel.functions import Library, Run
from kschedweb.engine.cel.macros import SORT_BY_KEYS
from kschedweb.engine.cel.operations import add as add_values
from kschedweb.engine.cel.operations import compare, contains, equals_value, is_ordered
from kschedweb.engine.cel.values import LISTS, TYPE_NAMES, Uint, Value

# EARLIER up to 1.36, LATER since 1.37; INCLUDES since 1.36.
LIBRARY, EARLIER, LATER, INCLUDES = Library(), Library(), Library(), Library()
_COMPARABLE = ("int", "uint", "double", "bool", "string", "bytes")
# Elements that `lists.range` of 1.37 makes at most.
MAX_RANGE = 1_000_000
# Go's `sort.Sort` sorts up to this many elements by insertion, which is stable.
_STABLE = 12


def slice_of(values: list[Value], start: int, end: int) -> list[Value]:
    prefix = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise EvaluationError(f"{prefix}negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{prefix}start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"{prefix}list is length {len(values)}")
    return list(values[start:end])


def flatten(values: Value) -> list[Value]:
    if type(values) not in LISTS:
        raise EvaluationError(f"no such overload: {_type_text(values)}.flatten()")
    return _flatten_to_depth(values, 1)


def flatten_to(values: Value, depth: Value) -> list[Value]:
    if type(values) not in LISTS or type(depth) is not int:
        raise EvaluationError(f"no such overload: {_type_text(values)}.flatten({_type_text(depth)})")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    return _flatten_to_depth(values, depth)


def _type_text(value: Value) -> str:
    name = TYPE_NAMES[type(value)]
    return {"list": "list(dyn)", "map": "map(dyn, dyn)"}.get(name, name)


def _flatten_to_depth(values: list[Value], depth: int) -> list[Value]:
    result: list[Value] = []
    for value in values:
        if depth and type(value) in LISTS:
            result += _flatten_to_depth(value, depth - 1)
        else:
            result.append(value)
    return result


def sort(values: Value) -> list[Value]:
    if type(values) not in LISTS:
        raise no_such_overload() if type(values) is str else EvaluationError("no such overload: sort")
    return sort_by(values, values)


def sort_by(values: list[Value], keys: list[Value]) -> list[Value]:
    """Return ``values`` in the order of ``keys``."""
    if not values:
        return values
    if not is_ordered(keys[0]):
        raise EvaluationError("list elements must be comparable")
    if len(keys) > 1 and any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    places = list(range(len(values)))
    if len(values) <= _STABLE:
        _insertion_sort(places, keys)
    else:
        # Go's pdqsort is not stable, so equal keys and NaN have no order that we could tell.
        if any(key != key for key in keys) or (keys is not values and len(set(keys)) < len(keys)):
            raise ExpressionError("it sorts a long list whose order is not sure")
        places.sort(key=lambda place: keys[place])
    return [values[place] for place in places]


def _insertion_sort(places: list[int], keys: list[Value]) -> None:
    """Sort by insertion, as Go does: NaN is before and after nothing."""
    for end in range(1, len(places)):
        at = end
        while at > 0 and _is_before(keys[places[at]], keys[places[at - 1]]):
            places[at], places[at - 1] = places[at - 1], places[at]
            at -= 1


def _is_before(first: Value, second: Value) -> bool:
    try:
        return compare(first, second) < 0
    except EvaluationError:
        return False


def make_range(count: int) -> list[int]:
    check_size(count)
    return list(range(count))


def numbers_within_limits(count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > MAX_RANGE:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({MAX_RANGE})")
    return make_range(count)


def distinct(values: list[Value]) -> list[Value]:
    result: list[Value] = []
    for value in values:
        if not any(_is_equal(value, other) for other in result):
            result.append(value)
    return result


def _is_equal(first: Value, second: Value) -> bool:
    try:
        return equals_value(first, second)
    except EvaluationError:
        return False


def is_sorted(values: list[Value]) -> bool:
    for place, value in enumerate(values):
        if not is_ordered(value):
            raise no_such_overload()
        if place and _is_before(value, values[place - 1]):
            return False
    return True


def _sum_from(start: Value) -> Run:
    def total(values: list[Value]) -> Value:
        result = start
        for value in values:
            if type(value) not in LISTS and (not is_ordered(value) or type(value) is bool):
                raise no_such_overload()
            result = add_values(result, value)
        return result

    return total


def _extreme_of(name: str, sign: int) -> Run:
    """Return ``max`` for the sign 1, ``min`` for -1."""

    def best(values: list[Value]) -> Value:
        for value in values:
            if not is_ordered(value):
                raise no_such_overload()
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        result = values[0]
        for value in values[1:]:
            if _is_before(*((value, result) if sign < 0 else (result, value))):
                result = value
        return result

    return best


def index_of(values: list[Value], value: Value) -> int:
    return next((place for place, other in enumerate(values) if _is_equal(other, value)), -1)


def last_index_of(values: list[Value], value: Value) -> int:
    return next((place for place in range(len(values) - 1, -1, -1) if _is_equal(values[place], value)), -1)


def includes_all(values: list[Value], part: list[Value]) -> bool:
    return all(contains(values, value) for value in part)


def includes_or_is(container: Value, value: Value) -> bool:
    """Return True if a list has ``value`` among its elements, or if a value that is no list equals it."""
    return (
        any(_is_equal(other, value) for other in container) if type(container) in LISTS else _is_equal(container, value)
    )


def intersects(first: list[Value], second: list[Value]) -> bool:
    return any(contains(second, value) for value in first)


def _declare_functions() -> None:
    add = LIBRARY.add_overloads
    for kind in _COMPARABLE:
        add("isSorted", f"list({kind}) -> bool", is_sorted, member=True)
        add("max", f"list({kind}) -> {kind}", _extreme_of("max", 1), member=True)
        add("min", f"list({kind}) -> {kind}", _extreme_of("min", -1), member=True)
        add(SORT_BY_KEYS, f"list(T), list({kind}) -> list(T)", member=True)
    for kind, zero in (("int", 0), ("uint", Uint(0)), ("double", 0.0)):
        add("sum", f"list({kind}) -> {kind}", _sum_from(zero), member=True)
    LIBRARY.functions[SORT_BY_KEYS].run = sort_by
    LIBRARY.add_whole("sort", [f"list({kind}) -> list({kind})" for kind in _COMPARABLE], sort, member=True)
    add("indexOf", "list(A), A -> int", index_of, member=True)
    add("lastIndexOf", "list(A), A -> int", last_index_of, member=True)
    add("slice", "list(T), int, int -> list(T)", slice_of, member=True)
    add("flatten", "list(list(T)) -> list(T)", flatten, member=True, guarded=False)
    add("flatten", "list(dyn), int -> list(dyn)", flatten_to, member=True, guarded=False)
    EARLIER.add_overloads("lists.range", "int -> list(int)", make_range)
    LATER.add_overloads("lists.range", "int -> list(int)", numbers_within_limits)
    INCLUDES.add_overloads("includes", "dyn, dyn -> bool", includes_or_is, member=True)
    add("reverse", "list(T) -> list(T)", lambda values: values[::-1], member=True)
    add("distinct", "list(T) -> list(T)", distinct, member=True)
    add("sets.contains", "list(T), list(T) -> bool", includes_all)
    add(
        "sets.equivalent",
        "list(T), list(T) -> bool",
        lambda first, second: includes_all(first, second) and includes_all(second, first),
    )
    add("sets.intersects", "list(T), list(T) -> bool", intersects)


_declare_functions()
