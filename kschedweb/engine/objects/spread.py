"""A pod's topology spread constraints."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_string, get_strings
from kschedweb.engine.objects.labels import NOTHING, Labels, Requirement, Selector, SelectorError, label_selector
from kschedweb.engine.values import dataclass

DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topology spread constraint of a pod, or of the plugin's arguments, then without a selector."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    selector: Selector = NOTHING
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_label_keys: tuple[str, ...] = ()
    # The scheduler's error if the selector cannot be parsed, else empty.
    error: str = ""

    @property
    def is_hard(self) -> bool:
        return self.when_unsatisfiable == DO_NOT_SCHEDULE

    def effective_selector(self, labels: Labels) -> Selector:
        """Return the selector with ``matchLabelKeys`` filled in from the pod's own labels."""
        keys = [key for key in self.match_label_keys if key in labels]
        return self.selector.with_requirements(tuple(Requirement(key, "In", (labels[key],)) for key in keys))


def read_constraint(raw: Json, path: str) -> SpreadConstraint:
    """Read a constraint of a pod, whose fields are under ``path``."""
    selector, error = NOTHING, ""
    try:
        selector = label_selector(raw.get("labelSelector"), f"{path}labelSelector.")
    except SelectorError as problem:
        error = str(problem)
    return SpreadConstraint(
        max_skew=get_integer(raw, "maxSkew", path=path),
        topology_key=get_string(raw, "topologyKey", path),
        when_unsatisfiable=get_string(raw, "whenUnsatisfiable", path),
        selector=selector,
        min_domains=get_integer(raw, "minDomains", 1, path),
        honor_affinity=(get_string(raw, "nodeAffinityPolicy", path) or "Honor") == "Honor",
        honor_taints=get_string(raw, "nodeTaintsPolicy", path) == "Honor",
        match_label_keys=get_strings(raw, "matchLabelKeys", path),
        error=error,
    )
