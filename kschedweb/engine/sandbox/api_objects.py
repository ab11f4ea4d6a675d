"""The API server's writes: admission, defaults, preconditions, and what a status or a spec may change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

from kschedweb.engine.controllers.admission import admit_pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox import events
from kschedweb.engine.sandbox.defaults import apply_defaults, prepare_for_create
from kschedweb.engine.sandbox.limits import check_room
from kschedweb.engine.sandbox.patching import apply_patch
from kschedweb.engine.sandbox.resources import NAMESPACE, NODE, POD, Resource, storage_resource
from kschedweb.engine.sandbox.schema import DecodeError, decode_object
from kschedweb.engine.sandbox.status_errors import (
    ApiRefusal,
    already_exists,
    another_uid,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_patch,
    missing_version,
    not_found,
    precondition_failed,
    undecodable,
)
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.sandbox.validation import validate_create, validate_update
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.validation.fields import required

# Letters of generated names, from k8s.io/apimachinery/pkg/util/rand.
SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
# As `MaxGeneratedNameLength`: 63 without the five random letters.
LONGEST_BASE = 58
# Seconds until a deletion; Go's own sum has an end, too.
LONGEST_GRACE = 2**31 - 1
# Fields of metadata that no update changes.
FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
Admission = Callable[[Resource, Json], Json]


def format_timestamp(now: float) -> str:
    """Format seconds of the epoch as metav1.Time."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ApiObjects:
    """Reads and writes as the API server carries them out. Each method raises ApiRefusal.

    ``clock`` gives seconds of the epoch; ``random`` draws uids and generated names. ``admit`` applies admission to a
    new object, which has its defaults already.
    """

    def __init__(self, store: Store, clock: Callable[[], float], random: Random, admit: Admission) -> None:
        self.store, self.clock, self._random, self._admit = store, clock, random, admit

    def get_object(self, resource: Resource, namespace: str, name: str) -> Json:
        stored = self.store.get(resource, namespace, name)
        if stored is None:
            raise not_found(resource, name)
        return stored

    def create_object(self, resource: Resource, namespace: str, raw: Json, *, dry_run: bool = False) -> Json:
        """Create an object; ``dry_run`` does not store it."""
        raw = self._decode_request(resource, namespace, raw)
        if raw["metadata"].get("resourceVersion"):
            raise ApiRefusal(500, "", "resourceVersion should not be set on objects to be created")
        return self._create_object(resource, namespace, raw, dry_run=dry_run)

    def _create_object(self, resource: Resource, namespace: str, raw: Json, *, dry_run: bool = False) -> Json:
        metadata = raw["metadata"]
        name = metadata["name"]
        namespace_object = self.store.get(NAMESPACE, "", namespace) if resource.namespaced else None
        if resource.namespaced and namespace_object is None:
            raise not_found(NAMESPACE, namespace)
        if namespace_object is not None and "deletionTimestamp" in namespace_object["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(resource, name, why)
        # As in the API server, defaults come before admission, and validation after it.
        fresh = prepare_for_create(
            resource.kind,
            apply_defaults(resource.kind, self._init_metadata(resource, raw)),
            format_timestamp(self.clock()),
        )
        fresh = self._admit(resource, fresh)
        validate_create(resource, raw)
        validate_update(resource, fresh)
        present = self.store.get(resource, namespace, name)
        if present is not None:
            raise already_exists(resource, name, leaving="deletionTimestamp" in present["metadata"])
        check_room(self.store, resource, name)
        return fresh if dry_run else self.store.put(resource, fresh)

    def replace_object(
        self, resource: Resource, namespace: str, name: str, raw: Json, sub: str = "", *, dry_run: bool = False
    ) -> tuple[Json, bool]:
        """Replace an object (PUT); returns it as it is then, and true if it is new."""
        old = self.store.get(resource, namespace, name)
        raw = self._decode_request(resource, namespace, raw)
        given_name, uid = raw["metadata"]["name"], raw["metadata"].get("uid")
        if given_name != name:
            raise bad_request(f"the name of the object ({given_name}) does not match the name on the URL ({name})")
        if old is None and (not resource.upsert or sub):
            raise not_found(resource, name)
        stored_uid = old["metadata"]["uid"] if old is not None else ""
        if uid and uid != stored_uid:
            raise another_uid(resource, namespace, name, uid, stored_uid)
        if old is None:
            return self._create_object(resource, namespace, raw, dry_run=dry_run), True
        if resource.requires_version and not raw["metadata"].get("resourceVersion"):
            raise missing_version(resource, name)
        return self._update_object(resource, old, apply_defaults(resource.kind, raw), sub, dry_run=dry_run), False

    def patch_object(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Any,
        content: str,
        sub: str = "",
        *,
        dry_run: bool = False,
    ) -> Json:
        old = self.get_object(resource, namespace, name)
        changed = apply_patch(events.convert_for_resource(resource, old), patch, content)
        if fault := _kind_fault(resource, changed):
            raise invalid_patch(changed, fault)
        try:
            decoded = decode_object(resource, changed)
        except DecodeError as error:
            raise invalid_patch(changed, str(error)) from None
        raw = apply_defaults(resource.kind, events.convert_to_stored(resource, decoded))
        return self._update_object(resource, old, raw, sub, dry_run=dry_run)

    def change_object(self, resource: Resource, old: Json, **parts: Json) -> Json:
        """Write an object for a controller: with other ``metadata``, ``spec`` or ``status``, where they differ."""
        new = {**old, **parts}
        return old if new == old else self._put_unchanged(resource, old, new)

    def delete_object(self, resource: Resource, namespace: str, name: str, options: Json) -> tuple[Json, bool]:
        """Delete an object; returns it, and true if it is gone now.

        Finalizers and pods on nodes take their time.
        """
        old = self.get_object(resource, namespace, name)
        self._check_preconditions(resource, old, options.get("preconditions") or {})
        if resource is NAMESPACE:
            return self._terminate_namespace(old), False
        grace_period, metadata = options.get("gracePeriodSeconds"), old["metadata"]
        is_deleting = "deletionTimestamp" in metadata
        seconds = self._grace_seconds(old, grace_period) if resource is POD else 0
        # An earlier deletion was marked, and stopped before it removed the object.
        if is_deleting and not metadata["deletionGracePeriodSeconds"] and not metadata.get("finalizers"):
            return self.store.remove(resource, old), True
        # A repeated deletion may only shorten the time.
        if is_deleting and (grace_period is None or seconds >= metadata["deletionGracePeriodSeconds"]):
            return old, False
        begun = {"deletionTimestamp": format_timestamp(self.clock() + seconds), "deletionGracePeriodSeconds": seconds}
        if resource.has_generation and not is_deleting:
            begun["generation"] = metadata.get("generation", 0) + 1
        leaving = {**old, "metadata": {**metadata, **begun}}
        if seconds == 0 and not metadata.get("finalizers"):
            # The API server marks a pod before it deletes it, even if the pod gets no time to end.
            return self.store.remove(resource, self.store.put(resource, leaving) if resource is POD else old), True
        return self.store.put(resource, leaving), False

    def _terminate_namespace(self, namespace: Json) -> Json:
        """Mark a namespace as terminating; its controller removes it once it is empty."""
        if namespace["metadata"].get("deletionTimestamp"):
            return namespace
        leaving = {**namespace["metadata"], "deletionTimestamp": format_timestamp(self.clock())}
        status = {**namespace["status"], "phase": "Terminating"}
        return self.store.put(NAMESPACE, {**namespace, "metadata": leaving, "status": status})

    def bind_pod(self, namespace: str, name: str, binding: Json, *, dry_run: bool = False) -> None:
        """Assign the pod to a node, once."""
        old = self.get_object(POD, namespace, name)
        node = (binding.get("target") or {}).get("name") or ""
        uid = (binding.get("metadata") or {}).get("uid")
        if not node:
            raise invalid(Resource("Binding", "", "v1", "bindings"), name, [required("target.name")])
        if uid and uid != old["metadata"]["uid"]:
            raise another_uid(POD, namespace, name, uid, old["metadata"]["uid"])
        why = ""
        if old["metadata"].get("deletionTimestamp"):
            why = f"pod {name} is being deleted, cannot be assigned to a host"
        elif old["spec"].get("nodeName"):
            why = f'pod {name} is already assigned to node "{old["spec"]["nodeName"]}"'
        elif old["spec"].get("schedulingGates"):
            why = f"pod {name} has non-empty .spec.schedulingGates"
        if why:
            raise conflict(POD, name, why, sub="binding")
        annotations = (binding.get("metadata") or {}).get("annotations") or {}
        metadata = dict(old["metadata"])
        if annotations:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
        # Binding clears the nomination, as in the API server.
        status = {key: value for key, value in old["status"].items() if key != "nominatedNodeName"}
        scheduled = {
            "type": "PodScheduled", "status": "True", "lastProbeTime": None,
            "lastTransitionTime": format_timestamp(self.clock()),
        }  # fmt: skip
        conditions = [
            condition for condition in status.get("conditions") or [] if condition.get("type") != "PodScheduled"
        ]
        if not dry_run:
            status["conditions"] = [*conditions, scheduled]
            self._put_unchanged(
                POD, old, {**old, "metadata": metadata, "spec": {**old["spec"], "nodeName": node}, "status": status}
            )

    # Parts ----------------------------------------------------------------------------------------------------------

    def _decode_request(self, resource: Resource, namespace: str, raw: Any) -> Json:
        """Return ``raw`` as Go would decode it, with the kind and namespace of the address that it was sent to."""
        if not isinstance(raw, dict):
            raise bad_request("the object provided is unrecognized (must be of type " + resource.kind + ")")
        if fault := _kind_fault(resource, raw):
            raise (
                bad_request(fault)
                if raw.get("kind") in (None, "", resource.kind)
                else undecodable(resource, fault, raw)
            )
        try:
            decoded = decode_object(resource, raw)
        except DecodeError as error:
            raise undecodable(resource, str(error)) from None
        metadata = decoded["metadata"]
        if resource.namespaced:
            given_namespace = metadata.get("namespace") or namespace
            if given_namespace != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = namespace
        else:
            metadata.pop("namespace", None)
        if not metadata.get("name"):
            base = metadata.get("generateName") or ""
            if not base:
                detail = "name or generateName is required"
                raise invalid(resource, "", [required("metadata.name", detail)])
            metadata["name"] = base[:LONGEST_BASE] + "".join(self._random.choices(SUFFIX, k=5))
        # The sandbox does not track who manages which field.
        metadata.pop("managedFields", None)
        if owners := metadata.get("ownerReferences"):
            # Repeated owners are dropped, as the API server does.
            metadata["ownerReferences"] = [owner for at, owner in enumerate(owners) if owner not in owners[:at]]
        return events.convert_to_stored(resource, decoded)

    def _init_metadata(self, resource: Resource, raw: Json) -> Json:
        metadata = {key: value for key, value in raw["metadata"].items() if key not in ("selfLink", "generation")}
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            metadata.pop(field, None)
        metadata |= {
            "uid": str(UUID(int=self._random.getrandbits(128), version=4)),
            "creationTimestamp": format_timestamp(self.clock()),
        }
        if resource.has_generation:
            metadata["generation"] = 1
        fresh = {**raw, "metadata": metadata}
        if resource.status and resource is not NODE:
            fresh["status"] = {}
        return fresh

    def _update_object(self, resource: Resource, old: Json, raw: Json, sub: str, *, dry_run: bool = False) -> Json:
        """Update ``old`` from ``raw``: its status alone, or everything but its status."""
        metadata, given_metadata = old["metadata"], raw["metadata"]
        name = metadata["name"]
        uid = given_metadata.get("uid")
        if given_metadata.get("resourceVersion") not in (None, "", metadata["resourceVersion"]):
            raise conflict(resource, name)
        new = _merge_update(resource, old, raw, sub)
        # The API server admits updates of pods, too; only this plugin may change one.
        if resource is POD and not sub:
            new = admit_pod(new, ClusterObjects(), ("DefaultTolerationSeconds",))
        merged = new["metadata"]
        validate_update(resource, new, old, uid or metadata["uid"])
        if resource.has_generation and new.get("spec") != old.get("spec"):
            # Controllers compare the generation with the one that they have observed.
            new["metadata"]["generation"] = metadata.get("generation", 1) + 1
        finalized = metadata.get("deletionTimestamp") and not merged.get("finalizers")
        if dry_run:
            return new
        if finalized and metadata.get("finalizers") and not merged.get("deletionGracePeriodSeconds"):
            return self.store.remove(resource, new)
        # An update that changes nothing gets no new resource version.
        return old if new == old else self._put_unchanged(resource, old, new)

    def _put_unchanged(self, resource: Resource, old: Json, new: Json) -> Json:
        present = self.store.get(resource, old["metadata"].get("namespace") or "", old["metadata"]["name"])
        if present is not old:
            raise conflict(resource, old["metadata"]["name"])
        return self.store.put(resource, new)

    def _check_preconditions(self, resource: Resource, old: Json, preconditions: Json) -> None:
        metadata = old["metadata"]
        if preconditions.get("uid") and preconditions["uid"] != metadata["uid"]:
            raise precondition_failed(
                storage_resource(resource),
                metadata["name"],
                "UID",
                preconditions["uid"],
                metadata["uid"],
                "deleted and then recreated",
            )
        version = preconditions.get("resourceVersion")
        if version and version != metadata["resourceVersion"]:
            actual = metadata["resourceVersion"]
            raise precondition_failed(
                storage_resource(resource), metadata["name"], "ResourceVersion", version, actual, "modified"
            )

    @staticmethod
    def _grace_seconds(pod: Json, grace_period: int | None) -> int:
        """Return how many seconds the pod gets to end: none before it is on a node, or once it has ended."""
        if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
            return 0
        seconds = pod["spec"].get("terminationGracePeriodSeconds", 30) if grace_period is None else grace_period
        # A negative period means one second, as in `BeforeDelete`.
        return 1 if seconds < 0 else min(int(seconds), LONGEST_GRACE)


def _merge_update(resource: Resource, old: Json, raw: Json, sub: str) -> Json:
    """Return ``old`` with the changes of ``raw`` that are allowed."""
    metadata, given_metadata = old["metadata"], raw["metadata"]
    fixed_fields = {field: metadata[field] for field in FIXED if field in metadata}
    merged = {key: value for key, value in given_metadata.items() if key not in FIXED} | fixed_fields
    merged["resourceVersion"] = metadata["resourceVersion"]
    if resource.has_generation:
        merged["generation"] = metadata.get("generation", 1)
    if sub == "status":
        changed = {key: merged[key] for key in ("annotations", "labels") if key in merged}
        new_metadata = {**metadata, **changed} if resource in (NODE, POD) else metadata
        return {**old, "metadata": new_metadata, "status": raw.get("status") or {}}
    return {**raw, "metadata": merged, **({"status": old.get("status") or {}} if resource.status else {})}


def _kind_fault(resource: Resource, raw: Json) -> str:
    """Return why ``raw`` is not a ``resource`` by its own kind and version; "" if it is."""
    kind, version = raw.get("kind") or resource.kind, raw.get("apiVersion") or resource.api_version
    if (kind, version) == (resource.kind, resource.api_version):
        return ""
    if kind == resource.kind:
        expected = f"the expected API version ({resource.api_version})"
        return f"the API version in the data ({version}) does not match {expected}"
    return f"converting ({version}.{kind}) to ({resource.group or 'core'}.{resource.kind}): unknown conversion"
