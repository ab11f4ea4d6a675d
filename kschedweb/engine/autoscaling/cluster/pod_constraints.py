"""What a pod asks of a node and of other pods, and what is left of it where it gives up preferences one by one."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, WrittenRequirement
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.json_access import (
    Json,
    ObjectError,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.labels import NOTHING, Labels, Selector, SelectorError, label_selector
from kschedweb.engine.objects.labels import Requirement as LabelRequirement
from kschedweb.engine.objects.spread import SCHEDULE_ANYWAY
from kschedweb.engine.objects.taints import (
    EXISTS,
    PREFER_NO_SCHEDULE,
    Taint,
    Toleration,
    is_tolerated,
    read_tolerations,
)
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

Term = tuple[WrittenRequirement, ...]
SPREAD, AFFINITY, ANTI_AFFINITY = "topology spread", "pod affinity", "pod anti-affinity"
UNLIMITED = 2**31 - 1
IGNORE, HONOR = "Ignore", "Honor"
_PREFERENCES = Toleration(operator=EXISTS, effect=PREFER_NO_SCHEDULE)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class PodSelection:
    """A label selector. One that is missing matches no pod, but all pods count where Karpenter lists them by it."""

    selector: Selector
    listing: Selector
    identity: Hashable

    @classmethod
    def from_json(cls, raw: Json, path: str) -> PodSelection:
        raw_selector = raw.get("labelSelector")
        if raw_selector is None:
            return cls(NOTHING, Selector(), None)
        selector = NOTHING
        with suppress(SelectorError):
            selector = label_selector(get_mapping(raw, "labelSelector", path), f"{path}labelSelector.")
        return cls(selector, selector, selector)

    def narrow_by_labels(self, keys: tuple[str, ...], labels: Labels) -> PodSelection:
        """With the pod's own values of some labels (matchLabelKeys)."""
        more = tuple(LabelRequirement(key, IN, (labels[key],)) for key in keys if key in labels)
        if not more or self.identity is None:
            return self
        selector = self.selector.with_requirements(more)
        return PodSelection(selector, selector, selector)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of (anti-)affinity to pods; ``namespaces`` are None for the pod's own."""

    key: str
    selecting: PodSelection
    namespaces: tuple[str, ...]
    namespace_selector: Selector | None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    key: str
    selecting: PodSelection
    max_skew: int
    min_domains: int | None
    when: str
    taints_policy: str
    affinity_policy: str
    label_keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PodConstraints:
    """The wishes of a pod; pods of one template share them, and what they become when relaxed.

    ``required`` are terms of node affinity of which one must hold, None where there are none.
    """

    selector: dict[str, str]
    required: tuple[Term, ...] | None
    preferred: tuple[tuple[int, Term], ...]
    affinity: tuple[PodTerm, ...]
    preferred_affinity: tuple[PodTerm, ...]
    anti_affinity: tuple[PodTerm, ...]
    preferred_anti_affinity: tuple[PodTerm, ...]
    spreads: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]
    names_fields: bool  # a required term asks for fields of nodes, which Karpenter does not know
    _relaxed: dict[bool, PodConstraints | None] = field(default_factory=dict, repr=False)
    _tolerates: dict[tuple[Taint, ...], bool] = field(default_factory=dict, repr=False)

    @cached_property
    def requirements(self) -> Requirements:
        """With the heaviest preference as if it were required."""
        return self._build_requirements(self.preferred[0][1] if self.preferred else ())

    @cached_property
    def strict_requirements(self) -> Requirements:
        """Without preferences."""
        return self._build_requirements(())

    @property
    def looks_at_pods(self) -> bool:
        return bool(self.spreads or self.affinity or self.preferred_affinity or self.repels)

    @property
    def repels(self) -> bool:
        return bool(self.anti_affinity or self.preferred_anti_affinity)

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """Whether it tolerates all taints, whatever their effect."""
        if not taints:
            return True
        if taints not in self._tolerates:
            self._tolerates[taints] = all(is_tolerated(taint, self.tolerations, True) for taint in taints)
        return self._tolerates[taints]

    def explain_intolerance(self, taints: tuple[Taint, ...]) -> str:
        """Which taints it does not tolerate, in Karpenter's words."""
        refused = [taint for taint in taints if not is_tolerated(taint, self.tolerations, True)]
        return "; ".join(f"did not tolerate taint (taint={taint})" for taint in refused)

    def relax(self, prefer_no_schedule: bool) -> PodConstraints | None:
        """Without the next preference, None where there is none left.

        ``prefer_no_schedule``: taints of that effect are tolerated in the end.
        """
        if prefer_no_schedule not in self._relaxed:
            self._relaxed[prefer_no_schedule] = self._remove_next_preference(prefer_no_schedule)
        return self._relaxed[prefer_no_schedule]

    def without_term(self) -> PodConstraints | None:
        """Without the first of several required terms of node affinity."""
        if self.required is None or len(self.required) < 2:
            return None
        return self._replace(required=self.required[1:])

    def tolerate_prefer_no_schedule(self) -> PodConstraints:
        """Tolerating all taints that only prefer that no pod comes."""
        return (
            self if _PREFERENCES in self.tolerations else self._replace(tolerations=(*self.tolerations, _PREFERENCES))
        )

    def _remove_next_preference(self, prefer_no_schedule: bool) -> PodConstraints | None:
        if (fewer := self.without_term()) is not None:
            return fewer
        for name in ("preferred_affinity", "preferred_anti_affinity", "preferred"):
            listed = getattr(self, name)
            if listed:
                return self._replace(**{name: listed[1:]})
        for place, spread in enumerate(self.spreads):
            if spread.when == SCHEDULE_ANYWAY:
                # The last one takes the place of the one that goes.
                remaining = [*self.spreads[:place], self.spreads[-1], *self.spreads[place + 1 :]]
                return self._replace(spreads=tuple(remaining[:-1]))
        if prefer_no_schedule and _PREFERENCES not in self.tolerations:
            return self.tolerate_prefer_no_schedule()
        return None

    def _replace(self, **changed: object) -> PodConstraints:
        return replace(self, _relaxed={}, _tolerates={}, **changed)  # type: ignore[arg-type]

    def _build_requirements(self, preference: Term) -> Requirements:
        requirements = Requirements.of_labels(self.selector)
        requirements.add(Requirements.of_written(preference).values())
        if self.required:
            requirements.add(Requirements.of_written(self.required[0]).values())
        return requirements


