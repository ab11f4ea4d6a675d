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
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import DELETE_PROTECTION
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import is_deleting, is_pod_terminal
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM, CLAIM_TEMPLATE, RESOURCE_CLAIM

# Seconds until a claim that could not be created is tried again.
RETRY_SECONDS = 15.0
# The keys of claims begin with this in ResourceClaimController; no namespace can.
OF_CLAIM = "claim\x00"


class _KnownClaims:
    """The claims in the store, as controllers of claims ask for them."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context

    def find_controller(self, kind: str, namespace: str, name: str, /) -> str | None:
        claim = self._context.store.get(CLAIM if kind == CLAIM.kind else RESOURCE_CLAIM, namespace, name)
        if claim is None:
            return None
        owner = get_controller_of(claim)
        return "" if owner is None else str(owner.get("uid") or "")

    def find_generated(self, pod: Pod, entry: str, /) -> str | None:
        for claim in self._context.index.list_owned(pod.uid, RESOURCE_CLAIM):
            if (claim["metadata"].get("annotations") or {}).get(POD_CLAIM_NAME) == entry:
                return str(claim["metadata"]["name"])
        return None

    def find_template(self, namespace: str, name: str, /) -> Json | None:
        return self._context.store.get(CLAIM_TEMPLATE, namespace, name)


class EphemeralVolumeController:
    """Creates the claims of ephemeral volumes. Keys are those of pods."""

    COMPONENT, REASON = "ephemeral_volume", "FailedBinding"

    def __init__(self, context: SandboxContext) -> None:
        self._context, self._known = context, _KnownClaims(context)

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is POD and change.new is not None and change.old is None:
            if any(
                isinstance(volume, dict) and volume.get("ephemeral")
                for volume in change.new["spec"].get("volumes") or ()
            ):
                yield change.key
        elif change.resource is CLAIM and change.new is None:
            owner = get_controller_of(change.last)
            if owner is not None and owner.get("kind") == POD.kind:
                yield change.key[0], str(owner.get("name"))

    def sync(self, key: Key) -> float | None:
        pod = self._context.store.get(POD, *key)
        if pod is None or is_deleting(pod):
            return None
        generated = _generate_claims(pod, self._known)
        problem = generated.volume_problem
        for claim in generated.volume_claims:
            name = claim["metadata"]["name"]
            try:
                self._context.objects.create_object(CLAIM, key[0], claim)
            except ApiRefusal as refusal:
                volume = name.removeprefix(f"{pod['metadata']['name']}-")
                problem = f"ephemeral volume {volume}: create PVC {name}: {refusal.message}"
                break
        if not problem:
            return None
        self._context.recorder.record_event(POD, pod, self.REASON, problem, component=self.COMPONENT, kind=WARNING)
        return self._context.time + RETRY_SECONDS


class ResourceClaimController:
    """Creates, reserves and releases ResourceClaims.

    Keys are those of pods, and those of claims, whose namespaces begin with ``OF_CLAIM``.
    """

    COMPONENT, REASON = "resource_claim", "FailedResourceClaimCreation"

    def __init__(self, context: SandboxContext) -> None:
        self._context, self._known = context, _KnownClaims(context)

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        namespace, name = change.key
        if change.resource is POD:
            yield from self._keys_for_pod(change)
        elif change.resource is RESOURCE_CLAIM:
            yield f"{OF_CLAIM}{namespace}", name
            owner = get_controller_of(change.last)
            if change.new is None and owner is not None and owner.get("kind") == POD.kind:
                yield namespace, str(owner.get("name"))
        elif change.resource is CLAIM_TEMPLATE and change.old is None:
            for pod in self._context.index.pods_in_namespace(namespace):
                if pod["spec"].get("resourceClaims"):
                    yield namespace, pod["metadata"]["name"]

    def _keys_for_pod(self, change: StoreChange) -> Iterable[Key]:
        """Yield the pod while it may need claims, and its claims once it does not."""
        raw = change.last
        if not raw["spec"].get("resourceClaims"):
            return
        if change.new is not None and not is_deleting(raw) and not is_pod_terminal(raw):
            yield change.key
        if change.new is None or is_pod_terminal(raw):
            for name in _named_claims(raw):
                yield f"{OF_CLAIM}{change.key[0]}", name

    def sync(self, key: Key) -> float | None:
        if key[0].startswith(OF_CLAIM):
            claim = self._context.store.get(RESOURCE_CLAIM, key[0].removeprefix(OF_CLAIM), key[1])
            if claim is not None:
                self._release_claim(claim)
            return None
        pod = self._context.store.get(POD, *key)
        if pod is None or is_deleting(pod) or is_pod_terminal(pod):
            return None
        retry_at = self._create_claims(pod)
        # Creating claims has written the pod's status.
        pod = self._context.store.get(POD, *key)
        if pod is not None and pod["spec"].get("nodeName"):
            self._reserve_claims(pod)
        return retry_at

    # Pods.

    def _create_claims(self, pod: Json) -> float | None:
        """Create the pod's claims and name them in its status; returns when to try again if something was missing."""
        generated, namespace = _generate_claims(pod, self._known), pod["metadata"]["namespace"]
        names, problem = dict(generated.existing_names), generated.resource_problem
        for entry, claim in generated.resource_claims.items():
            try:
                names[entry] = self._context.objects.create_object(RESOURCE_CLAIM, namespace, claim)["metadata"]["name"]
            except ApiRefusal as refusal:
                problem = f"PodResourceClaim {entry}: create ResourceClaim : {refusal.message}"
                break
        if names:
            status = {**pod["status"], "resourceClaimStatuses": list_claim_statuses(Pod.from_json(pod), names)}
            pod = self._context.objects.change_object(POD, pod, status=status)
        if not problem:
            return None
        self._context.recorder.record_event(POD, pod, self.REASON, problem, component=self.COMPONENT, kind=WARNING)
        return self._context.time + RETRY_SECONDS

    def _reserve_claims(self, pod: Json) -> None:
        """Reserve claims with devices for a pod that named its node itself."""
        metadata = pod["metadata"]
        for name in _named_claims(pod):
            claim = self._context.store.get(RESOURCE_CLAIM, metadata["namespace"], name)
            status = {} if claim is None else claim.get("status") or {}
            users = status.get("reservedFor") or []
            if claim is not None and status.get("allocation") and metadata["uid"] not in map(_get_uid, users):
                user = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
                self._context.objects.change_object(
                    RESOURCE_CLAIM, claim, status={**status, "reservedFor": [*users, user]}
                )

    # Claims.

    def _release_claim(self, claim: Json) -> None:
        """Take back the reservations of pods that are gone or have ended; a claim without users loses its devices."""
        namespace, status = claim["metadata"]["namespace"], claim.get("status") or {}
        users = status.get("reservedFor") or []
        remaining_users = [
            user for user in users if user.get("resource") != "pods" or self._is_user_alive(namespace, user)
        ]
        if len(remaining_users) < len(users):
            status = {**status, "reservedFor": remaining_users}
        if not remaining_users and (users or is_deleting(claim)):
            status = {key: status[key] for key in status if key not in ("reservedFor", "allocation", "devices")}
        claim = self._context.objects.change_object(RESOURCE_CLAIM, claim, status=status)
        if not remaining_users and not status.get("allocation"):
            claim = self._remove_protection(claim)
        owner = get_controller_of(claim)
        if remaining_users or owner is None or owner.get("kind") != POD.kind or is_deleting(claim):
            return
        pod = self._context.store.get(POD, namespace, str(owner.get("name")))
        if pod is not None and (pod["metadata"]["uid"] != owner.get("uid") or _is_pod_finished(pod)):
            self._context.delete_object(RESOURCE_CLAIM, claim)

    def _remove_protection(self, claim: Json) -> Json:
        """Take the finalizer from a claim without devices, so that its deletion can end."""
        finalizers = claim["metadata"].get("finalizers") or []
        if DELETE_PROTECTION not in finalizers:
            return claim
        remaining = [finalizer for finalizer in finalizers if finalizer != DELETE_PROTECTION]
        namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        metadata = {**claim["metadata"], "finalizers": remaining}
        return self._context.objects.replace_object(RESOURCE_CLAIM, namespace, name, {**claim, "metadata": metadata})[0]

    def _is_user_alive(self, namespace: str, user: Json) -> bool:
        pod = self._context.store.get(POD, namespace, str(user.get("name")))
        return pod is not None and pod["metadata"]["uid"] == user.get("uid") and not _is_pod_finished(pod)


def _generate_claims(pod: Json, known_claims: _KnownClaims) -> GeneratedClaims:
    try:
        read = Pod.from_json(pod)
        return make_claims_for_pod(read, known_claims) if needs_claims(read) else GeneratedClaims()
    except ObjectError:
        # A template that cannot be read creates no claim.
        return GeneratedClaims()


def _is_pod_finished(pod: Json) -> bool:
    """Return true if none of the pod's containers runs, or ever will."""
    return is_pod_terminal(pod) or (is_deleting(pod) and not pod["spec"].get("nodeName"))


def _named_claims(pod: Json) -> list[str]:
    """Return the names of the pod's resource claims, as far as they are known."""
    try:
        return [claim.claim for claim in Pod.from_json(pod).resource_claims if claim.claim]
    except ObjectError:
        return []


def _get_uid(user: Json) -> object:
    return user.get("uid")
