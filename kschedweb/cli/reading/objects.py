"""Reads what an answer needs of a cluster: nodes and pods first, then the kinds that the pods in question refer to."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.reading.schedulers import RunningScheduler, find_schedulers
from kschedweb.cli.reading.source import ClusterSource, SourceError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.kinds import BY_NAME, KINDS, KUEUE, ObjectKind, is_queue_gate, reduce_object

# Objects of one page, and requests at the same time.
PAGE, WORKERS = 5_000, 4
# Pods that have ended take no part in scheduling.
UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
ALWAYS = ("Namespace", "PodDisruptionBudget")
# Kinds by which default spreading groups pods, and which tell whose pods they are.
OWNERS = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
VOLUMES = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity",
           "VolumeAttachment")  # fmt: skip
DEVICES = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule", "DaemonSet")
# Kinds that new pods get values from.
CLASSES = ("PriorityClass", "RuntimeClass")
# Returns the raw pods that the question is about.
ChoosePods = Callable[[list[Json]], list[Json]]


@dataclass
class ClusterReading:
    """The objects of a cluster, and what is not known about it."""

    objects: list[Json] = field(default_factory=list)
    # The API server's version, such as v1.36.1.
    version: str = ""
    schedulers: list[RunningScheduler] = field(default_factory=list)
    # Sentences about what could not be read.
    gaps: list[str] = field(default_factory=list)


def read_cluster(
    source: ClusterSource, choose_pods: ChoosePods, progress: StepWriter, *, namespace: str = "", new_pods: bool = False
) -> ClusterReading:
    """Read nodes, pods and what ``choose_pods`` of them refer to. Raises CommandError.

    Where pods of all namespaces may not be listed, those of ``namespace`` are. ``new_pods`` reads what pods that do
    not exist yet get from classes.
    """
    reading = ClusterReading()
    with ThreadPoolExecutor(WORKERS) as pool:
        version = pool.submit(_read_version, source)
        nodes = pool.submit(_read_kind, source, BY_NAME["Node"], progress)
        pods = _read_pods(source, namespace, progress, reading)
        reading.version = version.result()
        try:
            reading.objects += nodes.result()
        except SourceError as error:
            raise CommandError(f"nodes cannot be listed: {error}", Exit(error.status)) from None
        chosen_pods = choose_pods(pods)
        reading.objects += pods
        kinds_needed = _list_needed(chosen_pods, new_pods)
        listings = {
            (kind, space): pool.submit(_read_kind, source, BY_NAME[kind], progress, space)
            for kind, space in kinds_needed
        }
        for (kind, _), listing in listings.items():
            try:
                reading.objects += listing.result()
            except SourceError as error:
                if not error.absent:
                    reading.gaps.append(f"{BY_NAME[kind].resource} could not be listed: {BY_NAME[kind].costs}")
    progress.clear()
    return reading


def read_everything(source: ClusterSource, progress: StepWriter) -> ClusterReading:
    """Read every kind that a site shows. Raises CommandError if nodes or pods cannot be listed."""
    reading = ClusterReading(version=_read_version(source))
    with ThreadPoolExecutor(WORKERS) as pool:
        listings = {kind: pool.submit(_read_kind, source, kind, progress) for kind in KINDS}
        for kind, listing in listings.items():
            try:
                reading.objects += listing.result()
            except SourceError as error:
                if kind.needed:
                    raise CommandError(f"{kind.resource} cannot be listed: {error}", Exit(error.status)) from None
                if not error.absent:
                    reading.gaps.append(f"{kind.resource} could not be listed: {kind.costs}")
    progress.clear()
    return reading


def _read_version(source: ClusterSource) -> str:
    try:
        return str(json.loads(source.get("/version")).get("gitVersion") or "")
    except (SourceError, ValueError):
        return ""


def _read_pods(source: ClusterSource, namespace: str, progress: StepWriter, reading: ClusterReading) -> list[Json]:
    """Return the pods that have not ended, and note the kube-schedulers among them."""
    kind = BY_NAME["Pod"]

    def keep(items: list[Json]) -> None:
        reading.schedulers += find_schedulers(items)

    try:
        return _read_kind(source, kind, progress, query=UNFINISHED, before=keep)
    except SourceError as error:
        if not error.forbidden or not namespace:
            raise
    pods = _read_kind(source, kind, progress, namespace, query=UNFINISHED, before=keep)
    reading.gaps.append(f"only pods of namespace {namespace} may be listed, so that nodes look emptier than they are")
    return pods


def _read_kind(
    source: ClusterSource,
    kind: ObjectKind,
    progress: StepWriter,
    namespace: str = "",
    *,
    query: str = "",
    before: Callable[[list[Json]], None] | None = None,
) -> list[Json]:
    """Return all objects of ``kind``, page by page, without what no answer needs. Raises SourceError.

    ``before`` sees each page as it came.
    """
    path = kind.path
    if namespace:
        group, _, resource = path.rpartition("/")
        path = f"{group}/namespaces/{quote(namespace, safe='')}/{resource}"
    selector = f"&fieldSelector={quote(query)}" if query else ""
    objects: list[Json] = []
    for page in _iterate_pages(source, f"{path}?limit={PAGE}{selector}", kind):
        items = page.get("items") or []
        if before is not None:
            before(items)
        for item in items:
            item["apiVersion"], item["kind"] = kind.api_version, kind.name
            objects.append(reduce_object(item))
        progress.step(f"Reading {kind.resource}: {len(objects):,}")
    return objects


def _iterate_pages(source: ClusterSource, address: str, kind: ObjectKind) -> Iterator[Json]:
    """Yield the pages of a list. The next one is on its way while the caller works on one. Raises SourceError."""
    with ThreadPoolExecutor(1) as pool:
        page = _parse_page(source.get(address), kind)
        while token := (page.get("metadata") or {}).get("continue"):
            following = pool.submit(source.get, f"{address}&continue={quote(token)}")
            yield page
            page = _parse_page(following.result(), kind)
        yield page


def _parse_page(text: bytes, kind: ObjectKind) -> Json:
    try:
        page: Any = json.loads(text)
    except ValueError:
        raise SourceError(f"the answer about {kind.resource} is not JSON") from None
    if not isinstance(page, dict):
        raise SourceError(f"the answer about {kind.resource} is no list")
    return page


def _list_needed(pods: Collection[Json], new_pods: bool) -> list[tuple[str, str]]:
    """Return (kind, namespace) of what the answer about ``pods`` depends on; "" is all namespaces."""
    specs = [pod.get("spec") or {} for pod in pods]
    namespaces = {str((pod.get("metadata") or {}).get("namespace") or "default") for pod in pods}
    kinds_needed = [(kind, "") for kind in ALWAYS]
    # Many namespaces are read at once, few one by one.
    spaces = sorted(namespaces) if len(namespaces) <= WORKERS else [""]
    kinds_needed += [(kind, space) for kind in OWNERS for space in spaces]
    if any(_has_volumes(spec) for spec in specs):
        kinds_needed += [(kind, "") for kind in VOLUMES]
    if any(_asks_for_devices(spec) for spec in specs):
        kinds_needed += [(kind, "") for kind in DEVICES]
    if any(spec.get("schedulingGroup") for spec in specs):
        kinds_needed += [("PodGroup", ""), ("CompositePodGroup", "")]
    if any(_waits_for_quota(spec) for spec in specs):
        kinds_needed += [(kind.name, "") for kind in KINDS if kind.group == KUEUE]
    return kinds_needed + ([(kind, "") for kind in CLASSES] if new_pods else [])


def _has_volumes(spec: Json) -> bool:
    return any(volume.get("persistentVolumeClaim") or volume.get("ephemeral") for volume in spec.get("volumes") or [])


def _waits_for_quota(spec: Json) -> bool:
    return any(is_queue_gate(str(gate.get("name"))) for gate in spec.get("schedulingGates") or [])


def _asks_for_devices(spec: Json) -> bool:
    return bool(spec.get("resourceClaims")) or any("/" in name for name in _iterate_requests(spec))


def _iterate_requests(spec: Json) -> Iterable[str]:
    for container in (*(spec.get("containers") or []), *(spec.get("initContainers") or [])):
        yield from (container.get("resources") or {}).get("requests") or {}
        yield from (container.get("resources") or {}).get("limits") or {}