def read_pod_constraints(spec: Json) -> PodConstraints:
    """Of ``spec`` of a pod; raises ObjectError."""
    affinity = get_mapping(spec, "affinity", "spec.")
    node, at = get_mapping(affinity, "nodeAffinity", "spec.affinity."), "spec.affinity.nodeAffinity."
    required, names_fields = None, False
    if node.get(REQUIRED) is not None:
        listed = get_objects_and_paths(get_mapping(node, REQUIRED, at), "nodeSelectorTerms", f"{at}{REQUIRED}.")
        required = tuple(_read_term(raw, path) for raw, path in listed)
        names_fields = any(raw.get("matchFields") is not None for raw, _ in listed)
    preferred = [
        (get_integer(raw, "weight", path=path), _read_term(get_mapping(raw, "preference", path), f"{path}preference."))
        for raw, path in get_objects_and_paths(node, PREFERRED, at)
    ]
    return PodConstraints(
        selector=get_string_map(spec, "nodeSelector", "spec."),
        required=required,
        preferred=_heaviest_first(preferred),
        affinity=_pod_terms(affinity, "podAffinity", REQUIRED),
        preferred_affinity=_pod_terms(affinity, "podAffinity", PREFERRED),
        anti_affinity=_pod_terms(affinity, "podAntiAffinity", REQUIRED),
        preferred_anti_affinity=_pod_terms(affinity, "podAntiAffinity", PREFERRED),
        spreads=tuple(
            _read_spread(raw, path) for raw, path in get_objects_and_paths(spec, "topologySpreadConstraints", "spec.")
        ),
        tolerations=read_tolerations(spec, "tolerations", "spec."),
        names_fields=names_fields,
    )


def _read_term(raw: Json, path: str) -> Term:
    return tuple(
        (
            get_string(expression, "key", at),
            get_string(expression, "operator", at),
            get_strings(expression, "values", at),
        )
        for expression, at in get_objects_and_paths(raw, "matchExpressions", path)
    )


def _heaviest_first(preferred: list[tuple[int, Term]]) -> tuple[tuple[int, Term], ...]:
    sort_slice(preferred, lambda term, other: term[0] > other[0])
    return tuple(preferred)


def _pod_terms(affinity: Json, name: str, key: str) -> tuple[PodTerm, ...]:
    block, at = get_mapping(affinity, name, "spec.affinity."), f"spec.affinity.{name}."
    terms = []
    for raw, path in get_objects_and_paths(block, key, at):
        weight = get_integer(raw, "weight", path=path) if key == PREFERRED else 0
        body = get_mapping(raw, "podAffinityTerm", path) if key == PREFERRED else raw
        path += "podAffinityTerm." if key == PREFERRED else ""
        terms.append(_pod_term(body, path, weight))
    return tuple(sorted(terms, key=lambda term: -term.weight))


def _pod_term(raw: Json, path: str, weight: int) -> PodTerm:
    of_namespaces = None
    if raw.get("namespaceSelector") is not None:
        try:
            of_namespaces = label_selector(get_mapping(raw, "namespaceSelector", path), f"{path}namespaceSelector.")
        except SelectorError as error:
            raise ObjectError(f"{path}namespaceSelector: {error}") from None
    return PodTerm(
        key=get_string(raw, "topologyKey", path),
        selecting=PodSelection.from_json(raw, path),
        namespaces=get_strings(raw, "namespaces", path),
        namespace_selector=of_namespaces,
        weight=weight,
    )


def _read_spread(raw: Json, path: str) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        key=get_string(raw, "topologyKey", path),
        selecting=PodSelection.from_json(raw, path),
        max_skew=get_integer(raw, "maxSkew", path=path),
        min_domains=None if raw.get("minDomains") is None else get_integer(raw, "minDomains", path=path),
        when=get_string(raw, "whenUnsatisfiable", path),
        taints_policy=get_string(raw, "nodeTaintsPolicy", path) or IGNORE,
        affinity_policy=get_string(raw, "nodeAffinityPolicy", path) or HONOR,
        label_keys=get_strings(raw, "matchLabelKeys", path),
    )
