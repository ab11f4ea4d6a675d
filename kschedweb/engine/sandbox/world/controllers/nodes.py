"""The node lifecycle controller and the taint-eviction controller: nodes in trouble, and who must leave them.

Their rules are those of simulations (engine/controllers); here they read and write API objects.
"""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.eviction import TaintEviction
from kschedweb.engine.controllers.nodelifecycle import FALSE, READY, TRUE, UNKNOWN, NodeLifecycle, with_condition_taints
from kschedweb.engine.framework.events import conditions
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE, Taint
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context, own, time_in
from kschedweb.engine.sandbox.world.pods import condition, disrupted, leaving, with_conditions

MONITOR, EVICTIONS = ("", "monitor"), ("", "evictions")  # keys that stand for all nodes, and all pods
CONTROLLER, EVICTION = "node-controller", "taint-eviction-controller"
STOPPED = "Kubelet stopped posting node status."


class NodeLives:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._lifecycle, self._eviction = NodeLifecycle(), TaintEviction()
        self._look_at = float("-inf")  # when to look at all nodes next

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is NODE:
            self._listen(change)
            yield from (change.key, MONITOR, EVICTIONS)
        elif change.resource is POD:
            key = f"{change.key[0]}/{change.key[1]}"
            if change.new is None:
                self._eviction.pod_gone(key)
            elif _moved(change.old, change.new) and (pod := _pod(change.new)) is not None:
                self._eviction.pod_changed(pod, self._context.time)
                yield EVICTIONS

    def sync(self, key: Key) -> float | None:
        if key == MONITOR:
            return self._monitor()
        if key == EVICTIONS:
            return self._evict()
        raw = self._context.store.get(NODE, *key)
        node = None if raw is None else _node(raw)
        if raw is not None and node is not None:
            self._look(raw, node)
        return None

    # One node.

    def _listen(self, change: Change) -> None:
        """Take note at once: all nodes may be looked at before this one is, and all of them count."""
        name, node = change.key[1], None if change.new is None else _node(change.new)
        if change.new is None or node is None:
            self._lifecycle.forget(name)
            self._eviction.node_gone(name)
            return
        since = time_in(change.new, "silent-since")
        if since is None:
            self._lifecycle.heard(name)
        else:
            self._lifecycle.silence(name, since)
        self._lifecycle.watch(node)

    def _look(self, raw: Json, node: Node) -> None:
        time = self._context.time
        raw = self._noted(self._write(raw, with_condition_taints(node)))
        node = _node(raw) or node
        tainted = time_in(raw, "tainted-at")
        pods = (pod for one in self._context.index.pods_on(node.name) if (pod := _pod(one)) is not None)
        self._eviction.node_changed(node.name, node.taints, pods, time if tainted is None else tainted)

    def _noted(self, raw: Json) -> Json:
        """The node with a note since when pods must leave it, which outlives a restart."""
        taints = raw["spec"].get("taints") or ()
        hard = any(taint.get("effect") == NO_EXECUTE for taint in taints)
        if hard == (time_in(raw, "tainted-at") is not None):
            return raw
        since = f"{self._context.time:.3f}" if hard else None
        return self._context.annotate(NODE, raw, annotations=own(tainted_at=since))

    # All nodes.

    def _monitor(self) -> float | None:
        context, time = self._context, self._context.time
        if self._lifecycle.at_rest or time < self._look_at:
            return None if self._lifecycle.at_rest else self._look_at
        self._look_at = time + self._lifecycle.timing.monitor_period
        nodes = {raw["metadata"]["name"]: node for raw in context.store.all(NODE) if (node := _node(raw)) is not None}
        for node in self._lifecycle.monitor(nodes, time):
            raw = context.store.get(NODE, "", node.name)
            if raw is not None:
                self._write(raw, node)
        return None if self._lifecycle.at_rest else self._look_at

    def _evict(self) -> float | None:
        context = self._context
        for key in self._eviction.take_due(context.time):
            namespace, _, name = key.partition("/")
            pod = context.store.get(POD, namespace, name)
            if pod is None or leaving(pod):
                continue
            message = "Taint manager: deleting due to NoExecute taint"
            status = disrupted(pod["status"], context.stamp(), "DeletionByTaintManager", message)
            pod = context.objects.change(POD, pod, status=status)
            said = f"Marking for deletion Pod {key}"
            context.recorder.say(POD, pod, "TaintManagerEviction", said, by=EVICTION)
            context.delete(POD, pod)
        return self._eviction.next_due()

    # Writing.

    def _write(self, raw: Json, node: Node) -> Json:
        """Write the taints and conditions that ``node`` has, where they are others than those of ``raw``."""
        before, now = _node(raw) or node, self._context.stamp()
        parts: dict[str, Json] = {}
        if set(node.taints) != set(before.taints):
            parts["spec"] = {**raw["spec"], "taints": _listed(raw, node.taints, now)}
        old, new = conditions(before), conditions(node)
        lost = [kind for kind, status in new.items() if status == UNKNOWN and old.get(kind) != UNKNOWN]
        if lost:
            said = {"status": UNKNOWN, "reason": "NodeStatusUnknown", "message": STOPPED}
            known = {one["type"]: one for one in raw.get("status", {}).get("conditions") or ()}
            fresh = [{**known.get(kind, {}), "type": kind, **said} for kind in lost]
            parts["status"] = with_conditions(raw.get("status") or {}, now, *fresh)
        raw = self._context.objects.change(NODE, raw, **parts) if parts else raw
        if READY in lost:
            self._not_ready(raw, now)
        return raw

    def _not_ready(self, raw: Json, now: str) -> None:
        """What runs on a silent node may run or not: its pods are not ready any more."""
        name = raw["metadata"]["name"]
        message = f"Node {name} status is now: NodeNotReady"
        self._context.recorder.say(NODE, raw, "NodeNotReady", message, by=CONTROLLER)
        for pod in self._context.index.pods_on(name):
            said = condition(pod, READY)
            if said is not None and said.get("status") == TRUE:
                status = with_conditions(pod["status"], now, {"type": READY, "status": FALSE, "lastProbeTime": None})
                self._context.objects.change(POD, pod, status=status)
                self._context.recorder.say(POD, pod, "NodeNotReady", "Node is not ready", by=CONTROLLER, kind="Warning")


def _listed(raw: Json, taints: Iterable[Taint], now: str) -> list[Json]:
    """Taints as the node lists them; new ones say when they were added."""
    known = {
        (one.get("key"), one.get("value") or "", one.get("effect")): one for one in raw["spec"].get("taints") or ()
    }
    listed = []
    for taint in taints:
        fresh = {"key": taint.key, "effect": taint.effect, "timeAdded": now}
        listed.append(known.get((taint.key, taint.value, taint.effect), fresh))
    return listed


def _moved(old: Json | None, new: Json) -> bool:
    """Whether a pod came to a node, or tolerates other taints than before."""
    if not new["spec"].get("nodeName"):
        return False
    return old is None or any(old["spec"].get(key) != new["spec"].get(key) for key in ("nodeName", "tolerations"))


def _node(raw: Json) -> Node | None:
    """``None`` for a node that cannot be read: it is left alone."""
    try:
        return Node.read(raw)
    except ObjectError:
        return None


def _pod(raw: Json) -> Pod | None:
    try:
        return Pod.read(raw)
    except ObjectError:
        return None
