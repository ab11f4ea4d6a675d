"""Read manifests of workloads, and build the pods that their controllers make from them."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.controllers.naming import parse_ordinal
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_mapping, get_objects

# Versions of kinds that are not in apps/v1.
API = {"Job": "batch/v1"}


def split_workload(workload: str) -> tuple[str, str, str]:
    """Return kind, namespace and name of "namespace/Kind/name"."""
    namespace, kind, name = workload.split("/")
    return kind, namespace, name


def namespace_and_name(raw: Json) -> tuple[str, str]:
    metadata = raw["metadata"]
    return metadata.get("namespace") or "default", metadata["name"]


def replicas_of(raw: Json) -> int:
    """Return the number of replicas in the workload's spec."""
    spec = get_mapping(raw, "spec")
    if raw["kind"] == "Job":
        # A Job never runs more pods than are left to complete.
        parallel = get_integer(spec, "parallelism", 1, "spec.")
        return min(parallel, get_integer(spec, "completions", parallel, "spec."))
    return get_integer(spec, "replicas", 1, "spec.")


def controller_of(raw: Json) -> tuple[str, str]:
    """Return kind and name of the controlling owner; empty if there is none."""
    for owner in get_objects(get_mapping(raw, "metadata"), "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return str(owner.get("kind")), str(owner.get("name"))
    return "", ""


def owner_reference(raw: Json) -> Json:
    namespace, name = namespace_and_name(raw)
    uid = raw["metadata"].get("uid") or f"{raw['kind']}-{namespace}-{name}"
    version = raw.get("apiVersion") or API.get(raw["kind"], "apps/v1")
    return {"apiVersion": version, "kind": raw["kind"], "name": name, "uid": uid, "controller": True}


def pod_of(name: str, namespace: str, labels: Mapping[str, str], owner: Json, template: Json, spec: Json) -> Json:
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": dict(labels),
        "ownerReferences": [owner_reference(owner)],
    }
    annotations = get_mapping(get_mapping(template, "metadata"), "annotations")
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def ordinal_labels(name: str) -> dict[str, str]:
    return {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(parse_ordinal(name))}
