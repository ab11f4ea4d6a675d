"""A pod's topology spread constraints."""

from __future__ import annotations

from kschedweb.engine.objects.access import Json, integer, text, texts
from kschedweb.engine.objects.labels import NOTHING, Labels, Requirement, Selector, SelectorError, label_selector
from kschedweb.engine.values import dataclass

DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """As written in the pod (or in the plugin's arguments, then without a selector).

    ``error`` is what the scheduler says where the selector cannot be parsed.
    """

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    selector: Selector = NOTHING
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_label_keys: tuple[str, ...] = ()
    error: str = ""

    @property
    def hard(self) -> bool:
        return self.when_unsatisfiable == DO_NOT_SCHEDULE

    def effective_selector(self, labels: Labels) -> Selector:
        """The selector with ``matchLabelKeys`` filled in from the pod's own labels."""
        keys = [key for key in self.match_label_keys if key in labels]
        return self.selector.narrowed(tuple(Requirement(key, "In", (labels[key],)) for key in keys))


def read_constraint(raw: Json, path: str) -> SpreadConstraint:
    """A constraint of a pod whose fields are under ``path``."""
    selector, error = NOTHING, ""
    try:
        selector = label_selector(raw.get("labelSelector"), f"{path}labelSelector.")
    except SelectorError as problem:
        error = str(problem)
    return SpreadConstraint(
        max_skew=integer(raw, "maxSkew", path=path),
        topology_key=text(raw, "topologyKey", path),
        when_unsatisfiable=text(raw, "whenUnsatisfiable", path),
        selector=selector,
        min_domains=integer(raw, "minDomains", 1, path),
        honor_affinity=(text(raw, "nodeAffinityPolicy", path) or "Honor") == "Honor",
        honor_taints=text(raw, "nodeTaintsPolicy", path) == "Honor",
        match_label_keys=texts(raw, "matchLabelKeys", path),
        error=error,
    )
