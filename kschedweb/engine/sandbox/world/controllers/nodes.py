"""The node lifecycle controller and the taint-eviction controller.

Their rules are those of simulations (engine/controllers); here they read and write API objects.
"""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.nodelifecycle import FALSE, READY, TRUE, UNKNOWN, NodeLifecycle, with_condition_taints
from kschedweb.engine.controllers.taint_eviction import TaintEviction
from kschedweb.engine.framework.events import read_conditions
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE, Taint
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, get_annotation_time, own_annotations
from kschedweb.engine.sandbox.world.pods import get_condition, is_deleting, with_conditions, with_disruption_target

# Keys that stand for all nodes, and for all pods.
MONITOR, EVICTIONS = ("", "monitor"), ("", "evictions")
CONTROLLER, EVICTION = "node-controller", "taint-eviction-controller"
STOPPED = "Kubelet stopped posting node status."


class NodeLifecycleController:
    """Marks silent and not ready nodes with conditions and taints, and evicts pods that do not tolerate them.

    Keys are those of nodes, and MONITOR and EVICTIONS for what concerns all of them.
    """

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._lifecycle, self._eviction = NodeLifecycle(), TaintEviction()
        # When to look at all nodes next.
        self._look_at = float("-inf")

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is NODE:
            self._track_node(change)
            yield from (change.key, MONITOR, EVICTIONS)
        elif change.resource is POD:
            key = f"{change.key[0]}/{change.key[1]}"
            if change.new is None:
                self._eviction.pod_gone(key)
            elif _has_moved(change.old, change.new) and (pod := _parse_pod(change.new)) is not None:
                self._eviction.pod_changed(pod, self._context.time)
                yield EVICTIONS

    def sync(self, key: Key) -> float | None:
        if key == MONITOR:
            return self._monitor_nodes()
        if key == EVICTIONS:
            return self._evict_due_pods()
        raw = self._context.store.get(NODE, *key)
        node = None if raw is None else _parse_node(raw)
        if raw is not None and node is not None:
            self._sync_node(raw, node)
        return None

    # One node.

    def _track_node(self, change: StoreChange) -> None:
        """Note a node's change at once: it counts at the next look at all nodes, which may come before its own."""
        name, node = change.key[1], None if change.new is None else _parse_node(change.new)
        if change.new is None or node is None:
            self._lifecycle.forget_node(name)
            self._eviction.node_gone(name)
            return
        since = get_annotation_time(change.new, "silent-since")
        if since is None:
            self._lifecycle.on_heartbeat(name)
        else:
            self._lifecycle.silence_node(name, since)
        self._lifecycle.watch_node(node)

    def _sync_node(self, raw: Json, node: Node) -> None:
        time = self._context.time
        raw = self._note_taint_time(self._write_node(raw, with_condition_taints(node)))
        node = _parse_node(raw) or node
        tainted = get_annotation_time(raw, "tainted-at")
        pods = (
            pod for raw_pod in self._context.index.pods_on_node(node.name) if (pod := _parse_pod(raw_pod)) is not None
        )
        self._eviction.node_changed(node.name, node.taints, pods, time if tainted is None else tainted)

    def _note_taint_time(self, raw: Json) -> Json:
        """Annotate the node with the time since when pods must leave it, which outlives a restart."""
        taints = raw["spec"].get("taints") or ()
        hard = any(taint.get("effect") == NO_EXECUTE for taint in taints)
        if hard == (get_annotation_time(raw, "tainted-at") is not None):
            return raw
        since = f"{self._context.time:.3f}" if hard else None
        return self._context.annotate(NODE, raw, annotations=own_annotations(tainted_at=since))

    # All nodes.

    def _monitor_nodes(self) -> float | None:
        context, time = self._context, self._context.time
        if self._lifecycle.at_rest or time < self._look_at:
            return None if self._lifecycle.at_rest else self._look_at
        self._look_at = time + self._lifecycle.timing.monitor_period
        nodes = {
            raw["metadata"]["name"]: node for raw in context.store.all(NODE) if (node := _parse_node(raw)) is not None
        }
        for node in self._lifecycle.monitor_node_health(nodes, time):
            raw = context.store.get(NODE, "", node.name)
            if raw is not None:
                self._write_node(raw, node)
        return None if self._lifecycle.at_rest else self._look_at

    def _evict_due_pods(self) -> float | None:
        context = self._context
        for key in self._eviction.take_due(context.time):
            namespace, _, name = key.partition("/")
            pod = context.store.get(POD, namespace, name)
            if pod is None or is_deleting(pod):
                continue
            message = "Taint manager: deleting due to NoExecute taint"
            status = with_disruption_target(pod["status"], context.format_now(), "DeletionByTaintManager", message)
            pod = context.objects.change_object(POD, pod, status=status)
            note = f"Marking for deletion Pod {key}"
            context.recorder.record_event(POD, pod, "TaintManagerEviction", note, component=EVICTION)
            context.delete_object(POD, pod)
        return self._eviction.next_due()

    # Writing.

    def _write_node(self, raw: Json, node: Node) -> Json:
        """Write the taints and conditions of ``node`` that differ from those of ``raw``."""
        before, now = _parse_node(raw) or node, self._context.format_now()
        parts: dict[str, Json] = {}
        if set(node.taints) != set(before.taints):
            parts["spec"] = {**raw["spec"], "taints": _list_taints(raw, node.taints, now)}
        old, new = read_conditions(before), read_conditions(node)
        lost = [kind for kind, status in new.items() if status == UNKNOWN and old.get(kind) != UNKNOWN]
        if lost:
            unknown_status = {"status": UNKNOWN, "reason": "NodeStatusUnknown", "message": STOPPED}
            old_conditions = {
                condition["type"]: condition for condition in raw.get("status", {}).get("conditions") or ()
            }
            fresh = [{**old_conditions.get(kind, {}), "type": kind, **unknown_status} for kind in lost]
            parts["status"] = with_conditions(raw.get("status") or {}, now, *fresh)
        raw = self._context.objects.change_object(NODE, raw, **parts) if parts else raw
        if READY in lost:
            self._not_ready(raw, now)
        return raw

    def _not_ready(self, raw: Json, now: str) -> None:
        """Mark the pods of a silent node as not ready: nobody knows whether they run."""
        name = raw["metadata"]["name"]
        message = f"Node {name} status is now: NodeNotReady"
        self._context.recorder.record_event(NODE, raw, "NodeNotReady", message, component=CONTROLLER)
        for pod in self._context.index.pods_on_node(name):
            ready_condition = get_condition(pod, READY)
            if ready_condition is not None and ready_condition.get("status") == TRUE:
                status = with_conditions(pod["status"], now, {"type": READY, "status": FALSE, "lastProbeTime": None})
                self._context.objects.change_object(POD, pod, status=status)
                self._context.recorder.record_event(
                    POD, pod, "NodeNotReady", "Node is not ready", component=CONTROLLER, kind="Warning"
                )


def _list_taints(raw: Json, taints: Iterable[Taint], now: str) -> list[Json]:
    """Return taints as the node lists them; new ones get the time when they were added."""
    old_taints = {
        (taint.get("key"), taint.get("value") or "", taint.get("effect")): taint
        for taint in raw["spec"].get("taints") or ()
    }
    listed = []
    for taint in taints:
        fresh = {"key": taint.key, "effect": taint.effect, "timeAdded": now}
        listed.append(old_taints.get((taint.key, taint.value, taint.effect), fresh))
    return listed


def _has_moved(old: Json | None, new: Json) -> bool:
    """Return true if a pod came to a node, or tolerates other taints than before."""
    if not new["spec"].get("nodeName"):
        return False
    return old is None or any(old["spec"].get(key) != new["spec"].get(key) for key in ("nodeName", "tolerations"))


def _parse_node(raw: Json) -> Node | None:
    """Read a node; returns ``None`` for one that cannot be read, which is left alone."""
    try:
        return Node.from_json(raw)
    except ObjectError:
        return None


def _parse_pod(raw: Json) -> Pod | None:
    try:
        return Pod.from_json(raw)
    except ObjectError:
        return None
