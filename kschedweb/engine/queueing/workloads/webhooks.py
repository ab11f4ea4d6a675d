"""Refusals of objects by Kueue's validating webhooks, in their words (`pkg/webhooks`)."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.quantity import canonicalize_quantity, parse_quantity
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import PODS, read_amount
from kschedweb.engine.queueing.quota.objects import NEVER, TRY_NEXT_FLAVOR
from kschedweb.engine.queueing.workloads.conditions import QUOTA_RESERVED
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import selector_problems
from kschedweb.engine.validation.fields import (
    Problem,
    Typed,
    aggregate_problems,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.validation.labels import name_complaints, value_complaints

NOT_NEGATIVE = "must be greater than or equal to 0"
_MAX_FLAVORS, _MAX_COMBINATIONS = 256, 512
_MAX_RESOURCES = 256
_SELECTOR_PATH = "spec.namespaceSelector"


def find_object_refusals(raw: Json, gates: FeatureGates) -> list[str]:
    """Return the errors with which Kueue refuses ``raw``, an empty list if it takes it."""
    kind = get_string(raw, "kind")
    if kind == "ClusterQueue":
        return [problem.text for problem in _find_queue_problems(raw)]
    if kind == "Cohort":
        # This webhook says everything in one.
        problems = list(_find_cohort_problems(get_mapping(raw, "spec")))
        return [aggregate_problems(problems)] if problems else []
    if kind == "ResourceFlavor":
        return [problem.text for problem in _find_flavor_problems(get_mapping(raw, "spec"))]
    if kind == "Workload":
        return [problem.text for problem in _find_workload_problems(raw, gates)]
    return []


# ClusterQueues and cohorts


def _find_queue_problems(raw: Json) -> Iterator[Problem]:
    spec = get_mapping(raw, "spec")
    has_cohort = bool(get_string(spec, "cohortName", "spec.") or get_string(spec, "cohort", "spec."))
    yield from _find_group_problems(spec, "" if has_cohort else "cohort", caps_lending=True)
    if spec.get("namespaceSelector") is not None:
        yield from selector_problems(FieldValue(_SELECTOR_PATH, spec["namespaceSelector"]))
    yield from _find_preemption_problems(get_mapping(spec, "preemption", "spec."))
    yield from _find_fungibility_problems(get_mapping(spec, "flavorFungibility", "spec."))
    yield from _find_weight_problems(spec)
    yield from _find_size_problems(get_objects(spec, "resourceGroups", "spec."))
    yield from _find_check_problems(spec)


def _find_cohort_problems(spec: Json) -> Iterator[Problem]:
    yield from _find_weight_problems(spec)
    has_parent = bool(get_string(spec, "parentName", "spec.") or get_string(spec, "parent", "spec."))
    yield from _find_group_problems(spec, "" if has_parent else "parent", caps_lending=False)


def _find_group_problems(spec: Json, missing_parent: str, *, caps_lending: bool) -> Iterator[Problem]:
    """Yield what is wrong with resource groups; ``missing_parent`` is what limits would need, if it is not there."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for position, group in enumerate(get_objects(spec, "resourceGroups", "spec.")):
        path = f"spec.resourceGroups[{position}]"
        covered = get_strings(group, "coveredResources", f"{path}.")
        for index, name in enumerate(covered):
            place = f"{path}.coveredResources[{index}]"
            yield from (invalid(place, name, complaint) for complaint in name_complaints(name))
            if name in resources:
                yield duplicate(place, name)
            resources.add(name)
        for index, flavor in enumerate(get_objects(group, "flavors", f"{path}.")):
            place = f"{path}.flavors[{index}]"
            yield from _find_quota_problems(flavor, covered, place, missing_parent, caps_lending=caps_lending)
            name = get_string(flavor, "name", f"{place}.")
            if name in flavors:
                yield duplicate(f"{place}.name", name)
            flavors.add(name)


def _find_quota_problems(
    flavor: Json, covered: tuple[str, ...], path: str, missing_parent: str, *, caps_lending: bool
) -> Iterator[Problem]:
    quotas = get_objects(flavor, "resources", f"{path}.")
    for index, (quota, name) in enumerate(zip(quotas, covered, strict=False)):
        place = f"{path}.resources[{index}]"
        if get_string(quota, "name", f"{place}.") != name:
            yield invalid(f"{place}.name", quota.get("name", ""), "must match the name in coveredResources")
        nominal = canonicalize_quantity(str(quota.get("nominalQuota", "0")))
        yield from _find_negative(nominal, f"{place}.nominalQuota")
        for key in ("borrowingLimit", "lendingLimit"):
            if quota.get(key) is None:
                continue
            limit = canonicalize_quantity(str(quota[key]))
            yield from _find_negative(limit, f"{place}.{key}")
            if missing_parent:
                yield invalid(f"{place}.{key}", limit, f"must be nil when {missing_parent} is empty")
            if key == "lendingLimit" and caps_lending and parse_quantity(limit) > parse_quantity(nominal):
                yield invalid(f"{place}.{key}", limit, "must be less than or equal to the nominalQuota")


