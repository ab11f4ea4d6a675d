"""Which instance types a new node can be with one more pod, and why none is left, in Karpenter's words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.amounts import Milli, Shown, added, least, merged, most, text_of
from kschedweb.engine.autoscaling.offers.catalogue import Mask
from kschedweb.engine.autoscaling.offers.counting import said, shortfall
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.fleet import conflicting
from kschedweb.engine.autoscaling.provisioning.ground import DaemonGroup, Template
from kschedweb.engine.autoscaling.provisioning.refusals import Refusal
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.values import dataclass

TYPO = 10**9
"""A request of so many milli-CPU, a million CPUs, is taken for a slip."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The types that are left, and how many values there are for the keys of which more are wanted."""

    types: Mask
    short: dict[str, int]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Which of the types looked at meet each criterion; only what is offered is found large enough."""

    meeting: Mask
    fitting: Mask
    offered: Mask

    def words(self) -> str:
        """The first criterion, or pair of criteria, that no type meets."""
        found = bool(self.meeting.any()), bool(self.fitting.any()), bool(self.offered.any())
        if not all(found):
            return _WORDS[found]
        return _UNMET if (self.fitting & ~self.meeting).any() else _TOO_SMALL


# What no type meets, by whether any meets the requirements, is large enough, is offered.
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


def filtered(
    template: Template,
    types: Mask,
    wanted: Requirements,
    pod: PodView,
    used: Milli,
    ports: Sequence[Port],
    *,
    relax: bool,
) -> Filtered | Refusal:
    """Filter ``types`` for a node that has ``used`` (milli-units) and ``ports`` taken; ``relax`` lowers minValues."""
    catalogue, total = template.catalogue, added(used, pod.asking.requests)
    blocked = conflicting(pod.asking.ports, ports)
    groups = [one for one in template.groups if not blocked and not conflicting(pod.asking.ports, one.ports)]
    looked = np.zeros_like(types)
    fitting = np.zeros_like(types)
    for group in groups:
        looked |= group.types
        fitting |= group.types & catalogue.fitting(added(total, group.overhead) if group.overhead else total)
    looked &= types
    offered = catalogue.offered(wanted) & looked
    verdicts = Verdicts(catalogue.meeting(wanted) & looked, fitting & offered, offered)
    left = verdicts.meeting & verdicts.fitting & verdicts.offered
    _, short = shortfall(catalogue, (int(place) for place in left.nonzero()[0]), wanted)
    if left.any() and (not short or relax):
        return Filtered(left, short)
    problem = "" if relax else said(short)
    return Refusal(lambda: _said(problem, verdicts, wanted, pod, groups))


def _said(problem: str, verdicts: Verdicts, wanted: Requirements, pod: PodView, groups: Sequence[DaemonGroup]) -> str:
    words = problem or verdicts.words()
    text = f"{words}, requirements={wanted}, resources={_resources(pod.asking.written, groups)}"
    alone = words == _WORDS[True, False, True]
    if alone and pod.asking.requests.get(CPU, 0) >= TYPO:
        text += " (CPU request >= 1 Million, m vs M typo?)"
    return text


def _resources(asked: Shown, groups: Sequence[DaemonGroup]) -> str:
    """What the pod asks for, with the least and the most that daemons take."""
    overheads = [group.written for group in groups if group.written]
    if not overheads:
        return text_of(asked)
    smallest = largest = overheads[0]
    for one in overheads[1:]:
        smallest, largest = least(smallest, one), most(largest, one)
    low, high = text_of(merged(smallest, asked)), text_of(merged(largest, asked))
    return low if low == high else f"min={low}, max={high}"
