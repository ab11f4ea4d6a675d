"""The API server's admission of a pod before the scheduler sees it.

The pod gets priority, overhead, node selector and tolerations from its classes, and default tolerations for nodes in
trouble. Further plugins may be turned on. Pods are raw JSON here: the result is what the API server would store.
ResourceQuota depends on other pods: see ``quotas``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any, Protocol

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import REQUIRED
from kschedweb.engine.objects.json_access import (
    ObjectError,
    describe_object,
    get_boolean,
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
)
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.qos import BEST_EFFORT, compute_spec_qos
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.resources import is_extended, read_resources
from kschedweb.engine.objects.taints import EXISTS, NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE

# The kinds that ``apply_classes`` reads.
CLASS_KINDS = ("PriorityClass", "RuntimeClass")
# Priorities of the classes that every API server has.
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
# Seconds, the defaults of kube-apiserver's flags ``--default-not-ready-toleration-seconds`` and
# ``--default-unreachable-toleration-seconds``.
TOLERATION_SECONDS = 300
# Plugins that change or refuse pods, by whether kube-apiserver turns them on by default.
ON_BY_DEFAULT = ("Priority", "DefaultTolerationSeconds", "RuntimeClass", "ResourceQuota")
OFF_BY_DEFAULT = ("LimitPodHardAntiAffinityTopology", "PodTolerationRestriction", "ExtendedResourceToleration")
DEFAULT = frozenset(ON_BY_DEFAULT)
# Annotations of namespaces that PodTolerationRestriction reads.
NAMESPACE_TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
MEMORY_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": EXISTS, "effect": NO_SCHEDULE}


class ClassLookup(Protocol):
    """The classes and namespaces of a cluster, raw, by kind and name."""

    def get(self, kind: str, namespace: str, name: str) -> Json | None: ...

    def all(self, kind: str) -> list[Json]: ...


class AdmissionError(ObjectError):
    """A pod that the API server would refuse; the text names the pod and says why."""


def admit_pod(raw: Json, cluster: ClassLookup, plugins: Collection[str] = DEFAULT) -> Json:
    """Return the pod ``raw`` as the API server stores it, given the classes in ``cluster``; ``raw`` stays as it is.

    ``plugins`` are those that are on, in any order; quotas are not checked here. Raises AdmissionError if the pod is
    refused, ObjectError if it or a class cannot be read.
    """
    spec = dict(get_mapping(raw, "spec"))
    try:
        for name, step in _STEPS:
            if name in plugins:
                step(spec, cluster, get_string(get_mapping(raw, "metadata"), "namespace", "metadata.") or "default")
    except AdmissionError as problem:
        raise AdmissionError(f"{describe_object(raw)}: {problem}") from None
    return {**raw, "spec": spec}


def apply_classes(raw: Json, cluster: ClassLookup) -> Json:
    """Return the pod ``raw`` with what its classes give it; the same object if that is nothing.

    For pods that are read without any other admission: a pod with a priority has passed the API server's. Raises as
    ``admit_pod``.
    """
    spec = get_mapping(raw, "spec")
    plugins = [] if spec.get("runtimeClassName") is None else ["RuntimeClass"]
    if spec.get("priority") is None and (spec.get("priorityClassName") or _default_classes(cluster)):
        plugins.append("Priority")
    admitted = admit_pod(raw, cluster, plugins) if plugins else raw
    return raw if admitted == raw else admitted


def admit_group(raw: Json, cluster: ClassLookup) -> Json:
    """Return the PodGroup ``raw`` as the API server stores it: with the priority of its class.

    Raises AdmissionError if it is refused, ObjectError if it or a class cannot be read.
    """
    spec = dict(get_mapping(raw, "spec"))
    try:
        name, value, _ = _priority_class(get_string(spec, "priorityClassName", "spec."), cluster)
        given_priority = spec.get("priority")
        if given_priority is not None and get_integer(spec, "priority", path="spec.") != value:
            raise AdmissionError(
                f"priority set in the pod group ({given_priority}) must match the priority computed ({value}) "
                "based on the priority class set in the spec"
            )
    except AdmissionError as problem:
        raise AdmissionError(f"{describe_object(raw)}: {problem}") from None
    if name:
        spec["priorityClassName"] = name
    return {**raw, "spec": {**spec, "priority": value}}


def _set_priority(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    name, value, policy = _priority_class(get_string(spec, "priorityClassName", "spec."), cluster)
    given_value = spec.get("priority")
    if given_value is not None and get_integer(spec, "priority", path="spec.") != value:
        raise AdmissionError(
            f"the integer value of priority ({given_value}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
    given_value = spec.get("preemptionPolicy")
    if given_value is not None and given_value != policy:
        raise AdmissionError(
            f"the string value of PreemptionPolicy ({given_value}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
    if name:
        spec["priorityClassName"] = name
    spec.update(priority=value, preemptionPolicy=policy)


def _priority_class(name: str, cluster: ClassLookup) -> tuple[str, int, str]:
    """Return (name, priority, preemption policy) of the named class, else of the default one, else of none."""
    if not name:
        defaults = _default_classes(cluster)
        if not defaults:
            return "", 0, PREEMPT_LOWER_PRIORITY
        # Of several defaults the lowest counts, as in `getDefaultPriorityClass`.
        raw = min(defaults, key=lambda priority_class: get_integer(priority_class, "value"))
        name = get_string(get_mapping(raw, "metadata"), "name", "metadata.")
    else:
        named_class = cluster.get("PriorityClass", "", name)
        if named_class is None and name in SYSTEM_CLASSES:
            return name, SYSTEM_CLASSES[name], PREEMPT_LOWER_PRIORITY
        if named_class is None:
            raise AdmissionError(f"no PriorityClass with name {name} was found")
        raw = named_class
    return name, get_integer(raw, "value"), get_string(raw, "preemptionPolicy") or PREEMPT_LOWER_PRIORITY


def _default_classes(cluster: ClassLookup) -> list[Json]:
    return [raw for raw in cluster.all("PriorityClass") if get_boolean(raw, "globalDefault")]


def _add_default_tolerations(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    tolerations = list(get_objects(spec, "tolerations", "spec."))
    for key in (NOT_READY, UNREACHABLE):
        if not any(
            get_string(toleration, "key") in ("", key) and get_string(toleration, "effect") in ("", NO_EXECUTE)
            for toleration in get_objects(spec, "tolerations", "spec.")
        ):
            tolerations.append(
                {"key": key, "operator": EXISTS, "effect": NO_EXECUTE, "tolerationSeconds": TOLERATION_SECONDS}
            )
    spec["tolerations"] = tolerations


def _restrict_tolerations(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    """Add the namespace's tolerations, and that of memory pressure to pods that are not BestEffort."""
    more = _annotated_tolerations(_namespace_annotations(cluster, namespace), NAMESPACE_TOLERATIONS, namespace) or []
    if compute_spec_qos(spec) != BEST_EFFORT:
        more = [*more, MEMORY_PRESSURE]
    if more:
        spec["tolerations"] = merge_tolerations([*get_objects(spec, "tolerations", "spec."), *more])
    _check_tolerations(spec, cluster, namespace)


