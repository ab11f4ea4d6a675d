"""A drawing of a small cluster: its zones, their nodes, and the pods on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.state.watermarks.annotations import KEY, AnnotatedUse
from kschedweb.web.counting import format_count

# Labels of zones; the second is that of examples in the Kubernetes documentation.
ZONES = ("topology.kubernetes.io/zone", "zone")
# Pods of a node that are drawn one by one.
MOST_PODS = 6
# Nodes that are drawn with names and pods; if there are more, each is a square.
MOST_NODES = 12


@dataclass
class DrawnNode:
    """A node of the drawing."""

    name: str
    pods: list[str] = field(default_factory=list)
    # CPU use in percent, from an annotation.
    level: float | None = None
    # Verdict of a decision on the node: "chosen", "fits", "rejected", or "" without a decision.
    state: str = ""
    # The reason for a rejection, or the score.
    note: str = ""
    # The reason in the language of the reader.
    reading: str = ""

    @property
    def share(self) -> int:
        """The level in thousandths, for the width of a bar."""
        return round((self.level or 0.0) * 10)

    @property
    def drawn_pods(self) -> list[str]:
        return self.pods[:MOST_PODS]

    @property
    def more(self) -> int:
        return max(len(self.pods) - MOST_PODS, 0)


@dataclass
class Zone:
    name: str
    nodes: list[DrawnNode] = field(default_factory=list)


@dataclass
class Picture:
    """The drawing."""

    zones: list[Zone]
    # Names of pending pods.
    waiting: list[str]

    @property
    def nodes(self) -> list[DrawnNode]:
        return [node for zone in self.zones for node in zone.nodes]

    @property
    def small(self) -> bool:
        return len(self.nodes) <= MOST_NODES

    @property
    def levels(self) -> bool:
        """True if the drawing shows the nodes' use."""
        return any(node.level is not None for node in self.nodes)

    @property
    def sentence(self) -> str:
        """The drawing in words: ``zoneA: node1 with p1, node2 with p2; zoneB: …``."""
        parts = []
        for zone in self.zones:
            listed = (
                ", ".join(map(_describe_node, zone.nodes)) if self.small else format_count(len(zone.nodes), "nodes")
            )
            parts.append(f"{zone.name}: {listed}" if zone.name else listed)
        return "; ".join(parts)


def draw_picture(objects: Iterable[Mapping[str, Any]]) -> Picture:
    """Draw ``objects``, which are raw nodes and pods; pending pods have no ``nodeName``."""
    zones: dict[str, Zone] = {}
    nodes: dict[str, DrawnNode] = {}
    pods: list[Mapping[str, Any]] = []
    for raw in objects:
        if raw.get("kind") == "Node":
            drawn = nodes[raw["metadata"]["name"]] = DrawnNode(raw["metadata"]["name"], level=_cpu_level(raw))
            zone = _zone_of(raw)
            zones.setdefault(zone, Zone(zone)).nodes.append(drawn)
        elif raw.get("kind") == "Pod":
            pods.append(raw)
    waiting = []
    # Pods are placed in a second pass, since their nodes may stand after them.
    for raw in pods:
        name, node = raw["metadata"]["name"], (raw.get("spec") or {}).get("nodeName")
        if node in nodes:
            nodes[node].pods.append(name)
        elif not node:
            waiting.append(name)
    # Nodes that are in no zone come last.
    return Picture(sorted(zones.values(), key=lambda zone: (not zone.name, zone.name)), waiting)


def _describe_node(node: DrawnNode) -> str:
    name = node.name
    if node.level is not None:
        name = gettext("%(node)s at %(level)s %%") % {"node": node.name, "level": f"{node.level:g}"}
    if node.pods:
        return gettext("%(node)s with %(pods)s") % {"node": name, "pods": ", ".join(node.pods)}
    return name if node.level is not None else gettext("%(node)s, empty") % {"node": name}


def _zone_of(raw: Mapping[str, Any]) -> str:
    labels = raw["metadata"].get("labels") or {}
    return next((str(labels[key]) for key in ZONES if labels.get(key)), "")


def _cpu_level(raw: Mapping[str, Any]) -> float | None:
    text = (raw["metadata"].get("annotations") or {}).get(KEY)
    if text is None:
        return None
    try:
        return next(iter(AnnotatedUse.from_json(text).figures.get("cpu", {}).values()), None)
    except ObjectError:
        return None
