"""RemoveFailedPods evicts pods in phase Failed, node by node."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, INT32, ListType, StructField
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    UINT,
    Args,
    args_struct,
    scope_faults,
)
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import FAILED, PodView, build_filter

NAME = "RemoveFailedPods"
# Seconds.
HOUR = 3600
ARGS = args_struct(
    "removefailedpods.RemoveFailedPodsArgs",
    "Failed pods to evict.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    StructField("excludeOwnerKinds", STRINGS, "Pods of these kinds of owners stay."),
    StructField("minPodLifetimeSeconds", UINT, "Minimum age of a pod. Default: an hour.", pointer=True),
    StructField("reasons", STRINGS, "Only pods that failed for one of these reasons."),
    StructField("exitCodes", ListType(INT32), "Only pods whose container exited with one of these codes."),
    StructField("includingInitContainers", BOOL, "Init containers count too."),
)


def apply_defaults(args: Args) -> None:
    if args["minPodLifetimeSeconds"] is None:
        args["minPodLifetimeSeconds"] = HOUR


class RemoveFailedPods:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        inside = build_filter(args, selector, handle.passes_filters)
        self._passes = lambda pod: pod.phase == FAILED and inside(pod) and self._matches_args(pod)

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if not self._handle.evict_each(
                self._handle.cluster.list_pods_on_node(node.name, self._passes, include_done=True), NAME
            ):
                return

    def _matches_args(self, pod: PodView) -> bool:
        """Return True if the pod meets age, owner kinds, reasons and exit codes of the arguments."""
        args, age = self._args, pod.age_seconds(self._handle.now)
        # The original compares unsigned integers: a pod from the future is very old.
        if 0 <= age < args["minPodLifetimeSeconds"] or (age == -1 and args["minPodLifetimeSeconds"] > 0):
            return False
        if any(owner.kind in (args["excludeOwnerKinds"] or ()) for owner in pod.owners):
            return False
        states = pod.states + (pod.init_states if args["includingInitContainers"] else ())
        reasons = {pod.reason, *(state.waiting for state in states), *(state.terminated for state in states)} - {
            None,
            "",
        }
        if args["reasons"] and reasons.isdisjoint(args["reasons"]):
            return False
        return not args["exitCodes"] or any(
            state.exit_code in args["exitCodes"] for state in states if state.terminated is not None
        )


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemoveFailedPods, scope_faults, apply_defaults)