def _check_tolerations(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    allowed = _annotated_tolerations(_namespace_annotations(cluster, namespace), WHITELIST, namespace)
    tolerations = get_objects(spec, "tolerations", "spec.")
    if allowed and not all(
        any(_is_superset(permitted, toleration) for permitted in allowed) for toleration in tolerations
    ):
        raise AdmissionError(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
        )


def _namespace_annotations(cluster: ClassLookup, namespace: str) -> dict[str, str]:
    namespace_object = cluster.get("Namespace", "", namespace) or {}
    return get_string_map(get_mapping(namespace_object, "metadata"), "annotations", "metadata.")


def _annotated_tolerations(annotations: dict[str, str], key: str, namespace: str) -> list[Json] | None:
    """Read the tolerations in a namespace's annotation; returns ``None`` if it has none."""
    if key not in annotations:
        return None
    try:
        return get_objects({key: json.loads(annotations[key] or "[]")}, key)
    except ValueError as problem:
        raise AdmissionError(f"Namespace {namespace}: metadata.annotations[{key}]: {problem}") from None


def _tolerate_extended_resources(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    """Tolerate nodes that are reserved for the extended resources that the pod requests."""
    resources = read_resources(spec, {})
    names = {name for container in (*resources.containers, *resources.init_containers) for name in container.requests}
    tolerations = list(get_objects(spec, "tolerations", "spec."))
    # Sorted, as the plugin does, so that the same pod always gets the same tolerations.
    for name in sorted(filter(is_extended, names)):
        new = {"key": name, "operator": EXISTS, "effect": NO_SCHEDULE}
        same = [
            at
            for at, toleration in enumerate(tolerations)
            if _toleration_fields(toleration)[:-1] == _toleration_fields(new)[:-1]
        ]
        for at in same:
            tolerations[at] = new
        tolerations += [] if same else [new]
    if tolerations:
        spec["tolerations"] = tolerations


def _limit_anti_affinity(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    affinity = get_mapping(get_mapping(spec, "affinity", "spec."), "podAntiAffinity", "spec.affinity.")
    for term, at in get_objects_and_paths(affinity, REQUIRED, "spec.affinity.podAntiAffinity."):
        key = get_string(term, "topologyKey", at)
        if key != HOSTNAME:
            raise AdmissionError(
                f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOSTNAME} is "
                "allowed"
            )


def _apply_runtime_class(spec: Json, cluster: ClassLookup, namespace: str) -> None:
    name = spec.get("runtimeClassName")
    raw: Json | None = None
    if name is not None:
        raw = cluster.get("RuntimeClass", "", get_string(spec, "runtimeClassName", "spec."))
        if raw is None:
            raise AdmissionError(f'pod rejected: RuntimeClass "{name}" not found')
    _set_overhead(spec, raw)
    scheduling = None if raw is None else raw.get("scheduling")
    if raw is None or scheduling is None:
        return
    required_labels = get_string_map(get_mapping(raw, "scheduling"), "nodeSelector", "scheduling.")
    selector = dict(get_string_map(spec, "nodeSelector", "spec."))
    for key, value in sorted(required_labels.items()):
        if selector.get(key, value) != value:
            raise AdmissionError(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    more = get_objects(get_mapping(raw, "scheduling"), "tolerations", "scheduling.")
    spec["tolerations"] = merge_tolerations([*get_objects(spec, "tolerations", "spec."), *more])


def _set_overhead(spec: Json, runtime_class: Json | None) -> None:
    pod_overhead = read_quantities(spec, "overhead", "spec.")
    if runtime_class is None or runtime_class.get("overhead") is None:
        if spec.get("overhead") is not None:
            raise AdmissionError("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
        return
    overhead = get_mapping(runtime_class, "overhead")
    if pod_overhead and pod_overhead != read_quantities(overhead, "podFixed", "overhead."):
        raise AdmissionError("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    spec["overhead"] = get_mapping(overhead, "podFixed", "overhead.")


def merge_tolerations(tolerations: list[Json]) -> list[Json]:
    """Return the tolerations without those that another one makes redundant; of equal ones the first stays."""
    merged: list[Json] = []
    for position, toleration in enumerate(tolerations):
        later = (
            other
            for other in tolerations[position + 1 :]
            if _toleration_fields(other) != _toleration_fields(toleration)
        )
        if not any(_is_superset(other, toleration) for other in merged) and not any(
            _is_superset(other, toleration) for other in later
        ):
            merged.append(toleration)
    return merged


def _toleration_fields(toleration: Json) -> tuple[Any, ...]:
    fields = (get_string(toleration, field) for field in ("key", "operator", "value", "effect"))
    return (*fields, toleration.get("tolerationSeconds"))


def _is_superset(larger: Json, smaller: Json) -> bool:
    """Return true if ``larger`` tolerates all that ``smaller`` does, as the API server's `isSuperset` decides."""
    key, operator, value, effect, seconds = _toleration_fields(larger)
    own_key, own_operator, own_value, own_effect, own_seconds = _toleration_fields(smaller)
    if _toleration_fields(larger) == _toleration_fields(smaller):
        return True
    if own_key != key and (key or operator != EXISTS):
        return False
    if effect not in ("", own_effect):
        return False
    if effect == NO_EXECUTE and seconds is not None and (own_seconds is None or own_seconds > seconds):
        return False
    if operator in ("Equal", ""):
        return bool(own_operator == "Equal" and own_value == value)
    return bool(operator == EXISTS)


# In the API server's order: first the plugins that change a pod, then those that only look at it.
_STEPS: tuple[tuple[str, Callable[[Json, ClassLookup, str], None]], ...] = (
    ("Priority", _set_priority),
    ("DefaultTolerationSeconds", _add_default_tolerations),
    ("PodTolerationRestriction", _restrict_tolerations),
    ("ExtendedResourceToleration", _tolerate_extended_resources),
    ("RuntimeClass", _apply_runtime_class),
    ("LimitPodHardAntiAffinityTopology", _limit_anti_affinity),
    ("PodTolerationRestriction", _check_tolerations),
)
