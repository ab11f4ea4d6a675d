"""ResourceQuotas of namespaces, as the API server's admission and the quota controller count them.

Only the usage of pods is counted; quotas of other objects let everything in. If several quotas refuse a pod, the
original names any of them; here it is the first by name. Amounts are written as the pod writes the first of them, 1Gi
or 1G, even if it mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.quantities import Quantity, to_quantity
from kschedweb.engine.controllers.admission import AdmissionError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.labels import SelectorError, new_requirement
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.qos import BEST_EFFORT, get_pod_qos
from kschedweb.engine.objects.resources import CPU, EPHEMERAL, MEMORY, Amounts, is_extended, read_limits
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.values import dataclass

QUOTA = "ResourceQuota"
BASIC = (CPU, MEMORY, EPHEMERAL)
COUNTS = ("pods", "count/pods")
REQUESTS_PREFIX, LIMITED = "requests.", "limits."
# Names that every container must state once a quota limits them.
DEMANDED = frozenset({CPU, MEMORY, *(f"{way}{name}" for way in (REQUESTS_PREFIX, LIMITED) for name in (CPU, MEMORY))})
Usage = dict[str, Quantity]
NOTHING = Quantity(0, 0)


@dataclass(eq=False)
class NamespaceQuota:
    """A quota of what pods take in a namespace."""

    name: str
    # Limits.
    hard: Usage
    # (name, operator, values)
    scopes: tuple[tuple[str, str, tuple[str, ...]], ...]
    # What the pods in the namespace take.
    used: Usage = field(default_factory=dict)

    @classmethod
    def from_json(cls, raw: Json) -> NamespaceQuota:
        """Read a raw quota; raises ObjectError."""
        spec, metadata = get_mapping(raw, "spec"), get_mapping(raw, "metadata")
        hard = {
            name: _read_quantity(value, f"spec.hard.{name}")
            for name, value in get_mapping(spec, "hard", "spec.").items()
        }
        selector = get_mapping(spec, "scopeSelector", "spec.")
        listed = [(scope, "Exists", ()) for scope in get_strings(spec, "scopes", "spec.")] + [
            (
                get_string(expression, "scopeName", at),
                get_string(expression, "operator", at),
                get_strings(expression, "values", at),
            )
            for expression, at in get_objects_and_paths(selector, "matchExpressions", "spec.scopeSelector.")
        ]
        return cls(
            get_string(metadata, "name", "metadata."),
            {k: v for k, v in hard.items() if _is_pod_resource(k)},
            tuple(listed),
        )

    def matches(self, pod: Pod) -> bool:
        return bool(self.hard) and all(_in_scope(pod, *scope) for scope in self.scopes)

    def check_constraints(self, pod: Pod) -> None:
        """Raise AdmissionError if a container does not state a limited amount."""
        if pod.resources.pod_level_set:
            return
        demanded, missing = DEMANDED & self.hard.keys(), {}  # type: ignore[var-annotated]
        for container in (*pod.resources.containers, *pod.resources.init_containers):
            for name in demanded - _quota_amounts(container.requests, container.limits).keys():
                missing.setdefault(name, set()).add(container.name)
        if missing:
            missing_text = "; ".join(
                f"{name} for: {','.join(sorted(names))}" for name, names in sorted(missing.items())
            )
            raise AdmissionError(f"failed quota: {self.name}: must specify {missing_text}")

    def check_room(self, usage: Usage) -> None:
        """Raise AdmissionError if there is no room for ``usage``, which is above 0."""
        requested = {name: amount for name, amount in usage.items() if name in self.hard}
        used = {name: self.used.get(name, NOTHING) for name in requested}
        over = [name for name in requested if used[name].plus(requested[name]).compare(self.hard[name]) > 0]
        if over:
            parts = (("requested", requested), ("used", used), ("limited", self.hard))
            lists = ", ".join(f"{word}: {_format_amounts(amounts, over)}" for word, amounts in parts)
            raise AdmissionError(f"exceeded quota: {self.name}, {lists}")

    def charge_usage(self, usage: Usage, sign: int = 1) -> None:
        for name in usage.keys() & self.hard.keys():
            self.used[name] = self.used.get(name, NOTHING).plus(usage[name], sign)


class Quotas:
    """The quotas of a cluster as they were at first, and what pods take of them."""

    def __init__(self, cluster: ClusterObjects) -> None:
        self.problems: list[str] = []
        self._by_namespace: dict[str, list[NamespaceQuota]] = {}
        # key of a pod -> what it takes of which quotas
        self._charged: dict[str, tuple[Usage, list[NamespaceQuota]]] = {}
        for raw in cluster.all(QUOTA):
            namespace = get_string(get_mapping(raw, "metadata"), "namespace", "metadata.") or "default"
            try:
                self._by_namespace.setdefault(namespace, []).append(NamespaceQuota.from_json(raw))
            except (ObjectError, SelectorError) as problem:
                name = get_mapping(raw, "metadata").get("name")
                self.problems.append(f"{QUOTA} {namespace}/{name}: limits nothing: {problem}")
        # So that the first by name refuses.
        for quotas in self._by_namespace.values():
            quotas.sort(key=lambda quota: quota.name)

    def list_quotas(self, namespace: str) -> list[NamespaceQuota]:
        return self._by_namespace.get(namespace, [])

    def check_pod(self, pod: Pod) -> None:
        """Raise AdmissionError if a quota does not let the new pod in."""
        quotas = [quota for quota in self.list_quotas(pod.namespace) if quota.matches(pod)]
        for quota in quotas:
            quota.check_constraints(pod)
        usage = {name: amount for name, amount in compute_pod_usage(pod).items() if amount.unscaled} if quotas else {}
        for quota in quotas:
            quota.check_room(usage)

    def charge_pod(self, pod: Pod) -> None:
        """Count a pod that exists."""
        quotas = [quota for quota in self.list_quotas(pod.namespace) if quota.matches(pod)]
        if quotas:
            usage = compute_pod_usage(pod)
            self._charged[pod.key] = usage, quotas
            for quota in quotas:
                quota.charge_usage(usage)

    def free_pod(self, key: str) -> bool:
        """Count a pod no more: it is gone, or should be. Returns true if it took of any quota."""
        usage, quotas = self._charged.pop(key, ({}, []))
        for quota in quotas:
            quota.charge_usage(usage, -1)
        return bool(quotas)


def compute_pod_usage(pod: Pod) -> Usage:
    """Return what the pod takes of quotas, by the quotas' names."""
    formats = _quantity_formats(pod)
    amounts = _quota_amounts(pod.resources.total(), read_limits(get_mapping(pod.raw, "spec")))
    usage = {
        name: Quantity(
            nano, -9, format=formats.get(name.removeprefix(LIMITED).removeprefix(REQUESTS_PREFIX), NOTHING.format)
        )
        for name, nano in amounts.items()
    }
    return usage | {name: Quantity(1, 0) for name in COUNTS}


