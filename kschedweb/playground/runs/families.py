"""Names and explanations of families of measures, which share a chart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kschedweb.engine.studies.measure.registry import (
    FAMILIES,
    FRAGMENTATION,
    IN_USE,
    LEAVING,
    PENDING,
    REQUESTS,
    SCALING,
    USE,
    WAIT,
    family_of,
)
from kschedweb.engine.studies.measure.spec import Family
from kschedweb.web.translating import gettext_lazy as _


@dataclass(frozen=True)
class FamilyWords:
    """The name of a family."""

    label: str
    # Explains its measures in a few sentences.
    help: str


@dataclass(frozen=True)
class ShownFamily:
    """A family of the engine's measures, with its name and explanation."""

    family: Family
    words: FamilyWords

    @property
    def name(self) -> str:
        return self.family.name

    @property
    def group(self) -> str:
        """The group of measures under which its chart is shown."""
        return self.family.group.name

    @property
    def label(self) -> str:
        return self.words.label

    @property
    def help(self) -> str:
        return self.words.help

    def has_measure(self, measure: str) -> bool:
        return family_of(measure) == self.family


WORDS = {
    PENDING: FamilyWords(
        _("Pods that do not run"),
        _(
            "A pod waits from its arrival until it has a node: in the active queue, where it is tried next; backing "
            "off after an error; unschedulable, until something happens that may help; or gated, until its scheduling "
            "gates are gone. Unscheduled pods still wait when the run ends. A pod that names a node without room for "
            "it fails there. Of pods on a node whose kubelet is silent, nobody knows whether they run. Fewer are "
            "better."
        ),
    ),
    LEAVING: FamilyWords(
        _("Preemptions, evictions and budgets"),
        _(
            "A preempted pod makes room for one of higher priority. An evicted pod loses its node to a drain, to a "
            "taint that it does not tolerate, to the descheduler, or with the node. A PodDisruptionBudget says how "
            "many pods of an application may be down at once: a disruption beyond it takes one more. Fewer are better."
        ),
    ),
    REQUESTS: FamilyWords(
        _("Skew and spread of requests"),
        _(
            "How evenly requests are spread over the nodes, each node by the share of it that is requested. Skew is "
            "the fullest node less the emptiest, spread the standard deviation over all nodes, both in percentage "
            "points: 0 means that all nodes are equally full. Lower is better for evenness. A policy that packs makes "
            "both larger on purpose."
        ),
    ),
    USE: FamilyWords(
        _("Skew and spread of use"),
        _(
            "As for requests, with what nodes really use: the scenario's watermarks or recorded use. Only nodes that "
            "are ready, not cordoned and not tainted are compared. The hottest node is the highest use of any node at "
            "any time: near 100 % its pods slow each other down. Lower is better."
        ),
    ),
    IN_USE: FamilyWords(
        _("Nodes in use"),
        _(
            "Node-hours count each node for as long as it is there. A node is in use while it runs more than pods of "
            "DaemonSets and static pods. The others are empty: they could be switched off, or take a pod of any size. "
            "Fewer node-hours and more empty nodes are better, if what is saved is worth it: packing tightly makes the "
            "other nodes uneven. Costs are by the prices of the scenario; nodes without a price are in no cost."
        ),
    ),
    FRAGMENTATION: FamilyWords(
        _("Fragmentation"),
        _(
            "The share of what is free that a pod drawn at random from the workload cannot use, since the node has "
            "too little of something else, or may not run it (Weng et al., USENIX ATC 2023). At 0 % everything that "
            "is free is of use to every pod; at 100 % nothing is. It also counts pods that do not ask for the "
            "resource at all, so it stays high for GPUs where most pods want none. Lower is better."
        ),
    ),
    SCALING: FamilyWords(
        _("Scaled workloads"),
        _(
            "How many pods are asked for by workloads that an autoscaler or cron entries scale, and how many of them "
            "are ready. An autoscaler looks every 15 seconds. Time above target is the share of its looks at which "
            "the pods used more of the CPU that they request than it aims at. It does nothing while they are less "
            "than 10 % above. Fewer pods are better where no more of the time is above target."
        ),
    ),
    WAIT: FamilyWords(
        _("Time to schedule"),
        _(
            "The time from a pod's arrival to its binding, in the time of the simulation: each try takes the "
            "scenario's cycle (1 ms unless it says otherwise), so pods that come together wait for one another. Half "
            "of all pods are faster than the median, 99 of 100 faster than the 99th percentile. Pods without a node "
            "do not count here: they are unscheduled. Shorter is better."
        ),
    ),
}


def with_words(family: Family) -> ShownFamily:
    return ShownFamily(family, WORDS[family])


def present_families(measures: Iterable[str]) -> list[ShownFamily]:
    """Return the families with at least one of ``measures``, in order."""
    names = {family_of(name) for name in measures}
    return [with_words(family) for family in FAMILIES if family in names]
