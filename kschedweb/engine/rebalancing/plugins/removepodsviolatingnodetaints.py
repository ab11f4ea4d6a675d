"""RemovePodsViolatingNodeTaints evicts pods that do not tolerate a taint of their node."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, StructField
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.taints import NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, is_tolerated
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    Args,
    args_struct,
    scope_faults,
)
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import build_filter

NAME = "RemovePodsViolatingNodeTaints"
ARGS = args_struct(
    "removepodsviolatingnodetaints.RemovePodsViolatingNodeTaintsArgs",
    "Taints to check.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    StructField("includePreferNoSchedule", BOOL, "Taints with the effect PreferNoSchedule count too."),
    StructField("excludedTaints", STRINGS, "Taints that do not count, as key or key=value."),
    StructField("includedTaints", STRINGS, "The only taints that count, as key or key=value."),
)


def validate_args(args: Args) -> list[str]:
    faults = scope_faults(args)
    if args["excludedTaints"] and args["includedTaints"]:
        faults.append("either includedTaints or excludedTaints can be set, but not both")
    return faults


class RemovePodsViolatingNodeTaints:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = build_filter(args, selector, handle.passes_filters)

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            taints = [taint for taint in node.taints if self._is_included(taint)]
            pods = self._handle.cluster.list_pods_on_node(node.name, self._passes)
            unwanted = [
                pod for pod in pods if not all(is_tolerated(taint, pod.pod.tolerations, True) for taint in taints)
            ]
            if not self._handle.evict_each(unwanted, NAME):
                return

    def _is_included(self, taint: Taint) -> bool:
        effects = (NO_SCHEDULE, PREFER_NO_SCHEDULE) if self._args["includePreferNoSchedule"] else (NO_SCHEDULE,)
        names = {taint.key, *([f"{taint.key}={taint.value}"] if taint.value else [])}
        included, excluded = self._args["includedTaints"], self._args["excludedTaints"] or ()
        return (
            taint.effect in effects
            and names.isdisjoint(excluded)
            and (included is None or not names.isdisjoint(included))
        )


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsViolatingNodeTaints, validate_args)
