"""RemovePodsHavingTooManyRestarts evicts pods whose containers were restarted too often, node by node."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, INT32, Field
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    Args,
    args_struct,
    listed,
    scope_faults,
)
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import PodView, scope
from kschedweb.engine.validation.gosort import sort_slice

NAME = "RemovePodsHavingTooManyRestarts"
STATES = ("CrashLoopBackOff", "Running")
ARGS = args_struct(
    "removepodshavingtoomanyrestarts.RemovePodsHavingTooManyRestartsArgs",
    "How many restarts are too many.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    Field("podRestartThreshold", INT32, "From this number of restarts on pods go."),
    Field("includingInitContainers", BOOL, "Init containers count too."),
    Field("states", STRINGS, "Only pods that run, or wait in CrashLoopBackOff."),
)


def faults(args: Args) -> list[str]:
    found = scope_faults(args)
    if args["podRestartThreshold"] < 1:
        found.append("invalid PodsHavingTooManyRestarts threshold")
    if set(args["states"] or ()) - set(STATES):
        found.append(f"states must be one of {listed(STATES)}")
    return found


class RemovePodsHavingTooManyRestarts:
    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = scope(args, selector, lambda pod: handle.both(pod) and self._meant(pod))

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            pods = self._handle.cluster.on(node.name, self._passes, done=True)
            sort_slice(pods, lambda one, other: self._restarts(one) > self._restarts(other))
            if not self._handle.evict_each(pods, NAME):
                return

    def _restarts(self, pod: PodView) -> int:
        inits = pod.init_states if self._args["includingInitContainers"] else ()
        return sum(one.restarts for one in (*pod.states, *inits))

    def _meant(self, pod: PodView) -> bool:
        if self._restarts(pod) < self._args["podRestartThreshold"]:
            return False
        wanted = self._args["states"]
        inits = pod.init_states if self._args["includingInitContainers"] else ()
        return not wanted or pod.phase in wanted or any(one.waiting in wanted for one in (*pod.states, *inits))


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsHavingTooManyRestarts, faults)
