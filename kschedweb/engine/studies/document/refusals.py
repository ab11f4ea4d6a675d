"""Check the objects in a scenario document as an API server does; each problem has its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.refusals import find_refusals

SAME_PATHS: Mapping[str, str] = {}
# Paths in a node -> in the change that describes it; paths in a pod -> in the shape that describes it.
NODE_PATHS = {"spec.taints": "taints", "metadata.labels": "labels", "status.allocatable": "allocatable"}
RESOURCES = "spec.containers[0].resources"
SHAPE_PATHS = {
    "metadata.labels": "labels",
    **{f"{RESOURCES}.requests['{name}']": name for name in ("cpu", "memory")},
    **{f"{RESOURCES}.{kind}": "resources" for kind in ("requests", "limits")},
}


def refuse_document(data: Any) -> list[DocumentProblem]:
    """Return the API server's messages on the objects of a document, which may be any plain data."""
    return [DocumentProblem(path, text) for path, text in _iterate_refusals(data)]


def _iterate_refusals(data: Any) -> Iterator[tuple[str, str]]:
    for path, item in _list_objects(data, "objects"):
        for inner, entry in _list_objects(item, "items", path) if item.get("kind") == "List" else [(path, item)]:
            yield from _refusals_at(entry, inner)
    for path, change in _list_objects(data, "changes"):
        for name, action in change.items():
            if isinstance(action, dict):
                yield from _action_refusals(action, f"{path}.{name}")
    for path, arrival in _list_objects(data, "arrivals"):
        for inner, shape in _list_objects(arrival.get("generate"), "shapes", f"{path}.generate"):
            yield from _refusals_at(_pod_of_shape(shape), inner, SHAPE_PATHS)


def _list_objects(data: Any, name: str, path: str = "") -> list[tuple[str, Json]]:
    """Return the objects in a list of ``data``, each with its path."""
    listed = data.get(name) if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return []
    start = f"{path}.{name}" if path else name
    return [(f"{start}[{at}]", item) for at, item in enumerate(listed) if isinstance(item, dict)]


def _action_refusals(action: Json, path: str) -> Iterator[tuple[str, str]]:
    if action.get("manifest") is not None:
        yield from _refusals_at(action["manifest"], f"{path}.manifest")
    if action.keys() & {"taints", "allocatable"}:
        yield from _refusals_at(_node_of_action(action), path, NODE_PATHS)


def _refusals_at(item: Any, path: str, document_paths: Mapping[str, str] = SAME_PATHS) -> Iterator[tuple[str, str]]:
    """Yield path and message of each problem of ``item`` at ``path``.

    ``document_paths`` maps paths in the item to those in the document, where they differ.
    """
    for refusal in find_refusals(item):
        item_path = next((start for start in document_paths if refusal.path.startswith(start)), "")
        yield f"{path}.{document_paths.get(item_path, '')}{refusal.path.removeprefix(item_path)}", refusal.text


def _node_of_action(action: Json) -> Json:
    """Return a node with the taints, labels and amounts that a change gives."""
    name = action.get("name") if isinstance(action.get("name"), str) else "node"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": action.get("labels")},
        "spec": {"taints": action.get("taints")},
        "status": {"allocatable": action.get("allocatable")},
    }


def _pod_of_shape(shape: Json) -> Json:
    """Return a pod of a shape; further resources are limits, too."""
    spec, resources = shape.get("spec"), shape.get("resources")
    basic = {name: shape[name] for name in ("cpu", "memory") if shape.get(name) is not None}
    limits = resources if isinstance(resources, dict) else {}
    container = {"name": "main", "resources": {"requests": {**basic, **limits}, "limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": shape.get("name") or "pod", "labels": shape.get("labels")},
        "spec": {"containers": [container], **(spec if isinstance(spec, dict) else {})},
    }
