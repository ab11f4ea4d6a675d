"""Admission of new objects: priorities, tolerations and overheads of pods, classes of claims, Jobs that queue."""

from __future__ import annotations

from kschedweb.engine.controllers.admission import AdmissionError, admit_pod
from kschedweb.engine.controllers.claims import set_default_class
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, describe_object
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queueing.workloads.labels import is_queued
from kschedweb.engine.sandbox.resources import BY_KIND, POD, Resource
from kschedweb.engine.sandbox.status_errors import bad_request, forbidden
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.sandbox.world.resources import JOB, STORAGE_CLASS

_API = {"PriorityClass": "scheduling.k8s.io/v1", "RuntimeClass": "node.k8s.io/v1"}


class Admission:
    """Admits objects for ``ApiObjects``."""

    def __init__(self, store: Store) -> None:
        self._store, self._classes = store, _Classes(store)

    def __call__(self, resource: Resource, raw: Json) -> Json:
        """Return the object as it is stored. Raises ApiRefusal."""
        if resource.kind == "PersistentVolumeClaim":
            return set_default_class(raw, self._store.all(STORAGE_CLASS))
        if resource is JOB and is_queued(raw):
            # As Kueue's webhook does: the Job runs once it has quota.
            return {**raw, "spec": {**raw["spec"], "suspend": True}}
        return self._admit_pod(raw) if resource is POD else raw

    def _admit_pod(self, raw: Json) -> Json:
        name = raw["metadata"]["name"]
        try:
            admitted = admit_pod(raw, self._classes)
            # A pod that the engine cannot read is refused here rather than ignored by all schedulers.
            Pod.from_json(admitted)
        except AdmissionError as error:
            text = str(error).removeprefix(f"{describe_object(raw)}: ")
            raise forbidden(POD, name, text) from None
        except ObjectError as error:
            raise bad_request(str(error)) from None
        return admitted


class _Classes:
    """The classes in the store, as admission asks for them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        return self._store.get(BY_KIND[_API[kind], kind], namespace, name)

    def all(self, kind: str) -> list[Json]:
        return list(self._store.all(BY_KIND[_API[kind], kind]))
