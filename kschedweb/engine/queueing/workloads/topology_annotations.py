"""Annotations of pods that ask for a topology, and the topology request of a pod set that they make."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping

# By the field of a topology request that they set.
_FIELDS = {
    "required": "kueue.x-k8s.io/podset-required-topology",
    "preferred": "kueue.x-k8s.io/podset-preferred-topology",
    "podSetSliceRequiredTopology": "kueue.x-k8s.io/podset-slice-required-topology",
}
_UNCONSTRAINED_ANNOTATION = "kueue.x-k8s.io/podset-unconstrained-topology"
_SLICE_SIZE_ANNOTATION = "kueue.x-k8s.io/podset-slice-size"


def read_topology_request(pod: Json) -> Json:
    """Return the topology request of a pod, or of a template of pods; empty for none."""
    annotations = get_mapping(get_mapping(pod, "metadata"), "annotations", "metadata.")
    request: Json = {
        name: annotations[annotation] for name, annotation in _FIELDS.items() if annotations.get(annotation)
    }
    if annotations.get(_UNCONSTRAINED_ANNOTATION) == "true":
        request["unconstrained"] = True
    if str(annotations.get(_SLICE_SIZE_ANNOTATION) or "").isdigit():
        request["podSetSliceSize"] = int(annotations[_SLICE_SIZE_ANNOTATION])
    return request
