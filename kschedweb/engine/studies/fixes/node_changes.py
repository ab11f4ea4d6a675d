"""Changes of the cluster: taints, labels and limits of nodes, pods that go elsewhere, and one more node."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.amounts import format_amount
from kschedweb.engine.objects.node import HOSTNAME, REGION, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.shapes import ShapeError, node_shape
from kschedweb.engine.studies.fixes.changes import Change, ChangeKind, Edit, ObjectKey, prefer_first_term, replace_at

# Labels that say what a node is: nobody changes them to make a pod fit.
IDENTITY_LABELS = frozenset(
    {HOSTNAME, ZONE, REGION, "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type"}
)
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
# Pods that cannot go elsewhere.
BOUND_TO_NODE = frozenset({"DaemonSet", "Node"})
MIRROR = "kubernetes.io/config.mirror"
# Pods of a node that are tried elsewhere, and node types that are tried as new ones.
MOST_MOVES, MOST_TYPES = 4, 4


def _change_node(
    node: str,
    kind: ChangeKind,
    path: str,
    values: tuple[object, object],
    words: dict[str, str],
    cost: float,
    edit: Edit,
    *command: str,
) -> Change:
    key: ObjectKey = ("Node", "", node)
    text = shlex.join(["kubectl", *command]) if command else ""
    return Change(kind, key, path, *values, {"node": node, **words}, cost, key, edit, text)


def remove_taint(node: Node, taint: Taint) -> Change:
    """Return the change that takes a taint off a node; where a controller set it, the node has to be repaired."""
    if taint.key == UNSCHEDULABLE_TAINT:
        return uncordon_node(node)

    def edit(raw: Json | None) -> Json:
        taints = ((raw or {}).get("spec") or {}).get("taints") or []
        remaining = [
            item
            for item in taints
            if (item.get("key"), item.get("value") or "", item.get("effect")) != (taint.key, taint.value, taint.effect)
        ]
        return replace_at(raw, ("spec", "taints"), remaining)

    values, words = (str(taint), None), {"taint": str(taint)}
    if taint.key in CONTROLLED:
        return _change_node(
            node.name,
            ChangeKind.REPAIR_NODE,
            "status.conditions",
            values,
            words,
            3.0,
            edit,
            "describe",
            "node",
            node.name,
        )
    command = ("taint", "nodes", node.name, f"{taint}-")
    return _change_node(node.name, ChangeKind.REMOVE_TAINT, "spec.taints", values, words, 2.2, edit, *command)


def uncordon_node(node: Node) -> Change:
    def edit(raw: Json | None) -> Json:
        taints = ((raw or {}).get("spec") or {}).get("taints") or []
        remaining = [item for item in taints if item.get("key") != UNSCHEDULABLE_TAINT]
        return replace_at(replace_at(raw, ("spec", "taints"), remaining), ("spec", "unschedulable"), None)

    command = ("uncordon", node.name)
    return _change_node(
        node.name, ChangeKind.UNCORDON_NODE, "spec.unschedulable", (True, None), {}, 1.0, edit, *command
    )


def label_node(node: Node, key: str, value: str) -> Change | None:
    """Return the change that labels a node, None for a label that says what the node is."""
    if key in IDENTITY_LABELS or key.startswith("topology."):
        return None
    values, words = (node.labels.get(key), value), {"label": f"{key}={value}"}
    command = ("label", "nodes", node.name, f"{key}={value}", *(["--overwrite"] if key in node.labels else []))
    return _change_node(
        node.name,
        ChangeKind.LABEL_NODE,
        f"metadata.labels.{key}",
        values,
        words,
        2.0 if key not in node.labels else 2.3,
        lambda raw: replace_at(raw, ("metadata", "labels", key), value),
        *command,
    )


def raise_pod_limit(snapshot: Snapshot, node: Node) -> Change:
    """Return the change that lets a node run one pod more."""
    position = snapshot.index[node.name]
    before, after = int(snapshot.pod_limit[position]), int(snapshot.pod_count[position]) + 1
    return _change_node(
        node.name,
        ChangeKind.RAISE_POD_LIMIT,
        "status.allocatable.pods",
        (before, after),
        {"before": str(before), "after": str(after)},
        2.9,
        lambda raw: replace_at(raw, ("status", "allocatable", "pods"), str(after)),
    )


def move_pod(pod: Pod, target: str) -> Change:
    """Return the change that has a pod run on the node ``target``."""
    key: ObjectKey = ("Pod", pod.namespace, pod.name)
    words = {"pod": pod.key, "node": pod.node_name, "target": target}
    return Change(
        ChangeKind.MOVE_POD,
        key,
        "spec.nodeName",
        pod.node_name,
        target,
        words,
        3.2,
        key,
        lambda raw: replace_at(raw, ("spec", "nodeName"), target),
    )


def soften_others(repelling_pods: list[Pod], namespace: str, owner: str) -> tuple[Change, ...]:
    """Return the changes that make the required anti-affinity of pods of one owner a preference."""
    changes = []
    for other in repelling_pods:
        term_count = len(other.pod_affinity.anti_required)

        def edit(raw: Json | None, count: int = term_count) -> Json:
            for _ in range(count):
                raw = prefer_first_term(raw, "podAntiAffinity")
            return raw or {}

        kind, _, name = owner.partition("/")
        change = Change(
            kind=ChangeKind.SOFTEN_OTHERS,
            target=(kind, namespace, name),
            path="spec.template.spec.affinity.podAntiAffinity" if kind != "Pod" else "spec.affinity.podAntiAffinity",
            before=REQUIRED,
            after=PREFERRED,
            words={"owner": f"{kind} {namespace}/{name}"},
            cost=3.4 / len(repelling_pods),
            subject=("Pod", other.namespace, other.name),
            edit=edit,
        )
        changes.append(change)
    return tuple(changes)


def find_moves(
    scheduler: Scheduler, pod: Pod, position: int, resources: list[str], keys: Collection[str] | None = None
) -> Iterator[Change]:
    """Yield moves of one pod, after each of which ``pod`` fits the node at ``position``, small pods first.

    ``resources`` are what the node lacks; ``keys`` are the pods that may be moved, None for all. The moved pod has a
    node elsewhere beside the newcomer.
    """
    snapshot = scheduler.snapshot
    node = snapshot.names[position]
    missing = {
        name: pod.requests.get(name, 0)
        - int(snapshot.resource_row(snapshot.allocatable, name)[position])
        + int(snapshot.resource_row(snapshot.requested, name)[position])
        for name in resources
    }
    candidates = [
        other
        for other in snapshot.pods.pods_on(position)
        if (keys is None or other.key in keys)
        and _can_move(other)
        and all(other.occupied.get(name, 0) >= amount for name, amount in missing.items())
    ]
    candidates.sort(
        key=lambda other: (sum(other.occupied.get(name, 0) / max(missing[name], 1) for name in missing), other.key)
    )
    for other in candidates[:MOST_MOVES]:
        trial = scheduler.with_snapshot(snapshot.copy())
        try:
            waiting = trial.evict_pod(other.key)
            if not trial.verdict(pod, node).ok:
                continue
            trial.snapshot.place_pod(pod, node)
            if waiting.scheduler_name in trial.frameworks and (target := trial.find(waiting).node):
                yield move_pod(other, target)
        except CycleError:
            continue


def _can_move(pod: Pod) -> bool:
    annotations = (pod.raw.get("metadata") or {}).get("annotations") or {}
    kind = pod.controller[1] if pod.controller else ""
    return kind not in BOUND_TO_NODE and MIRROR not in annotations and not pod.terminating and not pod.volumes


def add_nodes(snapshot: Snapshot, pod: Pod) -> Iterator[Change]:
    """Yield changes that add a node like one of the cluster on which the pod's requests fit, the smallest first."""
    kinds: dict[tuple[object, ...], int] = {}
    for position, node in enumerate(snapshot.nodes):
        if any(amount > node.allocatable.get(name, 0) for name, amount in pod.requests.items()):
            continue
        labels = {key: value for key, value in node.labels.items() if key != HOSTNAME}
        taints = tuple(taint for taint in node.taints if taint.key not in CONTROLLED)
        key = (frozenset(labels.items()), taints, frozenset(node.allocatable.items()))
        kinds.setdefault(key, position)
    sizes = sorted(kinds.values(), key=lambda position: (*_node_size(snapshot.nodes[position]), position))
    for position in sizes[:MOST_TYPES]:
        node = snapshot.nodes[position]
        try:
            shape = node_shape(node.raw, taken_names=snapshot.names)
        except ShapeError:
            continue
        new_node = shape.create_nodes(1)[0]
        new_key: ObjectKey = ("Node", "", new_node.name)
        words = {"node": node.name, "size": format_amount(node.allocatable.get("cpu", 0), "cpu")}
        yield Change(
            ChangeKind.ADD_NODE, new_key, "", None, new_node.name, words, 5.0, new_key, _create_object(new_node.raw)
        )


def _create_object(raw: Json) -> Edit:
    return lambda _: raw


def _node_size(node: Node) -> tuple[int, int, int]:
    extended = sum(amount for name, amount in node.allocatable.items() if "/" in name)
    return extended, node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0)
