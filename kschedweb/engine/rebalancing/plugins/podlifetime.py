"""PodLifeTime evicts pods that are too old, or have been in a state for too long: the oldest of all nodes first."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, INT32, STRING, Field, ListOf, Struct
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    UINT,
    Args,
    args_struct,
    both,
    listed,
    selector_faults,
)
from kschedweb.engine.rebalancing.evicting import EvictionRefused, TotalLimitReached
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import Condition, PodView, scope
from kschedweb.engine.rebalancing.sorting import by_age

NAME = "PodLifeTime"
STATES = (
    *("Completed", "ContainerCannotRun", "ContainerCreating", "CrashLoopBackOff", "CreateContainerConfigError"),
    *("CreateContainerError", "DeadlineExceeded", "ErrImagePull", "Error", "Evicted", "Failed", "ImagePullBackOff"),
    *("InvalidImageName", "NodeAffinity", "NodeLost", "OOMKilled", "Pending", "PodInitializing", "Running"),
    *("Shutdown", "StartError", "Succeeded", "UnexpectedAdmissionError", "Unknown"),
)
_OWNER_KINDS = Struct(
    "podlifetime.OwnerKinds",
    "Kinds of owners.",
    (Field("include", STRINGS, "One of the owners is of these."), Field("exclude", STRINGS, "None of them is.")),
)
_CONDITION = Struct(
    "podlifetime.PodConditionFilter",
    "A condition of a pod.",
    (
        *(Field(name, STRING, f"Its {name}.") for name in ("type", "status", "reason")),
        Field("minTimeSinceLastTransitionSeconds", UINT, "For how long it has stood.", pointer=True),
    ),
)
ARGS = args_struct(
    "podlifetime.PodLifeTimeArgs",
    "Which pods are too old.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    Field("ownerKinds", _OWNER_KINDS, "Kinds of owners.", pointer=True),
    Field("maxPodLifeTimeSeconds", UINT, "Pods older than this go.", pointer=True),
    Field("states", STRINGS, "Phases, and reasons of pods and containers."),
    Field("conditions", ListOf(_CONDITION), "One of these conditions stands."),
    Field("exitCodes", ListOf(INT32), "A container ended with one of these."),
    Field("includingInitContainers", BOOL, "Init containers count too."),
    Field("includingEphemeralContainers", BOOL, "Ephemeral containers count too."),
)


def faults(args: Args) -> list[str]:
    found = both(args["namespaces"]) + both(args["ownerKinds"], "ownerKinds") + selector_faults(args["labelSelector"])
    if set(args["states"] or ()) - set(STATES):
        found.append(f"states must be one of {listed(STATES)}")
    for place, one in enumerate(args["conditions"] or ()):
        if not (one["type"] or one["status"] or one["reason"]) and one["minTimeSinceLastTransitionSeconds"] is None:
            known = "type, status, reason, or minTimeSinceLastTransitionSeconds"
            found.append(f"conditions[{place}]: at least one of {known} must be set")
    if args["maxPodLifeTimeSeconds"] is None and not (args["states"] or args["conditions"] or args["exitCodes"]):
        known = "maxPodLifeTimeSeconds, states, conditions, or exitCodes"
        found.append(f"at least one filtering criterion must be specified ({known})")
    return found


class PodLifeTime:
    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = scope(args, selector, lambda pod: handle.both(pod) and self._meant(pod))

    def run(self, nodes: Sequence[Node]) -> None:
        pods = [pod for node in nodes for pod in self._handle.cluster.on(node.name, self._passes, done=True)]
        by_age(pods)
        for pod in pods:
            try:
                self._handle.evict(pod, NAME)
            except TotalLimitReached:
                return
            except EvictionRefused:
                continue

    def _meant(self, pod: PodView) -> bool:
        args = self._args
        oldest = args["maxPodLifeTimeSeconds"]
        if oldest is not None and not pod.age(self._handle.now) > oldest:
            return False
        if args["states"] and not self._in_state(pod):
            return False
        if args["conditions"] and not any(self._stands(one, pod.conditions) for one in args["conditions"]):
            return False
        return self._owned(pod) and (not args["exitCodes"] or self._ended_so(pod))

    def _in_state(self, pod: PodView) -> bool:
        states = pod.states
        if self._args["includingInitContainers"]:
            states += pod.init_states
        if self._args["includingEphemeralContainers"]:
            states += pod.ephemeral_states
        there = {pod.phase, pod.reason, *(one.waiting for one in states), *(one.terminated for one in states)}
        return not there.isdisjoint(self._args["states"])

    def _owned(self, pod: PodView) -> bool:
        kinds = self._args["ownerKinds"] or {}
        there = {owner.kind for owner in pod.owners}
        if kinds.get("include"):
            return not there.isdisjoint(kinds["include"])
        return there.isdisjoint(kinds.get("exclude") or ())

    def _stands(self, wanted: Args, conditions: tuple[Condition, ...]) -> bool:
        least = wanted["minTimeSinceLastTransitionSeconds"]
        for one in conditions:
            if any(wanted[name] not in ("", getattr(one, name)) for name in ("type", "status", "reason")):
                continue
            if least is None or (one.since is not None and 0 <= self._handle.now - one.since >= least):
                return True
        return False

    def _ended_so(self, pod: PodView) -> bool:
        states = pod.states + (pod.init_states if self._args["includingInitContainers"] else ())
        return any(one.exit_code in self._args["exitCodes"] for one in states if one.exit_code is not None)


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, PodLifeTime, faults)
