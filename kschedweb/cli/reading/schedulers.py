"""The cluster's own kube-schedulers: their release, and as much of their configuration as the API server shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from kschedweb.cli.reading.source import ClusterSource, SourceError
from kschedweb.engine.json_types import Json

PROGRAM = "kube-scheduler"


@dataclass(frozen=True)
class RunningScheduler:
    """A kube-scheduler that runs as a pod."""

    namespace: str
    name: str
    # The tag of its image, such as v1.36.1; "" if it has none.
    version: str = ""
    # The file of --config; "" without the flag.
    config_file: str = ""
    feature_gates: str = ""
    # Paths that ConfigMaps are mounted at, with their names.
    config_maps: dict[str, str] = field(default_factory=dict)

    @property
    def config_map(self) -> tuple[str, str] | None:
        """Name and key of the ConfigMap that holds the file of --config, None for a file of the host."""
        for path, name in self.config_maps.items():
            if self.config_file.startswith(f"{path.rstrip('/')}/"):
                return name, self.config_file[len(path.rstrip("/")) + 1 :]
        return None


def find_schedulers(pods: Iterable[Json]) -> list[RunningScheduler]:
    """Return the kube-schedulers among raw pods, those of kube-system first."""
    schedulers = [scheduler for pod in pods if (scheduler := _read_scheduler(pod)) is not None]
    return sorted(schedulers, key=lambda item: (item.namespace != "kube-system", item.namespace, item.name))


def _read_scheduler(pod: Json) -> RunningScheduler | None:
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    for container in spec.get("containers") or []:
        words = [str(word) for word in (*(container.get("command") or []), *(container.get("args") or []))]
        image = str(container.get("image") or "").rpartition("/")[2]
        if not image.startswith(PROGRAM) and (not words or words[0].rpartition("/")[2] != PROGRAM):
            continue
        volumes = {volume.get("name"): volume.get("configMap") for volume in spec.get("volumes") or []}
        mounts = {
            str(mount.get("mountPath")): str((volumes.get(mount.get("name")) or {}).get("name"))
            for mount in container.get("volumeMounts") or []
            if volumes.get(mount.get("name"))
        }
        return RunningScheduler(
            namespace=str(metadata.get("namespace")),
            name=str(metadata.get("name")),
            version=image.partition(":")[2].partition("@")[0],
            config_file=_find_flag(words, "config"),
            feature_gates=_find_flag(words, "feature-gates"),
            config_maps=mounts,
        )
    return None


def _find_flag(words: list[str], name: str) -> str:
    for position, word in enumerate(words):
        if word.startswith(f"--{name}="):
            return word.partition("=")[2]
        if word == f"--{name}":
            return words[position + 1] if position + 1 < len(words) else ""
    return ""


def read_configuration(source: ClusterSource, scheduler: RunningScheduler) -> tuple[str, str]:
    """Return (text, where it is from) of a scheduler's configuration; ("", why it is not known) where it is not.

    Without --config a kube-scheduler runs with its defaults, which need no reading.
    """
    if not scheduler.config_file:
        return "", ""
    if scheduler.config_map is None:
        return "", f"its file {scheduler.config_file} is on the control plane, and cannot be read"
    name, key = scheduler.config_map
    place = f"ConfigMap {scheduler.namespace}/{name}"
    try:
        raw = json.loads(source.get(f"/api/v1/namespaces/{scheduler.namespace}/configmaps/{name}"))
    except SourceError as error:
        return "", f"{place} may not be read" if error.forbidden else f"{place} cannot be read"
    text = (raw.get("data") or {}).get(key)
    return (str(text), place) if text else ("", f"{place} has no {key}")
