"""Operators that evaluate their operands themselves: only when needed, or absorbing errors."""

from __future__ import annotations

from kschedweb.engine.cel.cost import Frame, Run, count_elements, spend_steps
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError, no_such_overload
from kschedweb.engine.cel.operations import check_hashable, equal, repack_optional, unwrap_present
from kschedweb.engine.cel.paths import KEYS
from kschedweb.engine.cel.values import (
    LISTS,
    MISSING,
    DeviceMapping,
    LostValue,
    Mapping,
    OptionalValue,
    Uint,
    Value,
    format_value,
    go_name,
    key_forms,
)

_COMPOUND = frozenset((*LISTS, Mapping, DeviceMapping, OptionalValue))


def conjunction(terms: list[Run]) -> Run:
    """Compute ``a && b``: a false term decides, wherever it stands; else the first error counts."""
    return _decided_by(terms, False)


def disjunction(terms: list[Run]) -> Run:
    """Compute ``a || b``: a true term decides, wherever it stands; else the first error counts."""
    return _decided_by(terms, True)


def _decided_by(terms: list[Run], decisive: bool) -> Run:
    """Compute the terms until one is ``decisive``; a term that is no bool counts as an error."""
    opposite = not decisive

    def run(frame: Frame) -> bool:
        problem: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
            except EvaluationError as error:
                problem = problem or error
                continue
            if value is decisive:
                return not opposite
            if type(value) is not bool and problem is None:
                problem = no_such_overload()
        if problem is not None:
            raise problem
        return opposite

    return run


def conditional(condition: Run, accepted: tuple[Run, bool], rejected: tuple[Run, bool]) -> Run:
    """Compute ``condition ? accepted : rejected``.

    Each branch comes with True if its value is not repacked, as for a path.
    """
    then, other = _make_branch(*accepted), _make_branch(*rejected)

    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return then(frame)
        if value is False:
            return other(frame)
        raise no_such_overload()

    return run


def _make_branch(run: Run, as_is: bool) -> Run:
    return run if as_is else lambda frame: repack_optional(run(frame))


def equality(lhs: Run, rhs: Run, constant: Value, *, negative: bool) -> Run:
    """Compute ``lhs == rhs`` or, if ``negative``, ``lhs != rhs``, which holds for values that cannot be compared.

    ``constant`` is the value of ``rhs`` where it is known.
    """
    if negative:

        def differs(frame: Frame) -> bool:
            lhs_value, rhs_value = lhs(frame), rhs(frame)
            if type(lhs_value) in _COMPOUND:
                spend_steps(frame, count_elements(lhs_value))
            try:
                return not equal(lhs_value, rhs_value)
            except EvaluationError:
                return True

        return differs
    # The common case: an attribute compared with a string that is written out.
    if type(constant) is str:

        def is_text(frame: Frame) -> bool:
            value = lhs(frame)
            return bool(value == constant) if type(value) is str else equal(value, constant)

        return is_text

    def is_equal(frame: Frame) -> bool:
        lhs_value, rhs_value = lhs(frame), rhs(frame)
        if type(lhs_value) in _COMPOUND:
            spend_steps(frame, count_elements(lhs_value))
        return equal(lhs_value, rhs_value)

    return is_equal


def or_else(lhs: Run, rhs: Run, *, unpacked: bool, lenient: bool) -> Run:
    """Compute ``lhs.or(rhs)`` or, if ``unpacked``, ``lhs.orValue(rhs)``.

    ``lenient`` returns a value that is no optional as it is, as before 1.37.
    """

    def run(frame: Frame) -> Value:
        value = lhs(frame)
        if type(value) is not OptionalValue:
            if lenient:
                return value
            raise no_such_overload()
        if value.value is MISSING:
            return rhs(frame)
        return unwrap_present(value) if unpacked else value

    return run


def member_of(element: Run, values: list[Value]) -> Run | None:
    """Compute ``element in values`` for constant values, with a set as kube-scheduler does.

    Return None if it does not use a set for these values.
    """
    if any(type(value) not in KEYS for value in values):
        return None
    texts = frozenset(value for value in values if type(value) is str)
    keyed_forms = frozenset(form for value in values if type(value) is not str for form in _equal_forms(value))

    def run(frame: Frame) -> bool:
        value = element(frame)
        if type(value) is str:
            return value in texts
        check_hashable(value)
        return type(value) in KEYS and (type(value), value) in keyed_forms

    return run


def _equal_forms(value: Value) -> list[tuple[type, Value]]:
    """Return a number's keys, with those of equal numbers of other types."""
    result = list(key_forms(value))
    if type(value) in (int, Uint):
        result.append((float, float(value)))
    return result


def _require_optional(value: Value, role: str) -> OptionalValue:
    if type(value) is not OptionalValue:
        raise EvaluationError(f"cannot initialize optional {role} from non-optional value {format_value(value)}")
    if type(value.value) is LostValue:
        raise ExpressionError("an optional's value gets lost in kube-scheduler")
    return value


def make_list(elements: list[Run], optional: frozenset[int]) -> Run:
    """Compute ``[a, ?b]``; ``optional`` holds the indexes of the elements with a question mark."""
    if not optional:
        return lambda frame: [element(frame) for element in elements]

    def run(frame: Frame) -> list[Value]:
        result = []
        for place, element in enumerate(elements):
            value = element(frame)
            if place in optional:
                value = _require_optional(value, "list element").value
            if value is not MISSING:
                result.append(value)
        return result

    return run


def make_map(entries: list[tuple[Run, Run, bool]]) -> Run:
    """Compute ``{a: b, ?c: d}`` from (key, value, has a question mark)."""

    def run(frame: Frame) -> Mapping:
        result: dict[Value, Value] = {}
        for key_run, value_run, optional in entries:
            key, value = key_run(frame), value_run(frame)
            if optional:
                value = _require_optional(value, f"entry '{format_value(key)}'").value
            form = _entry_key(key)
            if value is MISSING:
                # An empty optional also removes an earlier entry with its key.
                result.pop(form, None)
            else:
                result[form] = value
        return Mapping(result)

    return run


def _entry_key(key: Value) -> Value:
    if type(key) is str:
        return key
    check_hashable(key)
    if type(key) not in KEYS:
        raise ExpressionError(f"a map has a key of kind {go_name(key)}")
    return type(key), key
