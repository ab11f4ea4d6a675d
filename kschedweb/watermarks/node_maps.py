"""The nodes of a snapshot as columns, for node maps of pages and REST."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from django.db.models import TextField
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.redaction import others_on
from kschedweb.clusters.selectors import node_rows, snapshot_objects
from kschedweb.engine.json_types import Json
from kschedweb.watermarks.node_columns import NodeRowColumns, read_columns
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
    make_inline_document,
    make_inline_map,
    show_requested,
    show_used,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet
    from numpy.typing import NDArray

    from kschedweb.watermarks.usage.selectors import CurrentUse

# Pods of one node that are listed.
MOST_PODS = 2_000
NODE_FILTERS = ("search", "zone", "instance_type", "ready", "unschedulable", "tainted")
_labels: LRU[dict[str, Mapping[str, str]]] = LRU(4)
_columns: LRU[NodeRowColumns] = LRU(4)
_groupings: LRU[list[Grouping]] = LRU(8)


def select_filters(params: Mapping[str, str]) -> dict[str, str]:
    """Return those of the parameters of an address that filter nodes."""
    return {name: value for name in NODE_FILTERS if (value := params.get(name, ""))}


def read_nodes(snapshot: Snapshot, params: Mapping[str, str], queryset: QuerySet[NodeRow]) -> NodeRowColumns:
    """Return the nodes of ``queryset`` by name. Raise Unprocessable for too many.

    ``queryset`` is the snapshot filtered by ``select_filters``. Cached, since a page and its map ask three times.
    """

    def read() -> NodeRowColumns:
        nodemap.check_node_count(queryset.count())
        return read_columns(queryset.order_by("name"))

    return _columns.get((snapshot.pk, *select_filters(params).items()), read)


def list_shows(nodes: NodeRowColumns, use: CurrentUse | None) -> dict[str, NodeColouring]:
    """Return the ways to colour a map of ``nodes``, by key."""
    options = [show_requested(name) for name in ("cpu", "memory", *nodes.extended)]
    if use is not None:
        options += [show_used("cpu"), show_used("memory")]
    return {show.key: show for show in (*options, PODS, STATE)}


def compute_values(nodes: NodeRowColumns, key: str, use: CurrentUse | None) -> NDArray[np.float32]:
    """Return the value of ``key`` for each node: percent, pods, or places in nodemap.STATES; NaN if not known."""
    if key == PODS.key:
        return count_pods(nodes)
    if key == STATE.key:
        return _compute_states(nodes)
    if key.startswith("use-"):
        use_by_node = {} if use is None else use.cpu if key == "use-cpu" else use.memory
        return np.array([use_by_node.get(name, np.nan) for name in nodes.names], dtype=np.float32)
    if key in ("cpu", "memory"):
        return (nodes.numbers[f"{key}_share"] / 10).astype(np.float32)
    return nodes.extended[key].astype(np.float32)


def count_pods(nodes: NodeRowColumns) -> NDArray[np.float32]:
    """Return the number of pods on each node."""
    return nodes.numbers["pods_bound"].astype(np.float32)


def _compute_states(nodes: NodeRowColumns) -> NDArray[np.float32]:
    numbers, room = nodes.numbers, nodes.numbers["pods_allocatable"]
    percents = [numbers["cpu_share"] / 10, numbers["memory_share"] / 10, *nodes.extended.values()]
    # A node that says of no pods how many it takes is not full of them.
    percents.append(np.where(room > 0, 100 * numbers["pods_bound"] / np.maximum(room, 1), 0.0))
    # A resource that a node has not is NaN, and not the fullest.
    fullest = np.fmax.reduce(percents)
    return nodemap.classify_states(count_pods(nodes), fullest, numbers["unschedulable"], numbers["ready"])


def list_groupings(nodes: NodeRowColumns) -> list[Grouping]:
    """Group by the columns of the list itself: zone, region and instance type."""
    return grouping.make_column_groupings(
        {field.replace("_", " "): nodes.words[field] for field in ("zone", "region", "instance_type")}
    )


def group_by_labels(snapshot: Snapshot, params: Mapping[str, str], nodes: NodeRowColumns) -> list[Grouping]:
    """Group the nodes that ``read_nodes`` returned for ``params`` by every label that distinguishes them."""

    def group() -> list[Grouping]:
        labels = read_labels(snapshot)
        return grouping.make_groupings([labels.get(name, {}) for name in nodes.names])

    return _groupings.get((snapshot.pk, "all labels", *select_filters(params).items()), group)


def read_labels(snapshot: Snapshot) -> dict[str, Mapping[str, str]]:
    """Return the labels of each node, by its name."""

    def read_rows() -> dict[str, Mapping[str, str]]:
        labels_by_node: dict[str, Mapping[str, str]] = {}
        rows = list(node_rows(snapshot).order_by().values_list("name", Cast("labels", TextField())))
        if all(text is not None for _, text in rows):
            # One JSON text, which is read several times as fast as one for each node.
            labels: list[dict[str, str]] = json.loads(f"[{','.join(text for _, text in rows)}]")
            return {name: node_labels or {} for (name, _), node_labels in zip(rows, labels, strict=True)}
        # Snapshots from before labels were stored: read the objects themselves.
        for raw in snapshot_objects(snapshot):
            if raw.get("kind") == "Node" and isinstance(raw.get("metadata"), dict):
                labels = raw["metadata"].get("labels")
                labels_by_node[str(raw["metadata"].get("name"))] = labels if isinstance(labels, dict) else {}
        return labels_by_node

    return _labels.get(snapshot.pk, read_rows)


def list_layers(nodes: NodeRowColumns, use: CurrentUse | None = None) -> list[MapLayer]:
    """Return every way to colour a map of ``nodes``, with the values."""
    return [MapLayer(show, compute_values(nodes, key, use)) for key, show in list_shows(nodes, use).items()]


def make_document(
    nodes: NodeRowColumns, groupings: Sequence[Grouping], show: NodeColouring, use: CurrentUse | None
) -> Json:
    """Return the document of a page's map with the values of ``show``, and the pods and states that all maps need."""
    values = {key: compute_values(nodes, key, use) for key in (show.key, PODS.key, STATE.key)}
    return make_inline_document(nodes.names, groupings, list_shows(nodes, use).values(), values)


