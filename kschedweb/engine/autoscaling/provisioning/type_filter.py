"""The instance types that a new node can have with one more pod, and why there is none, in Karpenter's words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.amounts import (
    Milli,
    Quantities,
    add_amounts,
    max_quantities,
    min_quantities,
    sum_quantities,
    text_of,
)
from kschedweb.engine.autoscaling.offers.catalogue import Mask
from kschedweb.engine.autoscaling.offers.min_values import describe_shortfall, find_shortfall
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.existing_nodes import has_port_conflict
from kschedweb.engine.autoscaling.provisioning.refusals import SchedulingRefusal
from kschedweb.engine.autoscaling.provisioning.scheduling_context import DaemonGroup, NodeClaimTemplate
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.values import dataclass

# In milli-CPU: a request of a million CPUs or more is probably a typo, says Karpenter.
TYPO = 10**9


@dataclass(frozen=True, slots=True)
class FilteredTypes:
    """The remaining instance types."""

    types: Mask
    # The number of values left, by key with too few for its minValues.
    short: dict[str, int]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Masks of the types that meet each criterion. Only offered types count as fitting, as in Karpenter."""

    meeting: Mask
    fitting: Mask
    offered: Mask

    def explain_failure(self) -> str:
        """Return the first criterion, or pair of criteria, that no type meets."""
        any_met = bool(self.meeting.any()), bool(self.fitting.any()), bool(self.offered.any())
        if not all(any_met):
            return _WORDS[any_met]
        return _UNMET if (self.fitting & ~self.meeting).any() else _TOO_SMALL


# What no type meets, by: any meets the requirements, any is large enough, any is offered.
_WORDS = {
    (False, False, False): (
        "no instance type met the scheduling requirements or had enough resources or had a required offering"
    ),
    (False, False, True): "no instance type met the scheduling requirements or had enough resources",
    (True, False, False): "no instance type had enough resources or had a required offering",
    (False, True, True): "no instance type met all requirements",
    (True, False, True): "no instance type has enough resources",
}
_UNMET = "no instance type which had enough resources and the required offering met the scheduling requirements"
_TOO_SMALL = (
    "no instance type which met the scheduling requirements and the required offering had the required resources"
)


def filter_instance_types(
    template: NodeClaimTemplate,
    types: Mask,
    requirements: Requirements,
    pod: PodView,
    used: Milli,
    ports: Sequence[Port],
    *,
    relax: bool,
) -> FilteredTypes | SchedulingRefusal:
    """Filter ``types`` for a node that has ``used`` (milli-units) and ``ports`` taken; ``relax`` lowers minValues."""
    catalogue, total = template.catalogue, add_amounts(used, pod.pod_data.requests)
    blocked = has_port_conflict(pod.pod_data.ports, ports)
    groups = [
        group for group in template.groups if not blocked and not has_port_conflict(pod.pod_data.ports, group.ports)
    ]
    considered = np.zeros_like(types)
    fitting = np.zeros_like(types)
    # Daemons differ between types, so that what is left for pods does too.
    for group in groups:
        considered |= group.types
        fitting |= group.types & catalogue.filter_fitting(
            add_amounts(total, group.overhead) if group.overhead else total
        )
    considered &= types
    offered = catalogue.filter_offered(requirements) & considered
    verdicts = Verdicts(catalogue.filter_compatible(requirements) & considered, fitting & offered, offered)
    remaining = verdicts.meeting & verdicts.fitting & verdicts.offered
    _, short = find_shortfall(catalogue, (int(place) for place in remaining.nonzero()[0]), requirements)
    if remaining.any() and (not short or relax):
        return FilteredTypes(remaining, short)
    problem = "" if relax else describe_shortfall(short)
    return SchedulingRefusal(lambda: _describe_failure(problem, verdicts, requirements, pod, groups))


def _describe_failure(
    problem: str, verdicts: Verdicts, requirements: Requirements, pod: PodView, groups: Sequence[DaemonGroup]
) -> str:
    words = problem or verdicts.explain_failure()
    resources = _describe_resources(pod.pod_data.request_quantities, groups)
    text = f"{words}, requirements={requirements}, resources={resources}"
    alone = words == _WORDS[True, False, True]
    if alone and pod.pod_data.requests.get(CPU, 0) >= TYPO:
        text += " (CPU request >= 1 Million, m vs M typo?)"
    return text


def _describe_resources(requests: Quantities, groups: Sequence[DaemonGroup]) -> str:
    """Format the pod's requests, with the least and the most that daemons add."""
    overheads = [group.overhead_quantities for group in groups if group.overhead_quantities]
    if not overheads:
        return text_of(requests)
    smallest = largest = overheads[0]
    for overhead in overheads[1:]:
        smallest, largest = min_quantities(smallest, overhead), max_quantities(largest, overhead)
    low, high = text_of(sum_quantities(smallest, requests)), text_of(sum_quantities(largest, requests))
    return low if low == high else f"min={low}, max={high}"
