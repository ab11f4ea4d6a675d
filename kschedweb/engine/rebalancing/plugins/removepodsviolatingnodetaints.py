"""RemovePodsViolatingNodeTaints evicts pods that do not tolerate a taint of their node."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, Field
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.taints import NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, tolerated
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    Args,
    args_struct,
    scope_faults,
)
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import scope

NAME = "RemovePodsViolatingNodeTaints"
ARGS = args_struct(
    "removepodsviolatingnodetaints.RemovePodsViolatingNodeTaintsArgs",
    "Which taints count.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    Field("includePreferNoSchedule", BOOL, "Taints with the effect PreferNoSchedule count too."),
    Field("excludedTaints", STRINGS, "Taints that do not count, as key or key=value."),
    Field("includedTaints", STRINGS, "The only taints that count, as key or key=value."),
)


def faults(args: Args) -> list[str]:
    found = scope_faults(args)
    if args["excludedTaints"] and args["includedTaints"]:
        found.append("either includedTaints or excludedTaints can be set, but not both")
    return found


class RemovePodsViolatingNodeTaints:
    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = scope(args, selector, handle.both)

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            taints = [taint for taint in node.taints if self._counts(taint)]
            pods = self._handle.cluster.on(node.name, self._passes)
            unwanted = [pod for pod in pods if not all(tolerated(one, pod.pod.tolerations, True) for one in taints)]
            if not self._handle.evict_each(unwanted, NAME):
                return

    def _counts(self, taint: Taint) -> bool:
        effects = (NO_SCHEDULE, PREFER_NO_SCHEDULE) if self._args["includePreferNoSchedule"] else (NO_SCHEDULE,)
        names = {taint.key, *([f"{taint.key}={taint.value}"] if taint.value else [])}
        included, excluded = self._args["includedTaints"], self._args["excludedTaints"] or ()
        return (
            taint.effect in effects
            and names.isdisjoint(excluded)
            and (included is None or not names.isdisjoint(included))
        )


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsViolatingNodeTaints, faults)
