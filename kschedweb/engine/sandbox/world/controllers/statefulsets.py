"""StatefulSets: numbered pods, each with claims of its own, one after the other unless they say Parallel."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.claims import add_stateful_volumes, make_stateful_claims
from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.limits import BURST
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context, owner_reference
from kschedweb.engine.sandbox.world.controllers.replicas import AGAIN, Maker
from kschedweb.engine.sandbox.world.pods import ended, leaving, made_from, ready, template_hash
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM, STATEFUL_SET

HASH, INDEX, POD_NAME = "controller-revision-hash", "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"


class StatefulSets:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._maker = Maker(context, STATEFUL_SET, "statefulset-controller")

    def heard(self, change: Change) -> Iterable[Key]:
        return self._maker.heard(change)

    def sync(self, key: Key) -> float | None:
        owner = self._maker.find(key)
        if owner is None:
            return None
        revision = f"{owner['metadata']['name']}-{template_hash(owner['spec']['template'])}"
        again = self._step(owner, revision)
        self._status(owner, revision)
        return again

    def _step(self, owner: Json, revision: str) -> float | None:
        """Bring as many pods nearer to what is wanted as may change at once."""
        maker, spec = self._maker, owner["spec"]
        pods = {_ordinal(pod): pod for pod in maker.pods(owner)}
        start = int((spec.get("ordinals") or {}).get("start") or 0)
        wanted = range(start, start + spec["replicas"])
        ordered, made = spec.get("podManagementPolicy") != "Parallel", 0
        for place in wanted:
            pod = pods.get(place)
            if pod is None:
                if made == BURST:
                    return self._context.time
                if not self._make(owner, place, revision):
                    return self._context.time + AGAIN
                made += 1
            elif ended(pod) and not leaving(pod):
                maker.delete(owner, pod)
            if ordered and (pod is None or leaving(pod) or not ready(pod)):
                return None
        for place in sorted((place for place in pods if place not in wanted), reverse=True):
            if not leaving(pods[place]):
                maker.delete(owner, pods[place])
            if ordered:
                return None
        self._update(owner, [pods[place] for place in sorted(pods, reverse=True) if place in wanted], revision)
        return None

    def _update(self, owner: Json, pods: list[Json], revision: str) -> None:
        """Replace the pod with the highest number that has an older template, once all others are well."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or len(pods) < owner["spec"]["replicas"]:
            return
        least = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for pod in pods:
            if _ordinal(pod) < least:
                return
            if not leaving(pod) and pod["metadata"]["labels"].get(HASH) != revision:
                self._maker.delete(owner, pod)
                return
            if not ready(pod):
                return

    def _make(self, owner: Json, place: int, revision: str) -> bool:
        metadata = owner["metadata"]
        name = f"{metadata['name']}-{place}"
        if not all(self._claim(owner, claim) for claim in make_stateful_claims(owner, name)):
            return False
        template = owner["spec"]["template"]
        spec = add_stateful_volumes(template["spec"], owner, name)
        spec = {**spec, "hostname": name, "subdomain": owner["spec"].get("serviceName") or ""}
        labels = {HASH: revision, INDEX: str(place), POD_NAME: name}
        pod = made_from({**template, "spec": spec}, STATEFUL_SET, owner, name=name, labels=labels)
        return self._maker.make(owner, pod)

    def _claim(self, owner: Json, claim: Json) -> bool:
        """Whether the pod's claim is there now."""
        metadata = claim["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if self._context.store.get(CLAIM, namespace, name) is not None:
            return True
        policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenDeleted") == "Delete":
            claim = {**claim, "metadata": {**metadata, "ownerReferences": [owner_reference(STATEFUL_SET, owner)]}}
        try:
            self._context.objects.create(CLAIM, namespace, claim)
        except Refusal as refusal:
            self._maker.say(owner, "FailedCreate", f"create Claim {name} failed: {refusal.message}", WARNING)
            return False
        return True

    def _status(self, owner: Json, revision: str) -> None:
        pods = [pod for pod in self._maker.pods(owner) if not leaving(pod)]
        well = sum(map(ready, pods))
        updated = sum(pod["metadata"]["labels"].get(HASH) == revision for pod in pods)
        old = owner["status"].get("currentRevision") or revision
        done = updated == len(pods) == owner["spec"]["replicas"]
        self._maker.status(
            owner,
            replicas=len(pods),
            readyReplicas=well,
            availableReplicas=well,
            updatedReplicas=updated,
            currentReplicas=len(pods) - updated if not done and old != revision else updated,
            updateRevision=revision,
            currentRevision=revision if done else old,
            collisionCount=0,
        )


def _ordinal(pod: Json) -> int:
    number = whole_number(pod["metadata"]["name"].rpartition("-")[2])
    return -1 if number is None else number
