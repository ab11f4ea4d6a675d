"""Reads the sandbox for its pages: its cluster, its time, and what people created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import Http404
from django.utils.dateparse import parse_datetime

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.errors import ClusterError
from kschedweb.clusters.connecting.sources import endpoint_of, sandbox_secret
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import CLOCK, EVENT, POD, Resource, get_resource
from kschedweb.live.approvals.models import ApprovalRequest
from kschedweb.sandbox.running.host import get_host
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Seconds; a person waits for the answer.
PATIENCE = 10.0
CLOCK_PATH = CLOCK.path(name="main")
# Speeds to choose from, as multiples of a clock's.
SPEEDS = (1, 2, 5, 10, 30, 60)
# Marks of objects that people created.
PASTED, CREATED_BY = "sandbox.kschedweb.dev/pasted", "sandbox.kschedweb.dev/created-by"
REPLICA_SET = get_resource("ReplicaSet", "apps/v1")
LISTED_RESOURCES = (
    POD,
    *(get_resource(kind, "apps/v1") for kind in ("Deployment", "StatefulSet", "DaemonSet")),
    REPLICA_SET,
    get_resource("Job", "batch/v1"),
)
SHOWN_BY_KIND = {listed.kind: listed for listed in LISTED_RESOURCES}


@dataclass(frozen=True)
class SandboxPace:
    """The speed of the sandbox's time."""

    paused: bool
    # A multiple of a clock's speed.
    speed: int


def list_sandboxes() -> QuerySet[Cluster]:
    """Return the clusters that are the sandbox of this process or its neighbours; none if there is no sandbox."""
    rows = Cluster.objects.filter(source=ClusterSource.SANDBOX)
    return rows if settings.SANDBOX_SERVER else rows.none()


def sandbox_get() -> Cluster:
    """Return the sandbox of this site. Raises ``Http404`` if it has none."""
    cluster = list_sandboxes().first()
    if cluster is None:
        raise Http404("This site runs without a sandbox.")
    return cluster


def find_trouble() -> str:
    """Return why the sandbox of this process does not run, or cannot keep what happens; "" if all is well."""
    host = get_host()
    return "" if host is None else host.trouble


def can_be_set_up_anew() -> bool:
    """Return whether the sandbox runs in this process, which can begin it again."""
    return get_host() is not None


def open_client(patience: float = PATIENCE) -> Client:
    """Open a client of the sandbox's API server. Raises ApplicationError if none runs."""
    secret = sandbox_secret()
    return Client.open(secret, endpoint=endpoint_of(ClusterSource.SANDBOX, secret), patience=patience)


def get_pace() -> SandboxPace:
    """Return the speed of its time now. Raises ApplicationError if it does not answer."""
    with open_client() as client:
        spec = client.get(CLOCK_PATH)["spec"]
    return SandboxPace(bool(spec.get("paused")), int(spec.get("speed", 1)))


@dataclass(frozen=True)
class Created:
    """An object that a person created."""

    kind: str
    api_version: str
    namespace: str
    name: str
    # The username of its creator.
    by: str
    # Its state in plain words.
    state: str
    # Ready pods of a workload; None for a pod.
    pods: int | None
    # The id of the request that the pod waits for.
    approval: str = ""


def list_created(cluster: Cluster) -> list[Created]:
    """Return what people created in the sandbox and still exists, the newest first."""
    entries, waiting = [], _waiting_requests(cluster)
    with open_client() as client:
        for resource in LISTED_RESOURCES:
            listed = client.get(resource.path(), labelSelector=f"{PASTED}=true")
            entries += [(_creation_time(raw), _describe_object(resource, raw, waiting)) for raw in listed["items"]]
    return [entry for _, entry in sorted(entries, key=lambda pair: pair[0], reverse=True)]


def _waiting_requests(cluster: Cluster) -> Mapping[str, tuple[str, str]]:
    """Return, by the uid of a pod, the id of the request that it waits for, and the node that it would go to."""
    rows = ApprovalRequest.objects.filter(scheduler__cluster=cluster, open=True).values_list("uid", "pk", "node")
    return {uid: (str(pk), node) for uid, pk, node in rows}


def _creation_time(raw: Json) -> str:
    return raw["metadata"].get("creationTimestamp") or ""


def _describe_object(resource: Resource, raw: Json, waiting: Mapping[str, tuple[str, str]]) -> Created:
    metadata, status = raw["metadata"], raw.get("status") or {}
    by = (metadata.get("annotations") or {}).get(CREATED_BY, "")
    place = metadata.get("namespace") or ""
    if resource is POD and metadata["uid"] in waiting:
        request, node = waiting[metadata["uid"]]
        state = f"Waits for approval, to go to {node}"
        return Created(resource.kind, resource.api_version, place, metadata["name"], by, state, None, request)
    if resource is POD:
        return Created(resource.kind, resource.api_version, place, metadata["name"], by, pod_state(raw), None)
    replicas = (raw.get("spec") or {}).get("replicas")
    ready = int(status.get("readyReplicas") or status.get("numberReady") or status.get("active") or 0)
    state = f"{ready} of {replicas} pods ready" if replicas is not None else ""
    return Created(resource.kind, resource.api_version, place, metadata["name"], by, state, ready)


