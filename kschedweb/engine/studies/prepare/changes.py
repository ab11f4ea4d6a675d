"""Apply changes of nodes: at the beginning they change the objects, later they are events of the simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kschedweb.engine.controllers.nodelifecycle import CONTROLLED, with_reported_statuses
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects, get_string_map
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import BETA_ZONE, HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeConditions,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    PodIsEvicted,
)
from kschedweb.engine.simulation.nodes import apply_changes
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_NODES
from kschedweb.engine.studies.document.raw_pods import recreate_pod
from kschedweb.engine.studies.prepare.autoscaling import Autoscaling
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster
from kschedweb.engine.studies.prepare.requests import set_requests
from kschedweb.engine.studies.prepare.upcoming_events import UpcomingEvents
from kschedweb.engine.studies.prepare.workloads import Workloads

# Pods that a new node holds at most: the default maxPods of the kubelet.
PODS = "110"
# Metadata that the API server sets for each object, which a copy must not have.
UNIQUE_METADATA = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "generation"})
# Yields the nodes of a file in a format.
NodesOf = Callable[[str, str], Iterator[Json]]


class Changes:
    """Apply changes to ``cluster``, in the order of their times. ``nodes_of`` yields the nodes of a file."""

    def __init__(
        self, cluster: ScenarioCluster, workloads: Workloads, nodes_of: NodesOf, autoscaling: Autoscaling
    ) -> None:
        self.cluster, self.workloads, self.nodes_of = cluster, workloads, nodes_of
        self._upcoming = UpcomingEvents(cluster.events, cluster.nodes)
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            parts.AddNodes: self._add_nodes,
            parts.RemoveNodes: self._remove_nodes,
            parts.DrainNodes: self._drain_nodes,
            parts.EvictPods: self._evict_pods,
            parts.CordonNodes: lambda action, at: self._set_unschedulable(action, at, True),
            parts.UncordonNodes: lambda action, at: self._set_unschedulable(action, at, False),
            parts.TaintNodes: self._taint_nodes,
            parts.LabelNodes: self._label_nodes,
            parts.ResizeNodes: self._resize_nodes,
            parts.SetConditions: self._set_conditions,
            parts.FailZone: self._fail_zone,
            parts.ScaleWorkload: lambda action, at: workloads.scale_workload(action.workload, action.replicas, at),
            parts.AddWorkload: lambda action, at: workloads.add_workload(
                action.manifest, action.replicas, at, action.life
            ),
            parts.RemoveWorkload: lambda action, at: workloads.remove_workload(action.workload, at),
            parts.SetRequests: lambda action, at: set_requests(cluster, workloads, action, at),
            parts.AutoscaleWorkload: autoscaling.autoscale_workload,
            parts.CronWorkload: autoscaling.schedule_workload,
        }

    def apply_change(self, change: parts.ScenarioChange) -> None:
        """Apply a change; raise PartError if it is impossible."""
        if change.at > 0.0:
            self._pass_to(change.at)
        try:
            self._handlers[type(change.action)](change.action, change.at)
        except ObjectError as problem:
            raise PartError(str(problem)) from None

    def finish_changes(self) -> None:
        """Apply the rest of the recording, and drop events that changes made impossible."""
        self._pass_to(math.inf)
        self.cluster.events = self._upcoming.settle_events(self.cluster.events)

    def _pass_to(self, time: float) -> None:
        self.cluster.fix_initial_state()
        for event in self._upcoming.pass_to(time):
            self.workloads.node_came(event)

    # Choice of nodes.

    def _select_nodes(self, selection: parts.NodeSelection) -> list[str]:
        if selection.nodes is not None:
            for place, name in enumerate(selection.nodes):
                if name not in self.cluster.nodes:
                    raise PartError(f"there is no node {name} at this time", f"nodes[{place}]")
            return list(dict.fromkeys(selection.nodes))
        if selection.zone is not None:
            return self._in_zone(selection.zone)
        selector = label_selector(selection.selector)
        names = [name for name, raw in self.cluster.nodes.items() if selector.matches(_node_labels(raw))]
        if not names:
            raise PartError("selects no node at this time", "selector")
        return names

    def _in_zone(self, zone: str) -> list[str]:
        zones = {name: zone_of(raw) for name, raw in self.cluster.nodes.items()}
        names = [name for name, node_zone in zones.items() if node_zone == zone]
        if not names:
            known_zones = ", ".join(sorted(set(zones.values()) - {""})[:10]) or "none"
            raise PartError(f"there is no node in zone {zone} at this time; zones are {known_zones}", "zone")
        return names

    # Nodes that come and go.

    def _add_nodes(self, action: parts.AddNodes, at: float) -> None:
        nodes = list(itertools.islice(self._new_nodes(action), MOST_NODES + 1))
        if len(nodes) + len(self.cluster.nodes) > MOST_NODES:
            raise PartError(f"there would be more than {MOST_NODES:,} nodes")
        for raw in nodes:
            name = Node.from_json(raw).name
            if name in self.cluster.nodes:
                raise PartError(f"there is a node {name} already")
            if self._upcoming.brings_node(name):
                raise PartError(f"the recording brings a node {name} later: choose another name")
            self.cluster.nodes[name] = raw
            if at > 0.0:
                self.cluster.events.append(NodeJoins(at, raw))
        self.workloads.nodes_came(nodes, at)

    def _new_nodes(self, action: parts.AddNodes) -> Iterator[Json]:
        if action.file is not None:
            yield from self.nodes_of(action.file, action.format)
            return
        like, stem = None, f"{action.like}-new"
        if action.like is not None:
            like = self.cluster.nodes.get(action.like)
            if like is None:
                raise PartError(f"there is no node {action.like} at this time", "like")
        elif action.name is not None:
            stem = action.name
        names = (f"{stem}-{number}" for number in itertools.count(1))
        free = (name for name in names if name not in self.cluster.nodes and not self._upcoming.brings_node(name))
        for place, name in enumerate(itertools.islice(free, action.count)):
            zone = {ZONE: action.zones[place % len(action.zones)]} if action.zones else {}
            more = {**action.labels, **zone, HOSTNAME: name}
            yield new_node(name, like, more, action.taints, action.allocatable)

    def _remove_nodes(self, action: parts.RemoveNodes, at: float) -> None:
        names = self._select_nodes(action)
        for name in names:
            del self.cluster.nodes[name]
            if at > 0.0:
                self.cluster.events.append(NodeLeaves(at, name))
        if at == 0.0:
            self._remove_pods(set(names))

    def _remove_pods(self, names: set[str]) -> None:
        """Remove the pods of nodes that are removed at time 0; those that a controller replaces arrive again."""
        for key, raw in list(self.cluster.bound.items()):
            pod = Pod.from_json(raw)
            if pod.node_name in names:
                del self.cluster.bound[key]
                if pod.controller is not None and not stays_at_drain(pod):
                    self.cluster.waiting[key] = recreate_pod(raw)

    def _drain_nodes(self, action: parts.DrainNodes, at: float) -> None:
        for name in self._select_nodes(action):
            self._write_change(NodeChanges(at, name, unschedulable=True), as_event=False)
            self.cluster.events.append(NodeDrains(at, name))

    def _evict_pods(self, action: parts.EvictPods, at: float) -> None:
        for place, key in enumerate(action.pods):
            if key not in self.cluster.pod_keys:
                raise PartError(f"there is no pod {key}", f"pods[{place}]")
            self.cluster.events.append(PodIsEvicted(at + place * action.interval, key))

    def _fail_zone(self, action: parts.FailZone, at: float) -> None:
        self.cluster.events += [NodeFallsSilent(at, name) for name in self._in_zone(action.zone)]

    def _set_conditions(self, action: parts.SetConditions, at: float) -> None:
        for name in self._select_nodes(action):
            self.cluster.nodes[name] = with_reported_statuses(
                Node.from_json(self.cluster.nodes[name]), action.conditions
            ).raw
            self.cluster.events.append(NodeConditions(at, name, action.conditions))

    # Nodes that change.

    def _write_change(self, change: NodeChanges, *, as_event: bool = True) -> None:
        self.cluster.nodes[change.node] = apply_changes(self.cluster.nodes[change.node], change)
        if as_event and change.time > 0.0:
            self.cluster.events.append(change)

    def _set_unschedulable(self, selection: parts.NodeSelection, at: float, unschedulable: bool) -> None:
        for name in self._select_nodes(selection):
            self._write_change(NodeChanges(at, name, unschedulable=unschedulable))

    def _taint_nodes(self, action: parts.TaintNodes, at: float) -> None:
        new = {(taint["key"], taint["effect"]) for taint in action.taints}
        for name in self._select_nodes(action):
            taints = get_objects(get_mapping(self.cluster.nodes[name], "spec"), "taints", "spec.")
            remaining = [
                taint
                for taint in taints
                if (taint.get("key"), taint.get("effect")) not in new
                and taint.get("key") not in action.remove
                # The node lifecycle controller sets these from conditions; written here, they would stay for ever.
                and taint.get("key") not in CONTROLLED
            ]
            self._write_change(NodeChanges(at, name, taints=(*remaining, *action.taints)))

    def _label_nodes(self, action: parts.LabelNodes, at: float) -> None:
        for name in self._select_nodes(action):
            self._write_change(NodeChanges(at, name, labels=action.labels))

    def _resize_nodes(self, action: parts.ResizeNodes, at: float) -> None:
        for name in self._select_nodes(action):
            amounts = action.allocatable
            if amounts is None and action.factor is not None:
                amounts = scale_amounts(
                    get_mapping(get_mapping(self.cluster.nodes[name], "status"), "allocatable"), action.factor
                )
            self._write_change(NodeChanges(at, name, allocatable=amounts))


def zone_of(raw: Json) -> str:
    labels = _node_labels(raw)
    return labels.get(ZONE) or labels.get(BETA_ZONE, "")


def _node_labels(raw: Json) -> dict[str, str]:
    return get_string_map(get_mapping(raw, "metadata"), "labels", "metadata.")


def new_node(
    name: str,
    like: Json | None,
    labels: Mapping[str, str],
    taints: tuple[Json, ...] = (),
    allocatable: Mapping[str, str] | None = None,
) -> Json:
    """Return a ready node. It is a copy of ``like`` if that is given, without the fields of that object alone."""
    spec, status = (get_mapping(like or {}, part) for part in ("spec", "status"))
    metadata = {key: value for key, value in get_mapping(like or {}, "metadata").items() if key not in UNIQUE_METADATA}
    amounts = {"pods": PODS, **get_mapping(status, "allocatable"), **(allocatable or {})}
    base_taints = [taint for taint in get_objects(spec, "taints", "spec.") if taint.get("key") not in CONTROLLED]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            **{key: value for key, value in metadata.items() if key != "annotations"},
            "name": name,
            "labels": {**(_node_labels(like) if like else {}), **labels},
        },
        "spec": {"taints": [*base_taints, *taints]} if base_taints or taints else {},
        "status": {
            "allocatable": amounts,
            "capacity": {**get_mapping(status, "capacity"), **amounts}
            if allocatable or not like
            else status.get("capacity", amounts),
            "conditions": [{"type": "Ready", "status": "True"}],
            **({"images": status["images"]} if status.get("images") else {}),
        },
    }


def scale_amounts(amounts: Json, factor: float) -> dict[str, str]:
    """Return CPU and memory times ``factor``, in whole milli-cores and bytes."""
    scaled_amounts = {}
    if "cpu" in amounts:
        scaled_amounts["cpu"] = f"{round(quantity.read_quantity(amounts['cpu'], 'cpu') / quantity.MILLI * factor)}m"
    if "memory" in amounts:
        scaled_amounts["memory"] = str(
            round(quantity.read_quantity(amounts["memory"], "memory") / quantity.NANO * factor)
        )
    return scaled_amounts
