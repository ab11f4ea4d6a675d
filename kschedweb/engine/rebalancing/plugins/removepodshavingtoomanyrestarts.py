"""RemovePodsHavingTooManyRestarts evicts pods whose containers restarted too often, node by node."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, INT32, StructField
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    Args,
    args_struct,
    format_go_list,
    scope_faults,
)
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import PodView, build_filter
from kschedweb.engine.validation.gosort import sort_slice

NAME = "RemovePodsHavingTooManyRestarts"
STATES = ("CrashLoopBackOff", "Running")
ARGS = args_struct(
    "removepodshavingtoomanyrestarts.RemovePodsHavingTooManyRestartsArgs",
    "How many restarts are too many.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    StructField("podRestartThreshold", INT32, "Evict pods with at least this many restarts."),
    StructField("includingInitContainers", BOOL, "Init containers count too."),
    StructField("states", STRINGS, "Only pods that run or are in CrashLoopBackOff."),
)


def validate_args(args: Args) -> list[str]:
    faults = scope_faults(args)
    if args["podRestartThreshold"] < 1:
        faults.append("invalid PodsHavingTooManyRestarts threshold")
    if set(args["states"] or ()) - set(STATES):
        faults.append(f"states must be one of {format_go_list(STATES)}")
    return faults


class RemovePodsHavingTooManyRestarts:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = build_filter(args, selector, lambda pod: handle.passes_filters(pod) and self._matches_args(pod))

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            pods = self._handle.cluster.list_pods_on_node(node.name, self._passes, include_done=True)
            sort_slice(pods, lambda first, other: self._count_restarts(first) > self._count_restarts(other))
            if not self._handle.evict_each(pods, NAME):
                return

    def _count_restarts(self, pod: PodView) -> int:
        inits = pod.init_states if self._args["includingInitContainers"] else ()
        return sum(state.restarts for state in (*pod.states, *inits))

    def _matches_args(self, pod: PodView) -> bool:
        if self._count_restarts(pod) < self._args["podRestartThreshold"]:
            return False
        states = self._args["states"]
        inits = pod.init_states if self._args["includingInitContainers"] else ()
        return not states or pod.phase in states or any(state.waiting in states for state in (*pod.states, *inits))


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsHavingTooManyRestarts, validate_args)
