"""The live loop: takes in events of the cluster, tries one pod after the other, and returns what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import Draw, SearchRequest
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.framework.decision import Clock
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.json_types import Json
from kschedweb.engine.live.cache_comparison import CacheComparison, FreshListing, compare_cache
from kschedweb.engine.live.cluster_feed import ClusterFeed
from kschedweb.engine.live.group_work import GroupWork
from kschedweb.engine.live.intents import Intent, PodRef, Superseded
from kschedweb.engine.live.reservations import Stage
from kschedweb.engine.live.scheduling_work import SchedulingWork
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue import create_scheduling_queue
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.values import dataclass

# Plugins whose waits people end, through the site.
HOLDS = frozenset({"HumanApproval"})
# Number of best nodes that a decision lists.
RANKS = 5
POD_GONE, NOT_WAITING = "the pod is gone", "the pod does not wait"


@dataclass(frozen=True, slots=True)
class QueueDepths:
    """Numbers of pods by where they are, and the size of the cluster."""

    active: int
    backoff: int
    unschedulable: int
    gated: int
    # Pods that wait at Permit, with the held ones.
    waiting: int
    # Pods whose wait people end.
    awaiting_approval: int
    # Pods that are being bound, until the cluster shows them on their nodes.
    binding: int
    nodes: int
    pods: int


@dataclass(frozen=True, slots=True)
class JudgedPod:
    """A pod, its explanation, and the state that it was judged by."""

    # The cluster without the pod; valid until the loop goes on.
    snapshot: Snapshot
    pod: Pod
    scheduler: Scheduler
    explanation: Explanation


class LiveLoop:
    """kube-scheduler for the profiles of ``configuration``: single-threaded, without input or output of its own.

    Times are seconds of the epoch that never go back. ``holds`` names the Permit plugins whose waits are ended outside.
    ``clock`` (seconds) measures the durations of decisions. ``draw`` picks one of several equally good nodes by its
    number, as ``random.randrange`` does; without it the first one on kube-scheduler's heap is taken.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        registry: Mapping[str, PluginFactory] | None = None,
        extenders: Extenders | None = None,
        holds: frozenset[str] = HOLDS,
        clock: Clock | None = None,
        draw: Draw | None = None,
    ) -> None:
        self.configuration = configuration
        self._world = SchedulerCache(Snapshot())
        nominator = Nominator()
        self._scheduler = Scheduler(
            self._world.snapshot, configuration, registry, nominator=nominator, extenders=extenders
        )
        self._queue = create_scheduling_queue(configuration, self._scheduler.frameworks, self._world.cluster, nominator)
        # By ``namespace/name``, as the cluster last showed them; the feed writes it, the work reads it.
        self._pods: dict[str, Pod] = {}
        request = SearchRequest(post_filter=True, ranks=RANKS, draw=draw, elsewhere=True)
        work_of = GroupWork if configuration.release.has_group_scheduling else SchedulingWork
        self._work = work_of(self._scheduler, self._queue, self._world, self._pods, holds, request, clock)
        self._feed = ClusterFeed(self._work)

    # Events of the cluster.

    def replace_objects(self, kind: str, items: Iterable[Json], now: float) -> list[Intent]:
        """Take in a whole list of ``kind``: objects that are not in it are deleted."""
        return self._feed.replace_objects(kind, items, now)

    def apply_object(self, kind: str, raw: Json, now: float) -> list[Intent]:
        """Take in an object that was created or changed. A pod with another uid is another pod."""
        return self._feed.apply_object(kind, raw, now)

    def delete_object(self, kind: str, raw: Json, now: float) -> list[Intent]:
        """Delete an object."""
        return self._feed.delete_object(kind, raw, now)

    def update_watermarks(self, watermarks: Watermarks | None, now: float) -> None:
        """Take in new measurements of what nodes and workloads use; with ``None`` the annotations count."""
        self._feed.update_watermarks(watermarks, now)

    # Work.

    @property
    def is_ready(self) -> bool:
        """True if a pod is ready to be tried, so that ``step`` has work."""
        return self._queue.is_ready

    def step(self, now: float) -> list[Intent]:
        """Do what is due by time, and try at most one pod."""
        intents = self.pass_time(now)
        self._feed.read_annotations()
        return intents + self._work.try_next(now)

    def pass_time(self, now: float) -> list[Intent]:
        """Do what is due by time, but try no pod: for a loop that is paused or does not lead."""
        # Waits end first: a pod that comes back from Permit may be due at once.
        intents = self._work.expire_waits(now)
        self._queue.flush(now)
        return intents

    def next_time(self, now: float) -> float | None:
        """Return when to call ``step`` next if nothing happens: ``now`` while pods are ready to be tried."""
        if self.is_ready:
            return now
        times = (self._queue.next_flush(now), self._work.reservations.next_deadline)
        return min((time for time in times if time is not None), default=None)

    # Answers from outside.

    def on_bound(self, uid: str, now: float) -> None:
        """Take in that the binding was accepted."""
        if (reservation := self._work.reservations.get(uid)) is not None:
            self._work.on_bound(reservation)

    def bind_failed(self, uid: str, message: str, now: float) -> list[Intent]:
        """Take in that the binding failed for certain: the pod comes back as after an error."""
        reservation = self._work.reservations.get(uid)
        if reservation is None or reservation.stage is not Stage.BINDING:
            return []
        return self._work.fail_binding(reservation, message, now)

    def allow_pod(self, uid: str, plugin: str, now: float) -> list[Intent]:
        """Let the waiting pod go on for ``plugin``; returns BindPod, or Superseded if its node does not fit now."""
        reservation = self._work.reservations.find_waiting(uid)
        return [] if reservation is None else self._work.allow_waiting(reservation, plugin, now)

    def reject_pod(self, uid: str, plugin: str, reason: str, now: float) -> list[Intent]:
        """Reject the waiting pod for ``plugin``."""
        reservation = self._work.reservations.find_waiting(uid)
        return [] if reservation is None else self._work.reject_waiting(reservation, plugin, reason, now)

    def restore_reservation(self, uid: str, node: str, plugin: str, deadline: float, now: float) -> list[Intent]:
        """Give a pod that ``plugin`` held before a restart its reservation back, or return Superseded."""
        if uid in self._work.reservations:
            return []
        pod = self.find_pod(uid)
        if pod is None:
            return [Superseded(PodRef("", "", uid), POD_GONE)]
        why = self._work.restore_reservation(pod, node, plugin, max(0.0, deadline - now), now)
        return [Superseded(PodRef.from_pod(pod), why)] if why else []

    def recheck_pod(self, uid: str, now: float) -> str:
        """Return why the waiting pod cannot be bound to its node any more; "" if it can."""
        reservation = self._work.reservations.find_waiting(uid)
        return NOT_WAITING if reservation is None else self._work.recheck_reservation(reservation, now)

    def activate_pod(self, uid: str, now: float) -> None:
        """Try the pod or the group again at once, as after an eviction for it that failed."""
        if (pod := self.find_pod(uid) or self._work.group_member(uid)) is not None:
            self._queue.activate([pod], now)

    def forget_reservations(self, now: float) -> None:
        """Release every reservation that is not bound, without telling the cluster: leadership is lost."""
        for reservation in self._work.reservations:
            # A bound pod keeps its node: the cluster has accepted the binding.
            if reservation.stage is not Stage.BOUND:
                self._work.supersede_waiting(reservation, "", now)

    # Queries.

    @property
    def depths(self) -> QueueDepths:
        reservations, waiting = self._work.reservations, self._work.reservations.waiting_count
        active, backoff, unschedulable, gated = self._queue.count_pods()
        return QueueDepths(
            # ``count_pods`` counts pods in flight as active; here they are waiting or binding.
            active=active - len(self._queue.in_flight),
            backoff=backoff,
            unschedulable=unschedulable,
            gated=gated,
            waiting=waiting,
            awaiting_approval=reservations.held_count,
            binding=len(reservations) - waiting,
            nodes=len(self._world.nodes),
            pods=len(self._pods),
        )

    @property
    def problems(self) -> dict[tuple[str, str], str]:
        """The problems of objects that were left out, by (kind, ``namespace/name``)."""
        return self._feed.problems

    @property
    def queued_entities(self) -> Mapping[tuple[str, str], int]:
        """The number of pods and groups in each part of the queue, by (part, kind): "pod", "podgroup" and so on."""
        return self._queue.count_entities()

    @property
    def incoming(self) -> Mapping[tuple[str, str], int]:
        """The number of pods that came into each queue so far, by (queue, event)."""
        return self._queue.incoming

    @property
    def incoming_entities(self) -> Mapping[tuple[str, str, str], int]:
        """The number of pods and groups that came into each queue so far, by (queue, event, kind)."""
        return self._queue.incoming_entities

    @property
    def snapshot(self) -> Snapshot:
        """The cluster with the reservations; do not change it."""
        self._feed.read_annotations()
        return self._world.snapshot

    def find_pod(self, uid: str) -> Pod | None:
        """Return the pod as the cluster last showed it."""
        return self._feed.pods.find_by_uid(uid)

    def list_waiting(self) -> list[tuple[Pod, str, tuple[str, ...]]]:
        """Return the pods that wait at Permit, each with its node and the plugins that it waits for."""
        return [
            (reservation.queued.pod, reservation.node, tuple(reservation.binding.waits))
            for reservation in self._work.reservations.all_waiting()
        ]

    def compare_with(self, fresh: FreshListing) -> CacheComparison:
        """Compare the cache with ``fresh``, which may be a moment older or newer."""
        assumed = {reservation.uid: reservation.node for reservation in self._work.reservations}
        return compare_cache(fresh, self._world, self._pods.values(), assumed)

    def explain_pod(self, uid: str, now: float) -> JudgedPod:
        """Return every verdict and score for the pod, as if it were on no node; KeyError if it is unknown."""
        pod = self.find_pod(uid)
        if pod is None:
            raise KeyError(uid)
        self._feed.read_annotations()
        snapshot, scheduler = self._work.refresh_snapshot(now), self._work.scheduler_for(pod, now)
        # A pod of a group has been tried beside the others of it, on a copy that is without the pod already.
        if scheduler is not self._scheduler:
            return JudgedPod(scheduler.snapshot, pod, scheduler, scheduler.explain(pod, as_scheduled=True))
        if pod.key not in snapshot.pods.slots:
            return JudgedPod(snapshot, pod, scheduler, scheduler.explain(pod, as_scheduled=True))
        explanation = scheduler.explain(snapshot.get_pod(pod.key), as_scheduled=True)
        return JudgedPod(*snapshot.without_pod(pod.key), scheduler, explanation)
