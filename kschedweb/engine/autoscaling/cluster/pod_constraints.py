"""A pod's constraints on nodes and other pods, and how Karpenter relaxes its preferences one by one."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, WrittenRequirement
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.json_access import (
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

# The requirements of a node selector term; all must hold.
Term = tuple[WrittenRequirement, ...]
SPREAD, AFFINITY, ANTI_AFFINITY = "topology spread", "pod affinity", "pod anti-affinity"
# The largest int32: a limit that is never reached.
UNLIMITED = 2**31 - 1
IGNORE, HONOR = "Ignore", "Honor"
# Tolerates every taint of effect PreferNoSchedule.
_PREFERENCES = Toleration(operator=EXISTS, effect=PREFER_NO_SCHEDULE)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class PodSelection:
    """A label selector of a topology term.

    A missing selector matches no pod, but where Karpenter lists pods by it, all pods count.
    """

    # Decides if a pod matches.
    selector: Selector
    # Decides which pods Karpenter lists.
    listing: Selector
    # Equal for equal selections; None for a missing selector.
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
        """Return the selection narrowed to the pod's own values of some labels (matchLabelKeys)."""
        more = tuple(LabelRequirement(key, IN, (labels[key],)) for key in keys if key in labels)
        if not more or self.identity is None:
            return self
        selector = self.selector.with_requirements(more)
        return PodSelection(selector, selector, selector)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of pod affinity or anti-affinity."""

    # The topology key.
    key: str
    selecting: PodSelection
    # Empty if the term names none.
    namespaces: tuple[str, ...]
    # None if the term has none.
    namespace_selector: Selector | None
    # 0 for a required term.
    weight: int = 0


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    # The topology key.
    key: str
    selecting: PodSelection
    max_skew: int
    # None if it is not set.
    min_domains: int | None
    # whenUnsatisfiable.
    when: str
    # nodeTaintsPolicy and nodeAffinityPolicy: IGNORE or HONOR.
    taints_policy: str
    affinity_policy: str
    # matchLabelKeys.
    label_keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PodConstraints:
    """A pod's constraints. The pods of a template share them, and the relaxed versions too."""

    # nodeSelector.
    selector: dict[str, str]
    # Terms of required node affinity, one of which must hold; None if there are none.
    required: tuple[Term, ...] | None
    # Terms of preferred node affinity with their weights, heaviest first.
    preferred: tuple[tuple[int, Term], ...]
    affinity: tuple[PodTerm, ...]
    preferred_affinity: tuple[PodTerm, ...]
    anti_affinity: tuple[PodTerm, ...]
    preferred_anti_affinity: tuple[PodTerm, ...]
    spreads: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]
    # A required term uses matchFields, which Karpenter does not support.
    names_fields: bool
    # Results of `relax`, by its argument.
    _relaxed: dict[bool, PodConstraints | None] = field(default_factory=dict, repr=False)
    _tolerates: dict[tuple[Taint, ...], bool] = field(default_factory=dict, repr=False)

    @cached_property
    def requirements(self) -> Requirements:
        """Requirements that treat the heaviest preference as required."""
        return self._build_requirements(self.preferred[0][1] if self.preferred else ())

    @cached_property
    def strict_requirements(self) -> Requirements:
        """Requirements without preferences."""
        return self._build_requirements(())

    @property
    def looks_at_pods(self) -> bool:
        return bool(self.spreads or self.affinity or self.preferred_affinity or self.repels)

    @property
    def repels(self) -> bool:
        return bool(self.anti_affinity or self.preferred_anti_affinity)

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """Return whether the pod tolerates all taints, whatever their effect."""
        if not taints:
            return True
        if taints not in self._tolerates:
            self._tolerates[taints] = all(is_tolerated(taint, self.tolerations, True) for taint in taints)
        return self._tolerates[taints]

    def explain_intolerance(self, taints: tuple[Taint, ...]) -> str:
        """Return which taints the pod does not tolerate, in Karpenter's words."""
        refused = [taint for taint in taints if not is_tolerated(taint, self.tolerations, True)]
        return "; ".join(f"did not tolerate taint (taint={taint})" for taint in refused)

    def relax(self, prefer_no_schedule: bool) -> PodConstraints | None:
        """Return the constraints without the next preference; None if none is left.

        With ``prefer_no_schedule``, the last step tolerates taints of that effect.
        """
        if prefer_no_schedule not in self._relaxed:
            self._relaxed[prefer_no_schedule] = self._remove_next_preference(prefer_no_schedule)
        return self._relaxed[prefer_no_schedule]

    def without_term(self) -> PodConstraints | None:
        """Return the constraints without the first of several required node affinity terms; None if there is only
        one."""
        if self.required is None or len(self.required) < 2:
            return None
        return self._replace(required=self.required[1:])

    def tolerate_prefer_no_schedule(self) -> PodConstraints:
        """Return the constraints with a toleration of all taints of effect PreferNoSchedule."""
        return (
            self if _PREFERENCES in self.tolerations else self._replace(tolerations=(*self.tolerations, _PREFERENCES))
        )

    def _remove_next_preference(self, prefer_no_schedule: bool) -> PodConstraints | None:
        # The order is that of Karpenter's `Preferences.Relax`.
        if (fewer := self.without_term()) is not None:
            return fewer
        for name in ("preferred_affinity", "preferred_anti_affinity", "preferred"):
            listed = getattr(self, name)
            if listed:
                return self._replace(**{name: listed[1:]})
        for place, spread in enumerate(self.spreads):
            if spread.when == SCHEDULE_ANYWAY:
                # Karpenter moves the last constraint to the place of the removed one.
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
    """Read the constraints of a pod's ``spec``; raises ObjectError."""
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
    # Go's sort.Slice is not stable: terms of equal weight must come out in the order it gives them.
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
