"""Claims of pods: the ephemeral-volume and the resource-claim controller.

Sources in Kubernetes: pkg/controller/volume/ephemeral and pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.claims import (
    POD_CLAIM_NAME,
    GeneratedClaims,
    list_claim_statuses,
    make_claims_for_pod,
    needs_claims,
)
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import DELETE_PROTECTION
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.pods import ended, leaving
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM, CLAIM_TEMPLATE, RESOURCE_CLAIM

AGAIN = 15.0  # seconds until a claim that could not be made is tried again
OF_CLAIM = "claim\x00"  # begins the keys of claims in ResourceClaims


class _KnownClaims:
    """The store, as controllers of claims ask it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def find_controller(self, kind: str, namespace: str, name: str, /) -> str | None:
        claim = self._context.store.get(CLAIM if kind == CLAIM.kind else RESOURCE_CLAIM, namespace, name)
        if claim is None:
            return None
        owner = controller_of(claim)
        return "" if owner is None else str(owner.get("uid") or "")

    def find_generated(self, pod: Pod, entry: str, /) -> str | None:
        for claim in self._context.index.owned(pod.uid, RESOURCE_CLAIM):
            if (claim["metadata"].get("annotations") or {}).get(POD_CLAIM_NAME) == entry:
                return str(claim["metadata"]["name"])
        return None

    def find_template(self, namespace: str, name: str, /) -> Json | None:
        return self._context.store.get(CLAIM_TEMPLATE, namespace, name)


class EphemeralVolumes:
    """Keys are those of pods."""

    BY, REASON = "ephemeral_volume", "FailedBinding"

    def __init__(self, context: Context) -> None:
        self._context, self._known = context, _KnownClaims(context)

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is POD and change.new is not None and change.old is None:
            if any(isinstance(one, dict) and one.get("ephemeral") for one in change.new["spec"].get("volumes") or ()):
                yield change.key
        elif change.resource is CLAIM and change.new is None:
            owner = controller_of(change.last)
            if owner is not None and owner.get("kind") == POD.kind:
                yield change.key[0], str(owner.get("name"))

    def sync(self, key: Key) -> float | None:
        pod = self._context.store.get(POD, *key)
        if pod is None or leaving(pod):
            return None
        made = _made(pod, self._known)
        problem = made.volume_problem
        for claim in made.volume_claims:
            name = claim["metadata"]["name"]
            try:
                self._context.objects.create(CLAIM, key[0], claim)
            except Refusal as refusal:
                volume = name.removeprefix(f"{pod['metadata']['name']}-")
                problem = f"ephemeral volume {volume}: create PVC {name}: {refusal.message}"
                break
        if not problem:
            return None
        self._context.recorder.say(POD, pod, self.REASON, problem, by=self.BY, kind=WARNING)
        return self._context.time + AGAIN


