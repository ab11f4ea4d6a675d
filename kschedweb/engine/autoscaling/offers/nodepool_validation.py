"""Karpenter's runtime validation of a NodePool, in its words; a NodePool that fails is not ready."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.autoscaling.offers.labels import (
    CAPACITY_TYPE,
    CAPACITY_TYPES,
    NODEPOOL,
    find_restriction,
    format_list,
)
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.autoscaling.offers.requirements import GT, GTE, IN, LT, LTE, WrittenRequirement, new_requirement
from kschedweb.engine.objects.labels import parse_int
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.validation.labels import name_complaints, value_complaints

EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE, "")


def find_complaint(pool: NodePool, well_known_labels: frozenset[str]) -> str:
    """Return why the NodePool is not ready; "" if it is."""
    complaints = [*_check_labels(pool, well_known_labels), *_check_taints(pool)]
    for expression, min_values in pool.written_requirements:
        if problems := list(requirement_problems(expression, min_values, well_known_labels)):
            complaints.append(f"invalid value: {'; '.join(problems)} in requirements, restricted")
    keys = [expression[0] for expression, _ in pool.written_requirements if expression[0] == NODEPOOL]
    return "; ".join([*complaints, *(f"invalid key: {quote(key)} in requirements, restricted" for key in keys)])


def requirement_problems(
    expression: WrittenRequirement, min_values: int | None, well_known_labels: frozenset[str]
) -> Iterator[str]:
    """Yield what is wrong with a requirement of a NodePool or of a pod."""
    _, operator, values = expression
    key = new_requirement(*expression).key
    if refused := find_restriction(key, well_known_labels):
        yield refused
    if operator == IN and key == CAPACITY_TYPE:
        yield from _capacity_types(key, values, min_values)
    for complaint in name_complaints(key):
        yield f"key {key} is not a qualified name, {complaint}"
    for value in values:
        for complaint in value_complaints(value):
            yield f"invalid value {value} for key {key}, {complaint}"
    if operator == IN and not values:
        yield f"key {key} with operator {operator} must have a value defined"
    if operator == IN and min_values is not None and len(values) < min_values:
        yield (
            f"key {key} with operator {operator} must have at least minimum number of values defined in 'values' field"
        )
    if operator in (GT, LT, GTE, LTE):
        number = parse_int(values[0]) if len(values) == 1 else None
        if number is None or number < 0:
            yield f"key {key} with operator {operator} must have a single positive integer value"


def _capacity_types(key: str, values: tuple[str, ...], min_values: int | None) -> Iterator[str]:
    valid = [value for value in values if value in CAPACITY_TYPES]
    invalid = [value for value in values if value not in CAPACITY_TYPES]
    if not valid:
        valid_types = "map[" + " ".join(f"{capacity_type}:{{}}" for capacity_type in CAPACITY_TYPES) + "]"
        yield (
            f"no valid values found in {format_list(values)} for {key}, expected one of: {valid_types}, "
            f"got: {format_list(invalid)}"
        )
    elif min_values is not None and len(valid) < min_values:
        yield (
            f"not enough valid values found in {format_list(values)} for {key}, "
            f"expected at least {min_values} valid values from: {format_list(CAPACITY_TYPES)}, got: {len(valid)}"
        )


def _check_labels(pool: NodePool, well_known_labels: frozenset[str]) -> Iterator[str]:
    for key, value in pool.labels.items():
        if key == NODEPOOL:
            yield f"invalid key name {quote(key)} in labels, restricted"
        for complaint in name_complaints(key):
            yield f"invalid key name {quote(key)} in labels, {quote(complaint)}"
        for complaint in value_complaints(value):
            yield f"invalid value: {value} for label[{key}], {complaint}"
        if refused := find_restriction(key, well_known_labels):
            yield f"invalid key name {quote(key)} in labels, {refused}"


def _check_taints(pool: NodePool) -> list[str]:
    seen_taints: set[tuple[str, str]] = set()
    return [
        *_taint_list(pool.taints, seen_taints, "taints"),
        *_taint_list(pool.startup_taints, seen_taints, "startupTaints"),
    ]


def _taint_list(taints: tuple[Taint, ...], seen_taints: set[tuple[str, str]], place: str) -> list[str]:
    complaints: list[str] = []
    for taint in taints:
        if not taint.key:
            # Go formats the error of the taints before it, which may be nil: "%!w(<nil>)".
            complaints.append(f"invalid value: {'; '.join(complaints) or '%!w(<nil>)'} in {place}")
        complaints += [f"invalid value: {complaint} in {place}" for complaint in name_complaints(taint.key)]
        if taint.value:
            complaints += [f"invalid value: {complaint} in {place}" for complaint in name_complaints(taint.value)]
        if taint.effect not in EFFECTS:
            complaints.append(f"invalid value: {quote(taint.effect)} in {place}")
        if (taint.key, taint.effect) in seen_taints:
            complaints.append(f"duplicate taint Key/Effect pair {taint.key}={taint.effect}")
        seen_taints.add((taint.key, taint.effect))
    return complaints
