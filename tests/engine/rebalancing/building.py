"""Scenarios for the descheduler, in the form of the command line."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json

NOW = "2026-01-15T12:00:00Z"


def node(name: str, **spec: Any) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return {"kind": "Node", "metadata": {"name": name}, "spec": spec, "status": {"allocatable": amounts}}


def pod(name: str, on: str, cpu: str = "100m", **spec: Any) -> Json:
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "web"}
    container = {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": "web"},
            "creationTimestamp": "2026-01-14T12:00:00Z",
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": on, "containers": [container], **spec},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def policy(point: str, plugin: str, args: Json, evictor: Json | None = None, **fields: Any) -> Json:
    configs = [{"name": "DefaultEvictor", "args": evictor or {}}, {"name": plugin, "args": args}]
    profile = {"name": "p", "pluginConfig": configs, "plugins": {point: {"enabled": [plugin]}}}
    return {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile], **fields}


def scenario(policy: Json, *objects: Json, **more: Any) -> Json:
    return {"name": "s", "now": NOW, "policy": policy, "objects": list(objects), **more}