def _find_negative(quantity: str, path: str) -> Iterator[Problem]:
    if parse_quantity(quantity) < 0:
        yield invalid(path, quantity, NOT_NEGATIVE)


def _find_preemption_problems(preemption: Json) -> Iterator[Problem]:
    borrow = get_mapping(preemption, "borrowWithinCohort", "spec.preemption.")
    reclaim = get_string(preemption, "reclaimWithinCohort", "spec.preemption.") or NEVER
    policy = get_string(borrow, "policy", "spec.preemption.borrowWithinCohort.") or NEVER
    if reclaim == NEVER and policy != NEVER:
        # Go writes the fields in the order of its type.
        threshold = borrow.get("maxPriorityThreshold")
        borrow_json = {"policy": policy} | ({} if threshold is None else {"maxPriorityThreshold": threshold})
        value = {
            "reclaimWithinCohort": reclaim,
            "borrowWithinCohort": borrow_json,
            "withinClusterQueue": get_string(preemption, "withinClusterQueue") or NEVER,
        }
        detail = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
        yield invalid("spec.preemption", Typed(value), detail)


def _find_fungibility_problems(fungibility: Json) -> Iterator[Problem]:
    preference = fungibility.get("preference")
    if preference is None:
        return
    if any(fungibility.get(key) != TRY_NEXT_FLAVOR for key in ("whenCanBorrow", "whenCanPreempt")):
        detail = f"preference {quote(preference)} requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor"
        yield invalid("spec.flavorFungibility.preference", preference, detail)


def _find_weight_problems(spec: Json) -> Iterator[Problem]:
    weight = get_mapping(spec, "fairSharing", "spec.").get("weight")
    if weight is None:
        return
    amount = parse_quantity(str(weight))
    if amount < 0:
        yield invalid("spec.fairSharing", canonicalize_quantity(str(weight)), NOT_NEGATIVE)
    elif 0 < amount <= 1:
        yield invalid("spec.fairSharing", str(weight), "When not 0, weight must be > 10e-9")


def _find_size_problems(groups: list[Json]) -> Iterator[Problem]:
    path = "spec.resourceGroups"
    flavors = sum(len(get_objects(group, "flavors")) for group in groups)
    if flavors > _MAX_FLAVORS:
        detail = f"total number of flavors across all resourceGroups must be ≤ {_MAX_FLAVORS}, got {flavors}"
        yield invalid(path, flavors, detail)
    resources = sum(len(get_strings(group, "coveredResources")) for group in groups)
    if resources > _MAX_RESOURCES:
        detail = (
            f"total number of covered resources across all resourceGroups must be ≤ {_MAX_RESOURCES}, got {resources}"
        )
        yield invalid(path, resources, detail)
    for position, group in enumerate(groups):
        pairs = sum(len(get_objects(flavor, "resources")) for flavor in get_objects(group, "flavors"))
        if pairs > _MAX_COMBINATIONS:
            detail = (
                f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MAX_COMBINATIONS}, got {pairs}"
            )
            yield invalid(f"{path}[{position}]", pairs, detail)


def _find_check_problems(spec: Json) -> Iterator[Problem]:
    groups = get_objects(spec, "resourceGroups", "spec.")
    flavors = tuple(
        dict.fromkeys(get_string(flavor, "name") for group in groups for flavor in get_objects(group, "flavors"))
    )
    strategy = get_mapping(spec, "admissionChecksStrategy", "spec.")
    for position, check in enumerate(get_objects(strategy, "admissionChecks")):
        for index, flavor in enumerate(get_strings(check, "onFlavors")):
            if flavor not in flavors:
                path = f"spec.admissionChecksStrategy.admissionChecks[{position}].onFlavors[{index}]"
                yield unsupported(path, flavor, tuple(sorted(flavors)))


# Flavors


def _find_flavor_problems(spec: Json) -> Iterator[Problem]:
    for key, value in get_string_map(spec, "nodeLabels", "spec.").items():
        yield from (invalid("spec.nodeLabels", key, complaint) for complaint in name_complaints(key))
        yield from (invalid("spec.nodeLabels", value, complaint) for complaint in value_complaints(value))
    pairs: set[tuple[str, str]] = set()
    for position, taint in enumerate(get_objects(spec, "nodeTaints", "spec.")):
        path = f"spec.nodeTaints[{position}]"
        key, value = get_string(taint, "key", f"{path}."), get_string(taint, "value", f"{path}.")
        yield from (invalid(f"{path}.key", key, complaint) for complaint in name_complaints(key))
        if complaints := value_complaints(value):
            yield invalid(f"{path}.value", value, ";".join(complaints))
        pair = (key, get_string(taint, "effect", f"{path}."))
        if pair in pairs:
            problem = duplicate(path, Typed({"key": key, "value": value, "effect": pair[1]}))
            yield Problem(path, f"{problem.text}: taints must be unique by key and effect pair")
        pairs.add(pair)
    yield from _find_toleration_problems(spec, "spec.tolerations")


