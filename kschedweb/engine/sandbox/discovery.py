"""The API server's description of itself: version, groups and resources, as clients such as kubectl ask for them."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import RESOURCES, Resource

VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.2-sandbox",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
# Abbreviations that people type.
SHORT = {
    "configmaps": "cm", "daemonsets": "ds", "deployments": "deploy", "endpoints": "ep", "events": "ev",
    "horizontalpodautoscalers": "hpa", "namespaces": "ns", "nodes": "no", "persistentvolumeclaims": "pvc",
    "persistentvolumes": "pv", "poddisruptionbudgets": "pdb", "pods": "po", "priorityclasses": "pc",
    "replicasets": "rs", "replicationcontrollers": "rc", "resourcequotas": "quota", "services": "svc",
    "statefulsets": "sts", "storageclasses": "sc",
}  # fmt: skip
METRICS = ("metrics.k8s.io", "v1beta1")
REVIEW = ("authorization.k8s.io", "v1")


def discover(parts: list[str]) -> Json | None:
    """Answer a question about the server itself; returns ``None`` if the address is about something else."""
    if len(parts) == 1:
        return _TOP[parts[0]]() if parts[0] in _TOP else None
    match parts:
        case ["api", "v1"]:
            return _resource_list("", "v1")
        case ["apis", group, version] if (group, version) in _group_versions():
            return _resource_list(group, version)
    return None


def _group_list() -> Json:
    groups = [_api_group(name, version) for name, version in _group_versions()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


_TOP: dict[str, Callable[[], Json]] = {
    "version": lambda: VERSION,
    "api": lambda: {"kind": "APIVersions", "versions": ["v1"]},
    "apis": _group_list,
    **dict.fromkeys(("readyz", "livez", "healthz"), lambda: {"status": "ok"}),
}


def _group_versions() -> list[tuple[str, str]]:
    served = dict.fromkeys((resource.group, resource.version) for resource in RESOURCES if resource.group)
    return [*served, METRICS, REVIEW]


def _api_group(name: str, version: str) -> Json:
    place = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [place], "preferredVersion": place}


def _resource_list(group: str, version: str) -> Json:
    place = f"{group}/{version}" if group else version
    body: Json = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": place}
    if (group, version) == METRICS:
        names = (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
        return body | {
            "resources": [
                _resource_entry(plural, kind, namespaced, ["get", "list"]) for plural, kind, namespaced in names
            ]
        }
    if (group, version) == REVIEW:
        return body | {
            "resources": [_resource_entry("selfsubjectaccessreviews", "SelfSubjectAccessReview", False, ["create"])]
        }
    served = [resource for resource in RESOURCES if (resource.group, resource.version) == (group, version)]
    return body | {"resources": [entry for resource in served for entry in _resource_entries(resource)]}


def _resource_entries(resource: Resource) -> list[Json]:
    entries = [_resource_entry(resource.plural, resource.kind, resource.namespaced, VERBS)]
    if short := SHORT.get(resource.plural):
        entries[0]["shortNames"] = [short]
    if resource.status:
        entries.append(
            _resource_entry(f"{resource.plural}/status", resource.kind, resource.namespaced, ["get", "patch", "update"])
        )
    if resource.kind == "Pod":
        entries.append(_resource_entry("pods/binding", "Binding", True, ["create"]))
        eviction = _resource_entry("pods/eviction", "Eviction", True, ["create"])
        entries.append(eviction | {"group": "policy", "version": "v1"})
    return entries


def _resource_entry(plural: str, kind: str, namespaced: bool, verbs: list[str]) -> Json:
    return {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": verbs}
