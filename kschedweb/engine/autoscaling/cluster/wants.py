"""What a pod asks of a node and of other pods, and what is left of it where it gives up preferences one by one."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, Written
from kschedweb.engine.objects.access import Json, ObjectError, each, integer, mapping, string_map, text, texts
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.labels import NOTHING, Labels, Selector, SelectorError, label_selector
from kschedweb.engine.objects.labels import Requirement as LabelRequirement
from kschedweb.engine.objects.spread import SCHEDULE_ANYWAY
from kschedweb.engine.objects.taints import EXISTS, PREFER_NO_SCHEDULE, Taint, Toleration, read_tolerations, tolerated
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

Term = tuple[Written, ...]
SPREAD, AFFINITY, ANTI_AFFINITY = "topology spread", "pod affinity", "pod anti-affinity"
UNLIMITED = 2**31 - 1
IGNORE, HONOR = "Ignore", "Honor"
_PREFERENCES = Toleration(operator=EXISTS, effect=PREFER_NO_SCHEDULE)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Selecting:
    """A label selector. One that is missing matches no pod, but all pods count where Karpenter lists them by it."""

    selector: Selector
    listing: Selector
    identity: Hashable

    @classmethod
    def read(cls, raw: Json, path: str) -> Selecting:
        written = raw.get("labelSelector")
        if written is None:
            return cls(NOTHING, Selector(), None)
        selector = NOTHING
        with suppress(SelectorError):
            selector = label_selector(mapping(raw, "labelSelector", path), f"{path}labelSelector.")
        return cls(selector, selector, selector)

    def narrowed(self, keys: tuple[str, ...], labels: Labels) -> Selecting:
        """With the pod's own values of some labels (matchLabelKeys)."""
        more = tuple(LabelRequirement(key, IN, (labels[key],)) for key in keys if key in labels)
        if not more or self.identity is None:
            return self
        selector = self.selector.narrowed(more)
        return Selecting(selector, selector, selector)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of (anti-)affinity to pods; ``namespaces`` are None for the pod's own."""

    key: str
    selecting: Selecting
    namespaces: tuple[str, ...]
    namespace_selector: Selector | None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Spread:
    key: str
    selecting: Selecting
    max_skew: int
    min_domains: int | None
    when: str
    taints_policy: str
    affinity_policy: str
    label_keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Wants:
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
    spreads: tuple[Spread, ...]
    tolerations: tuple[Toleration, ...]
    names_fields: bool  # a required term asks for fields of nodes, which Karpenter does not know
    _relaxed: dict[bool, Wants | None] = field(default_factory=dict, repr=False)
    _tolerates: dict[tuple[Taint, ...], bool] = field(default_factory=dict, repr=False)

    @cached_property
    def requirements(self) -> Requirements:
        """With the heaviest preference as if it were required."""
        return self._requirements(self.preferred[0][1] if self.preferred else ())

    @cached_property
    def strict(self) -> Requirements:
        """Without preferences."""
        return self._requirements(())

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
            self._tolerates[taints] = all(tolerated(taint, self.tolerations, True) for taint in taints)
        return self._tolerates[taints]

    def intolerance(self, taints: tuple[Taint, ...]) -> str:
        """Which taints it does not tolerate, in Karpenter's words."""
        refused = [taint for taint in taints if not tolerated(taint, self.tolerations, True)]
        return "; ".join(f"did not tolerate taint (taint={taint})" for taint in refused)

    def relaxed(self, prefer_no_schedule: bool) -> Wants | None:
        """Without the next preference, None where there is none left.

        ``prefer_no_schedule``: taints of that effect are tolerated in the end.
        """
        if prefer_no_schedule not in self._relaxed:
            self._relaxed[prefer_no_schedule] = self._relax(prefer_no_schedule)
        return self._relaxed[prefer_no_schedule]

    def without_term(self) -> Wants | None:
        """Without the first of several required terms of node affinity."""
        if self.required is None or len(self.required) < 2:
            return None
        return self._with(required=self.required[1:])

    def tolerant(self) -> Wants:
        """Tolerating all taints that only prefer that no pod comes."""
        return self if _PREFERENCES in self.tolerations else self._with(tolerations=(*self.tolerations, _PREFERENCES))

    def _relax(self, prefer_no_schedule: bool) -> Wants | None:
        if (fewer := self.without_term()) is not None:
            return fewer
        for name in ("preferred_affinity", "preferred_anti_affinity", "preferred"):
            listed = getattr(self, name)
            if listed:
                return self._with(**{name: listed[1:]})
        for place, spread in enumerate(self.spreads):
            if spread.when == SCHEDULE_ANYWAY:
                # The last one takes the place of the one that goes.
                left = [*self.spreads[:place], self.spreads[-1], *self.spreads[place + 1 :]]
                return self._with(spreads=tuple(left[:-1]))
        if prefer_no_schedule and _PREFERENCES not in self.tolerations:
            return self.tolerant()
        return None

    def _with(self, **changed: object) -> Wants:
        return replace(self, _relaxed={}, _tolerates={}, **changed)  # type: ignore[arg-type]

    def _requirements(self, preference: Term) -> Requirements:
        found = Requirements.of_labels(self.selector)
        found.add(Requirements.of_written(preference).values())
        if self.required:
            found.add(Requirements.of_written(self.required[0]).values())
        return found


