"""Compares what is known of a cluster with a fresh list of it, as kube-scheduler's cache debugger does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from kschedweb.engine.live.feed import matters
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.snapshot import FINISHED, Snapshot
from kschedweb.engine.state.world import World
from kschedweb.engine.values import dataclass

Read = TypeVar("Read", Node, Pod)
Found = dict[tuple[str, str], str]  # (object, what of it) -> a sentence


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nodes by name and pods by uid, as the cluster lists them."""

    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]

    @classmethod
    def read(cls, nodes: Iterable[Json], pods: Iterable[Json]) -> Fresh:
        """Read raw objects. Finished pods and unreadable objects are left out, as the scheduler leaves them out."""
        running = [raw for raw in pods if (raw.get("status") or {}).get("phase") not in FINISHED]
        return cls(
            {node.name: node for node in _readable(Node, nodes)}, {pod.uid: pod for pod in _readable(Pod, running)}
        )


@dataclass(frozen=True, slots=True)
class CacheComparison:
    """How many nodes are known, how many pods on them, and how many assumed pods that the cluster may not show yet."""

    nodes: int
    pods: int
    assumed: int
    differences: Found


def compare(fresh: Fresh, world: World, pods: Iterable[Pod], assumed: Mapping[str, str]) -> CacheComparison:
    """The differences of ``fresh`` from what is known: ``world``, the cluster's ``pods``, the ``assumed`` (uid: node).

    Compared are: nodes and pods, by what decisions depend on; the pods of each node, by uid; and the sums in the node's
    columns. An assumed pod only has to be there.
    """
    on_nodes = {pod.uid: pod for pod in world.all_pods()}
    found: Found = {}
    _compare_nodes(fresh, world, found)
    _compare_pods(fresh, {pod.uid: pod for pod in pods}, found)
    _compare_places(fresh, on_nodes, assumed, found)
    _compare_columns(fresh, world, [pod for uid, pod in on_nodes.items() if uid in assumed], assumed, found)
    return CacheComparison(len(world.nodes), len(on_nodes), len(assumed), found)


def _compare_nodes(fresh: Fresh, world: World, found: Found) -> None:
    for name in fresh.nodes.keys() | world.nodes.keys():
        if name not in world.nodes:
            found[name, "there"] = f"Node {name} is in the cluster, and not known here."
        elif name not in fresh.nodes:
            found[name, "there"] = f"Node {name} is known here, and not in the cluster."
        elif matters(world.nodes[name], fresh.nodes[name]):
            found[name, "object"] = f"Node {name} is known here as it was before it changed."


def _compare_pods(fresh: Fresh, known: Mapping[str, Pod], found: Found) -> None:
    for uid in fresh.pods.keys() | known.keys():
        if uid not in known:
            found[uid, "there"] = f"{_name(fresh.pods[uid])} is in the cluster, and not known here."
        elif uid not in fresh.pods:
            found[uid, "there"] = f"{_name(known[uid])} is known here, and not in the cluster."
        elif known[uid].signature != fresh.pods[uid].signature:
            found[uid, "object"] = f"{_name(known[uid])} is known here as it was before it changed."


def _compare_places(fresh: Fresh, on_nodes: Mapping[str, Pod], assumed: Mapping[str, str], found: Found) -> None:
    listed = {uid: pod.node_name for uid, pod in fresh.pods.items() if pod.node_name}
    for uid in listed.keys() | on_nodes.keys():
        here = on_nodes[uid].node_name if uid in on_nodes else ""
        there = listed.get(uid, assumed.get(uid, ""))
        if here != there:
            pod = on_nodes.get(uid) or fresh.pods[uid]
            found[uid, "node"] = f"{_name(pod)} is on {here or 'no node'} here, on {there or 'no node'} in the cluster."


def _compare_columns(
    fresh: Fresh, world: World, waiting: Iterable[Pod], assumed: Mapping[str, str], found: Found
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
        for resource, has, used in _amounts(snapshot, position):
            sides = (
                ("allocatable", has, node.allocatable.get(resource, 0)),
                ("requested", used, requested[name][resource]),
            )
            for what, here, there in sides:
                if here != there:
                    text = f"Node {name} has {here} of {resource} {what} here, {there} in the cluster."
                    found[name, f"{what} {resource}"] = text


def _amounts(snapshot: Snapshot, position: int) -> Iterator[tuple[str, int, int]]:
    """By resource of the node at ``position``: how much the node has, and how much is requested."""
    for resource, row in snapshot.resources.items():
        yield resource, int(snapshot.allocatable[row, position]), int(snapshot.requested[row, position])
    yield "pods", int(snapshot.pod_limit[position]), int(snapshot.pod_count[position])


def _readable(kind: type[Read], items: Iterable[Json]) -> list[Read]:
    read: list[Read] = []
    for raw in items:
        try:
            read.append(kind.read(raw))
        except ObjectError:
            continue
    return read


def _name(pod: Pod) -> str:
    return f"Pod {pod.key} ({pod.uid})"