class ResourceClaims:
    """Keys are those of pods, and those of claims, whose namespaces begin with ``OF_CLAIM``."""

    BY, REASON = "resource_claim", "FailedResourceClaimCreation"

    def __init__(self, context: Context) -> None:
        self._context, self._known = context, _KnownClaims(context)

    def heard(self, change: Change) -> Iterable[Key]:
        namespace, name = change.key
        if change.resource is POD:
            yield from self._heard_pod(change)
        elif change.resource is RESOURCE_CLAIM:
            yield f"{OF_CLAIM}{namespace}", name
            owner = controller_of(change.last)
            if change.new is None and owner is not None and owner.get("kind") == POD.kind:
                yield namespace, str(owner.get("name"))
        elif change.resource is CLAIM_TEMPLATE and change.old is None:
            for pod in self._context.index.pods_within(namespace):
                if pod["spec"].get("resourceClaims"):
                    yield namespace, pod["metadata"]["name"]

    def _heard_pod(self, change: Change) -> Iterable[Key]:
        """The pod while it may need claims, and its claims once it does not."""
        raw = change.last
        if not raw["spec"].get("resourceClaims"):
            return
        if change.new is not None and not leaving(raw) and not ended(raw):
            yield change.key
        if change.new is None or ended(raw):
            for name in _named_claims(raw):
                yield f"{OF_CLAIM}{change.key[0]}", name

    def sync(self, key: Key) -> float | None:
        if key[0].startswith(OF_CLAIM):
            claim = self._context.store.get(RESOURCE_CLAIM, key[0].removeprefix(OF_CLAIM), key[1])
            if claim is not None:
                self._release(claim)
            return None
        pod = self._context.store.get(POD, *key)
        if pod is None or leaving(pod) or ended(pod):
            return None
        again = self._make(pod)
        pod = self._context.store.get(POD, *key)
        if pod is not None and pod["spec"].get("nodeName"):
            self._reserve(pod)
        return again

    # Pods.

    def _make(self, pod: Json) -> float | None:
        """Make the pod's claims and name them in its status; when to try again, if something was missing."""
        made, namespace = _made(pod, self._known), pod["metadata"]["namespace"]
        names, problem = dict(made.known), made.resource_problem
        for entry, claim in made.resource_claims.items():
            try:
                names[entry] = self._context.objects.create(RESOURCE_CLAIM, namespace, claim)["metadata"]["name"]
            except Refusal as refusal:
                problem = f"PodResourceClaim {entry}: create ResourceClaim : {refusal.message}"
                break
        if names:
            status = {**pod["status"], "resourceClaimStatuses": list_claim_statuses(Pod.read(pod), names)}
            pod = self._context.objects.change(POD, pod, status=status)
        if not problem:
            return None
        self._context.recorder.say(POD, pod, self.REASON, problem, by=self.BY, kind=WARNING)
        return self._context.time + AGAIN

    def _reserve(self, pod: Json) -> None:
        """Reserve claims with devices for a pod that named its node itself."""
        metadata = pod["metadata"]
        for name in _named_claims(pod):
            claim = self._context.store.get(RESOURCE_CLAIM, metadata["namespace"], name)
            status = {} if claim is None else claim.get("status") or {}
            users = status.get("reservedFor") or []
            if claim is not None and status.get("allocation") and metadata["uid"] not in map(_uid_of, users):
                user = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
                self._context.objects.change(RESOURCE_CLAIM, claim, status={**status, "reservedFor": [*users, user]})

    # Claims.

    def _release(self, claim: Json) -> None:
        """Take back what is reserved for pods that are gone or have ended; a claim that nobody uses has no devices."""
        namespace, status = claim["metadata"]["namespace"], claim.get("status") or {}
        users = status.get("reservedFor") or []
        left = [one for one in users if one.get("resource") != "pods" or self._uses(namespace, one)]
        if len(left) < len(users):
            status = {**status, "reservedFor": left}
        if not left and (users or leaving(claim)):
            status = {key: status[key] for key in status if key not in ("reservedFor", "allocation", "devices")}
        claim = self._context.objects.change(RESOURCE_CLAIM, claim, status=status)
        if not left and not status.get("allocation"):
            claim = self._unprotect(claim)
        owner = controller_of(claim)
        if left or owner is None or owner.get("kind") != POD.kind or leaving(claim):
            return
        pod = self._context.store.get(POD, namespace, str(owner.get("name")))
        if pod is not None and (pod["metadata"]["uid"] != owner.get("uid") or _is_done(pod)):
            self._context.delete(RESOURCE_CLAIM, claim)

    def _unprotect(self, claim: Json) -> Json:
        """Take away the finalizer of a claim without devices, which may end one that is being deleted."""
        finalizers = claim["metadata"].get("finalizers") or []
        if DELETE_PROTECTION not in finalizers:
            return claim
        kept = [one for one in finalizers if one != DELETE_PROTECTION]
        namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        metadata = {**claim["metadata"], "finalizers": kept}
        return self._context.objects.replace(RESOURCE_CLAIM, namespace, name, {**claim, "metadata": metadata})[0]

    def _uses(self, namespace: str, user: Json) -> bool:
        pod = self._context.store.get(POD, namespace, str(user.get("name")))
        return pod is not None and pod["metadata"]["uid"] == user.get("uid") and not _is_done(pod)


def _made(pod: Json, known: _KnownClaims) -> GeneratedClaims:
    try:
        read = Pod.read(pod)
        return make_claims_for_pod(read, known) if needs_claims(read) else GeneratedClaims()
    except ObjectError:  # a template that cannot be read makes no claim
        return GeneratedClaims()


def _is_done(pod: Json) -> bool:
    """Whether none of its containers runs, or will."""
    return ended(pod) or (leaving(pod) and not pod["spec"].get("nodeName"))


def _named_claims(pod: Json) -> list[str]:
    """The names of the pod's resource claims that are known."""
    try:
        return [one.claim for one in Pod.read(pod).resource_claims if one.claim]
    except ObjectError:
        return []


def _uid_of(user: Json) -> object:
    return user.get("uid")
