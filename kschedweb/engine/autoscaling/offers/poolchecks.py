"""What Karpenter checks of a NodePool while it runs, in its words; a NodePool that fails is not ready."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, CAPACITY_TYPES, NODEPOOL, listed, restricted
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.autoscaling.offers.requirements import GT, GTE, IN, LT, LTE, Written, requirement
from kschedweb.engine.objects.labels import parse_int
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.validation.labels import name_complaints, value_complaints

EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE, "")


def complaint(pool: NodePool, known: frozenset[str]) -> str:
    """Why the NodePool is not ready; "" where it is. ``known`` are the well-known labels."""
    found = [*_labels(pool, known), *_taints(pool)]
    for written, least in pool.written:
        if problems := list(requirement_problems(written, least, known)):
            found.append(f"invalid value: {'; '.join(problems)} in requirements, restricted")
    keys = [written[0] for written, _ in pool.written if written[0] == NODEPOOL]
    return "; ".join([*found, *(f"invalid key: {quote(key)} in requirements, restricted" for key in keys)])


def requirement_problems(written: Written, least: int | None, known: frozenset[str]) -> Iterator[str]:
    """What is wrong with a requirement of a NodePool, or of a pod."""
    _, operator, values = written
    key = requirement(*written).key
    if refused := restricted(key, known):
        yield refused
    if operator == IN and key == CAPACITY_TYPE:
        yield from _capacity_types(key, values, least)
    for said in name_complaints(key):
        yield f"key {key} is not a qualified name, {said}"
    for value in values:
        for said in value_complaints(value):
            yield f"invalid value {value} for key {key}, {said}"
    if operator == IN and not values:
        yield f"key {key} with operator {operator} must have a value defined"
    if operator == IN and least is not None and len(values) < least:
        yield (
            f"key {key} with operator {operator} must have at least minimum number of values defined in 'values' field"
        )
    if operator in (GT, LT, GTE, LTE):
        number = parse_int(values[0]) if len(values) == 1 else None
        if number is None or number < 0:
            yield f"key {key} with operator {operator} must have a single positive integer value"


def _capacity_types(key: str, values: tuple[str, ...], least: int | None) -> Iterator[str]:
    valid = [value for value in values if value in CAPACITY_TYPES]
    invalid = [value for value in values if value not in CAPACITY_TYPES]
    if not valid:
        every = "map[" + " ".join(f"{one}:{{}}" for one in CAPACITY_TYPES) + "]"
        yield f"no valid values found in {listed(values)} for {key}, expected one of: {every}, got: {listed(invalid)}"
    elif least is not None and len(valid) < least:
        yield (
            f"not enough valid values found in {listed(values)} for {key}, expected at least {least} valid values"
            f" from: {listed(CAPACITY_TYPES)}, got: {len(valid)}"
        )


def _labels(pool: NodePool, known: frozenset[str]) -> Iterator[str]:
    for key, value in pool.labels.items():
        if key == NODEPOOL:
            yield f"invalid key name {quote(key)} in labels, restricted"
        for said in name_complaints(key):
            yield f"invalid key name {quote(key)} in labels, {quote(said)}"
        for said in value_complaints(value):
            yield f"invalid value: {value} for label[{key}], {said}"
        if refused := restricted(key, known):
            yield f"invalid key name {quote(key)} in labels, {refused}"


def _taints(pool: NodePool) -> list[str]:
    seen: set[tuple[str, str]] = set()
    return [*_taint_list(pool.taints, seen, "taints"), *_taint_list(pool.startup_taints, seen, "startupTaints")]


def _taint_list(taints: tuple[Taint, ...], seen: set[tuple[str, str]], place: str) -> list[str]:
    found: list[str] = []
    for taint in taints:
        if not taint.key:
            found.append(f"invalid value: {'; '.join(found) or '%!w(<nil>)'} in {place}")
        found += [f"invalid value: {said} in {place}" for said in name_complaints(taint.key)]
        if taint.value:
            found += [f"invalid value: {said} in {place}" for said in name_complaints(taint.value)]
        if taint.effect not in EFFECTS:
            found.append(f"invalid value: {quote(taint.effect)} in {place}")
        if (taint.key, taint.effect) in seen:
            found.append(f"duplicate taint Key/Effect pair {taint.key}={taint.effect}")
        seen.add((taint.key, taint.effect))
    return found