def list_nodes(snapshot: Snapshot) -> NodeRowColumns | None:
    """Return all nodes of the snapshot by name; None for none, or too many to draw."""
    rows = node_rows(snapshot)
    return read_nodes(snapshot, {}, rows) if 0 < rows.count() <= nodemap.MOST_NODES else None


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
    if nodes is None:
        return None
    layers = [*own(nodes.names), *list_layers(nodes, use)]
    return make_inline_map(nodes.names, name_groups(snapshot, nodes), {"": layers}, address_nodes(snapshot), choice)


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
    if nodes is None:
        return None
    after = _move_pods(nodes, list(moves), snapshot, cordoned)
    sides = {gettext("Before"): list_layers(nodes), gettext("After"): list_layers(after)}
    return make_inline_map(nodes.names, name_groups(snapshot, nodes), sides, address_nodes(snapshot), choice)


def _move_pods(
    nodes: NodeRowColumns, moves: Sequence[PodMove], snapshot: Snapshot, cordoned: Container[str]
) -> NodeRowColumns:
    """Return ``nodes`` after ``moves``."""
    numbers = {name: column.copy() for name, column in nodes.numbers.items()}
    numbers["unschedulable"] |= np.array([name in cordoned for name in nodes.names], dtype=bool)
    requests = _read_requests(snapshot, {move.pod for move in moves})
    places = {name: place for place, name in enumerate(nodes.names)}
    for pod, *ends in moves:
        for name, sign in zip(ends, (-1, 1), strict=True):
            if name in places:
                _add_pod(numbers, places[name], requests.get(pod, (0, 0)), sign)
    return replace(nodes, numbers=numbers)


def _read_requests(snapshot: Snapshot, pods: set[str]) -> dict[str, tuple[int, int]]:
    """Return the CPU and memory that each of ``pods`` requests."""
    rows = PodRow.objects.filter(snapshot=snapshot, namespace__in={pod.partition("/")[0] for pod in pods})
    listed = rows.order_by().values_list("namespace", "name", "cpu_request", "memory_request")
    return {key: (cpu, memory) for space, name, cpu, memory in listed if (key := f"{space}/{name}") in pods}


def _add_pod(numbers: Mapping[str, NDArray[Any]], place: int, requests: tuple[int, int], sign: int) -> None:
    numbers["pods_bound"][place] += sign
    for resource, amount in zip(("cpu", "memory"), requests, strict=True):
        requested, room = numbers[f"{resource}_requested"], int(numbers[f"{resource}_allocatable"][place])
        requested[place] += sign * amount
        if room:
            numbers[f"{resource}_share"][place] = 1000 * int(requested[place]) // room


def name_groups(snapshot: Snapshot, nodes: NodeRowColumns) -> list[Grouping]:
    """Group all nodes of the snapshot by zone, region, instance type and pool."""

    def group() -> list[Grouping]:
        labels = read_labels(snapshot)
        return grouping.make_named_groupings([labels.get(name, {}) for name in nodes.names])

    return _groupings.get(snapshot.pk, group)


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