def pod_state(raw: Json) -> str:
    """Return the state of a pod in a few words."""
    status, node = raw.get("status") or {}, (raw.get("spec") or {}).get("nodeName")
    if raw["metadata"].get("deletionTimestamp"):
        return "being deleted"
    if node:
        return f"{status.get('phase') or 'Pending'} on {node}"
    conditions = status.get("conditions") or []
    message = next(
        (condition.get("message") for condition in conditions if condition.get("type") == "PodScheduled"), None
    )
    return f"Pending: {message}" if message else "Pending: no scheduler has said anything yet"


@dataclass(frozen=True)
class Happening:
    """An event."""

    # When it was last seen.
    at: datetime
    # The resource version, by which newer events are counted.
    version: int
    type: str
    reason: str
    # The object that it is about.
    kind: str
    namespace: str
    name: str
    message: str

    @property
    def object_title(self) -> str:
        return f"{self.kind} {'/'.join(filter(None, (self.namespace, self.name)))}".strip()

    @property
    def has_page(self) -> bool:
        return self.kind in SHOWN_BY_KIND


def list_happenings(limit: int = 15) -> list[Happening]:
    """Return the newest events of the sandbox, the newest first."""
    with open_client() as client:
        happenings = [_read_happening(raw) for raw in client.get(EVENT.path())["items"]]
    return sorted(happenings, key=attrgetter("at", "version"), reverse=True)[:limit]


def happenings_since(version: int) -> int:
    """Return how many events are newer than ``version``, the ``Happening.version`` of the newest shown one."""
    with open_client() as client:
        return sum(int(raw["metadata"]["resourceVersion"]) > version for raw in client.get(EVENT.path())["items"])


def _read_happening(raw: Json) -> Happening:
    metadata, involved = raw["metadata"], raw.get("involvedObject") or {}
    at = parse_datetime(raw.get("lastTimestamp") or raw.get("eventTime") or metadata["creationTimestamp"])
    assert at is not None, "the sandbox stores no other times"
    return Happening(
        at,
        int(metadata["resourceVersion"]),
        raw.get("type") or "Normal",
        raw.get("reason") or "",
        involved.get("kind") or "",
        involved.get("namespace") or "",
        involved.get("name") or "",
        raw.get("message") or "",
    )


@dataclass(frozen=True)
class Details:
    """A pod or a workload with its pods and events."""

    row: Created
    # The pods that it owns.
    pods: list[Created]
    # The events of all of them, the oldest first.
    happenings: list[Happening]


def get_details(cluster: Cluster, kind: str, namespace: str, name: str) -> Details:
    """Return an object with its pods and events. Raises NotFound, or ApplicationError if the sandbox does not
    answer.
    """
    resource = SHOWN_BY_KIND.get(kind)
    if resource is None:
        raise NotFound(f"A {kind} has no page here: {', '.join(SHOWN_BY_KIND)} have one.")
    with open_client() as client:
        try:
            raw = client.get(resource.path(namespace, name))
        except ClusterError as error:
            if error.code == 404:
                raise NotFound(f"The sandbox has no {kind} {namespace}/{name}: it has ended, or never was.") from None
            raise
        owned = _list_owned(client, raw) if resource is not POD else []
        uids = {raw["metadata"]["uid"], *(child["metadata"]["uid"] for child in owned)}
        events = client.get(EVENT.path(namespace))["items"]
    happenings = [_read_happening(event) for event in events if (event.get("involvedObject") or {}).get("uid") in uids]
    waiting = _waiting_requests(cluster)
    pods = [
        _describe_object(POD, child, waiting)
        for child in sorted(owned, key=_creation_time)
        if child["kind"] == POD.kind
    ]
    return Details(_describe_object(resource, raw, waiting), pods, sorted(happenings, key=attrgetter("at", "version")))


def _list_owned(client: Client, raw: Json) -> list[Json]:
    """Return the ReplicaSets and pods below a workload."""
    namespace, above, owned = raw["metadata"]["namespace"], {raw["metadata"]["uid"]}, []
    for resource in (REPLICA_SET, POD):
        for child in client.get(resource.path(namespace))["items"]:
            owners = child["metadata"].get("ownerReferences") or []
            if any(owner["uid"] in above for owner in owners):
                owned.append({**child, "kind": resource.kind})
        above |= {child["metadata"]["uid"] for child in owned}
    return owned
