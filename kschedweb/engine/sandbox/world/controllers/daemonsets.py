"""DaemonSets: a pod on each node that fits, which the scheduler binds by its affinity to that node."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers import daemons
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.sandbox.limits import BURST
from kschedweb.engine.sandbox.resources import NODE
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.controllers.pod_control import RETRY_SECONDS, PodControl
from kschedweb.engine.sandbox.world.pods import (
    get_scaled_value,
    is_deleting,
    is_pod_active,
    is_pod_ready,
    pod_from_template,
    template_hash,
)
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import DAEMON_SET

# Labels of pods that tell their template.
HASH, GENERATION = "controller-revision-hash", "pod-template-generation"


class DaemonSetController:
    """Creates a pod on each node that a DaemonSet fits, and replaces pods of an older template."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._pod_control = PodControl(context, DAEMON_SET, "daemonset-controller")

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is NODE:
            if _placement_state(change.old) != _placement_state(change.new):
                for raw in self._context.store.all(DAEMON_SET):
                    yield raw["metadata"]["namespace"], raw["metadata"]["name"]
        else:
            yield from self._pod_control.affected_keys(change)

    def sync(self, key: Key) -> float | None:
        pod_control = self._pod_control
        owner = pod_control.find_owner(key)
        if owner is None:
            return None
        try:
            nodes = daemons.make_snapshot(list(self._context.store.all(NODE)))
            specs_by_node, stays = (
                dict(daemons.list_node_specs(owner, nodes)),
                set(daemons.list_staying_nodes(owner, nodes)),
            )
        except ObjectError as problem:
            pod_control.record_event(owner, "FailedPlacement", str(problem), WARNING)
            return None
        revision_hash = template_hash(owner["spec"]["template"])
        retry_at = self._manage_pods(owner, specs_by_node, stays, revision_hash)
        self._rolling_update(owner, revision_hash)
        self._sync_status(owner, specs_by_node, revision_hash)
        return retry_at

    def _manage_pods(
        self, owner: Json, specs_by_node: dict[str, Json], stays: set[str], revision_hash: str
    ) -> float | None:
        pod_control, retry_at = self._pod_control, None
        pods_by_node: dict[str, Json] = {}
        for pod in pod_control.list_pods(owner):
            node = _get_target_node(pod)
            if pod["status"].get("phase") == "Failed" and not is_deleting(pod):
                pod_control.delete_pod(owner, pod)
            elif is_deleting(pod):
                # The next pod is created when this one is gone.
                pods_by_node.setdefault(node, pod)
            elif node not in (stays if pod["spec"].get("nodeName") else specs_by_node) or (
                node in pods_by_node and is_pod_active(pods_by_node[node])
            ):
                pod_control.delete_pod(owner, pod)
            else:
                pods_by_node[node] = pod
        template, created = owner["spec"]["template"], 0
        for node, spec in specs_by_node.items():
            if node in pods_by_node:
                continue
            if created == BURST:
                return self._context.time
            labels = {HASH: revision_hash, GENERATION: str(owner["metadata"].get("generation", 1))}
            if not pod_control.create_pod(
                owner, pod_from_template({**template, "spec": spec}, DAEMON_SET, owner, labels=labels)
            ):
                retry_at = self._context.time + RETRY_SECONDS
            created += 1
        return retry_at

    def _rolling_update(self, owner: Json, revision_hash: str) -> None:
        """Replace pods of an older template, as many at once as may be missing."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        pods = [pod for pod in self._pod_control.list_pods(owner) if not is_deleting(pod)]
        stale = [pod for pod in pods if pod["metadata"]["labels"].get(HASH) != revision_hash]
        try:
            max_unavailable = get_scaled_value(
                (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(pods), up=True
            )
        except ValueError:
            max_unavailable = 1
        missing = sum(not is_pod_ready(pod) for pod in pods if pod not in stale)
        missing += len(self._pod_control.list_pods(owner)) - len(pods)
        # Pods that are not ready go first: replacing them takes nothing away.
        for pod in sorted(stale, key=is_pod_ready)[: max(0, max(1, max_unavailable) - missing)]:
            self._pod_control.delete_pod(owner, pod)

    def _sync_status(self, owner: Json, specs_by_node: dict[str, Json], revision_hash: str) -> None:
        pods = {_get_target_node(pod): pod for pod in self._pod_control.list_pods(owner) if not is_deleting(pod)}
        mine = [pod for node, pod in pods.items() if node in specs_by_node]
        ready_count = sum(map(is_pod_ready, mine))
        self._pod_control.update_status(
            owner,
            currentNumberScheduled=len(mine),
            desiredNumberScheduled=len(specs_by_node),
            numberMisscheduled=len(pods) - len(mine),
            numberReady=ready_count,
            numberAvailable=ready_count,
            numberUnavailable=len(specs_by_node) - ready_count,
            updatedNumberScheduled=sum(pod["metadata"]["labels"].get(HASH) == revision_hash for pod in mine),
        )


def _get_target_node(pod: Json) -> str:
    """Return the node of a daemon's pod, also before it is bound: its affinity names it."""
    if node := pod["spec"].get("nodeName"):
        return str(node)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def _placement_state(node: Json | None) -> object:
    """Return the properties of a node that decide whether daemons belong there."""
    if node is None:
        return None
    spec = node.get("spec") or {}
    taints = [{key: taint.get(key) for key in ("key", "value", "effect")} for taint in spec.get("taints") or ()]
    return node["metadata"]["uid"], node["metadata"].get("labels"), taints
