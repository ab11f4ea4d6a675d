"""Events as API servers send them."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json


def event(
    name: str, about: Json, *, minute: int = 0, reason: str = "FailedScheduling", message: str = "no node", **more: Any
) -> Json:
    """An Event of core v1 about an object, written at a minute past eleven."""
    metadata = about["metadata"]
    namespace = metadata.get("namespace")
    at = f"2026-01-15T11:{minute:02}:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace or "default", "uid": f"uid-of-{name}"},
        "involvedObject": {
            "kind": about["kind"],
            "name": metadata["name"],
            **({"namespace": namespace} if namespace else {}),
            **({"uid": metadata["uid"]} if metadata.get("uid") else {}),
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "default-scheduler"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        **more,
    }


def list_events(objects: list[Json]) -> list[Json]:
    """An Event about each pod and node of ``objects``, which names it."""
    names = [(item, item["metadata"]["name"]) for item in objects if item["kind"] in ("Node", "Pod")]
    return [
        event(f"{name}.{number}", item, minute=number % 60, message=f"{name} waits")
        for number, (item, name) in enumerate(names)
    ]
