"""Compare the scheduler's cache with a fresh list of the cluster, as kube-scheduler's cache debugger does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from kschedweb.engine.json_types import Json
from kschedweb.engine.live.cluster_feed import is_relevant_change
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import FINISHED, Snapshot
from kschedweb.engine.values import dataclass

Read = TypeVar("Read", Node, Pod)
# (name of a node or uid of a pod, what differs) -> a sentence for people.
Differences = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class FreshListing:
    """Nodes by name and pods by uid, as the cluster lists them."""

    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]

    @classmethod
    def from_lists(cls, nodes: Iterable[Json], pods: Iterable[Json]) -> FreshListing:
        """Read raw objects; leave out finished pods and unreadable objects, as the scheduler does."""
        running = [raw for raw in pods if (raw.get("status") or {}).get("phase") not in FINISHED]
        return cls(
            {node.name: node for node in _read_objects(Node, nodes)},
            {pod.uid: pod for pod in _read_objects(Pod, running)},
        )


@dataclass(frozen=True, slots=True)
class CacheComparison:
    """The size of the cache, and where it differs from the cluster."""

    # Number of nodes in the cache.
    nodes: int
    # Number of pods on them.
    pods: int
    # Number of assumed pods, which the cluster may not show yet.
    assumed: int
    differences: Differences


def compare_cache(
    fresh: FreshListing, world: SchedulerCache, pods: Iterable[Pod], assumed: Mapping[str, str]
) -> CacheComparison:
    """Compare ``fresh`` with the cache ``world``, the known ``pods`` and the ``assumed`` pods (uid -> node).

    Nodes and pods are compared by what decisions depend on, the pods of each node by uid, and the node's columns by
    their sums. An assumed pod only has to be in the cache.
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
        # A pod that was assumed here may have no node in the listing yet.
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
    # The sums are worked out anew from the listed objects. Assumed pods count as the cache knows them, since the
    # listing may not show their nodes yet.
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
    """Yield each resource of the node at ``position`` with its allocatable and its requested amount."""
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
