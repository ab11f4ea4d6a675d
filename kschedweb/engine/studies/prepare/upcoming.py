"""What a recording brings after the beginning: changes find the cluster as it stands at their time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import (
    Event,
    NodeChanges,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PodArrives,
)
from kschedweb.engine.simulation.nodes import written
from kschedweb.engine.state.owners import of_daemon_set
from kschedweb.engine.studies.document.raw import unbound
from kschedweb.engine.studies.prepare.cluster import arrival


class Upcoming:
    """Recorded ``events``, seen one after the other by ``nodes``, which changes write as well.

    An event about a node that a change took away cannot happen any more; a pod that was recorded on it arrives
    without a node where a controller owns it, and else not at all.
    """

    def __init__(self, events: Iterable[Event], nodes: dict[str, Json]) -> None:
        self._events = deque(sorted(events, key=lambda event: event.time))
        self._nodes = nodes
        self._joining = Counter(_name(event.node) for event in self._events if isinstance(event, NodeJoins))
        self._instead: dict[int, Event | None] = {}  # by identity: what takes an event's place

    def brings(self, node: str) -> bool:
        """Whether a node of this name joins later on."""
        return self._joining[node] > 0

    def pass_to(self, time: float) -> list[NodeJoins]:
        """See what happens up to ``time`` (seconds); the nodes that joined."""
        joined = []
        while self._events and self._events[0].time <= time:
            event = self._events.popleft()
            instead = self._seen(event)
            if instead is not event:
                self._instead[id(event)] = instead
            elif isinstance(event, NodeJoins):
                joined.append(event)
        return joined

    def settled(self, events: Iterable[Event]) -> list[Event]:
        """``events`` as they can happen after all."""
        changed = (self._instead.get(id(event), event) for event in events)
        return [event for event in changed if event is not None]

    def _seen(self, event: Event) -> Event | None:
        """Let ``event`` happen to the nodes; what takes its place where it cannot."""
        nodes = self._nodes
        match event:
            case NodeJoins():
                name = _name(event.node)
                self._joining[name] -= 1
                return event if nodes.setdefault(name, event.node) is event.node else None
            case NodeLeaves():
                return event if nodes.pop(event.node, None) is not None else None
            case NodeChanges() if event.node in nodes:
                nodes[event.node] = written(nodes[event.node], event)
            case NodeChanges() | NodeDrains() | NodeReports() | NodeFallsSilent():
                return event if event.node in nodes else None
            case PodArrives():
                return self._arriving(event)
        return event

    def _arriving(self, event: PodArrives) -> Event | None:
        raw = event.pod.raw if isinstance(event.pod, Pod) else event.pod
        node = mapping(raw, "spec").get("nodeName")
        if not node or node in self._nodes:
            return event
        pod = Pod.read(raw)
        returns = pod.controller is not None and not of_daemon_set(pod)
        return arrival(unbound(raw), event.time, event.duration) if returns else None


def _name(raw: Json) -> str:
    return str(raw["metadata"]["name"])
