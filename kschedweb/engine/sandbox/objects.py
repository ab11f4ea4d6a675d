"""What the API server does with a write: admission, defaults, preconditions, and what a status or a spec may change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

from kschedweb.engine.controllers.admission import admit
from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox import events
from kschedweb.engine.sandbox.checks import check, refuse
from kschedweb.engine.sandbox.defaults import begun, defaulted
from kschedweb.engine.sandbox.failures import (
    Refusal,
    another_uid,
    bad,
    conflict,
    exists,
    forbidden,
    invalid,
    missing,
    unmet,
    unpatchable,
    unreadable,
    unversioned,
)
from kschedweb.engine.sandbox.limits import check_room
from kschedweb.engine.sandbox.patching import patched
from kschedweb.engine.sandbox.resources import NAMESPACE, NODE, POD, Resource, stored
from kschedweb.engine.sandbox.schema import DecodeError, decode_object
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.validation.fields import required

SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # letters of generated names, as k8s.io/apimachinery/pkg/util/rand has them
LONGEST_BASE = 58
LONGEST_GRACE = 2**31 - 1  # seconds until a deletion; Go's own sum has an end, too
FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
Admission = Callable[[Resource, Json], Json]


def timestamp(now: float) -> str:
    """Seconds of the epoch as metav1.Time."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Objects:
    """Reads and writes as the API server carries them out. Each method raises Refusal.

    ``clock`` gives seconds of the epoch; ``random`` draws uids and generated names. ``admit`` is what admission makes
    of a new object (defaults filled in already).
    """

    def __init__(self, store: Store, clock: Callable[[], float], random: Random, admit: Admission) -> None:
        self.store, self.clock, self._random, self._admit = store, clock, random, admit

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        found = self.store.get(resource, namespace, name)
        if found is None:
            raise missing(resource, name)
        return found

    def create(self, resource: Resource, namespace: str, raw: Json, *, dry_run: bool = False) -> Json:
        """A new object; ``dry_run`` does not store it."""
        raw = self._checked(resource, namespace, raw)
        if raw["metadata"].get("resourceVersion"):
            raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
        return self._create(resource, namespace, raw, dry_run=dry_run)

    def _create(self, resource: Resource, namespace: str, raw: Json, *, dry_run: bool = False) -> Json:
        metadata = raw["metadata"]
        name = metadata["name"]
        within = self.store.get(NAMESPACE, "", namespace) if resource.namespaced else None
        if resource.namespaced and within is None:
            raise missing(NAMESPACE, namespace)
        if within is not None and "deletionTimestamp" in within["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(resource, name, why)
        fresh = begun(resource.kind, defaulted(resource.kind, self._first(resource, raw)), timestamp(self.clock()))
        fresh = self._admit(resource, fresh)
        refuse(resource, raw)
        check(resource, fresh)
        present = self.store.get(resource, namespace, name)
        if present is not None:
            raise exists(resource, name, leaving="deletionTimestamp" in present["metadata"])
        check_room(self.store, resource, name)
        return fresh if dry_run else self.store.put(resource, fresh)

    def replace(
        self, resource: Resource, namespace: str, name: str, raw: Json, sub: str = "", *, dry_run: bool = False
    ) -> tuple[Json, bool]:
        """PUT; the object as it is then, and whether it is new."""
        old = self.store.get(resource, namespace, name)
        raw = self._checked(resource, namespace, raw)
        given, uid = raw["metadata"]["name"], raw["metadata"].get("uid")
        if given != name:
            raise bad(f"the name of the object ({given}) does not match the name on the URL ({name})")
        if old is None and (not resource.upsert or sub):
            raise missing(resource, name)
        there = old["metadata"]["uid"] if old is not None else ""
        if uid and uid != there:
            raise another_uid(resource, namespace, name, uid, there)
        if old is None:
            return self._create(resource, namespace, raw, dry_run=dry_run), True
        if resource.versioned and not raw["metadata"].get("resourceVersion"):
            raise unversioned(resource, name)
        return self._write(resource, old, defaulted(resource.kind, raw), sub, dry_run=dry_run), False

    def patch(
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
        old = self.get(resource, namespace, name)
        changed = patched(events.seen_as(resource, old), patch, content)
        if fault := _kind_fault(resource, changed):
            raise unpatchable(changed, fault)
        try:
            decoded = decode_object(resource, changed)
        except DecodeError as error:
            raise unpatchable(changed, str(error)) from None
        raw = defaulted(resource.kind, events.stored_as(resource, decoded))
        return self._write(resource, old, raw, sub, dry_run=dry_run)

    def change(self, resource: Resource, old: Json, **parts: Json) -> Json:
        """A controller's own write: the object with other ``metadata``, ``spec`` or ``status``, where they differ."""
        new = {**old, **parts}
        return old if new == old else self._put(resource, old, new)

    def delete(self, resource: Resource, namespace: str, name: str, options: Json) -> tuple[Json, bool]:
        """The object, and whether it is gone now: finalizers and pods on nodes take their time."""
        old = self.get(resource, namespace, name)
        self._preconditions(resource, old, options.get("preconditions") or {})
        if resource is NAMESPACE:
            return self._terminate(old), False
        asked, metadata = options.get("gracePeriodSeconds"), old["metadata"]
        again = "deletionTimestamp" in metadata
        seconds = self._grace(old, asked) if resource is POD else 0
        if again and not metadata["deletionGracePeriodSeconds"] and not metadata.get("finalizers"):
            return self.store.remove(resource, old), True  # whoever marked it did not live to delete it
        # Whoever asks again may only shorten the time.
        if again and (asked is None or seconds >= metadata["deletionGracePeriodSeconds"]):
            return old, False
        begun = {"deletionTimestamp": timestamp(self.clock() + seconds), "deletionGracePeriodSeconds": seconds}
        if resource.counted and not again:
            begun["generation"] = metadata.get("generation", 0) + 1
        leaving = {**old, "metadata": {**metadata, **begun}}
        if seconds == 0 and not metadata.get("finalizers"):
            # The API server marks a pod before it deletes it, also where it has no time to end.
            return self.store.remove(resource, self.store.put(resource, leaving) if resource is POD else old), True
        return self.store.put(resource, leaving), False

    def _terminate(self, namespace: Json) -> Json:
        """A namespace goes once it is empty, which its controller sees to."""
        if namespace["metadata"].get("deletionTimestamp"):
            return namespace
        leaving = {**namespace["metadata"], "deletionTimestamp": timestamp(self.clock())}
        status = {**namespace["status"], "phase": "Terminating"}
        return self.store.put(NAMESPACE, {**namespace, "metadata": leaving, "status": status})

    def bind(self, namespace: str, name: str, binding: Json, *, dry_run: bool = False) -> None:
        """Assign the pod to a node, once."""
        old = self.get(POD, namespace, name)
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
        status = {key: value for key, value in old["status"].items() if key != "nominatedNodeName"}
        scheduled = {
            "type": "PodScheduled", "status": "True", "lastProbeTime": None,
            "lastTransitionTime": timestamp(self.clock()),
        }  # fmt: skip
        kept = [one for one in status.get("conditions") or [] if one.get("type") != "PodScheduled"]
        if not dry_run:
            status["conditions"] = [*kept, scheduled]
            self._put(
                POD, old, {**old, "metadata": metadata, "spec": {**old["spec"], "nodeName": node}, "status": status}
            )

    # Parts ----------------------------------------------------------------------------------------------------------

    def _checked(self, resource: Resource, namespace: str, raw: Any) -> Json:
        """``raw`` with its kind and namespace, as it was sent to an address, and as Go would decode it."""
        if not isinstance(raw, dict):
            raise bad("the object provided is unrecognized (must be of type " + resource.kind + ")")
        if fault := _kind_fault(resource, raw):
            raise bad(fault) if raw.get("kind") in (None, "", resource.kind) else unreadable(resource, fault, raw)
        try:
            decoded = decode_object(resource, raw)
        except DecodeError as error:
            raise unreadable(resource, str(error)) from None
        metadata = decoded["metadata"]
        if resource.namespaced:
            given = metadata.get("namespace") or namespace
            if given != namespace:
                raise bad("the namespace of the provided object does not match the namespace sent on the request")
            metadata["namespace"] = namespace
        else:
            metadata.pop("namespace", None)
        if not metadata.get("name"):
            base = metadata.get("generateName") or ""
            if not base:
                detail = "name or generateName is required"
                raise invalid(resource, "", [required("metadata.name", detail)])
            metadata["name"] = base[:LONGEST_BASE] + "".join(self._random.choices(SUFFIX, k=5))
        metadata.pop("managedFields", None)
        if owners := metadata.get("ownerReferences"):
            metadata["ownerReferences"] = [one for at, one in enumerate(owners) if one not in owners[:at]]
        return events.stored_as(resource, decoded)

    def _first(self, resource: Resource, raw: Json) -> Json:
        metadata = {key: value for key, value in raw["metadata"].items() if key not in ("selfLink", "generation")}
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            metadata.pop(field, None)
        metadata |= {
            "uid": str(UUID(int=self._random.getrandbits(128), version=4)),
            "creationTimestamp": timestamp(self.clock()),
        }
        if resource.counted:
            metadata["generation"] = 1
        fresh = {**raw, "metadata": metadata}
        if resource.status and resource is not NODE:
            fresh["status"] = {}
        return fresh

    def _write(self, resource: Resource, old: Json, raw: Json, sub: str, *, dry_run: bool = False) -> Json:
        """``raw`` in the place of ``old``, or its status alone, or all but its status."""
        metadata, given = old["metadata"], raw["metadata"]
        name = metadata["name"]
        uid = given.get("uid")
        if given.get("resourceVersion") not in (None, "", metadata["resourceVersion"]):
            raise conflict(resource, name)
        new = _merged(resource, old, raw, sub)
        if resource is POD and not sub:
            new = admit(new, ClusterObjects(), ("DefaultTolerationSeconds",))
        merged = new["metadata"]
        check(resource, new, old, uid or metadata["uid"])
        if resource.counted and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = metadata.get("generation", 1) + 1
        gone = metadata.get("deletionTimestamp") and not merged.get("finalizers")
        if dry_run:
            return new
        if gone and metadata.get("finalizers") and not merged.get("deletionGracePeriodSeconds"):
            return self.store.remove(resource, new)
        return old if new == old else self._put(resource, old, new)

    def _put(self, resource: Resource, old: Json, new: Json) -> Json:
        present = self.store.get(resource, old["metadata"].get("namespace") or "", old["metadata"]["name"])
        if present is not old:
            raise conflict(resource, old["metadata"]["name"])
        return self.store.put(resource, new)

    def _preconditions(self, resource: Resource, old: Json, wanted: Json) -> None:
        metadata = old["metadata"]
        if wanted.get("uid") and wanted["uid"] != metadata["uid"]:
            raise unmet(
                stored(resource), metadata["name"], "UID", wanted["uid"], metadata["uid"], "deleted and then recreated"
            )
        version = wanted.get("resourceVersion")
        if version and version != metadata["resourceVersion"]:
            there = metadata["resourceVersion"]
            raise unmet(stored(resource), metadata["name"], "ResourceVersion", version, there, "modified")

    @staticmethod
    def _grace(pod: Json, asked: int | None) -> int:
        """Seconds that the pod is given to end: none before it is on a node, or once it has ended."""
        if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
            return 0
        seconds = pod["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked
        return 1 if seconds < 0 else min(int(seconds), LONGEST_GRACE)


def _merged(resource: Resource, old: Json, raw: Json, sub: str) -> Json:
    """``old`` with what ``raw`` may change of it."""
    metadata, given = old["metadata"], raw["metadata"]
    kept = {field: metadata[field] for field in FIXED if field in metadata}
    merged = {key: value for key, value in given.items() if key not in FIXED} | kept
    merged["resourceVersion"] = metadata["resourceVersion"]
    if resource.counted:
        merged["generation"] = metadata.get("generation", 1)
    if sub == "status":
        changed = {key: merged[key] for key in ("annotations", "labels") if key in merged}
        own = {**metadata, **changed} if resource in (NODE, POD) else metadata
        return {**old, "metadata": own, "status": raw.get("status") or {}}
    return {**raw, "metadata": merged, **({"status": old.get("status") or {}} if resource.status else {})}


def _kind_fault(resource: Resource, raw: Json) -> str:
    """Why ``raw`` is no ``resource`` by its own words; "" where it is one."""
    kind, version = raw.get("kind") or resource.kind, raw.get("apiVersion") or resource.api_version
    if (kind, version) == (resource.kind, resource.api_version):
        return ""
    if kind == resource.kind:
        expected = f"the expected API version ({resource.api_version})"
        return f"the API version in the data ({version}) does not match {expected}"
    return f"converting ({version}.{kind}) to ({resource.group or 'core'}.{resource.kind}): unknown conversion"
