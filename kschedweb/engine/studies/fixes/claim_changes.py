"""Changes of a pod's claims: volumes that do not exist or have an unknown class, and counts of devices."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.fixes.changes import Change, ChangeKind, ObjectKey, replace_at

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
WAITS = "WaitForFirstConsumer"
# The size of a claim that is created for a trial.
SIZE = "1Gi"


def change_volume_claims(snapshot: Snapshot, pod: Pod) -> tuple[Change, ...]:
    """Return the changes after which each volume claim of ``pod`` exists and has a class that provisions it."""
    usable_class = _find_usable_class(snapshot)
    if not usable_class:
        return ()
    changes = []
    for name in _list_claim_names(pod):
        raw = snapshot.objects.get("PersistentVolumeClaim", pod.namespace, name)
        if raw is None:
            changes.append(_create_claim(pod.namespace, name, usable_class))
            continue
        spec = raw.get("spec") or {}
        class_name = str(spec.get("storageClassName") or "")
        is_bound = spec.get("volumeName") or (raw.get("status") or {}).get("phase") == "Bound"
        if not is_bound and class_name != usable_class and not _can_provision(snapshot, class_name):
            changes.append(_change_class(raw, pod.namespace, name, class_name, usable_class))
    return tuple(changes)


def _list_claim_names(pod: Pod) -> list[str]:
    volumes = (pod.raw.get("spec") or {}).get("volumes") or []
    names = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes]
    return [str(name) for name in dict.fromkeys(names) if name]


def _can_provision(snapshot: Snapshot, name: str) -> bool:
    """Return whether claims of the class wait for their pod and are provisioned then."""
    raw = snapshot.objects.get("StorageClass", "", name) or {}
    return raw.get("volumeBindingMode") == WAITS and not str(raw.get("provisioner")).endswith("/no-provisioner")


def _find_usable_class(snapshot: Snapshot) -> str:
    """Return the storage class for claims, the default one if it can provision; "" if there is none."""
    usable = [
        raw
        for raw in snapshot.objects.all("StorageClass")
        if _can_provision(snapshot, str((raw.get("metadata") or {}).get("name")))
    ]
    usable.sort(key=lambda raw: (not _is_default(raw), str(raw["metadata"]["name"])))
    return str(usable[0]["metadata"]["name"]) if usable else ""


def _is_default(raw: Json) -> bool:
    return (raw["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"


def _create_claim(namespace: str, name: str, class_name: str) -> Change:
    key: ObjectKey = ("PersistentVolumeClaim", namespace, name)
    raw: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": SIZE}},
        },
        "status": {"phase": "Pending"},
    }
    words = {"claim": name, "class": class_name}
    return Change(ChangeKind.CREATE_CLAIM, key, "", None, name, words, 2.0, key, lambda _: raw)


def _change_class(raw: Json, namespace: str, name: str, before: str, after: str) -> Change:
    key: ObjectKey = ("PersistentVolumeClaim", namespace, name)
    words = {"claim": name, "before": before or '""', "after": after}

    def edit(claim: Json | None) -> Json:
        return replace_at(claim, ("spec", "storageClassName"), after)

    return Change(ChangeKind.CHANGE_STORAGE_CLASS, key, "spec.storageClassName", before, after, words, 2.5, key, edit)


def lower_device_counts(snapshot: Snapshot, pod: Pod) -> Iterator[Change]:
    """Yield changes of one exact request of the pod's claims to fewer devices, the smaller change first."""
    for claim in pod.resource_claims:
        raw = snapshot.objects.get("ResourceClaim", pod.namespace, claim.claim or "")
        if raw is None or (raw.get("status") or {}).get("allocation"):
            continue
        requests = ((raw.get("spec") or {}).get("devices") or {}).get("requests") or []
        for position, request in enumerate(requests):
            exactly = request.get("exactly") or {}
            count = exactly.get("count") or 1
            if (exactly.get("allocationMode") or "ExactCount") != "ExactCount":
                continue
            for lower in range(count - 1, 0, -1):
                yield _lower_count(pod.namespace, str(claim.claim), position, str(request.get("name")), count, lower)


def _lower_count(namespace: str, claim: str, position: int, request: str, before: int, after: int) -> Change:
    key: ObjectKey = ("ResourceClaim", namespace, claim)
    words = {"request": request, "claim": claim, "before": str(before), "after": str(after)}
    path: tuple[str | int, ...] = ("spec", "devices", "requests", position, "exactly", "count")
    return Change(
        ChangeKind.LOWER_DEVICE_COUNT,
        key,
        f"spec.devices.requests[{request}].exactly.count",
        before,
        after,
        words,
        1 + 4 * (before - after) / before,
        key,
        lambda raw: replace_at(raw, path, after),
    )
