"""Deployments: a ReplicaSet for each template, and the way from one to the next. Source: pkg/controller/deployment."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, owner_reference
from kschedweb.engine.sandbox.world.controllers.pod_control import RETRY_SECONDS, PodControl
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import get_scaled_value, template_hash, with_conditions
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import DEPLOYMENT, REPLICA_SET

HASH, REVISION = "pod-template-hash", "deployment.kubernetes.io/revision"
DESIRED, MAX_REPLICAS = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


class DeploymentController:
    """Creates a ReplicaSet for each template of a Deployment, and moves pods from the old ones to the new one."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._pod_control = PodControl(context, DEPLOYMENT, "deployment-controller")

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is DEPLOYMENT:
            yield change.key
        elif change.resource is REPLICA_SET:
            owner = get_controller_of(change.last)
            if owner is not None and owner["kind"] == "Deployment":
                yield change.key[0], owner["name"]
        elif change.resource is POD and change.new is None:
            yield from self._deployment_of_pod(change)

    def _deployment_of_pod(self, change: StoreChange) -> Iterable[Key]:
        """Yield the Deployment of a deleted pod, which may wait for that before it creates the next one."""
        owner = get_controller_of(change.last)
        if owner is not None and owner["kind"] == "ReplicaSet":
            above = self._context.store.get(REPLICA_SET, change.key[0], owner["name"])
            top = None if above is None else get_controller_of(above)
            if top is not None and top["kind"] == "Deployment":
                yield change.key[0], top["name"]

    def sync(self, key: Key) -> float | None:
        deployment = self._pod_control.find_owner(key)
        if deployment is None:
            return None
        sets = self._list_replica_sets(deployment)
        paused = bool(deployment["spec"].get("paused"))
        new = self._find_new_replica_set(deployment, sets)
        if new is None and not paused:
            if (new := self._create_replica_set(deployment, sets)) is None:
                return self._context.time + RETRY_SECONDS
            sets = self._list_replica_sets(deployment)
        if new is None:
            self._sync_status(deployment, sets, None)
            return None
        # A paused Deployment is not rolled out, but still scaled while one ReplicaSet has all of its pods.
        if not paused or len([replica_set for replica_set in sets if replica_set["spec"]["replicas"]]) <= 1:
            self._roll_out(deployment, new, [replica_set for replica_set in sets if replica_set is not new])
        deployment, sets = self._pod_control.find_owner(key) or deployment, self._list_replica_sets(deployment)
        new = self._find_new_replica_set(deployment, sets)
        self._cleanup_old_replica_sets(deployment, [replica_set for replica_set in sets if replica_set is not new])
        self._sync_status(deployment, self._list_replica_sets(deployment), new)
        return None

    def _list_replica_sets(self, deployment: Json) -> list[Json]:
        return self._context.index.list_owned(deployment["metadata"]["uid"], REPLICA_SET)

    @staticmethod
    def _find_new_replica_set(deployment: Json, sets: list[Json]) -> Json | None:
        """Return the ReplicaSet of the Deployment's template."""
        template = _strip_hash(deployment["spec"]["template"])
        return next(
            (replica_set for replica_set in sets if _strip_hash(replica_set["spec"]["template"]) == template), None
        )

    def _create_replica_set(self, deployment: Json, sets: list[Json]) -> Json | None:
        spec, metadata = deployment["spec"], deployment["metadata"]
        # Counts names that were taken, so that the next try gets another one.
        collisions = int(deployment["status"].get("collisionCount") or 0)
        hash_name = template_hash({"template": spec["template"], **({"count": collisions} if collisions else {})})
        revision = 1 + max((_get_revision(replica_set) for replica_set in sets), default=0)
        template = spec["template"]
        labels = {**(template["metadata"].get("labels") or {}), HASH: hash_name}
        selector = spec["selector"]
        matching = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: hash_name}}
        raw = {
            "metadata": {
                "name": f"{metadata['name']}-{hash_name}",
                "labels": labels,
                "annotations": {REVISION: str(revision), **_size_annotations(deployment)},
                "ownerReferences": [owner_reference(DEPLOYMENT, deployment)],
            },
            "spec": {
                "replicas": 0,
                "selector": matching,
                "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
            },
        }
        try:
            created = self._context.objects.create_object(REPLICA_SET, metadata["namespace"], raw)
        except ApiRefusal as refusal:
            if refusal.reason == "AlreadyExists":
                status = {**deployment["status"], "collisionCount": collisions + 1}
                self._context.objects.change_object(DEPLOYMENT, deployment, status=status)
            else:
                self._pod_control.record_event(deployment, "ReplicaSetCreateError", refusal.message, WARNING)
            return None
        annotations = {**(metadata.get("annotations") or {}), REVISION: str(revision)}
        self._context.objects.change_object(DEPLOYMENT, deployment, metadata={**metadata, "annotations": annotations})
        return created

    def _roll_out(self, deployment: Json, new: Json, old: list[Json]) -> None:
        """Take one step from the old ReplicaSets to the new one."""
        desired = deployment["spec"]["replicas"]
        before = sum(replica_set["spec"]["replicas"] for replica_set in old)
        if deployment["spec"]["strategy"].get("type") == "Recreate":
            for replica_set in old:
                self._scale_replica_set(deployment, replica_set, 0)
            # Recreate waits until the last old pod is gone.
            if not any(self._context.index.list_owned(replica_set["metadata"]["uid"], POD) for replica_set in old):
                self._scale_replica_set(deployment, new, desired)
            return
        surge, unavailable = _resolve_fenceposts(deployment)
        has = new["spec"]["replicas"]
        if has > desired:
            self._scale_replica_set(deployment, new, desired)
        elif has < desired:
            self._scale_replica_set(deployment, new, has + min(desired - has, max(0, desired + surge - before - has)))
        if before:
            has = self._reload(new)["spec"]["replicas"]
            self._reconcile_old_replica_sets(
                deployment,
                old,
                has - _available_replicas(self._reload(new)),
                before + has - (desired - unavailable),
                new,
            )

    def _reconcile_old_replica_sets(
        self, deployment: Json, old: list[Json], missing: int, max_scaled_down: int, new: Json
    ) -> None:
        """Scale old ReplicaSets down by at most so many pods: unavailable ones first, then others."""
        min_available = deployment["spec"]["replicas"] - _resolve_fenceposts(deployment)[1]
        remaining = max_scaled_down - missing
        if remaining <= 0:
            return
        for replica_set in sorted(old, key=_get_revision):
            has = replica_set["spec"]["replicas"]
            removed = min(has - _available_replicas(replica_set), has, remaining)
            if removed > 0:
                self._scale_replica_set(deployment, replica_set, has - removed)
                remaining -= removed
        spare = sum(_available_replicas(replica_set) for replica_set in (*old, new)) - min_available
        for replica_set in sorted(old, key=_get_revision):
            replica_set = self._reload(replica_set)
            removed = min(replica_set["spec"]["replicas"], spare)
            if removed > 0:
                self._scale_replica_set(deployment, replica_set, replica_set["spec"]["replicas"] - removed)
                spare -= removed

    def _reload(self, replica_set: Json) -> Json:
        return (
            self._context.store.get(REPLICA_SET, replica_set["metadata"]["namespace"], replica_set["metadata"]["name"])
            or replica_set
        )

    def _scale_replica_set(self, deployment: Json, replica_set: Json, desired: int) -> None:
        replica_set = self._reload(replica_set)
        has, metadata = replica_set["spec"]["replicas"], replica_set["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **_size_annotations(deployment)}
        more: Json = {}
        if desired != has:
            more = {"generation": metadata.get("generation", 1) + 1}
            way = "up" if desired > has else "down"
            message = f"Scaled {way} replica set {metadata['name']} from {has} to {desired}"
            self._pod_control.record_event(deployment, "ScalingReplicaSet", message)
        metadata = {**metadata, **more, "annotations": annotations}
        self._context.objects.change_object(
            REPLICA_SET, replica_set, metadata=metadata, spec={**replica_set["spec"], "replicas": desired}
        )

    def _cleanup_old_replica_sets(self, deployment: Json, old: list[Json]) -> None:
        """Delete ReplicaSets beyond the history limit."""
        history_limit = deployment["spec"].get("revisionHistoryLimit", 10)
        empty = [
            replica_set
            for replica_set in old
            if not replica_set["spec"]["replicas"] and not replica_set["status"].get("replicas")
        ]
        for replica_set in sorted(empty, key=_get_revision)[: max(0, len(empty) - history_limit)]:
            self._context.delete_object(REPLICA_SET, replica_set)

    def _sync_status(self, deployment: Json, sets: list[Json], new: Json | None) -> None:
        total = sum(replica_set["status"].get("replicas", 0) for replica_set in sets)
        available = sum(map(_available_replicas, sets))
        desired = deployment["spec"]["replicas"]
        updated = 0 if new is None else new["status"].get("replicas", 0)
        now = self._context.format_now()
        name = deployment["metadata"]["name"] if new is None else new["metadata"]["name"]
        is_complete = updated == desired == total and available == desired
        conditions = [
            _available_condition(available >= desired - _resolve_fenceposts(deployment)[1]),
            _progressing_condition(name, is_complete),
        ]
        status = with_conditions(deployment["status"], now, *conditions)
        fresh = {condition["type"]: condition for condition in status["conditions"]}
        before = {condition["type"]: condition for condition in deployment["status"].get("conditions") or ()}
        for condition in conditions:
            previous = before.get(condition["type"], {})
            same = all(previous.get(key) == value for key, value in condition.items())
            fresh[condition["type"]]["lastUpdateTime"] = previous.get("lastUpdateTime", now) if same else now
        self._pod_control.update_status(
            deployment,
            replicas=total,
            updatedReplicas=updated,
            readyReplicas=sum(replica_set["status"].get("readyReplicas", 0) for replica_set in sets),
            availableReplicas=available,
            unavailableReplicas=max(0, desired - available),
            conditions=status["conditions"],
        )


def _strip_hash(template: Json) -> Json:
    """Return a template without the label that the controller adds."""
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": metadata}


def _size_annotations(deployment: Json) -> Json:
    desired = deployment["spec"]["replicas"]
    return {DESIRED: str(desired), MAX_REPLICAS: str(desired + _resolve_fenceposts(deployment)[0])}


def _resolve_fenceposts(deployment: Json) -> tuple[int, int]:
    """Return how many pods there may be too many, and too few."""
    spec = deployment["spec"]
    rolling = spec["strategy"].get("rollingUpdate") or {}
    if spec["strategy"].get("type") == "Recreate":
        return 0, 0
    try:
        surge = get_scaled_value(rolling.get("maxSurge", "25%"), spec["replicas"], up=True)
        unavailable = get_scaled_value(rolling.get("maxUnavailable", "25%"), spec["replicas"], up=False)
    except ValueError:
        return 1, 0
    # With both at 0 nothing could ever move, as in `ResolveFenceposts`.
    return surge, unavailable if surge or unavailable else 1


def _available_replicas(replica_set: Json) -> int:
    return int(replica_set["status"].get("availableReplicas", 0))


def _get_revision(replica_set: Json) -> int:
    return whole_number((replica_set["metadata"].get("annotations") or {}).get(REVISION, "0")) or 0


def _available_condition(enough: bool) -> Json:
    if enough:
        message = "Deployment has minimum availability."
        return {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": message}
    message = "Deployment does not have minimum availability."
    return {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": message}


def _progressing_condition(name: str, is_complete: bool) -> Json:
    condition = {"type": "Progressing", "status": "True"}
    if is_complete:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        return {**condition, "reason": "NewReplicaSetAvailable", "message": message}
    return {**condition, "reason": "ReplicaSetUpdated", "message": f'ReplicaSet "{name}" is progressing.'}
