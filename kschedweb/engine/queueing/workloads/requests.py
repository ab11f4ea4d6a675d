"""The requests of pods: containers summed as the scheduler does, with LimitRanges, prefixes and transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.quantity import NANO, parse_quantity, round_to_unit
from kschedweb.engine.objects.resources import read_resources
from kschedweb.engine.queueing.quota.amounts import Requests, clamp, order_resources, read_amount
from kschedweb.engine.queueing.workloads.workload import PodSet
from kschedweb.engine.validation.fields import Problem, Typed, invalid
from kschedweb.engine.values import dataclass

ABOVE_LIMIT = "requests must not exceed its limits"
ABOVE_MAX, BELOW_MIN = "requests must not be above the limitRange max", "requests must not be below the limitRange min"
_CONTAINER_LISTS = ("initContainers", "containers")
# Resource -> quantity, as it is written.
ResourceList = dict[str, str]


@dataclass(frozen=True, slots=True)
class LimitSummary:
    """The limits that the LimitRanges of a namespace set for a type: pods or containers (`limitrange.Summary`)."""

    minimum: ResourceList
    maximum: ResourceList
    default: ResourceList
    default_request: ResourceList


@dataclass(frozen=True, slots=True)
class ResourceTransformation:
    """The resources as which a requested one counts (`resources.transformations` of the Configuration)."""

    source: str
    replaces: bool
    multiply_by: str
    # Resource -> factor.
    outputs: dict[str, str]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Rules of the Configuration for counting requests."""

    excluded_prefixes: tuple[str, ...] = ()
    transformations: tuple[ResourceTransformation, ...] = ()


def read_request_options(options: Json) -> RequestOptions:
    return RequestOptions(
        get_strings(options, "excludeResourcePrefixes", "options."),
        tuple(
            ResourceTransformation(
                get_string(item, "input", at),
                get_string(item, "strategy", at) == "Replace",
                get_string(item, "multiplyBy", at),
                {name: str(factor) for name, factor in get_mapping(item, "outputs", at).items()},
            )
            for item, at in get_objects_and_paths(options, "resourceTransformations", "options.")
        ),
    )


def sum_pod_requests(spec: Json) -> Requests:
    """Return what one pod requests (`PodRequests`), in milli-CPU and whole units."""
    return order_resources(read_resources(spec, {}).requests)


def count_requests(spec: Json, options: RequestOptions) -> Requests:
    """Return what one pod counts for quota."""
    totals = {
        name: amount
        for name, amount in read_resources(spec, {}).total().items()
        if not name.startswith(options.excluded_prefixes or ("\0",))
    }
    amounts = _transform_amounts(totals, options.transformations)
    return order_resources({name: max(0, round_to_unit(name, amount)) for name, amount in amounts.items()})


