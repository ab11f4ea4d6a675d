"""The nodes of a snapshot as columns, for node maps of pages and REST."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.redaction import others_on
from kschedweb.clusters.selectors import node_rows, snapshot_objects
from kschedweb.engine.json_types import Json
from kschedweb.web.lru import LRU
from kschedweb.web.nodemap import grouping, nodemap
from kschedweb.web.nodemap.grouping import Grouping
from kschedweb.web.nodemap.nodemap import (
    PODS,
    STATE,
    MapChoice,
    MapLayer,
    NodeColouring,
    NodeMap,
    make_inline_map,
    show_requested,
    show_used,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kschedweb.watermarks.usage.selectors import CurrentUse

# Pods of one node that are listed.
MOST_PODS = 2_000
NODE_FILTERS = ("search", "zone", "instance_type", "ready", "unschedulable", "tainted")
_labels: LRU[dict[str, Mapping[str, str]]] = LRU(4)
_rows: LRU[list[dict[str, object]]] = LRU(4)
COLUMNS = (
    "name", "zone", "region", "instance_type", "ready", "unschedulable", "cpu_share", "memory_share", "pods_bound",
    "pods_allocatable", "extended", "cpu_requested", "cpu_allocatable", "memory_requested", "memory_allocatable",
)  # fmt: skip


def select_filters(params: Mapping[str, str]) -> dict[str, str]:
    """Return those of the parameters of an address that filter nodes."""
    return {name: value for name in NODE_FILTERS if (value := params.get(name, ""))}


def list_rows(snapshot: Snapshot, params: Mapping[str, str], queryset: Any) -> Sequence[Mapping[str, Any]]:
    """Return the nodes of ``queryset`` by name, with the fields of a map. Raise Unprocessable for too many.

    ``queryset`` is the snapshot filtered by ``select_filters``. Cached, since a page and its map ask three times.
    """

    def read_rows() -> list[dict[str, object]]:
        nodemap.check_node_count(queryset.count())
        return list(queryset.order_by("name").values(*COLUMNS))

    return _rows.get((snapshot.pk, *select_filters(params).items()), read_rows)


def list_shows(nodes: Sequence[Mapping[str, Any]], use: CurrentUse | None) -> dict[str, NodeColouring]:
    """Return the ways to colour a map of ``nodes``, by key."""
    extended = sorted({name for node in nodes for name in node["extended"]})
    options = [show_requested(name) for name in ("cpu", "memory", *extended)]
    if use is not None:
        options += [show_used("cpu"), show_used("memory")]
    return {show.key: show for show in (*options, PODS, STATE)}


def compute_values(nodes: Sequence[Mapping[str, Any]], key: str, use: CurrentUse | None) -> NDArray[np.float32]:
    """Return the value of ``key`` for each node: percent, pods, or places in nodemap.STATES; NaN if not known."""
    if key == PODS.key:
        return count_pods(nodes)
    if key == STATE.key:
        return _compute_states(nodes)
    if key.startswith("use-"):
        use_by_node = {} if use is None else use.cpu if key == "use-cpu" else use.memory
        return np.array([use_by_node.get(node["name"], np.nan) for node in nodes], dtype=np.float32)
    if key in ("cpu", "memory"):
        return np.array([node[f"{key}_share"] / 10 for node in nodes], dtype=np.float32)
    return np.array([_compute_share(node["extended"].get(key)) for node in nodes], dtype=np.float32)


def count_pods(nodes: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    """Return the number of pods on each node."""
    return np.array([node["pods_bound"] for node in nodes], dtype=np.float32)


def _compute_share(amounts: Sequence[int] | None) -> float:
    amount, has = amounts or (0, 0)
    return 100 * amount / has if has else np.nan


def _compute_states(nodes: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    fullest = [
        max(
            node["cpu_share"] / 10,
            node["memory_share"] / 10,
            *(share for amounts in node["extended"].values() if (share := _compute_share(amounts)) == share),
            100 * node["pods_bound"] / node["pods_allocatable"] if node["pods_allocatable"] else 0.0,
        )
        for node in nodes
    ]
    cordoned = np.array([node["unschedulable"] for node in nodes], dtype=bool)
    return nodemap.classify_states(
        count_pods(nodes), np.array(fullest), cordoned, np.array([node["ready"] for node in nodes], bool)
    )


def list_groupings(nodes: Sequence[Mapping[str, Any]]) -> list[Grouping]:
    """Group by the columns of the list itself: zone, region and instance type."""
    keys = {"zone": "zone", "region": "region", "instance_type": "instance type"}
    names = {name: grouping.NAMED_GROUPINGS[label][0] for name, label in keys.items()}
    return grouping.make_groupings(
        [{label: node[name] for name, label in names.items() if node[name]} for node in nodes]
    )


def group_by_labels(snapshot: Snapshot, nodes: Sequence[Mapping[str, Any]]) -> list[Grouping]:
    """Group by every label that distinguishes the nodes."""
    labels = read_labels(snapshot)
    return grouping.make_groupings([labels.get(node["name"], {}) for node in nodes])


def read_labels(snapshot: Snapshot) -> dict[str, Mapping[str, str]]:
    """Return the labels of each node, by its name."""

    def read_rows() -> dict[str, Mapping[str, str]]:
        labels_by_node: dict[str, Mapping[str, str]] = {}
        rows = list(node_rows(snapshot).order_by().values_list("name", "labels"))
        if all(labels is not None for _, labels in rows):
            return {name: labels or {} for name, labels in rows}
        # Snapshots from before labels were stored: read the objects themselves.
        for raw in snapshot_objects(snapshot):
            if raw.get("kind") == "Node" and isinstance(raw.get("metadata"), dict):
                labels = raw["metadata"].get("labels")
                labels_by_node[str(raw["metadata"].get("name"))] = labels if isinstance(labels, dict) else {}
        return labels_by_node

    return _labels.get(snapshot.pk, read_rows)


def list_layers(nodes: Sequence[Mapping[str, Any]], use: CurrentUse | None = None) -> list[MapLayer]:
    """Return every way to colour a map of ``nodes``, with the values."""
    return [MapLayer(show, compute_values(nodes, key, use)) for key, show in list_shows(nodes, use).items()]


def list_nodes(snapshot: Snapshot) -> Sequence[Mapping[str, Any]]:
    """Return all nodes of the snapshot by name, with the fields of a map; none if there are too many to draw."""
    queryset = node_rows(snapshot)
    return list_rows(snapshot, {}, queryset) if queryset.count() <= nodemap.MOST_NODES else []


def map_snapshot(
    snapshot: Snapshot,
    choice: MapChoice,
    *,
    own: Callable[[Sequence[str]], Iterable[MapLayer]] = lambda names: (),
    use: CurrentUse | None = None,
) -> NodeMap | None:
    """Return the map of all nodes of ``snapshot``, with its values in the page; None for none, or too many.

    ``own`` makes layers that come first, from the names of the nodes.
    """
    nodes = list_nodes(snapshot)
    if not nodes:
        return None
    names = [node["name"] for node in nodes]
    layers = [*own(names), *list_layers(nodes, use)]
    return make_inline_map(names, name_groups(snapshot, nodes), {"": layers}, address_nodes(snapshot), choice)


class PodMove(NamedTuple):
    """A pod that leaves a node; "" for no node."""

    # "namespace/name".
    pod: str
    source: str
    target: str


def map_moves(
    snapshot: Snapshot, moves: Iterable[PodMove], choice: MapChoice, *, cordoned: Container[str] = frozenset()
) -> NodeMap | None:
    """Return the map of ``snapshot`` before and after ``moves``, after which the nodes ``cordoned`` take no pods.

    None for no nodes, or too many.
    """
    nodes = list_nodes(snapshot)
    if not nodes:
        return None
    after = {node["name"]: dict(node) for node in nodes}
    for name, node in after.items():
        node["unschedulable"] |= name in cordoned
    moves = list(moves)
    requests = _read_requests(snapshot, {move.pod for move in moves})
    for pod, *ends in moves:
        for name, sign in zip(ends, (-1, 1), strict=True):
            if name in after:
                _add_pod(after[name], requests.get(pod, (0, 0)), sign)
    sides = {gettext("Before"): list_layers(nodes), gettext("After"): list_layers(list(after.values()))}
    names = [node["name"] for node in nodes]
    return make_inline_map(names, name_groups(snapshot, nodes), sides, address_nodes(snapshot), choice)


def _read_requests(snapshot: Snapshot, pods: set[str]) -> dict[str, tuple[int, int]]:
    """Return the CPU and memory that each of ``pods`` requests."""
    rows = PodRow.objects.filter(snapshot=snapshot, namespace__in={pod.partition("/")[0] for pod in pods})
    listed = rows.order_by().values_list("namespace", "name", "cpu_request", "memory_request")
    return {key: (cpu, memory) for space, name, cpu, memory in listed if (key := f"{space}/{name}") in pods}


def _add_pod(node: dict[str, Any], requests: tuple[int, int], sign: int) -> None:
    node["pods_bound"] += sign
    for resource, amount in zip(("cpu", "memory"), requests, strict=True):
        node[f"{resource}_requested"] += sign * amount
        if node[f"{resource}_allocatable"]:
            node[f"{resource}_share"] = 1000 * node[f"{resource}_requested"] // node[f"{resource}_allocatable"]


def name_groups(snapshot: Snapshot, nodes: Sequence[Mapping[str, Any]]) -> list[Grouping]:
    """Group by zone, region, instance type and pool."""
    labels = read_labels(snapshot)
    return grouping.make_named_groupings([labels.get(node["name"], {}) for node in nodes])


def address_nodes(snapshot: Snapshot) -> tuple[str, str]:
    """Return what stands before and after the name in the address of a node of the snapshot."""
    before, _, after = reverse("node", args=["-"]).rpartition("-")
    return before, f"{after}?{urlencode({'cluster': snapshot.cluster.name})}"


def pod_stays(snapshot: Snapshot, node: NodeRow) -> Json:
    """Return the pods on a node in the form of a run: all are there from the beginning, and none leaves."""
    pod_rows = PodRow.objects.filter(snapshot=snapshot, node=node.name).order_by("namespace", "name", "id")
    listed = list(pod_rows.values_list("namespace", "name", "cpu_request", "memory_request")[: MOST_PODS + 1])
    omitted = (pod_rows.count() - MOST_PODS if len(listed) > MOST_PODS else 0) + others_on(snapshot, node)
    first_rows = listed[:MOST_PODS]
    return {
        "node": node.name,
        "pods": [f"{namespace}/{name}" for namespace, name, _, _ in first_rows],
        "tried": [True] * len(first_rows),
        "from": [0.0] * len(first_rows),
        "until": [None] * len(first_rows),
        "requests": {"cpu": [cpu for *_, cpu, _ in first_rows], "memory": [memory for *_, memory in first_rows]},
        "changes": [0.0],
        "allocatable": {"cpu": [node.cpu_allocatable], "memory": [node.memory_allocatable]},
        "omitted": omitted,
    }
