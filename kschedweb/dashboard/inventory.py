"""The nodes of a snapshot as columns, for its node map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.seen import others_on
from kschedweb.clusters.selectors import node_rows, snapshot_objects
from kschedweb.web.lru import LRU
from kschedweb.web.nodemap import grouping, nodemap
from kschedweb.web.nodemap.grouping import Grouping
from kschedweb.web.nodemap.nodemap import PODS, STATE, Show, requested, used

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kschedweb.watermarks.usage.selectors import Present

MOST_PODS = 2_000  # of one node that are told of
NODE_FILTERS = ("search", "zone", "instance_type", "ready", "unschedulable", "tainted")
_labels: LRU[dict[str, Mapping[str, str]]] = LRU(4)
_rows: LRU[list[dict[str, Any]]] = LRU(4)
COLUMNS = (
    "name", "zone", "region", "instance_type", "ready", "unschedulable", "cpu_share", "memory_share", "pods_bound",
    "pods_allocatable", "extended",
)  # fmt: skip


def filters(asked: Mapping[str, str]) -> dict[str, str]:
    """Those of the parameters of an address that filter nodes."""
    return {name: value for name in NODE_FILTERS if (value := asked.get(name, ""))}


def rows(snapshot: Snapshot, asked: Mapping[str, str], found: Any) -> Sequence[Mapping[str, Any]]:
    """The nodes of ``found`` by name, with what a map needs. Raises Unprocessable where they are too many.

    ``found`` is what ``filters(asked)`` leave of the snapshot. A page and its map ask the same three times.
    """

    def read() -> list[dict[str, Any]]:
        nodemap.bounded(found.count())
        return list(found.order_by("name").values(*COLUMNS))

    return _rows.get((snapshot.pk, *filters(asked).items()), read)


def shows(nodes: Sequence[Mapping[str, Any]], use: Present | None) -> dict[str, Show]:
    """What a map of ``nodes`` may be coloured by, by its key."""
    extended = sorted({name for node in nodes for name in node["extended"]})
    found = [requested(name) for name in ("cpu", "memory", *extended)]
    if use is not None:
        found += [used("cpu"), used("memory")]
    return {show.key: show for show in (*found, PODS, STATE)}


def values(nodes: Sequence[Mapping[str, Any]], key: str, use: Present | None) -> NDArray[np.float32]:
    """What ``key`` shows of each node: percent, pods, or places in nodemap.STATES; nan where nothing is known."""
    if key == PODS.key:
        return pods(nodes)
    if key == STATE.key:
        return _states(nodes)
    if key.startswith("use-"):
        known = {} if use is None else use.cpu if key == "use-cpu" else use.memory
        return np.array([known.get(node["name"], np.nan) for node in nodes], dtype=np.float32)
    if key in ("cpu", "memory"):
        return np.array([node[f"{key}_share"] / 10 for node in nodes], dtype=np.float32)
    return np.array([_share(node["extended"].get(key)) for node in nodes], dtype=np.float32)


def pods(nodes: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    """How many pods are on each node."""
    return np.array([node["pods_bound"] for node in nodes], dtype=np.float32)


def _share(amounts: Sequence[int] | None) -> float:
    asked, has = amounts or (0, 0)
    return 100 * asked / has if has else np.nan


def _states(nodes: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    fullest = [
        max(
            node["cpu_share"] / 10,
            node["memory_share"] / 10,
            *(share for amounts in node["extended"].values() if (share := _share(amounts)) == share),
            100 * node["pods_bound"] / node["pods_allocatable"] if node["pods_allocatable"] else 0.0,
        )
        for node in nodes
    ]
    cordoned = np.array([node["unschedulable"] for node in nodes], dtype=bool)
    return nodemap.states(pods(nodes), np.array(fullest), cordoned, np.array([node["ready"] for node in nodes], bool))


def groupings(nodes: Sequence[Mapping[str, Any]]) -> list[Grouping]:
    """By what the list itself knows: zone, region and instance type."""
    keys = {"zone": "zone", "region": "region", "instance_type": "instance type"}
    names = {name: grouping.NAMED[label][0] for name, label in keys.items()}
    return grouping.groupings([{label: node[name] for name, label in names.items() if node[name]} for node in nodes])


def labelled(snapshot: Snapshot, nodes: Sequence[Mapping[str, Any]]) -> list[Grouping]:
    """By every label that tells the nodes apart."""

    def read() -> dict[str, Mapping[str, str]]:
        found: dict[str, Mapping[str, str]] = {}
        rows = list(node_rows(snapshot).order_by().values_list("name", "labels"))
        if all(labels is not None for _, labels in rows):
            return {name: labels or {} for name, labels in rows}
        for raw in snapshot_objects(snapshot):
            if raw.get("kind") == "Node" and isinstance(raw.get("metadata"), dict):
                labels = raw["metadata"].get("labels")
                found[str(raw["metadata"].get("name"))] = labels if isinstance(labels, dict) else {}
        return found

    known = _labels.get(snapshot.pk, read)
    return grouping.groupings([known.get(node["name"], {}) for node in nodes])


def stays(snapshot: Snapshot, node: NodeRow) -> dict[str, Any]:
    """The pods on a node, in the form of a run's: all are there from the beginning and none leaves."""
    found = PodRow.objects.filter(snapshot=snapshot, node=node.name).order_by("namespace", "name", "id")
    listed = list(found.values_list("namespace", "name", "cpu_request", "memory_request")[: MOST_PODS + 1])
    omitted = (found.count() - MOST_PODS if len(listed) > MOST_PODS else 0) + others_on(snapshot, node)
    kept = listed[:MOST_PODS]
    return {
        "node": node.name,
        "pods": [f"{namespace}/{name}" for namespace, name, _, _ in kept],
        "tried": [True] * len(kept),
        "from": [0.0] * len(kept),
        "until": [None] * len(kept),
        "requests": {"cpu": [cpu for *_, cpu, _ in kept], "memory": [memory for *_, memory in kept]},
        "changes": [0.0],
        "allocatable": {"cpu": [node.cpu_allocatable], "memory": [node.memory_allocatable]},
        "omitted": omitted,
    }
