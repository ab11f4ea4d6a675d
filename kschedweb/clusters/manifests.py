"""Objects of snapshots as YAML, for people: without what only programs read, and without what may be secret."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from kschedweb.clusters import storage
from kschedweb.clusters.kinds import reduce_object
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.documents.writing import dump_yaml
from kschedweb.web.errors import NotFound
from kschedweb.web.redaction import redact_text

if TYPE_CHECKING:
    from kschedweb.engine.json_types import Json

# Kinds that have pages.
SHOWN_KINDS = frozenset({"Pod", "Node", "Workload"})
# Long, and of no interest for scheduling: a node's images, ports and volumes, and what controllers note for themselves.
_METADATA_NOISE = ("managedFields", "resourceVersion", "selfLink", "generation")
_STATUS_NOISE = ("images", "daemonEndpoints", "volumesInUse", "volumesAttached", "observedGeneration")
_CONDITION_NOISE = ("lastHeartbeatTime", "lastProbeTime")


def object_manifest(snapshot: Snapshot, kind: str, name: str, namespace: str = "") -> str:
    """Return an object of ``snapshot`` as YAML. Raises NotFound if there is none, or its kind is not shown."""

    def is_sought(raw: Json) -> bool:
        metadata = raw.get("metadata") or {}
        return (raw.get("kind"), metadata.get("namespace") or "", metadata.get("name")) == (kind, namespace, name)

    content = Snapshot.objects.values_list("content", flat=True).get(pk=snapshot.pk)
    raw = storage.find_object(content, is_sought) if kind in SHOWN_KINDS else None
    if raw is None:
        key = f"{namespace}/{name}" if namespace else name
        raise NotFound(f"The snapshot has no {kind} {key[:320]}.")
    return dump_yaml(simplify_object(raw))


def simplify_object(raw: Json) -> Json:
    """Return a copy of ``raw`` with the parts that people read."""
    # Stored objects are reduced already. Environments, commands and probes must not show, whoever stored them.
    item = reduce_object(deepcopy(raw))
    metadata, status = item.get("metadata"), item.get("status")
    if isinstance(status, dict):
        _drop_keys(status, _STATUS_NOISE)
        conditions = status.get("conditions")
        for condition in conditions if isinstance(conditions, list) else ():
            if isinstance(condition, dict):
                _drop_keys(condition, _CONDITION_NOISE)
    if isinstance(metadata, dict):
        _drop_keys(metadata, _METADATA_NOISE)
        annotations = metadata.get("annotations")
        if isinstance(annotations, dict):
            metadata["annotations"] = {key: redact_text(str(value)) for key, value in annotations.items()}
        item["metadata"] = _begin_with(metadata, "name", "namespace")
    return _begin_with(item, "apiVersion", "kind", "metadata", "spec", "status")


def _begin_with(part: Json, *keys: str) -> Json:
    """Return ``part`` with ``keys`` first, as kubectl and people order them."""
    return {key: part[key] for key in keys if key in part} | part


def _drop_keys(part: Json, keys: tuple[str, ...]) -> None:
    for key in keys:
        part.pop(key, None)
