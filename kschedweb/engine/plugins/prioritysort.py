"""PrioritySort orders pods by priority, highest first, then by the time they were queued."""

from __future__ import annotations

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup


class PrioritySort:
    name = "PrioritySort"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def less(self, a: Pod | PodGroup, a_queued: float, b: Pod | PodGroup, b_queued: float) -> bool:
        return a.priority > b.priority or (a.priority == b.priority and a_queued < b_queued)


SPEC = PluginSpec(
    "PrioritySort",
    frozenset({"queueSort"}),
    "Puts pods of higher priority first, then those that wait longer.",
    factory=PrioritySort,
)