def read_wants(spec: Json) -> Wants:
    """Of ``spec`` of a pod; raises ObjectError."""
    affinity = mapping(spec, "affinity", "spec.")
    node, at = mapping(affinity, "nodeAffinity", "spec.affinity."), "spec.affinity.nodeAffinity."
    required, names_fields = None, False
    if node.get(REQUIRED) is not None:
        listed = each(mapping(node, REQUIRED, at), "nodeSelectorTerms", f"{at}{REQUIRED}.")
        required = tuple(_term(raw, path) for raw, path in listed)
        names_fields = any(raw.get("matchFields") is not None for raw, _ in listed)
    preferred = [
        (integer(raw, "weight", path=path), _term(mapping(raw, "preference", path), f"{path}preference."))
        for raw, path in each(node, PREFERRED, at)
    ]
    return Wants(
        selector=string_map(spec, "nodeSelector", "spec."),
        required=required,
        preferred=_heaviest_first(preferred),
        affinity=_pod_terms(affinity, "podAffinity", REQUIRED),
        preferred_affinity=_pod_terms(affinity, "podAffinity", PREFERRED),
        anti_affinity=_pod_terms(affinity, "podAntiAffinity", REQUIRED),
        preferred_anti_affinity=_pod_terms(affinity, "podAntiAffinity", PREFERRED),
        spreads=tuple(_spread(raw, path) for raw, path in each(spec, "topologySpreadConstraints", "spec.")),
        tolerations=read_tolerations(spec, "tolerations", "spec."),
        names_fields=names_fields,
    )


def _term(raw: Json, path: str) -> Term:
    return tuple(
        (text(one, "key", at), text(one, "operator", at), texts(one, "values", at))
        for one, at in each(raw, "matchExpressions", path)
    )


def _heaviest_first(preferred: list[tuple[int, Term]]) -> tuple[tuple[int, Term], ...]:
    sort_slice(preferred, lambda one, other: one[0] > other[0])
    return tuple(preferred)


def _pod_terms(affinity: Json, name: str, key: str) -> tuple[PodTerm, ...]:
    block, at = mapping(affinity, name, "spec.affinity."), f"spec.affinity.{name}."
    found = []
    for raw, path in each(block, key, at):
        weight = integer(raw, "weight", path=path) if key == PREFERRED else 0
        body = mapping(raw, "podAffinityTerm", path) if key == PREFERRED else raw
        path += "podAffinityTerm." if key == PREFERRED else ""
        found.append(_pod_term(body, path, weight))
    return tuple(sorted(found, key=lambda one: -one.weight))


def _pod_term(raw: Json, path: str, weight: int) -> PodTerm:
    of_namespaces = None
    if raw.get("namespaceSelector") is not None:
        try:
            of_namespaces = label_selector(mapping(raw, "namespaceSelector", path), f"{path}namespaceSelector.")
        except SelectorError as error:
            raise ObjectError(f"{path}namespaceSelector: {error}") from None
    return PodTerm(
        key=text(raw, "topologyKey", path),
        selecting=Selecting.read(raw, path),
        namespaces=texts(raw, "namespaces", path),
        namespace_selector=of_namespaces,
        weight=weight,
    )


def _spread(raw: Json, path: str) -> Spread:
    return Spread(
        key=text(raw, "topologyKey", path),
        selecting=Selecting.read(raw, path),
        max_skew=integer(raw, "maxSkew", path=path),
        min_domains=None if raw.get("minDomains") is None else integer(raw, "minDomains", path=path),
        when=text(raw, "whenUnsatisfiable", path),
        taints_policy=text(raw, "nodeTaintsPolicy", path) or IGNORE,
        affinity_policy=text(raw, "nodeAffinityPolicy", path) or HONOR,
        label_keys=texts(raw, "matchLabelKeys", path),
    )
