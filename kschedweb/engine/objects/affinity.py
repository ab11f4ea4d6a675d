"""A pod's affinity to nodes and to other pods."""

from __future__ import annotations

from functools import cached_property

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.labels import Labels, Selector, SelectorError, label_selector
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, PreferredTerm, parse_term, parse_terms
from kschedweb.engine.validation.fields import aggregate_texts
from kschedweb.engine.values import dataclass

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# kube-scheduler's names for the four lists, in the order of `PodInfo.Update`.
PARTS = ("requiredAffinityTerms", "requiredAntiAffinityTerms", "preferredAffinityTerms", "preferredAntiAffinityTerms")


@dataclass(frozen=True, slots=True)
class NodeAffinityTerms:
    """The node affinity of a pod."""

    # None if the pod has none; an empty tuple matches no node.
    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredTerm, ...] | None = None

    @classmethod
    def from_json(cls, raw: Json, path: str = "") -> NodeAffinityTerms:
        required, preferred = None, None
        if raw.get(REQUIRED) is not None:
            required = parse_terms(get_mapping(raw, REQUIRED, path), "nodeSelectorTerms", f"{path}{REQUIRED}.")
        if raw.get(PREFERRED) is not None:
            preferred = tuple(
                PreferredTerm(
                    get_integer(item, "weight", path=at),
                    parse_term(get_mapping(item, "preference", at), f"{at}preference.", f"[{index}]"),
                )
                for index, (item, at) in enumerate(get_objects_and_paths(raw, PREFERRED, path))
            )
        return cls(required, preferred)

    @property
    def unread(self) -> tuple[str, ...]:
        """Kubernetes' errors for preferred terms that it cannot parse, each with the path below PREFERRED."""
        return tuple(problem for item in self.preferred or () if item.has_effect for problem in item.term.problems)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of pod affinity or anti-affinity.

    It selects pods in ``namespaces``, and in namespaces whose labels ``namespace_selector`` matches.
    """

    selector: Selector
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector
    # 0 for a required term.
    weight: int = 0

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True)
class PodAffinity:
    """All terms of a pod."""

    required: tuple[PodTerm, ...] = ()
    anti_required: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()
    anti_preferred: tuple[PodTerm, ...] = ()
    # True if the pod has podAffinity or podAntiAffinity, even an empty one.
    present: bool = False
    # The scheduler's error if a selector cannot be parsed, else empty.
    error: str = ""

    @property
    def is_unreadable(self) -> bool:
        """True if a selector cannot be parsed."""
        return bool(self.error)

    @cached_property
    def weighted_terms(self) -> tuple[tuple[PodTerm, int], ...]:
        """The preferred terms with their weights; those of anti-affinity are negative."""
        attracting = [(term, term.weight) for term in self.preferred]
        return (*attracting, *((term, -term.weight) for term in self.anti_preferred))


NONE = PodAffinity()


def read_pod_affinity(raw: Json, namespace: str) -> PodAffinity:
    """Read ``spec.affinity`` of a pod in ``namespace``."""
    affinity, anti = raw.get("podAffinity"), raw.get("podAntiAffinity")
    if affinity is None and anti is None:
        return NONE
    path = "spec.affinity."
    parts: list[tuple[PodTerm, ...]] = []
    problems: list[str] = []
    # In the order of `PodInfo.Update`, which is the order of its errors.
    for key in (REQUIRED, PREFERRED):
        for name in ("podAffinity", "podAntiAffinity"):
            listed = get_objects_and_paths(get_mapping(raw, name, path), key, f"{path}{name}.")
            try:
                parts.append(tuple(_read_term(item, at, key == PREFERRED, namespace) for item, at in listed))
            except SelectorError as problem:
                parts.append(())
                problems.append(f"{PARTS[len(parts) - 1]}: {problem}")
    required, anti_required, preferred, anti_preferred = parts
    error = aggregate_texts(problems) if problems else ""
    return PodAffinity(required, anti_required, preferred, anti_preferred, present=True, error=error)


def _read_term(raw: Json, path: str, preferred: bool, namespace: str) -> PodTerm:
    weight = get_integer(raw, "weight", path=path) if preferred else 0
    body = get_mapping(raw, "podAffinityTerm", path) if preferred else raw
    path += "podAffinityTerm." if preferred else ""
    namespaces = frozenset(get_strings(body, "namespaces", path))
    # Without namespaces and a selector for them, a term means the pod's own namespace.
    if not namespaces and body.get("namespaceSelector") is None:
        namespaces = frozenset({namespace})
    return PodTerm(
        selector=label_selector(body.get("labelSelector"), f"{path}labelSelector."),
        topology_key=get_string(body, "topologyKey", path),
        namespaces=namespaces,
        namespace_selector=label_selector(body.get("namespaceSelector"), f"{path}namespaceSelector."),
        weight=weight,
    )
