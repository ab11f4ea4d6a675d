"""Which scheduler answers for a pod, and whether the pod waits for approval: lists, pages and REST all ask here.

As kube-scheduler's ``responsibleForPod``, the pod's ``spec.schedulerName`` decides. Apps above this one know of live
schedulers and of approvals; they register in ``ready`` how to find them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.clusters.selectors import pod_refs, pod_rows, snapshot_current
from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.page_parts import Headline
from kschedweb.policies.selectors import load_revision
from kschedweb.web.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from kschedweb.clusters.models import Cluster, Snapshot
    from kschedweb.clusters.selectors import PodRef
    from kschedweb.policies.models import Revision

WAITS = "waits for approval"  # in place of a reason, as ``handled_by`` is


class Answerer(StrEnum):
    """What explains a pod: the chosen policy, the revision that a live scheduler pins, or nothing here."""

    POLICY = "policy"
    LIVE = "live"
    UNKNOWN = "unknown"


class PodStatus(StrEnum):
    """What is said of a pod: a decision, that people have to approve one, or that another scheduler handles it."""

    DECIDED = "decided"
    WAITING = "waiting_for_approval"
    HANDLED = "handled_elsewhere"


@dataclass(frozen=True)
class LiveProfile:
    """A live scheduler of a cluster: the revision that it pins, and the address of its page."""

    scheduler_name: str
    revision: Revision
    address: str


@dataclass(frozen=True)
class ResponsibleScheduler:
    """The scheduler of all pods with this ``spec.schedulerName``.

    ``revision`` explains them, ``None`` where nobody here knows the scheduler. ``address``: the page of a live one.
    """

    scheduler_name: str
    answerer: Answerer
    revision: Revision | None = None
    address: str = ""

    @property
    def is_live(self) -> bool:
        return self.answerer is Answerer.LIVE


@dataclass(frozen=True)
class ApprovalWait:
    """A pod in the inbox of approvals: the request, the node found for it, and the page on which people decide.

    ``missing`` is how many people have to approve by role, ``people`` the same in words.
    """

    pod: str  # "namespace/name"
    uid: str
    request: UUID
    scheduler_name: str
    node: str
    asked_at: datetime
    expires_at: datetime
    missing: Mapping[str, int]
    people: str
    address: str

    @property
    def lasting(self) -> str:
        """How long it has waited, to the minute once it is one."""
        seconds = max((timezone.now() - self.asked_at).total_seconds(), 0)
        return format_duration(seconds - seconds % 60 if seconds >= 60 else int(seconds))

    @property
    def sentence(self) -> str:
        parameters = {"lasting": self.lasting, "node": self.node, "people": self.people}
        return gettext("Waits for approval for %(lasting)s: %(node)s, %(people)s") % parameters

    def __hash__(self) -> int:
        return hash(self.request)


FindLive = Callable[["Cluster", Collection[str]], Iterable[LiveProfile]]
FindWaits = Callable[["Cluster", Collection[str]], Iterable[ApprovalWait]]
_live: list[FindLive] = []
_waits: list[FindWaits] = []


def register_live(find: FindLive) -> None:
    """Let ``find`` say which live schedulers of a cluster have one of some names, and can run what they pin."""
    _live.append(find)


def register_waits(find: FindWaits) -> None:
    """Let ``find`` say which pods of some uids wait for approval, of those that whoever looks may see."""
    _waits.append(find)


def find_live_profiles(cluster: Cluster, scheduler_names: Collection[str]) -> dict[str, LiveProfile]:
    """The live schedulers of ``cluster`` with one of these names, by name."""
    return {profile.scheduler_name: profile for find in _live for profile in find(cluster, scheduler_names)}


def find_responsible_schedulers(
    cluster: Cluster, revision: Revision, scheduler_names: Collection[str]
) -> dict[str, ResponsibleScheduler]:
    """The scheduler of each name: a profile of ``revision``, else a live one, else one that nobody here knows."""
    document = load_revision(revision, cluster.server_version)
    own_names = {name for name in scheduler_names if get_decider(revision).answers_for(document, name)}
    other_names = set(scheduler_names) - own_names
    scheduler_by_name = {name: ResponsibleScheduler(name, Answerer.POLICY, revision) for name in own_names}
    scheduler_by_name |= {name: ResponsibleScheduler(name, Answerer.UNKNOWN) for name in other_names}
    if other_names:
        for name, live in find_live_profiles(cluster, other_names).items():
            scheduler_by_name[name] = ResponsibleScheduler(name, Answerer.LIVE, live.revision, live.address)
    return scheduler_by_name


def find_responsible_scheduler(
    snapshot: Snapshot, revision: Revision, pod_key: str
) -> tuple[ResponsibleScheduler, ApprovalWait | None]:
    """The scheduler of the pod ``pod_key``, and its wait for approval if there is one.

    Of a pod that the snapshot does not have ``revision`` says so itself.
    """
    pod = find_pod(snapshot, pod_key)
    if pod is None:
        return ResponsibleScheduler("", Answerer.POLICY, revision), None
    scheduler = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name})[pod.scheduler_name]
    return scheduler, find_waits(snapshot, [pod]).get(pod_key)


def find_pod(snapshot: Snapshot, pod_key: str) -> PodRef | None:
    """The pod "namespace/name" of ``snapshot``; ``None`` where there is none that whoever looks may see."""
    namespace, _, name = pod_key.partition("/")
    if "\0" in pod_key:  # PostgreSQL refuses it in any text.
        return None
    return next(iter(pod_refs(pod_rows(snapshot).filter(namespace=namespace, name=name))), None)


def find_waits(snapshot: Snapshot, pods: Iterable[PodRef]) -> dict[str, ApprovalWait]:
    """Those of ``pods`` that wait for approval now, by their keys; of an older snapshot those that waited then too."""
    keys = {pod.uid: pod.key for pod in pods if pod.uid}
    waits = [wait for find in _waits for wait in find(snapshot.cluster, keys) if wait.uid in keys]
    if any(wait.asked_at > snapshot.taken_at for wait in waits) and snapshot_current(snapshot.cluster) != snapshot:
        waits = [wait for wait in waits if wait.asked_at <= snapshot.taken_at]
    return {keys[wait.uid]: wait for wait in waits}


def handled_by(scheduler_name: str) -> str:
    """The reason of pods of a scheduler that nobody here knows, in English as all reasons are."""
    return f"handled by {scheduler_name}"


def waiting_headline(pod: str, wait: ApprovalWait, decided: str) -> Headline:
    """The headline of a pod that waits for approval; ``decided`` is that of a decision made now."""
    parameters = {"pod": pod, "lasting": wait.lasting, "node": wait.node, "people": wait.people}
    title = gettext("%(pod)s waits for approval for %(lasting)s: %(node)s, %(people)s") % parameters
    held_text = gettext("%(scheduler)s found this node for it, and holds it there until people decide.")
    now = gettext("Decided anew on this snapshot: %(decided)s.")
    return Headline(title, "amber", [held_text % {"scheduler": wait.scheduler_name}, now % {"decided": decided}])
