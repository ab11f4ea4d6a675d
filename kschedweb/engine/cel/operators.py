"""Parts that compute their operands in a way of their own: only when needed, or with errors absorbed."""

from __future__ import annotations

from kschedweb.engine.cel.effort import Frame, Run, spend, weight
from kschedweb.engine.cel.errors import EvaluationError, Refused, no_such_overload
from kschedweb.engine.cel.operations import equal, hashable, present, repacked
from kschedweb.engine.cel.paths import KEYS
from kschedweb.engine.cel.values import (
    LISTS,
    MISSING,
    Broken,
    DeviceMapping,
    Mapping,
    Perhaps,
    Uint,
    Value,
    forms,
    go_name,
    shown,
)

_COMPOUND = frozenset((*LISTS, Mapping, DeviceMapping, Perhaps))


def conjunction(terms: list[Run]) -> Run:
    """``a && b``: a term that is false decides, else the first error, whichever comes first."""
    return _decided_by(terms, False)


def disjunction(terms: list[Run]) -> Run:
    """``a || b``: a term that is true decides, else the first error, whichever comes first."""
    return _decided_by(terms, True)


def _decided_by(terms: list[Run], decisive: bool) -> Run:
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
    """``condition ? accepted : rejected``; with each way comes whether it stays as it is, as a path does."""
    then, other = _way(*accepted), _way(*rejected)

    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return then(frame)
        if value is False:
            return other(frame)
        raise no_such_overload()

    return run


def _way(run: Run, stays: bool) -> Run:
    return run if stays else lambda frame: repacked(run(frame))


def equality(left: Run, right: Run, constant: Value, *, negative: bool) -> Run:
    """``left == right``, or ``!=``, where values that cannot be compared differ; ``constant`` is a known ``right``."""
    if negative:

        def differs(frame: Frame) -> bool:
            one, two = left(frame), right(frame)
            if type(one) in _COMPOUND:
                spend(frame, weight(one))
            try:
                return not equal(one, two)
            except EvaluationError:
                return True

        return differs
    if type(constant) is str:

        def is_text(frame: Frame) -> bool:
            value = left(frame)
            return bool(value == constant) if type(value) is str else equal(value, constant)

        return is_text

    def is_equal(frame: Frame) -> bool:
        one, two = left(frame), right(frame)
        if type(one) in _COMPOUND:
            spend(frame, weight(one))
        return equal(one, two)

    return is_equal


def or_else(left: Run, right: Run, *, unpacked: bool, others: bool) -> Run:
    """``left.or(right)``, if ``unpacked`` ``left.orValue(right)``; ``others``: what is no optional stays as it is."""

    def run(frame: Frame) -> Value:
        value = left(frame)
        if type(value) is not Perhaps:
            if others:
                return value
            raise no_such_overload()
        if value.value is MISSING:
            return right(frame)
        return present(value) if unpacked else value

    return run


def member_of(element: Run, values: list[Value]) -> Run | None:
    """``element in values`` for values that are written out, ``None`` where kube-scheduler does not look them up."""
    if any(type(value) not in KEYS for value in values):
        return None
    texts = frozenset(value for value in values if type(value) is str)
    others = frozenset(form for value in values if type(value) is not str for form in _equals(value))

    def run(frame: Frame) -> bool:
        value = element(frame)
        if type(value) is str:
            return value in texts
        hashable(value)
        return type(value) in KEYS and (type(value), value) in others

    return run


def _equals(value: Value) -> list[tuple[type, Value]]:
    """A number as its equals of the other kinds too."""
    found = list(forms(value))
    if type(value) in (int, Uint):
        found.append((float, float(value)))
    return found


def _optional(value: Value, what: str) -> Perhaps:
    if type(value) is not Perhaps:
        raise EvaluationError(f"cannot initialize optional {what} from non-optional value {shown(value)}")
    if type(value.value) is Broken:
        raise Refused("an optional's value gets lost in kube-scheduler")
    return value


def made_list(elements: list[Run], optional: frozenset[int]) -> Run:
    """``[a, b]``."""
    if not optional:
        return lambda frame: [element(frame) for element in elements]

    def run(frame: Frame) -> list[Value]:
        found = []
        for place, element in enumerate(elements):
            value = element(frame)
            if place in optional:
                value = _optional(value, "list element").value
            if value is not MISSING:
                found.append(value)
        return found

    return run


def made_map(entries: list[tuple[Run, Run, bool]]) -> Run:
    """``{a: b}``."""

    def run(frame: Frame) -> Mapping:
        found: dict[Value, Value] = {}
        for key_run, value_run, optional in entries:
            key, value = key_run(frame), value_run(frame)
            if optional:
                value = _optional(value, f"entry '{shown(key)}'").value
            form = _entry_key(key)
            if value is MISSING:
                found.pop(form, None)
            else:
                found[form] = value
        return Mapping(found)

    return run


def _entry_key(key: Value) -> Value:
    if type(key) is str:
        return key
    hashable(key)
    if type(key) not in KEYS:
        raise Refused(f"a map has a key of kind {go_name(key)}")
    return type(key), key
