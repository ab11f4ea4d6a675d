"""Short ways to write Kubernetes objects."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.releases import CURRENT, RELEASES, load

NOT_NOW, NEVER = "Unschedulable", "UnschedulableAndUnresolvable"
CONFIGURATION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def node(name: str, *, taints: list[dict] | None = None, **fields: Any) -> dict:
    """A node of 4 CPU, 8 GiB and 110 pods; ``fields``: labels, allocatable, unschedulable, images."""
    labels = {"kubernetes.io/hostname": name, **fields.get("labels", {})}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", **fields.get("allocatable", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints or [], "unschedulable": fields.get("unschedulable", False)},
        "status": {"allocatable": allocatable, "images": fields.get("images", [])},
    }


def pod(name: str, *, on: str = "", labels: dict | None = None, requests: dict | None = None, **spec: Any) -> dict:
    """A pod of one container; ``on`` is the node it is bound to, ``spec`` whatever else its spec holds."""
    container = {"name": "main", "image": "registry.example/app:v1", "resources": {"requests": requests or {}}}
    container.update(spec.pop("container", {}))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {"containers": [container], **({"nodeName": on} if on else {}), **spec},
    }


def scheduler(*objects: dict, **profile: Any) -> Scheduler:
    """A scheduler over ``objects`` with one profile; ``release`` names another than the current one."""
    release = RELEASES[profile.pop("release", CURRENT.name)]
    document = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]}
    loaded = load(document, release)
    assert loaded.configuration is not None, loaded.errors
    return Scheduler(Snapshot.from_objects(objects, counting=release.counting), loaded.configuration)


def explain(raw: dict, *objects: dict, **profile: Any) -> dict:
    """Return the engine's explanation of one pod."""
    return scheduler(*objects, **profile).explain(Pod.from_json(raw)).to_dict()


def list_refusals(answer: dict, plugin: str) -> dict[str, tuple[str, ...]]:
    """Node -> the code and the reasons that the plugin's filter gave."""
    verdicts = answer["filters"].get(plugin, {})
    return {name: (verdict["code"], *verdict["reasons"]) for name, verdict in verdicts.items()}


def raw_scores(answer: dict, plugin: str) -> list[int]:
    return list(answer["scores"][plugin]["raw"].values())


def normalized_scores(answer: dict, plugin: str) -> list[int]:
    return list(answer["scores"][plugin]["normalized"].values())
