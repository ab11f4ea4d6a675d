"""Try changes: build the cluster and the pod after them, and run a scheduling cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.fixes.changes import Change, ObjectKey, apply_changes


class RawObjects(Mapping[ObjectKey, Json]):
    """The raw objects of a cluster and of one pod without a node, by key."""

    def __init__(self, snapshot: Snapshot, pod: Pod) -> None:
        self._snapshot, self._pod = snapshot, pod

    def __getitem__(self, key: ObjectKey) -> Json:
        kind, namespace, name = key
        if kind == "Pod":
            pod_key = f"{namespace}/{name}"
            return self._pod.raw if pod_key == self._pod.key else self._snapshot.get_pod(pod_key).raw
        if kind == "Node":
            return self._snapshot.nodes[self._snapshot.index[name]].raw
        raw = self._snapshot.objects.get(kind, namespace, name)
        if raw is None:
            raise KeyError(key)
        return raw

    def __iter__(self) -> Iterator[ObjectKey]:
        raise TypeError("the objects of a cluster are looked up by key")

    def __len__(self) -> int:
        return len(self._snapshot)


def build_trial(scheduler: Scheduler, pod: Pod, changes: tuple[Change, ...]) -> tuple[Scheduler, Pod]:
    """Return the scheduler of the changed cluster, and the changed ``pod``. Raises ObjectError, KeyError."""
    changed = apply_changes(changes, RawObjects(scheduler.snapshot, pod))
    changed_raw = changed.pop(("Pod", pod.namespace, pod.name), None)
    if changed_raw is not None:
        pod = Pod.from_json(changed_raw).with_counting(scheduler.snapshot.counting)
    snapshot = _change_cluster(scheduler.snapshot, changed) if changed else scheduler.snapshot
    return scheduler.with_snapshot(snapshot), pod


def try_changes(scheduler: Scheduler, pod: Pod, changes: tuple[Change, ...]) -> str:
    """Return the node on which ``pod`` is placed after ``changes``, "" if there is none."""
    try:
        trial_scheduler, trial_pod = build_trial(scheduler, pod, changes)
        if not trial_scheduler.framework(trial_pod).pre_enqueue(trial_pod, trial_scheduler.snapshot.objects).ok:
            return ""
        return trial_scheduler.find(trial_pod).node
    except (CycleError, ObjectError, KeyError):
        # The change makes no valid object, or the changed pod cannot be judged: it is no fix.
        return ""


def _change_cluster(snapshot: Snapshot, changed: Mapping[ObjectKey, Json]) -> Snapshot:
    """Return a copy of ``snapshot`` with the ``changed`` objects in it."""
    changed_snapshot = snapshot.copy()
    nodes = []
    for (kind, _, _), raw in changed.items():
        if kind == "Node":
            nodes.append(Node.from_json(snapshot.of_today(raw)))
        elif kind == "Pod":
            _replace_pod(changed_snapshot, Pod.from_json(raw).with_counting(snapshot.counting))
        else:
            changed_snapshot.objects.add(raw)
    if not nodes:
        return changed_snapshot
    if all(_keeps_place(changed_snapshot, node) for node in nodes):
        return changed_snapshot.with_nodes(nodes)
    cache = SchedulerCache(changed_snapshot)
    for node in nodes:
        cache.set_node(node)
    larger = cache.snapshot
    larger.pending, larger.now = list(snapshot.pending), snapshot.now
    return larger


def _replace_pod(snapshot: Snapshot, pod: Pod) -> None:
    if pod.key in snapshot.pods.slots:
        snapshot.remove_pod(pod.key)
    if pod.node_name in snapshot.index:
        snapshot.add_pod(pod, snapshot.index[pod.node_name])


def _keeps_place(snapshot: Snapshot, node: Node) -> bool:
    """Return whether the node is there already, in the same zone."""
    position = snapshot.index.get(node.name)
    return position is not None and snapshot.zone_of(snapshot.nodes[position]) == snapshot.zone_of(node)