def _quota_amounts(requests: Amounts, limits: Amounts) -> Amounts:
    amounts = {}
    for name, amount in requests.items():
        if name in BASIC or name.startswith("hugepages-"):
            amounts[name] = amounts[REQUESTS_PREFIX + name] = amount
        elif is_extended(name):
            amounts[REQUESTS_PREFIX + name] = amount
    return amounts | {LIMITED + name: amount for name, amount in limits.items() if name in BASIC}


def _quantity_formats(pod: Pod) -> dict[str, str]:
    """Return the format of each resource's amounts: that of the first one in the pod."""
    spec, formats = get_mapping(pod.raw, "spec"), {}  # type: ignore[var-annotated]
    holders = [spec, *get_objects(spec, "containers", "spec."), *get_objects(spec, "initContainers", "spec.")]
    lists = [get_mapping(get_mapping(holder, "resources"), key) for holder in holders for key in ("requests", "limits")]
    for amounts in (*lists, get_mapping(spec, "overhead", "spec.")):
        for name, amount in amounts.items():
            read = _read_quantity(amount, name)
            if read.unscaled:
                formats.setdefault(name, read.format)
    return formats


def _read_quantity(value: object, path: str) -> Quantity:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ObjectError(f"{path}: must be a quantity, such as 500m, 2 or 1.5Gi")
    try:
        return to_quantity(value if isinstance(value, str) else repr(value))
    except (EvaluationError, ExpressionError) as problem:
        raise ObjectError(f"{path}: {problem}") from None


def _is_pod_resource(name: str) -> bool:
    """Return true if pods take of the resource that a quota names so."""
    bare = name.removeprefix(REQUESTS_PREFIX)
    if name in COUNTS or bare in BASIC or bare.startswith("hugepages-"):
        return True
    return name.removeprefix(LIMITED) in BASIC or (name.startswith(REQUESTS_PREFIX) and is_extended(bare))


def _format_amounts(amounts: Mapping[str, Quantity], names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))


# Scopes.


def _in_scope(pod: Pod, name: str, operator: str, values: tuple[str, ...]) -> bool:
    spec = get_mapping(pod.raw, "spec")
    if name in ("Terminating", "NotTerminating"):
        has_deadline = spec.get("activeDeadlineSeconds") is not None
        ends = has_deadline and get_integer(spec, "activeDeadlineSeconds", path="spec.", bits=64) >= 0
        return ends == (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        return (get_pod_qos(pod) == BEST_EFFORT) == (name == "BestEffort")
    if name == "PriorityClass":
        class_name = get_string(spec, "priorityClassName", "spec.")
        return new_requirement(name, operator, values).matches({name: class_name} if class_name else {})
    return name == "CrossNamespacePodAffinity" and _across_namespaces(get_mapping(spec, "affinity", "spec."))


def _across_namespaces(affinity: Json) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = get_mapping(affinity, kind, "spec.affinity.")
        weighted = (get_mapping(weighted_term, "podAffinityTerm") for weighted_term in get_objects(rules, PREFERRED))
        for term in (*get_objects(rules, REQUIRED), *weighted):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
