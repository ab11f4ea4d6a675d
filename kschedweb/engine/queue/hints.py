"""Decide which event may help which rejected pod, by the hints of the plugins of all profiles."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from kschedweb.engine.framework.diagnosis import EXTENDER
from kschedweb.engine.framework.events import EVERYTHING, NODE, Action, ClusterEvent, Hint, ObjectChange
from kschedweb.engine.framework.interface import Plugin
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue.queued_pods import QueuedPod


class Strategy(Enum):
    """The consequence of an event for a pod that waits."""

    SKIP = "stays"
    AFTER_BACKOFF = "is tried again after its backoff"
    IMMEDIATELY = "is tried again at once"


# (event, plugin, hint)
Registered = tuple[ClusterEvent, str, Hint | None]


class QueueingHints:
    """The events that the plugins of each profile (by scheduler name) registered.

    With ``taint_update_as_node_add`` a changed taint wakes the pods that wait for new nodes (up to 1.36).
    """

    def __init__(
        self, frameworks: Mapping[str, Framework], *, extenders: bool = False, taint_update_as_node_add: bool = False
    ) -> None:
        self._registered = {
            name: _register_events(framework, extenders, taint_update_as_node_add)
            for name, framework in frameworks.items()
        }
        # Matching is worked out once for each event, since the same few events come all the time.
        self._matching: dict[tuple[str, ClusterEvent], dict[str, list[Hint | None]]] = {}
        self._events_of: dict[str, list[ClusterEvent]] = {}
        for registered in self._registered.values():
            for event, plugin, _ in registered:
                self._events_of.setdefault(plugin, []).append(event)

    def hints_for_event(self, scheduler: str, event: ClusterEvent) -> dict[str, list[Hint | None]]:
        """Return the hints for ``event`` by plugin, in the profile of that scheduler name."""
        key = scheduler, event
        if key not in self._matching:
            matching: dict[str, list[Hint | None]] = {}
            for registered_event, plugin, hint in self._registered.get(scheduler, ()):
                if registered_event.covers(event):
                    matching.setdefault(plugin, []).append(hint)
            self._matching[key] = matching
        return self._matching[key]

    def is_event_of_interest(self, event: ClusterEvent) -> bool:
        """Return true if any plugin of any profile registered for ``event``."""
        return event.is_wildcard or any(self.hints_for_event(name, event) for name in self._registered)

    def opens_gate(self, plugin: str, event: ClusterEvent) -> bool:
        """Return true if the PreEnqueue plugin ``plugin`` waits for ``event``."""
        return any(registered_event.covers(event) for registered_event in self._events_of.get(plugin, ()))

    def get_queueing_strategy(self, queued: QueuedPod, event: ClusterEvent, change: ObjectChange) -> Strategy:
        """Return the consequence of ``event`` for ``queued``. A wildcard event may name the one pod that it is for."""
        rejectors = queued.rejectors
        # A pod that came back after an error waits for no plugin: every event may help it.
        if not rejectors:
            return Strategy.AFTER_BACKOFF
        if event.is_wildcard:
            meant = change.new is None or (isinstance(change.new, Pod) and change.new.uid == queued.pod.uid)
            return Strategy.AFTER_BACKOFF if meant else Strategy.SKIP
        if queued.pod.scheduler_name not in self._registered:
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for plugin, hints in self.hints_for_event(queued.pod.scheduler_name, event).items():
            if plugin not in rejectors or not any(_may_help(hint, queued.pod, change) for hint in hints):
                continue
            # A pending plugin skips the backoff, so that no other plugin's answer can be better.
            if plugin in queued.pending:
                return Strategy.IMMEDIATELY
            strategy = Strategy.AFTER_BACKOFF
            if not queued.pending:
                break
        return strategy

    def helping_plugins(self, queued: QueuedPod, event: ClusterEvent, change: ObjectChange) -> list[str]:
        """Return the names of the plugins that rejected ``queued`` and whose hints say that ``event`` may help it."""
        concerned = self.hints_for_event(queued.pod.scheduler_name, event)
        return sorted(
            plugin
            for plugin in queued.rejectors & concerned.keys()
            if any(_may_help(hint, queued.pod, change) for hint in concerned[plugin])
        )


def _may_help(hint: Hint | None, pod: Pod, change: ObjectChange) -> bool:
    if hint is None:
        return True
    try:
        return hint(pod, change)
    except (CycleError, ValueError):
        # As in kube-scheduler, a hint that fails counts as help: better a try in vain than a forgotten pod.
        return True


def _register_events(framework: Framework, extenders: bool, taint_update_as_node_add: bool) -> list[Registered]:
    registered: list[Registered] = []
    # Extenders do not tell what they wait for: any event may help.
    if extenders:
        registered += [(item.event, EXTENDER, item.hint) for item in EVERYTHING]
    for plugin in _rejecting_plugins(framework):
        listed = list(framework.events_to_register(plugin))
        registered += [(item.event, plugin.name, item.hint) for item in listed]
        # The event that adds a node may be dropped because of the node's taints, so that the plugin has to hear when
        # they change, as in `buildQueueingHintMap`.
        about_nodes = [item.event.action for item in listed if taint_update_as_node_add and item.event.resource == NODE]
        if any(action & Action.ADD for action in about_nodes) and not any(
            action & Action.NODE_TAINT for action in about_nodes
        ):
            registered.append((ClusterEvent(NODE, Action.NODE_TAINT), plugin.name, None))
    return registered


def _rejecting_plugins(framework: Framework) -> list[Plugin]:
    """Return the plugins that can reject a pod, each once."""
    points = framework.points
    rejecting: list[Plugin] = [*points.pre_enqueue, *points.pre_filter, *points.filter, *points.reserve, *points.permit]
    return list({plugin.name: plugin for plugin in rejecting}.values())
