"""Deployments: a ReplicaSet for each template, and the way from one to the next. Source: pkg/controller/deployment."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context, owner_reference
from kschedweb.engine.sandbox.world.controllers.replicas import AGAIN, Maker
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.pods import scaled, template_hash, with_conditions
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import DEPLOYMENT, REPLICA_SET

HASH, REVISION = "pod-template-hash", "deployment.kubernetes.io/revision"
DESIRED, MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


class Deployments:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._maker = Maker(context, DEPLOYMENT, "deployment-controller")

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is DEPLOYMENT:
            yield change.key
        elif change.resource is REPLICA_SET:
            owner = controller_of(change.last)
            if owner is not None and owner["kind"] == "Deployment":
                yield change.key[0], owner["name"]
        elif change.resource is POD and change.new is None:
            yield from self._recreated(change)

    def _recreated(self, change: Change) -> Iterable[Key]:
        """The deployment of a pod that is gone, for which the next one may wait."""
        owner = controller_of(change.last)
        if owner is not None and owner["kind"] == "ReplicaSet":
            above = self._context.store.get(REPLICA_SET, change.key[0], owner["name"])
            top = None if above is None else controller_of(above)
            if top is not None and top["kind"] == "Deployment":
                yield change.key[0], top["name"]

    def sync(self, key: Key) -> float | None:
        deployment = self._maker.find(key)
        if deployment is None:
            return None
        sets = self._sets(deployment)
        paused = bool(deployment["spec"].get("paused"))
        new = self._current(deployment, sets)
        if new is None and not paused:
            if (new := self._make(deployment, sets)) is None:
                return self._context.time + AGAIN
            sets = self._sets(deployment)
        if new is None:
            self._status(deployment, sets, None)
            return None
        if not paused or len([one for one in sets if one["spec"]["replicas"]]) <= 1:
            self._roll(deployment, new, [one for one in sets if one is not new])
        deployment, sets = self._maker.find(key) or deployment, self._sets(deployment)
        new = self._current(deployment, sets)
        self._forget(deployment, [one for one in sets if one is not new])
        self._status(deployment, self._sets(deployment), new)
        return None

    def _sets(self, deployment: Json) -> list[Json]:
        return self._context.index.owned(deployment["metadata"]["uid"], REPLICA_SET)

    @staticmethod
    def _current(deployment: Json, sets: list[Json]) -> Json | None:
        """The ReplicaSet of the deployment's template."""
        wanted = _plain(deployment["spec"]["template"])
        return next((one for one in sets if _plain(one["spec"]["template"]) == wanted), None)

    def _make(self, deployment: Json, sets: list[Json]) -> Json | None:
        spec, metadata = deployment["spec"], deployment["metadata"]
        collisions = int(deployment["status"].get("collisionCount") or 0)
        named = template_hash({"template": spec["template"], **({"count": collisions} if collisions else {})})
        revision = 1 + max((_revision(one) for one in sets), default=0)
        template = spec["template"]
        labels = {**(template["metadata"].get("labels") or {}), HASH: named}
        selector = spec["selector"]
        matching = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: named}}
        raw = {
            "metadata": {
                "name": f"{metadata['name']}-{named}",
                "labels": labels,
                "annotations": {REVISION: str(revision), **_sizes(deployment)},
                "ownerReferences": [owner_reference(DEPLOYMENT, deployment)],
            },
            "spec": {
                "replicas": 0,
                "selector": matching,
                "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
            },
        }
        try:
            made = self._context.objects.create(REPLICA_SET, metadata["namespace"], raw)
        except Refusal as refusal:
            if refusal.reason == "AlreadyExists":
                status = {**deployment["status"], "collisionCount": collisions + 1}
                self._context.objects.change(DEPLOYMENT, deployment, status=status)
            else:
                self._maker.say(deployment, "ReplicaSetCreateError", refusal.message, WARNING)
            return None
        annotations = {**(metadata.get("annotations") or {}), REVISION: str(revision)}
        self._context.objects.change(DEPLOYMENT, deployment, metadata={**metadata, "annotations": annotations})
        return made

    def _roll(self, deployment: Json, new: Json, old: list[Json]) -> None:
        """One step from the old sets to the new one."""
        wanted = deployment["spec"]["replicas"]
        before = sum(one["spec"]["replicas"] for one in old)
        if deployment["spec"]["strategy"].get("type") == "Recreate":
            for one in old:
                self._scale(deployment, one, 0)
            if not any(self._context.index.owned(one["metadata"]["uid"], POD) for one in old):
                self._scale(deployment, new, wanted)
            return
        surge, unavailable = _allowances(deployment)
        has = new["spec"]["replicas"]
        if has > wanted:
            self._scale(deployment, new, wanted)
        elif has < wanted:
            self._scale(deployment, new, has + min(wanted - has, max(0, wanted + surge - before - has)))
        if before:
            has = self._now(new)["spec"]["replicas"]
            self._shrink(deployment, old, has - _available(self._now(new)), before + has - (wanted - unavailable), new)

    def _shrink(self, deployment: Json, old: list[Json], missing: int, most: int, new: Json) -> None:
        """Scale old sets down by at most so many pods: first those that are not available, then others."""
        least = deployment["spec"]["replicas"] - _allowances(deployment)[1]
        left = most - missing
        if left <= 0:
            return
        for one in sorted(old, key=_revision):
            has = one["spec"]["replicas"]
            gone = min(has - _available(one), has, left)
            if gone > 0:
                self._scale(deployment, one, has - gone)
                left -= gone
        spare = sum(_available(one) for one in (*old, new)) - least
        for one in sorted(old, key=_revision):
            one = self._now(one)
            gone = min(one["spec"]["replicas"], spare)
            if gone > 0:
                self._scale(deployment, one, one["spec"]["replicas"] - gone)
                spare -= gone

    def _now(self, one: Json) -> Json:
        return self._context.store.get(REPLICA_SET, one["metadata"]["namespace"], one["metadata"]["name"]) or one

    def _scale(self, deployment: Json, one: Json, wanted: int) -> None:
        one = self._now(one)
        has, metadata = one["spec"]["replicas"], one["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **_sizes(deployment)}
        more: Json = {}
        if wanted != has:
            more = {"generation": metadata.get("generation", 1) + 1}
            way = "up" if wanted > has else "down"
            message = f"Scaled {way} replica set {metadata['name']} from {has} to {wanted}"
            self._maker.say(deployment, "ScalingReplicaSet", message)
        metadata = {**metadata, **more, "annotations": annotations}
        self._context.objects.change(REPLICA_SET, one, metadata=metadata, spec={**one["spec"], "replicas": wanted})

    def _forget(self, deployment: Json, old: list[Json]) -> None:
        """Delete what is older than the history that is to be kept."""
        kept = deployment["spec"].get("revisionHistoryLimit", 10)
        empty = [one for one in old if not one["spec"]["replicas"] and not one["status"].get("replicas")]
        for one in sorted(empty, key=_revision)[: max(0, len(empty) - kept)]:
            self._context.delete(REPLICA_SET, one)

    def _status(self, deployment: Json, sets: list[Json], new: Json | None) -> None:
        total = sum(one["status"].get("replicas", 0) for one in sets)
        available = sum(map(_available, sets))
        wanted = deployment["spec"]["replicas"]
        updated = 0 if new is None else new["status"].get("replicas", 0)
        now = self._context.stamp()
        name = deployment["metadata"]["name"] if new is None else new["metadata"]["name"]
        done = updated == wanted == total and available == wanted
        conditions = [_availability(available >= wanted - _allowances(deployment)[1]), _progress(name, done)]
        status = with_conditions(deployment["status"], now, *conditions)
        fresh = {one["type"]: one for one in status["conditions"]}
        before = {one["type"]: one for one in deployment["status"].get("conditions") or ()}
        for one in conditions:
            known = before.get(one["type"], {})
            same = all(known.get(key) == value for key, value in one.items())
            fresh[one["type"]]["lastUpdateTime"] = known.get("lastUpdateTime", now) if same else now
        self._maker.status(
            deployment,
            replicas=total,
            updatedReplicas=updated,
            readyReplicas=sum(one["status"].get("readyReplicas", 0) for one in sets),
            availableReplicas=available,
            unavailableReplicas=max(0, wanted - available),
            conditions=status["conditions"],
        )


def _plain(template: Json) -> Json:
    """A template without what the controller adds to it."""
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": metadata}


def _sizes(deployment: Json) -> Json:
    wanted = deployment["spec"]["replicas"]
    return {DESIRED: str(wanted), MOST: str(wanted + _allowances(deployment)[0])}


def _allowances(deployment: Json) -> tuple[int, int]:
    """How many pods too many there may be, and how many too few."""
    spec = deployment["spec"]
    rolling = spec["strategy"].get("rollingUpdate") or {}
    if spec["strategy"].get("type") == "Recreate":
        return 0, 0
    try:
        surge = scaled(rolling.get("maxSurge", "25%"), spec["replicas"], up=True)
        unavailable = scaled(rolling.get("maxUnavailable", "25%"), spec["replicas"], up=False)
    except ValueError:
        return 1, 0
    return surge, unavailable if surge or unavailable else 1


def _available(one: Json) -> int:
    return int(one["status"].get("availableReplicas", 0))


def _revision(one: Json) -> int:
    return whole_number((one["metadata"].get("annotations") or {}).get(REVISION, "0")) or 0


def _availability(enough: bool) -> Json:
    if enough:
        message = "Deployment has minimum availability."
        return {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": message}
    message = "Deployment does not have minimum availability."
    return {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": message}


def _progress(name: str, done: bool) -> Json:
    said = {"type": "Progressing", "status": "True"}
    if done:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        return {**said, "reason": "NewReplicaSetAvailable", "message": message}
    return {**said, "reason": "ReplicaSetUpdated", "message": f'ReplicaSet "{name}" is progressing.'}
