"""Apply later events of a recording in step with changes, which need the cluster as it is at their time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeConditions,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PodArrives,
    SimulationEvent,
)
from kschedweb.engine.simulation.nodes import apply_changes
from kschedweb.engine.state.owners import has_daemon_set_owner
from kschedweb.engine.studies.document.raw_pods import unbind_pod
from kschedweb.engine.studies.prepare.cluster import create_arrival


class UpcomingEvents:
    """Recorded ``events``, which are applied one by one to ``nodes``; changes write to ``nodes``, too.

    An event of a node that a change removed is dropped. A pod that was recorded on that node arrives unbound if a
    controller owns it, else not at all.
    """

    def __init__(self, events: Iterable[SimulationEvent], nodes: dict[str, Json]) -> None:
        self._events = deque(sorted(events, key=lambda event: event.time))
        self._nodes = nodes
        # How many recorded nodes of a name still join.
        self._joining = Counter(_node_name(event.node) for event in self._events if isinstance(event, NodeJoins))
        # By the identity of an event: the event that replaces it, or None if it is dropped.
        self._replacements: dict[int, SimulationEvent | None] = {}

    def brings_node(self, node: str) -> bool:
        """Return whether a node of this name joins later."""
        return self._joining[node] > 0

    def pass_to(self, time: float) -> list[NodeJoins]:
        """Apply the events up to ``time`` (seconds), and return the nodes that joined."""
        joined = []
        while self._events and self._events[0].time <= time:
            event = self._events.popleft()
            replacement = self._apply_event(event)
            if replacement is not event:
                self._replacements[id(event)] = replacement
            elif isinstance(event, NodeJoins):
                joined.append(event)
        return joined

    def settle_events(self, events: Iterable[SimulationEvent]) -> list[SimulationEvent]:
        """Return ``events`` with their replacements, without those that are dropped."""
        changed = (self._replacements.get(id(event), event) for event in events)
        return [event for event in changed if event is not None]

    def _apply_event(self, event: SimulationEvent) -> SimulationEvent | None:
        """Apply ``event`` to the nodes; return it, or its replacement (``None``: drop it) if it became impossible."""
        nodes = self._nodes
        match event:
            case NodeJoins():
                name = _node_name(event.node)
                self._joining[name] -= 1
                return event if nodes.setdefault(name, event.node) is event.node else None
            case NodeLeaves():
                return event if nodes.pop(event.node, None) is not None else None
            case NodeChanges() if event.node in nodes:
                nodes[event.node] = apply_changes(nodes[event.node], event)
            case NodeChanges() | NodeConditions() | NodeDrains() | NodeReports() | NodeFallsSilent():
                return event if event.node in nodes else None
            case PodArrives():
                return self._apply_arrival(event)
        return event

    def _apply_arrival(self, event: PodArrives) -> SimulationEvent | None:
        raw = event.pod.raw if isinstance(event.pod, Pod) else event.pod
        node = get_mapping(raw, "spec").get("nodeName")
        if not node or node in self._nodes:
            return event
        pod = Pod.from_json(raw)
        returns = pod.controller is not None and not has_daemon_set_owner(pod)
        return create_arrival(unbind_pod(raw), event.time, event.duration) if returns else None


def _node_name(raw: Json) -> str:
    return str(raw["metadata"]["name"])
