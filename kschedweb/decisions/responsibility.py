"""Find the scheduler that is responsible for a pod, and its wait for approval, for lists, pages and REST alike.

As in kube-scheduler's `responsibleForPod`, the pod's ``spec.schedulerName`` decides. Apps above this one know live
schedulers and approvals; in ``ready`` they register functions that find them.
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

# Stands in the place of a reason, as ``handled_by`` does.
WAITS = "waits for approval"


class Answerer(StrEnum):
    """The source of a pod's decision."""

    # The chosen policy.
    POLICY = "policy"
    # The revision that a live scheduler pins.
    LIVE = "live"
    # Nothing here: neither the policy nor a live scheduler has the name.
    UNKNOWN = "unknown"


class PodStatus(StrEnum):
    """The state of a pod, as far as it is known. REST shows the values."""

    # A decision was made.
    DECIDED = "decided"
    # People have to approve a decision.
    WAITING = "waiting_for_approval"
    # An unknown scheduler handles it.
    HANDLED = "handled_elsewhere"


@dataclass(frozen=True)
class LiveProfile:
    """A live scheduler of a cluster with the revision that it pins."""

    scheduler_name: str
    revision: Revision
    # Of its page.
    address: str


@dataclass(frozen=True)
class ResponsibleScheduler:
    """The scheduler of all pods with this ``spec.schedulerName``."""

    scheduler_name: str
    answerer: Answerer
    # Decides about the pods; None for an unknown scheduler.
    revision: Revision | None = None
    # The page of a live scheduler, "" for others.
    address: str = ""

    @property
    def is_live(self) -> bool:
        return self.answerer is Answerer.LIVE


@dataclass(frozen=True)
class ApprovalWait:
    """A pod in the inbox of approvals."""

    # Namespace and name, with a slash between them.
    pod: str
    uid: str
    # The id of the ApprovalRequest.
    request: UUID
    scheduler_name: str
    # The node that was chosen for it.
    node: str
    asked_at: datetime
    expires_at: datetime
    # People who still have to approve by role, and the same in words.
    missing: Mapping[str, int]
    people: str
    # The page on which people decide.
    address: str

    @property
    def lasting(self) -> str:
        """Return how long it has waited, in full minutes from one minute on."""
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
    """Register ``find``, which returns the live schedulers of a cluster with some names that can run their revision."""
    _live.append(find)


def register_waits(find: FindWaits) -> None:
    """Register ``find``, which returns the waits of pods with some uids, as far as the user may view them."""
    _waits.append(find)


def find_live_profiles(cluster: Cluster, scheduler_names: Collection[str]) -> dict[str, LiveProfile]:
    """Return the live schedulers of ``cluster`` with one of these names, by name."""
    return {profile.scheduler_name: profile for find in _live for profile in find(cluster, scheduler_names)}


def find_responsible_schedulers(
    cluster: Cluster, revision: Revision, scheduler_names: Collection[str]
) -> dict[str, ResponsibleScheduler]:
    """Return the scheduler of each name: a profile of ``revision``, else a live one, else an unknown one."""
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
    """Return the scheduler of the pod ``pod_key``, and its wait for approval if there is one.

    For a pod that the snapshot does not have it is ``revision``, whose decision then raises NotFound.
    """
    pod = find_pod(snapshot, pod_key)
    if pod is None:
        return ResponsibleScheduler("", Answerer.POLICY, revision), None
    scheduler = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name})[pod.scheduler_name]
    return scheduler, find_waits(snapshot, [pod]).get(pod_key)


def find_pod(snapshot: Snapshot, pod_key: str) -> PodRef | None:
    """Return the pod "namespace/name" of ``snapshot``, None if there is none that the user may view."""
    namespace, _, name = pod_key.partition("/")
    if "\0" in pod_key:  # PostgreSQL refuses it in any text.
        return None
    return next(iter(pod_refs(pod_rows(snapshot).filter(namespace=namespace, name=name))), None)


def find_waits(snapshot: Snapshot, pods: Iterable[PodRef]) -> dict[str, ApprovalWait]:
    """Return those of ``pods`` that wait for approval, by key. In an older snapshot they must have waited then, too."""
    keys = {pod.uid: pod.key for pod in pods if pod.uid}
    waits = [wait for find in _waits for wait in find(snapshot.cluster, keys) if wait.uid in keys]
    if any(wait.asked_at > snapshot.taken_at for wait in waits) and snapshot_current(snapshot.cluster) != snapshot:
        waits = [wait for wait in waits if wait.asked_at <= snapshot.taken_at]
    return {keys[wait.uid]: wait for wait in waits}


def handled_by(scheduler_name: str) -> str:
    """Return the reason for pods of an unknown scheduler, in English as all reasons are."""
    return f"handled by {scheduler_name}"


def waiting_headline(pod: str, wait: ApprovalWait, decided: str) -> Headline:
    """Return the headline of a pod that waits for approval; ``decided`` is that of a decision made now."""
    parameters = {"pod": pod, "lasting": wait.lasting, "node": wait.node, "people": wait.people}
    title = gettext("%(pod)s waits for approval for %(lasting)s: %(node)s, %(people)s") % parameters
    held_text = gettext("%(scheduler)s found this node for it, and holds it there until people decide.")
    now = gettext("Decided again on this snapshot: %(decided)s.")
    return Headline(title, "amber", [held_text % {"scheduler": wait.scheduler_name}, now % {"decided": decided}])
