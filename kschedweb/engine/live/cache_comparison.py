"""Compares what is known of a cluster with a fresh list of it, as kube-scheduler's cache debugger does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from kschedweb.engine.live.cluster_feed import is_relevant_change
from kschedweb.engine.objects.json_access import Json, ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import FINISHED, Snapshot
from kschedweb.engine.values import dataclass

Read = TypeVar("Read", Node, Pod)
Differences = dict[tuple[str, str], str]  # (object, what of it) -> a sentence


@dataclass(frozen=True, slots=True)
class FreshListing:
    """Nodes by name and pods by uid, as the cluster lists them."""

    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]

    @classmethod
    def from_lists(cls, nodes: Iterable[Json], pods: Iterable[Json]) -> FreshListing:
        """Read raw objects. Finished pods and unreadable objects are left out, as the scheduler leaves them out."""
        running = [raw for raw in pods if (raw.get("status") or {}).get("phase") not in FINISHED]
        return cls(
            {node.name: node for node in _read_objects(Node, nodes)},
            {pod.uid: pod for pod in _read_objects(Pod, running)},
        )


@dataclass(frozen=True, slots=True)
class CacheComparison:
    """How many nodes are known, how many pods on them, and how many assumed pods that the cluster may not show yet."""

    nodes: int
    pods: int
    assumed: int
    differences: Differences


def compare_cache(
    fresh: FreshListing, world: SchedulerCache, pods: Iterable[Pod], assumed: Mapping[str, str]
) -> CacheComparison:
    """The differences of ``fresh`` from what is known: ``world``, the cluster's ``pods``, the ``assumed`` (uid: node).

    Compared are: nodes and pods, by what decisions depend on; the pods of each node, by uid; and the sums in the node's
    columns. An assumed pod only has to be there.
    """
    on_nodes = {pod.uid: pod for pod in world.all_pods()}
    differences: Differences = {}
    _compare_nodes(fresh, world, differences)
    _compare_pods(fresh, {pod.uid: pod for pod in pods}, differences)
    _compare_places(fresh, on_nodes, assumed, differences)
    _compare_columns(fresh, world, [pod for uid, pod in on_nodes.items() if uid in assumed], assumed, differences)
    return CacheComparison(len(world.nodes), len(on_nodes), len(assumed), differences)


def _compare_nodes(fresh: FreshListing, world: SchedulerCache, differences: Differences) -> None:
    for name in fresh.nodes.keys() | world.nodes.keys():
        if name not in world.nodes:
            differences[name, "there"] = f"Node {name} is in the cluster, and not known here."
        elif name not in fresh.nodes:
            differences[name, "there"] = f"Node {name} is known here, and not in the cluster."
        elif is_relevant_change(world.nodes[name], fresh.nodes[name]):
            differences[name, "object"] = f"Node {name} is known here as it was before it changed."


def _compare_pods(fresh: FreshListing, known_pods: Mapping[str, Pod], differences: Differences) -> None:
    for uid in fresh.pods.keys() | known_pods.keys():
        if uid not in known_pods:
            differences[uid, "there"] = f"{_describe_pod(fresh.pods[uid])} is in the cluster, and not known here."
        elif uid not in fresh.pods:
            differences[uid, "there"] = f"{_describe_pod(known_pods[uid])} is known here, and not in the cluster."
        elif known_pods[uid].signature != fresh.pods[uid].signature:
            differences[uid, "object"] = f"{_describe_pod(known_pods[uid])} is known here as it was before it changed."


def _compare_places(
    fresh: FreshListing, on_nodes: Mapping[str, Pod], assumed: Mapping[str, str], differences: Differences
) -> None:
    listed = {uid: pod.node_name for uid, pod in fresh.pods.items() if pod.node_name}
    for uid in listed.keys() | on_nodes.keys():
        known_node = on_nodes[uid].node_name if uid in on_nodes else ""
        listed_node = listed.get(uid, assumed.get(uid, ""))
        if known_node != listed_node:
            pod = on_nodes.get(uid) or fresh.pods[uid]
            differences[uid, "node"] = (
                f"{_describe_pod(pod)} is on {known_node or 'no node'} here, "
                f"on {listed_node or 'no node'} in the cluster."
            )


def _compare_columns(
    fresh: FreshListing,
    world: SchedulerCache,
    waiting: Iterable[Pod],
    assumed: Mapping[str, str],
    differences: Differences,
) -> None:
    snapshot = world.snapshot
    requested: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in [*(pod for uid, pod in fresh.pods.items() if pod.node_name and uid not in assumed), *waiting]:
        requested[pod.node_name]["pods"] += 1
        for name, amount in pod.occupied.items():
            requested[pod.node_name][name] += amount
    for name, node in fresh.nodes.items():
        if (position := snapshot.index.get(name)) is None:
            continue
        for resource, has, used in _node_amounts(snapshot, position):
            sides = (
                ("allocatable", has, node.allocatable.get(resource, 0)),
                ("requested", used, requested[name][resource]),
            )
            for column, known_amount, listed_amount in sides:
                if known_amount != listed_amount:
                    text = (
                        f"Node {name} has {known_amount} of {resource} {column} here, {listed_amount} in the cluster."
                    )
                    differences[name, f"{column} {resource}"] = text


def _node_amounts(snapshot: Snapshot, position: int) -> Iterator[tuple[str, int, int]]:
    """By resource of the node at ``position``: how much the node has, and how much is requested."""
    for resource, row in snapshot.resources.items():
        yield resource, int(snapshot.allocatable[row, position]), int(snapshot.requested[row, position])
    yield "pods", int(snapshot.pod_limit[position]), int(snapshot.pod_count[position])


def _read_objects(kind: type[Read], items: Iterable[Json]) -> list[Read]:
    read: list[Read] = []
    for raw in items:
        try:
            read.append(kind.from_json(raw))
        except ObjectError:
            continue
    return read


def _describe_pod(pod: Pod) -> str:
    return f"Pod {pod.key} ({pod.uid})"