def _transform_amounts(amounts: dict[str, int], transformations: Iterable[ResourceTransformation]) -> dict[str, int]:
    """Return amounts in nano-units with every transformation applied (`applyResourceTransformations`)."""
    by_source = {transformation.source: transformation for transformation in transformations}
    retained: dict[str, Fraction] = {}
    generated: dict[str, Fraction] = {}
    for name, amount in amounts.items():
        transformation = by_source.get(name)
        if transformation is None or not transformation.replaces:
            retained[name] = Fraction(amount)
        if transformation is None:
            continue
        factor = Fraction(amounts.get(transformation.multiply_by, NANO), NANO)
        for output, weight in transformation.outputs.items():
            product = amount * factor * Fraction(parse_quantity(weight), NANO)
            generated[output] = generated.get(output, Fraction(0)) + product
    for name, product in generated.items():
        retained[name] = retained.get(name, Fraction(0)) + max(Fraction(0), product)
    return {name: -(-amount.numerator // amount.denominator) for name, amount in retained.items()}


def summarize_limits(limit_ranges: Iterable[Json]) -> dict[str, LimitSummary]:
    """Return the strictest limits by type (`limitrange.Summarize`)."""
    summary: dict[str, LimitSummary] = {}
    for limit_range in limit_ranges:
        for item in get_objects(get_mapping(limit_range, "spec"), "limits", "spec."):
            kind = get_string(item, "type")
            old = summary.get(kind, LimitSummary({}, {}, {}, {}))
            summary[kind] = LimitSummary(
                _merge_lists(old.minimum, _get_list(item, "min"), max),
                _merge_lists(old.maximum, _get_list(item, "max"), min),
                _get_list(item, "default") | old.default,
                _get_list(item, "defaultRequest") | old.default_request,
            )
    return summary


def adjust_pod_set(pod_set: PodSet, limits: dict[str, LimitSummary], overheads: dict[str, Json]) -> PodSet:
    """Return ``pod_set`` with its RuntimeClass's overhead, defaults, and limits as requests (`AdjustResources`)."""
    defaults = limits.get("Container", LimitSummary({}, {}, {}, {}))
    spec = pod_set.spec
    adjusted: Json = {}
    overhead = overheads.get(get_string(spec, "runtimeClassName", "spec."))
    if overhead and not spec.get("overhead"):
        adjusted["overhead"] = overhead
    for key in _CONTAINER_LISTS:
        containers = get_objects(spec, key, "spec.")
        completed = [_complete_container(container, defaults) for container in containers]
        if any(new is not old for new, old in zip(completed, containers, strict=True)):
            adjusted[key] = completed
    if not adjusted:
        return pod_set
    return replace(pod_set, template={**pod_set.template, "spec": {**spec, **adjusted}})


def _complete_container(container: Json, defaults: LimitSummary) -> Json:
    resources = get_mapping(container, "resources")
    limits = defaults.default | _get_list(resources, "limits")
    requests = limits | defaults.default_request | _get_list(resources, "requests")
    if limits == _get_list(resources, "limits") and requests == _get_list(resources, "requests"):
        return container
    return {**container, "resources": {**resources, "limits": limits, "requests": requests}}


def find_excessive_requests(pod_sets: Iterable[PodSet]) -> list[Problem]:
    """Return the problems of requests above their limits (`ValidateResources`)."""
    problems = []
    for position, pod_set in enumerate(pod_sets):
        path = f"spec.podSets[{position}].template.spec"
        for place, container in _list_containers(pod_set.spec, path):
            resources = get_mapping(container, "resources")
            names = _greater_names(_get_list(resources, "requests"), _get_list(resources, "limits"))
            if names:
                problems.append(invalid(place, Typed(names), ABOVE_LIMIT))
    return problems


def find_limit_problems(pod_sets: Iterable[PodSet], limits: dict[str, LimitSummary]) -> list[Problem]:
    """Return what LimitRanges refuse (`ValidateLimitRange`)."""
    problems = []
    for position, pod_set in enumerate(pod_sets):
        path = f"spec.podSets[{position}].template.spec"
        if (containers := limits.get("Container")) is not None:
            for place, container in _list_containers(pod_set.spec, path):
                resources = get_mapping(container, "resources")
                requests, highest = _get_list(resources, "requests"), _get_list(resources, "limits")
                lowest_amounts = _merge_lists(requests, highest, min)
                problems += _compare_with_limits(
                    place, _merge_lists(requests, highest, max), lowest_amounts, containers
                )
        if (pods := limits.get("Pod")) is not None:
            totals = {
                name: f"{amount}{'m' * (name == 'cpu')}" for name, amount in sum_pod_requests(pod_set.spec).items()
            }
            problems += _compare_with_limits(path, totals, totals, pods)
    return problems


def _compare_with_limits(path: str, highest: ResourceList, lowest: ResourceList, limits: LimitSummary) -> list[Problem]:
    problems = []
    if names := _greater_names(highest, limits.maximum):
        problems.append(invalid(path, Typed(names), ABOVE_MAX))
    if names := _greater_names(limits.minimum, lowest):
        problems.append(invalid(path, Typed(names), BELOW_MIN))
    return problems


def _list_containers(spec: Json, path: str) -> list[tuple[str, Json]]:
    return [
        (f"{path}.{key}[{position}]", container)
        for key in _CONTAINER_LISTS
        for position, container in enumerate(get_objects(spec, key, "spec."))
    ]


def _greater_names(amounts: ResourceList, limits_by_name: ResourceList) -> list[str]:
    """Return the names whose amount is above that in ``others``, which has to name them (`GreaterKeys`)."""
    return sorted(
        name
        for name, amount in amounts.items()
        if name in limits_by_name and clamp(read_amount(name, amount)) > clamp(read_amount(name, limits_by_name[name]))
    )


def _get_list(raw: Json, key: str) -> ResourceList:
    return {name: str(quantity) for name, quantity in get_mapping(raw, key).items()}


def _merge_lists(old: ResourceList, new: ResourceList, pick: Callable[..., str]) -> ResourceList:
    """Return both lists in one, with ``pick``, by amount, where both name a resource."""
    merged = dict(old)
    for name, quantity in new.items():
        merged[name] = pick(old[name], quantity, key=parse_quantity) if name in old else quantity
    return merged
