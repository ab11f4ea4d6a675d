"""What the API server says of itself: its version, groups and resources, as clients such as kubectl ask for them."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.objects.access import Json
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
# As people type them.
SHORT = {
    "configmaps": "cm", "daemonsets": "ds", "deployments": "deploy", "endpoints": "ep", "events": "ev",
    "horizontalpodautoscalers": "hpa", "namespaces": "ns", "nodes": "no", "persistentvolumeclaims": "pvc",
    "persistentvolumes": "pv", "poddisruptionbudgets": "pdb", "pods": "po", "priorityclasses": "pc",
    "replicasets": "rs", "replicationcontrollers": "rc", "resourcequotas": "quota", "services": "svc",
    "statefulsets": "sts", "storageclasses": "sc",
}  # fmt: skip
METRICS = ("metrics.k8s.io", "v1beta1")
REVIEW = ("authorization.k8s.io", "v1")


def discovered(parts: list[str]) -> Json | None:
    """The answer to a question about the server itself; ``None`` where it is about something else."""
    if len(parts) == 1:
        return _TOP[parts[0]]() if parts[0] in _TOP else None
    match parts:
        case ["api", "v1"]:
            return _listed("", "v1")
        case ["apis", group, version] if (group, version) in _versions():
            return _listed(group, version)
    return None


def _groups() -> Json:
    groups = [_group(name, version) for name, version in _versions()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


_TOP: dict[str, Callable[[], Json]] = {
    "version": lambda: VERSION,
    "api": lambda: {"kind": "APIVersions", "versions": ["v1"]},
    "apis": _groups,
    **dict.fromkeys(("readyz", "livez", "healthz"), lambda: {"status": "ok"}),
}


def _versions() -> list[tuple[str, str]]:
    own = dict.fromkeys((one.group, one.version) for one in RESOURCES if one.group)
    return [*own, METRICS, REVIEW]


def _group(name: str, version: str) -> Json:
    place = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [place], "preferredVersion": place}


def _listed(group: str, version: str) -> Json:
    place = f"{group}/{version}" if group else version
    body: Json = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": place}
    if (group, version) == METRICS:
        names = (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
        return body | {"resources": [_entry(plural, kind, within, ["get", "list"]) for plural, kind, within in names]}
    if (group, version) == REVIEW:
        return body | {"resources": [_entry("selfsubjectaccessreviews", "SelfSubjectAccessReview", False, ["create"])]}
    own = [one for one in RESOURCES if (one.group, one.version) == (group, version)]
    return body | {"resources": [entry for one in own for entry in _entries(one)]}


def _entries(one: Resource) -> list[Json]:
    found = [_entry(one.plural, one.kind, one.namespaced, VERBS)]
    if short := SHORT.get(one.plural):
        found[0]["shortNames"] = [short]
    if one.status:
        found.append(_entry(f"{one.plural}/status", one.kind, one.namespaced, ["get", "patch", "update"]))
    if one.kind == "Pod":
        found.append(_entry("pods/binding", "Binding", True, ["create"]))
        eviction = _entry("pods/eviction", "Eviction", True, ["create"])
        found.append(eviction | {"group": "policy", "version": "v1"})
    return found


def _entry(plural: str, kind: str, namespaced: bool, verbs: list[str]) -> Json:
    return {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": verbs}