def _find_toleration_problems(holder: Json, path: str) -> Iterator[Problem]:
    for position, toleration in enumerate(get_objects(holder, "tolerations")):
        key = get_string(toleration, "key")
        if key:
            yield from (invalid(f"{path}[{position}].key", key, complaint) for complaint in name_complaints(key))


# Workloads


def _find_workload_problems(raw: Json, gates: FeatureGates) -> Iterator[Problem]:
    spec, status = get_mapping(raw, "spec"), get_mapping(raw, "status")
    pod_sets = get_objects(spec, "podSets", "spec.")
    for position, pod_set in enumerate(pod_sets):
        yield from _find_pod_set_problems(pod_set, f"spec.podSets[{position}]", gates)
    shrinking = sum(pod_set.get("minCount") is not None for pod_set in pod_sets)
    if shrinking > 1:
        yield invalid("spec.podSets", shrinking, "at most one podSet can use minCount")
    conditions = get_objects(status, "conditions", "status.")
    if any(item.get("type") == QUOTA_RESERVED and item.get("status") == "True" for item in conditions):
        yield from _find_admission_problems(status, {get_string(pod_set, "name") or "main" for pod_set in pod_sets})
    yield from _find_reclaimable_problems(status, pod_sets)


def _find_pod_set_problems(pod_set: Json, path: str, gates: FeatureGates) -> Iterator[Problem]:
    spec = get_mapping(get_mapping(pod_set, "template", f"{path}."), "spec", f"{path}.template.")
    holders = [
        (container, f"{path}.template.spec.{key}[{index}].resources")
        for key in ("initContainers", "containers")
        for index, container in enumerate(get_objects(spec, key))
    ]
    holders.append((spec, f"{path}.template.spec.resources"))
    for holder, place in holders:
        resources = get_mapping(holder, "resources")
        for key in ("requests", "limits"):
            for name, quantity in get_mapping(resources, key).items():
                if name == PODS:
                    yield invalid(f"{place}.{key}[{name}]", PODS, "the key is reserved for internal kueue use")
                if "WorkloadValidateResourcesAreNonNegative" in gates:
                    yield from _find_negative(str(quantity), f"{place}.{key}[{name}]")
    if "TASValidateWorkloadSliceSize" in gates and pod_set.get("topologyRequest") is not None:
        yield from _find_slice_problems(pod_set["topologyRequest"], f"{path}.topologyRequest")


def _find_slice_problems(request: Json, path: str) -> Iterator[Problem]:
    size = request.get("podSetSliceSize")
    if request.get("podSetSliceRequiredTopology") is not None:
        if size is None:
            detail = "must be set when podSetSliceRequiredTopology is specified"
            yield required(f"{path}.podSetSliceSize", detail)
        elif size <= 0:
            yield invalid(f"{path}.podSetSliceSize", size, "must be greater than 0")
    elif size is not None:
        detail = "may not be set when podSetSliceRequiredTopology is not specified"
        yield forbidden(f"{path}.podSetSliceSize", detail)
    for position, layer in enumerate(get_objects(request, "podsetSliceRequiredTopologyConstraints")):
        if layer.get("size", 0) <= 0:
            place = f"{path}.podsetSliceRequiredTopologyConstraints[{position}].size"
            yield invalid(place, layer.get("size", 0), "must be greater than 0")


def _find_admission_problems(status: Json, names: set[str]) -> Iterator[Problem]:
    path = "status.admission"
    if status.get("admission") is None:
        yield required(path, "must be set while the QuotaReserved condition is true")
        return
    assignments = get_objects_and_paths(get_mapping(status, "admission"), "podSetAssignments", f"{path}.")
    for position, (assigned, _) in enumerate(assignments):
        place = f"{path}.podSetAssignments[{position}]"
        name = get_string(assigned, "name") or "main"
        if name not in names:
            yield Problem(f"{place}.name", f"{place}.name: Not found: {quote(name)}")
        count = assigned.get("count") or 0
        for resource, quantity in get_mapping(assigned, "resourceUsage").items():
            if count > 0 and read_amount(resource, quantity) % count:
                yield invalid(f"{place}.resourceUsage[{resource}]", Typed(quantity), f"is not a multiple of {count}")


def _find_reclaimable_problems(status: Json, pod_sets: list[Json]) -> Iterator[Problem]:
    counts = {get_string(pod_set, "name") or "main": pod_set.get("count", 1) for pod_set in pod_sets}
    for item in get_objects(status, "reclaimablePods", "status."):
        name, path = get_string(item, "name"), f"status.reclaimablePods[{item.get('name', '')}]"
        if name not in counts:
            yield unsupported(f"{path}.name", name, tuple(counts))
        elif item.get("count", 0) > counts[name]:
            yield invalid(f"{path}.count", item["count"], f"should be less or equal to {counts[name]}")
