"""The scheduling queue: which pod is tried next, and which must wait for time to pass or for something to happen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key
from typing import Any

from kschedweb.engine.config.release import Behaviour
from kschedweb.engine.framework.events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    ObjectChange,
    pod_changes,
)
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue.backoff_queue import WINDOW, BackoffQueue
from kschedweb.engine.queue.heap import Heap
from kschedweb.engine.queue.hints import QueueingHints, Strategy
from kschedweb.engine.queue.in_flight import InFlight
from kschedweb.engine.queue.queued_pods import Queued, QueuedPod, UnschedulablePods
from kschedweb.engine.queue.timing import FLUSH_PERIOD, QueueTiming
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.nominator import Nominator

# What brings pods into the queue, beside events of the cluster; as kube-scheduler's metrics name it.
POD_ADD, POD_UPDATE = "PodAdd", "PodUpdate"
FAILED, BACKOFF_COMPLETE = "ScheduleAttemptFailure", "BackoffComplete"


class SchedulingQueue:
    """Pods to be scheduled by the profiles ``frameworks`` (by scheduler name; the first one's QueueSort counts).

    A pod is active (to be tried next), backing off, unschedulable, gated (among the unschedulable) or in flight
    (taken by ``pop`` and not yet ``mark_done``). Times are seconds on any clock that does not go back. ``cluster`` is
    what hints read of other objects; the ``nominator`` may be a scheduler's; ``behaviour`` is that of the release.
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        cluster: ClusterObjects,
        timing: QueueTiming | None = None,
        *,
        behaviour: Behaviour,
        extenders: bool = False,
        nominator: Nominator | None = None,
    ) -> None:
        self._frameworks = frameworks
        self._nominates_late = not behaviour.nomination_on_pod_add
        self._looks_again = behaviour.gated_pods_flushed
        self._timing = timing or QueueTiming()
        self._hints = QueueingHints(frameworks, extenders=extenders, taints_wake=behaviour.taint_update_as_node_add)
        self.cluster = cluster
        self.nominator = Nominator() if nominator is None else nominator
        sort = next(iter(frameworks.values())).points.queue_sort[0]

        def less(entity: Queued, other: Queued) -> bool:
            return bool(sort.less(entity.subject, entity.queued, other.subject, other.queued))

        self._less = less
        self.active: Heap[Queued] = Heap(less)
        self.backoff = BackoffQueue(self._timing.initial_backoff, self._timing.longest_backoff, less)
        self.unschedulable = UnschedulablePods()
        self.in_flight = InFlight()
        self._looked = 0  # the last period in which old pods were looked for
        self.incoming: Counter[tuple[str, str]] = Counter()  # pods by the part they came into, and what brought them
        self._cause = ""
        self.listener: Callable[[ClusterEvent, Any, Any], None] | None = None  # hears of every event, with its objects

    def count_pods(self) -> tuple[int, int, int, int]:
        """How many pods are active or being tried, are backing off, wait for an event, and are gated."""
        gated = self.unschedulable.gated
        active = len(self.active) + len(self.in_flight)
        return active, len(self.backoff), len(self.unschedulable) - gated, gated

    # Pods come, change and go.

    def add(self, pod: Pod, now: float) -> None:
        """A new pod without a node."""
        self._cause = POD_ADD
        self._enter_active(pod, now)

    def _enter_active(self, pod: Pod, now: float) -> None:
        if not self._nominates_late:
            self.nominator.add_nominated_pod(pod, pod.nominated_node)
        self._to_active(QueuedPod(pod, now), now, nominate=self._nominates_late)

    def update(self, old: Pod, new: Pod, now: float) -> None:
        """The object of a pod without a node changed: this may open its gates, or let it be tried again."""
        events = pod_changes(old, new)
        self._cause = POD_UPDATE
        if (flying := self.in_flight.get(new.uid)) is not None:
            flying.pod = new
            for event in events:
                self._remember_event(event, old, new)
            return
        if isinstance(queued := self.active.get(old.key), QueuedPod):
            queued.pod = new
            self.active.add_or_update(old.key, queued)
            self.nominator.update_nominated_pod(old, new)
        elif self.backoff.update(old.key, new) is not None:
            self.nominator.update_nominated_pod(old, new)
        elif isinstance(queued := self.unschedulable.get(old.key), QueuedPod):
            queued.pod = new
            self.nominator.update_nominated_pod(old, new)
            for event in events:
                strategy = self._entity_strategy(queued, event, ObjectChange(old, new, self.cluster))
                nominate = self._nominates_late and event == UNSCHEDULED_POD_UPDATE
                if self._requeue_with_strategy(queued, strategy, now, nominate=nominate):
                    break
        else:
            self._enter_active(new, now)

    def delete(self, pod: Pod) -> None:
        """The pod is gone, or has a node: it need not be scheduled any more.

        One in flight stays until ``mark_done``.
        """
        self.nominator.delete_nominated_pod(pod.key)
        for part in (self.active, self.backoff, self.unschedulable):
            if part.remove(pod.key) is not None:
                return

    def take_pod(self, pod: Pod) -> QueuedPod | None:
        """Take a pod that is not in flight out, to be put back later or never; ``None`` where it is not here."""
        self.nominator.delete_nominated_pod(pod.key)
        for part in (self.active, self.backoff, self.unschedulable):
            if isinstance(queued := part.remove(pod.key), QueuedPod):
                return queued
        return None

    # Pods are tried.

    @property
    def is_ready(self) -> bool:
        """Whether ``pop`` has a pod to give."""
        return len(self.active) > 0 or self.backoff.may_pop_early

    def pop(self) -> QueuedPod | None:
        """The pod to be tried next, now in flight; ``None`` where there is none.

        Where no pod is active, one that is backing off (not after an error) is taken early.
        """
        queued = self.pop_entity()
        assert queued is None or isinstance(queued, QueuedPod)
        return queued

    def pop_entity(self) -> Queued | None:
        """As ``pop``, where groups may be tried, too."""
        while True:
            queued = self.active.pop()
            if queued is None:
                queued = self.backoff.pop_early()
            if queued is None or self._mark_in_flight(queued):
                return queued

    def _mark_in_flight(self, queued: Queued) -> bool:
        """Let all its pods be in flight; whether any is that was not already."""
        queued.attempts += 1
        return any([self.in_flight.take_pod(member) for member in queued.members])

    def mark_done(self, uid: str) -> None:
        """The pod needs no events any more: it was handled, or is beyond the point where it could be rejected."""
        self.in_flight.mark_done(uid)

    def put_back(
        self,
        queued: QueuedPod,
        now: float,
        rejected_by: Iterable[str] = (),
        pending: Iterable[str] = (),
        *,
        watched: bool = True,
    ) -> None:
        """A pod in flight was not scheduled: ``rejected_by`` (and ``pending``) say by whom, nobody after an error.

        It waits for something that may help it, or only for its backoff where that happened meanwhile. Not
        ``watched``: it was done with, and whatever happened since does not concern it.
        """
        try:
            if any(queued.key in part for part in (self.active, self.backoff, self.unschedulable)):
                return
            self._count_failure(queued, now, rejected_by, pending)
            unconcerned = not watched and queued.rejectors
            self._requeue_with_strategy(queued, Strategy.SKIP if unconcerned else self._in_flight_strategy(queued), now)
        finally:
            self.mark_done(queued.pod.uid)

    def _count_failure(self, queued: QueuedPod, now: float, rejected_by: Iterable[str], pending: Iterable[str]) -> None:
        """Note that a try of the pod has failed."""
        queued.rejected_by, queued.pending = frozenset(rejected_by), frozenset(pending)
        if queued.rejectors:
            queued.unschedulable += 1
            queued.errors = 0
        else:
            queued.errors += 1
        queued.queued, queued.expires, queued.flushed = now, None, False
        self._cause = FAILED

    def retry_now(self, queued: QueuedPod, now: float) -> None:
        """A pod that was taken is to be tried again at once."""
        self._cause = FAILED
        self.mark_done(queued.pod.uid)
        self._to_active(queued, now, nominate=True)

    def _in_flight_strategy(self, queued: QueuedPod) -> Strategy:
        """What the events mean for the pod that came while it was in flight."""
        if not queued.rejectors or queued.pod.uid not in self.in_flight:
            return Strategy.AFTER_BACKOFF
        best_strategy = Strategy.SKIP
        for event, change in self.in_flight.cluster_events_for_pod(queued.pod.uid):
            strategy = self._hints.get_queueing_strategy(queued, event, change)
            if strategy is Strategy.IMMEDIATELY or (strategy is not Strategy.SKIP and not queued.pending):
                return strategy
            if strategy is not Strategy.SKIP:
                best_strategy = strategy
        return best_strategy

    # Things happen, and time passes.

    def move_all_to_active_or_backoff(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        now: float,
        only: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Something happened in the cluster: wake the pods (of those ``only`` says) that it may help."""
        if self.listener is not None:
            self.listener(event, old, new)
        if not self._hints.is_event_of_interest(event):
            return
        candidates = []
        for scheduler, rejectors, members in self.unschedulable.groups():
            concerned = (
                event.is_wildcard
                or not rejectors
                or not rejectors.isdisjoint(self._hints.hints_for_event(scheduler, event))
            )
            if concerned or scheduler not in self._frameworks:
                candidates += [
                    queued for queued in members if only is None or any(only(member.pod) for member in queued.members)
                ]
        self._move_pods(candidates, event, old, new, now)

    def helping_plugins(self, queued: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> list[str] | None:
        """The plugins that rejected ``queued`` and say that this may help it; ``None`` where it does not."""
        if not queued.rejectors:
            return [] if self._hints.is_event_of_interest(event) else None
        return self._hints.helping_plugins(queued, event, ObjectChange(old, new, self.cluster)) or None

    def _entity_strategy(self, queued: Queued, event: ClusterEvent, change: ObjectChange) -> Strategy:
        """What an event means: for a group the most that it means for one of its pods."""
        best_strategy = Strategy.SKIP
        for member in queued.members:
            strategy = self._hints.get_queueing_strategy(member, event, change)
            if strategy is Strategy.IMMEDIATELY:
                return strategy
            if strategy is not Strategy.SKIP:
                best_strategy = strategy
        return best_strategy

    def _may_open(self, gating: str, event: ClusterEvent) -> bool:
        return (self._looks_again and event.is_wildcard) or self._hints.opens_gate(gating, event)

    def _move_pods(self, candidates: Iterable[Queued], event: ClusterEvent, old: Any, new: Any, now: float) -> None:
        change = ObjectChange(old, new, self.cluster)
        self._cause = event.name
        for queued in candidates:
            if queued.gating and not self._may_open(queued.gating, event):
                continue
            strategy = self._entity_strategy(queued, event, change)
            if strategy is not Strategy.SKIP:
                self.unschedulable.remove(queued.key)
                self._requeue_with_strategy(queued, strategy, now)
        if self.in_flight:
            self._remember_event(event, old, new)

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        """Try these pods again at once, whatever they wait for; one in flight, when it comes back."""
        self._cause = FORCE_ACTIVATE.name
        for pod in pods:
            if (queued := self.unschedulable.get(pod.key)) is not None:
                self._to_active(queued, now)
            elif (queued := self.backoff.remove(pod.key)) is not None:
                self._to_active(queued, now, checked=True)
            elif pod.uid in self.in_flight:
                self._remember_event(FORCE_ACTIVATE, None, pod)

    def flush(self, now: float) -> None:
        """What time brings about by itself: backoff ends, and each 30 seconds old pods are tried again."""
        for queued in self.backoff.pop_completed(now):
            self._cause = BACKOFF_COMPLETE
            self._to_active(queued, now, checked=True)
        if (period := self._flush_period(now)) > self._looked:
            self._looked = period
            if old := self._flag_leftover_pods(now):
                self._move_pods(old, UNSCHEDULABLE_TIMEOUT, None, None, now)

    def list_leftover_pods(self, now: float) -> list[Queued]:
        """The pods that ``flush`` would have tried again now, in that order, where nothing else is due."""
        if self.is_ready or len(self.backoff) or self.in_flight or self._flush_period(now) <= self._looked:
            return []
        if self.backoff.longest + WINDOW >= self._timing.flush_age:
            return []
        candidates = (
            entity
            for entity in self._leftover_pods(now)
            if not entity.gating
            or (self._may_open(entity.gating, UNSCHEDULABLE_TIMEOUT) and self._passes_pre_enqueue(entity))
        )
        return sorted(candidates, key=cmp_to_key(self._compare_entities))

    def _leftover_pods(self, now: float) -> list[Queued]:
        """What has waited for long since it was last tried, or looked at for that."""
        age = self._timing.flush_age
        return [queued for queued in self.unschedulable if now - max(queued.queued, queued.flush_checked_at) > age]

    def _flag_leftover_pods(self, now: float) -> list[Queued]:
        old = self._leftover_pods(now)
        for queued in old:
            queued.flushed = True
            if self._looks_again:
                queued.flush_checked_at = now
        return old

    def _compare_entities(self, entity: Queued, other: Queued) -> int:
        return -1 if self._less(entity, other) else int(self._less(other, entity))

    def record_failed_tries(self, pods: Iterable[Queued], now: float, seconds: float) -> float:
        """As if ``flush`` had been called now, and each of ``pods`` tried for ``seconds`` and put back as it was."""
        self._looked = self._flush_period(now)
        self._flag_leftover_pods(now)
        listed = list(pods)
        for queued in listed:
            self.unschedulable.remove(queued.key)
        for queued in listed:
            now += seconds
            queued.attempts, queued.unschedulable, queued.errors = queued.attempts + 1, queued.unschedulable + 1, 0
            queued.queued, queued.expires, queued.flushed = now, None, False
            self.unschedulable.add(queued)
        self.incoming["active", UNSCHEDULABLE_TIMEOUT.name] += len(listed)
        self.incoming["unschedulable", FAILED] += len(listed)
        return now

    def next_flush(self, now: float) -> float | None:
        """When, after ``now``, ``flush`` must be called next; ``None`` while time alone changes nothing."""
        times = []
        if (completion := self.backoff.next_completion()) is not None:
            times.append(completion if completion > now else math.floor(now) + 1.0)
        if len(self.unschedulable):
            times.append(self._timing.start + (self._flush_period(now) + 1) * FLUSH_PERIOD)
        return min(times, default=None)

    def _flush_period(self, now: float) -> int:
        return math.floor((now - self._timing.start) / FLUSH_PERIOD)

    # Moves between the parts.

    def _requeue_with_strategy(self, queued: Queued, strategy: Strategy, now: float, *, nominate: bool = False) -> bool:
        """Put a pod that is nowhere, or unschedulable, where ``strategy`` says; whether it is to be tried again."""
        if strategy is Strategy.SKIP:
            self._to_unschedulable(queued)
            return False
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(queued, now):
            return self._to_backoff(queued)
        return self._to_active(queued, now, nominate=nominate)

    def _to_active(self, queued: Queued, now: float, *, checked: bool = False, nominate: bool = False) -> bool:
        """Let the pod be tried, unless a PreEnqueue plugin (not asked again where ``checked``) keeps it out."""
        if not checked and not self._passes_pre_enqueue(queued):
            if queued.key not in self.active and queued.key not in self.backoff:
                self._to_unschedulable(queued)
            return False
        self.unschedulable.remove(queued.key)
        self.backoff.remove(queued.key)
        self.active.add_or_update(queued.key, queued)
        self.incoming["active", self._cause] += len(queued.members)
        if nominate:
            for member in queued.members:
                self.nominator.add_nominated_pod(member.pod, member.pod.nominated_node)
        return True

    def _to_backoff(self, queued: Queued) -> bool:
        if not self._passes_pre_enqueue(queued):
            self._to_unschedulable(queued)
            return False
        self.unschedulable.remove(queued.key)
        self.backoff.add(queued)
        self.incoming["backoff", self._cause] += len(queued.members)
        return True

    def _to_unschedulable(self, queued: Queued) -> None:
        if queued.key not in self.unschedulable:
            self.incoming["unschedulable", self._cause] += len(queued.members)
        self.unschedulable.add(queued)

    def _passes_pre_enqueue(self, queued: Queued) -> bool:
        """Whether no PreEnqueue plugin keeps it out; a group is where one of its pods is."""
        gating = ""
        for member in queued.members:
            if not self._run_pre_enqueue_plugins(member):
                gating = member.gating
        queued.gating = gating
        return not gating

    def _run_pre_enqueue_plugins(self, queued: QueuedPod) -> bool:
        """Ask the PreEnqueue plugins, first of all the one that kept the pod out so far."""
        framework = self._frameworks.get(queued.pod.scheduler_name)
        plugins = framework.points.pre_enqueue if framework is not None else []
        for plugin in (
            sorted(plugins, key=lambda candidate: candidate.name != queued.gating) if queued.gating else plugins
        ):
            if not plugin.pre_enqueue(queued.pod, self.cluster).ok:
                queued.rejected_by |= {plugin.name}
                queued.gating = plugin.name
                return False
        queued.gating = ""
        return True

    def _remember_event(self, event: ClusterEvent, old: Any, new: Any) -> None:
        self.in_flight.add_event(event, ObjectChange(old, new, self.cluster))
