"""What ResourceQuotas let into a namespace, as the API server's admission and the quota controller count it.

Only what pods take is counted; quotas of other objects let everything in. Where several quotas refuse a pod, the
original names any of them; here it is the first by name. Amounts are written as the pod writes the first of them, 1Gi
or 1G, also where it mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from kschedweb.engine.cel.errors import EvaluationError, Refused
from kschedweb.engine.cel.quantities import Quantity, quantity
from kschedweb.engine.controllers.admission import AdmissionError
from kschedweb.engine.objects.access import Json, ObjectError, each, integer, mapping, objects, text, texts
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.labels import SelectorError, requirement
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.qos import BEST_EFFORT, quality
from kschedweb.engine.objects.resources import CPU, EPHEMERAL, MEMORY, Amounts, is_extended, read_limits
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.values import dataclass

QUOTA = "ResourceQuota"
BASIC = (CPU, MEMORY, EPHEMERAL)
COUNTS = ("pods", "count/pods")
ASKED, LIMITED = "requests.", "limits."
DEMANDED = frozenset({CPU, MEMORY, *(f"{way}{name}" for way in (ASKED, LIMITED) for name in (CPU, MEMORY))})
Usage = dict[str, Quantity]
NOTHING = Quantity(0, 0)


@dataclass(eq=False)
class Quota:
    """``hard`` are the limits of what pods take, ``used`` is what those in the namespace take of them."""

    name: str
    hard: Usage
    scopes: tuple[tuple[str, str, tuple[str, ...]], ...]  # name, operator, values
    used: Usage = field(default_factory=dict)

    @classmethod
    def read(cls, raw: Json) -> Quota:
        """Raises ObjectError."""
        spec, metadata = mapping(raw, "spec"), mapping(raw, "metadata")
        hard = {name: _read(value, f"spec.hard.{name}") for name, value in mapping(spec, "hard", "spec.").items()}
        selector = mapping(spec, "scopeSelector", "spec.")
        listed = [(scope, "Exists", ()) for scope in texts(spec, "scopes", "spec.")] + [
            (text(one, "scopeName", at), text(one, "operator", at), texts(one, "values", at))
            for one, at in each(selector, "matchExpressions", "spec.scopeSelector.")
        ]
        return cls(text(metadata, "name", "metadata."), {k: v for k, v in hard.items() if _of_pods(k)}, tuple(listed))

    def matches(self, pod: Pod) -> bool:
        return bool(self.hard) and all(_in_scope(pod, *scope) for scope in self.scopes)

    def check_constraints(self, pod: Pod) -> None:
        """Raise AdmissionError if a container does not say how much it takes of what is limited."""
        if pod.resources.pod_level_set:
            return
        demanded, missing = DEMANDED & self.hard.keys(), {}  # type: ignore[var-annotated]
        for one in (*pod.resources.containers, *pod.resources.init_containers):
            for name in demanded - _named(one.requests, one.limits).keys():
                missing.setdefault(name, set()).add(one.name)
        if missing:
            told = "; ".join(f"{name} for: {','.join(sorted(names))}" for name, names in sorted(missing.items()))
            raise AdmissionError(f"failed quota: {self.name}: must specify {told}")

    def check_room(self, usage: Usage) -> None:
        """Raise AdmissionError if there is no room for ``usage``, which is above 0."""
        asked = {name: amount for name, amount in usage.items() if name in self.hard}
        used = {name: self.used.get(name, NOTHING) for name in asked}
        over = [name for name in asked if used[name].plus(asked[name]).compare(self.hard[name]) > 0]
        if over:
            told = (("requested", asked), ("used", used), ("limited", self.hard))
            lists = ", ".join(f"{word}: {_written(amounts, over)}" for word, amounts in told)
            raise AdmissionError(f"exceeded quota: {self.name}, {lists}")

    def charge(self, usage: Usage, sign: int = 1) -> None:
        for name in usage.keys() & self.hard.keys():
            self.used[name] = self.used.get(name, NOTHING).plus(usage[name], sign)


class Quotas:
    """The quotas of ``cluster``, as they are there at first, and what pods take of them."""

    def __init__(self, cluster: ClusterObjects) -> None:
        self.problems: list[str] = []
        self._by_namespace: dict[str, list[Quota]] = {}
        self._charged: dict[str, tuple[Usage, list[Quota]]] = {}  # by pod
        for raw in cluster.all(QUOTA):
            namespace = text(mapping(raw, "metadata"), "namespace", "metadata.") or "default"
            try:
                self._by_namespace.setdefault(namespace, []).append(Quota.read(raw))
            except (ObjectError, SelectorError) as problem:
                name = mapping(raw, "metadata").get("name")
                self.problems.append(f"{QUOTA} {namespace}/{name}: limits nothing: {problem}")
        for quotas in self._by_namespace.values():
            quotas.sort(key=lambda quota: quota.name)

    def of(self, namespace: str) -> list[Quota]:
        return self._by_namespace.get(namespace, [])

    def check(self, pod: Pod) -> None:
        """Raise AdmissionError if a quota does not let the new pod in."""
        quotas = [quota for quota in self.of(pod.namespace) if quota.matches(pod)]
        for quota in quotas:
            quota.check_constraints(pod)
        usage = {name: amount for name, amount in usage_of(pod).items() if amount.unscaled} if quotas else {}
        for quota in quotas:
            quota.check_room(usage)

    def charge(self, pod: Pod) -> None:
        """The pod is there."""
        quotas = [quota for quota in self.of(pod.namespace) if quota.matches(pod)]
        if quotas:
            usage = usage_of(pod)
            self._charged[pod.key] = usage, quotas
            for quota in quotas:
                quota.charge(usage)

    def free(self, key: str) -> bool:
        """The pod is gone, or should be; whether it took of any quota."""
        usage, quotas = self._charged.pop(key, ({}, []))
        for quota in quotas:
            quota.charge(usage, -1)
        return bool(quotas)


def usage_of(pod: Pod) -> Usage:
    """What the pod takes of quotas, by their names for it."""
    formats = _formats(pod)
    named = _named(pod.resources.total(), read_limits(mapping(pod.raw, "spec")))
    found = {
        name: Quantity(nano, -9, format=formats.get(name.removeprefix(LIMITED).removeprefix(ASKED), NOTHING.format))
        for name, nano in named.items()
    }
    return found | {name: Quantity(1, 0) for name in COUNTS}


def _named(requests: Amounts, limits: Amounts) -> Amounts:
    found = {}
    for name, amount in requests.items():
        if name in BASIC or name.startswith("hugepages-"):
            found[name] = found[ASKED + name] = amount
        elif is_extended(name):
            found[ASKED + name] = amount
    return found | {LIMITED + name: amount for name, amount in limits.items() if name in BASIC}


def _formats(pod: Pod) -> dict[str, str]:
    """How amounts of each resource are written: as the first one that the pod names."""
    spec, found = mapping(pod.raw, "spec"), {}  # type: ignore[var-annotated]
    holders = [spec, *objects(spec, "containers", "spec."), *objects(spec, "initContainers", "spec.")]
    lists = [mapping(mapping(one, "resources"), key) for one in holders for key in ("requests", "limits")]
    for amounts in (*lists, mapping(spec, "overhead", "spec.")):
        for name, amount in amounts.items():
            read = _read(amount, name)
            if read.unscaled:
                found.setdefault(name, read.format)
    return found


def _read(value: object, path: str) -> Quantity:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ObjectError(f"{path}: must be a quantity, such as 500m, 2 or 1.5Gi")
    try:
        return quantity(value if isinstance(value, str) else repr(value))
    except (EvaluationError, Refused) as problem:
        raise ObjectError(f"{path}: {problem}") from None


def _of_pods(name: str) -> bool:
    """Whether pods take of what a quota names so."""
    bare = name.removeprefix(ASKED)
    if name in COUNTS or bare in BASIC or bare.startswith("hugepages-"):
        return True
    return name.removeprefix(LIMITED) in BASIC or (name.startswith(ASKED) and is_extended(bare))


def _written(amounts: Mapping[str, Quantity], names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))


# Scopes.


def _in_scope(pod: Pod, name: str, operator: str, values: tuple[str, ...]) -> bool:
    spec = mapping(pod.raw, "spec")
    if name in ("Terminating", "NotTerminating"):
        given = spec.get("activeDeadlineSeconds") is not None
        ends = given and integer(spec, "activeDeadlineSeconds", path="spec.", bits=64) >= 0
        return ends == (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        return (quality(pod) == BEST_EFFORT) == (name == "BestEffort")
    if name == "PriorityClass":
        named = text(spec, "priorityClassName", "spec.")
        return requirement(name, operator, values).matches({name: named} if named else {})
    return name == "CrossNamespacePodAffinity" and _across_namespaces(mapping(spec, "affinity", "spec."))


def _across_namespaces(affinity: Json) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = mapping(affinity, kind, "spec.affinity.")
        weighted = (mapping(one, "podAffinityTerm") for one in objects(rules, PREFERRED))
        for term in (*objects(rules, REQUIRED), *weighted):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
