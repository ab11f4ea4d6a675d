"""PodLifeTime evicts pods that are too old, or in a state for too long, the oldest of all nodes first."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import BOOL, INT32, STRING, ListType, Struct, StructField
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    UINT,
    Args,
    args_struct,
    format_go_list,
    include_exclude_faults,
    selector_faults,
)
from kschedweb.engine.rebalancing.evictions import EvictionRefused, TotalLimitReached
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import Condition, PodView, build_filter
from kschedweb.engine.rebalancing.sorting import sort_by_age

NAME = "PodLifeTime"
# States that the original accepts.
STATES = (
    *("Completed", "ContainerCannotRun", "ContainerCreating", "CrashLoopBackOff", "CreateContainerConfigError"),
    *("CreateContainerError", "DeadlineExceeded", "ErrImagePull", "Error", "Evicted", "Failed", "ImagePullBackOff"),
    *("InvalidImageName", "NodeAffinity", "NodeLost", "OOMKilled", "Pending", "PodInitializing", "Running"),
    *("Shutdown", "StartError", "Succeeded", "UnexpectedAdmissionError", "Unknown"),
)
_OWNER_KINDS = Struct(
    "podlifetime.OwnerKinds",
    "Kinds of owners.",
    (
        StructField("include", STRINGS, "One of these owner kinds."),
        StructField("exclude", STRINGS, "None of these owner kinds."),
    ),
)
_CONDITION = Struct(
    "podlifetime.PodConditionFilter",
    "A condition of a pod.",
    (
        *(StructField(name, STRING, f"Its {name}.") for name in ("type", "status", "reason")),
        StructField("minTimeSinceLastTransitionSeconds", UINT, "Minimum age of the condition.", pointer=True),
    ),
)
ARGS = args_struct(
    "podlifetime.PodLifeTimeArgs",
    "When a pod is too old.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    StructField("ownerKinds", _OWNER_KINDS, "Kinds of owners.", pointer=True),
    StructField("maxPodLifeTimeSeconds", UINT, "Evict pods older than this.", pointer=True),
    StructField("states", STRINGS, "Phases, and reasons of pods and containers."),
    StructField("conditions", ListType(_CONDITION), "One of these conditions applies."),
    StructField("exitCodes", ListType(INT32), "A container exited with one of these codes."),
    StructField("includingInitContainers", BOOL, "Init containers count too."),
    StructField("includingEphemeralContainers", BOOL, "Ephemeral containers count too."),
)


def validate_args(args: Args) -> list[str]:
    faults = (
        include_exclude_faults(args["namespaces"])
        + include_exclude_faults(args["ownerKinds"], "ownerKinds")
        + selector_faults(args["labelSelector"])
    )
    if set(args["states"] or ()) - set(STATES):
        faults.append(f"states must be one of {format_go_list(STATES)}")
    for place, condition in enumerate(args["conditions"] or ()):
        if (
            not (condition["type"] or condition["status"] or condition["reason"])
            and condition["minTimeSinceLastTransitionSeconds"] is None
        ):
            options = "type, status, reason, or minTimeSinceLastTransitionSeconds"
            faults.append(f"conditions[{place}]: at least one of {options} must be set")
    if args["maxPodLifeTimeSeconds"] is None and not (args["states"] or args["conditions"] or args["exitCodes"]):
        options = "maxPodLifeTimeSeconds, states, conditions, or exitCodes"
        faults.append(f"at least one filtering criterion must be specified ({options})")
    return faults


class PodLifeTime:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = build_filter(args, selector, lambda pod: handle.passes_filters(pod) and self._matches_args(pod))

    def run(self, nodes: Sequence[Node]) -> None:
        pods = [
            pod
            for node in nodes
            for pod in self._handle.cluster.list_pods_on_node(node.name, self._passes, include_done=True)
        ]
        sort_by_age(pods)
        for pod in pods:
            try:
                self._handle.evict_pod(pod, NAME)
            except TotalLimitReached:
                return
            except EvictionRefused:
                continue

    def _matches_args(self, pod: PodView) -> bool:
        args = self._args
        oldest = args["maxPodLifeTimeSeconds"]
        if oldest is not None and not pod.age_seconds(self._handle.now) > oldest:
            return False
        if args["states"] and not self._in_state(pod):
            return False
        if args["conditions"] and not any(
            self._matches_condition(condition, pod.conditions) for condition in args["conditions"]
        ):
            return False
        return self._matches_owner_kinds(pod) and (not args["exitCodes"] or self._ended_so(pod))

    def _in_state(self, pod: PodView) -> bool:
        states = pod.states
        if self._args["includingInitContainers"]:
            states += pod.init_states
        if self._args["includingEphemeralContainers"]:
            states += pod.ephemeral_states
        reasons = {pod.phase, pod.reason, *(state.waiting for state in states), *(state.terminated for state in states)}
        return not reasons.isdisjoint(self._args["states"])

    def _matches_owner_kinds(self, pod: PodView) -> bool:
        kinds = self._args["ownerKinds"] or {}
        owner_kinds = {owner.kind for owner in pod.owners}
        if kinds.get("include"):
            return not owner_kinds.isdisjoint(kinds["include"])
        return owner_kinds.isdisjoint(kinds.get("exclude") or ())

    def _matches_condition(self, expected: Args, conditions: tuple[Condition, ...]) -> bool:
        min_seconds = expected["minTimeSinceLastTransitionSeconds"]
        for condition in conditions:
            if any(expected[name] not in ("", getattr(condition, name)) for name in ("type", "status", "reason")):
                continue
            # A condition from the future does not count.
            if min_seconds is None or (
                condition.since is not None and 0 <= self._handle.now - condition.since >= min_seconds
            ):
                return True
        return False

    def _ended_so(self, pod: PodView) -> bool:
        states = pod.states + (pod.init_states if self._args["includingInitContainers"] else ())
        return any(state.exit_code in self._args["exitCodes"] for state in states if state.exit_code is not None)


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, PodLifeTime, validate_args)
