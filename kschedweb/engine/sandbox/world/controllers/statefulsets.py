"""StatefulSets: numbered pods, each with its own claims, one after the other unless the policy is Parallel."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.claims import add_stateful_volumes, make_stateful_claims
from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.limits import BURST
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, owner_reference
from kschedweb.engine.sandbox.world.controllers.pod_control import RETRY_SECONDS, PodControl
from kschedweb.engine.sandbox.world.pods import (
    is_deleting,
    is_pod_ready,
    is_pod_terminal,
    pod_from_template,
    template_hash,
)
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM, STATEFUL_SET

HASH, INDEX, POD_NAME = "controller-revision-hash", "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"


class StatefulSetController:
    """Creates the numbered pods of StatefulSets and their claims, in the order that the policy asks for."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._pod_control = PodControl(context, STATEFUL_SET, "statefulset-controller")

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        return self._pod_control.affected_keys(change)

    def sync(self, key: Key) -> float | None:
        owner = self._pod_control.find_owner(key)
        if owner is None:
            return None
        revision = f"{owner['metadata']['name']}-{template_hash(owner['spec']['template'])}"
        retry_at = self._reconcile_pods(owner, revision)
        self._sync_status(owner, revision)
        return retry_at

    def _reconcile_pods(self, owner: Json, revision: str) -> float | None:
        """Bring as many pods nearer to the spec as may change at once."""
        pod_control, spec = self._pod_control, owner["spec"]
        pods = {_parse_ordinal(pod): pod for pod in pod_control.list_pods(owner)}
        start = int((spec.get("ordinals") or {}).get("start") or 0)
        ordinals = range(start, start + spec["replicas"])
        ordered, created = spec.get("podManagementPolicy") != "Parallel", 0
        for place in ordinals:
            pod = pods.get(place)
            if pod is None:
                if created == BURST:
                    return self._context.time
                if not self._create_pod(owner, place, revision):
                    return self._context.time + RETRY_SECONDS
                created += 1
            elif is_pod_terminal(pod) and not is_deleting(pod):
                pod_control.delete_pod(owner, pod)
            if ordered and (pod is None or is_deleting(pod) or not is_pod_ready(pod)):
                return None
        for place in sorted((place for place in pods if place not in ordinals), reverse=True):
            if not is_deleting(pods[place]):
                pod_control.delete_pod(owner, pods[place])
            if ordered:
                return None
        self._rolling_update(
            owner, [pods[place] for place in sorted(pods, reverse=True) if place in ordinals], revision
        )
        return None

    def _rolling_update(self, owner: Json, pods: list[Json], revision: str) -> None:
        """Replace the pod of an older template with the highest number, once all higher ones are ready."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or len(pods) < owner["spec"]["replicas"]:
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for pod in pods:
            # Pods below the partition keep their template.
            if _parse_ordinal(pod) < partition:
                return
            if not is_deleting(pod) and pod["metadata"]["labels"].get(HASH) != revision:
                self._pod_control.delete_pod(owner, pod)
                return
            if not is_pod_ready(pod):
                return

    def _create_pod(self, owner: Json, place: int, revision: str) -> bool:
        metadata = owner["metadata"]
        name = f"{metadata['name']}-{place}"
        if not all(self._ensure_claim(owner, claim) for claim in make_stateful_claims(owner, name)):
            return False
        template = owner["spec"]["template"]
        spec = add_stateful_volumes(template["spec"], owner, name)
        spec = {**spec, "hostname": name, "subdomain": owner["spec"].get("serviceName") or ""}
        labels = {HASH: revision, INDEX: str(place), POD_NAME: name}
        pod = pod_from_template({**template, "spec": spec}, STATEFUL_SET, owner, name=name, labels=labels)
        return self._pod_control.create_pod(owner, pod)

    def _ensure_claim(self, owner: Json, claim: Json) -> bool:
        """Create the pod's claim unless it exists; returns false if it was refused."""
        metadata = claim["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if self._context.store.get(CLAIM, namespace, name) is not None:
            return True
        policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenDeleted") == "Delete":
            claim = {**claim, "metadata": {**metadata, "ownerReferences": [owner_reference(STATEFUL_SET, owner)]}}
        try:
            self._context.objects.create_object(CLAIM, namespace, claim)
        except ApiRefusal as refusal:
            message = f"create Claim {name} failed: {refusal.message}"
            self._pod_control.record_event(owner, "FailedCreate", message, WARNING)
            return False
        return True

    def _sync_status(self, owner: Json, revision: str) -> None:
        pods = [pod for pod in self._pod_control.list_pods(owner) if not is_deleting(pod)]
        ready_count = sum(map(is_pod_ready, pods))
        updated = sum(pod["metadata"]["labels"].get(HASH) == revision for pod in pods)
        old = owner["status"].get("currentRevision") or revision
        is_complete = updated == len(pods) == owner["spec"]["replicas"]
        self._pod_control.update_status(
            owner,
            replicas=len(pods),
            readyReplicas=ready_count,
            availableReplicas=ready_count,
            updatedReplicas=updated,
            currentReplicas=len(pods) - updated if not is_complete and old != revision else updated,
            updateRevision=revision,
            currentRevision=revision if is_complete else old,
            collisionCount=0,
        )


def _parse_ordinal(pod: Json) -> int:
    number = whole_number(pod["metadata"]["name"].rpartition("-")[2])
    return -1 if number is None else number
