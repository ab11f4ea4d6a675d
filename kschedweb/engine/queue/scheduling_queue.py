"""The scheduling queue: it decides which pod is tried next, and which waits for time or for an event."""

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
from kschedweb.engine.queue.queued_pods import POD, Queued, QueuedPod, UnschedulablePods
from kschedweb.engine.queue.timing import FLUSH_PERIOD, QueueTiming
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.nominator import Nominator

# Causes beside events of the cluster, as kube-scheduler's metrics name them.
POD_ADD, POD_UPDATE = "PodAdd", "PodUpdate"
FAILED, BACKOFF_COMPLETE, POPPED_EARLY = "ScheduleAttemptFailure", "BackoffComplete", "PopFromBackoffQ"
# The part of the queue that a strategy names.
PART_OF = {Strategy.IMMEDIATELY: "active", Strategy.AFTER_BACKOFF: "backoff", Strategy.SKIP: "unschedulable"}


class SchedulingQueue:
    """Pods to be scheduled by the profiles ``frameworks`` (by scheduler name; the first one's QueueSort counts).

    A pod is active (to be tried next), backing off, unschedulable, gated (among the unschedulable) or in flight (taken
    by ``pop`` and not yet ``mark_done``). Times are seconds on any clock that does not go back. Hints read other
    objects from ``cluster``; the ``nominator`` may be shared with a scheduler; ``behaviour`` is that of the release.
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
        self._hints = QueueingHints(
            frameworks, extenders=extenders, taint_update_as_node_add=behaviour.taint_update_as_node_add
        )
        self.cluster = cluster
        # kube-scheduler requires the same QueueSort in all profiles, as there is one queue.
        self.nominator = Nominator() if nominator is None else nominator
        sort = next(iter(frameworks.values())).points.queue_sort[0]

        def less(entity: Queued, other: Queued) -> bool:
            return bool(sort.less(entity.subject, entity.queued, other.subject, other.queued))

        self._less = less
        self.active: Heap[Queued] = Heap(less)
        self.backoff = BackoffQueue(self._timing.initial_backoff, self._timing.longest_backoff, less)
        self.unschedulable = UnschedulablePods()
        self.in_flight = InFlight()
        # The number of the last period in which old pods were looked for.
        self._looked = 0
        # Number of pods by (part that they came into, cause).
        self.incoming: Counter[tuple[str, str]] = Counter()
        # Number of entities, pods or groups, by (part that they came into, cause, kind).
        self.incoming_entities: Counter[tuple[str, str, str]] = Counter()
        self._cause = ""
        # Called with every event and its objects, before any pod is woken.
        self.listener: Callable[[ClusterEvent, Any, Any], None] | None = None

    def count_pods(self) -> tuple[int, int, int, int]:
        """Return how many pods are active or being tried, back off, wait for an event, and are gated."""
        gated = self.unschedulable.gated
        active = len(self.active) + len(self.in_flight)
        return active, len(self.backoff), len(self.unschedulable) - gated, gated

    def count_entities(self) -> dict[tuple[str, str], int]:
        """Return how many entities, pods or groups, are in each part of the queue, by (part, kind)."""
        gated = self.unschedulable.gated
        return {
            ("active", POD): len(self.active),
            ("backoff", POD): len(self.backoff),
            ("unschedulable", POD): len(self.unschedulable) - gated,
            ("gated", POD): gated,
        }

    # Pods come, change and go.

    def add(self, pod: Pod, now: float) -> None:
        """Add a new pod without a node."""
        self._cause = POD_ADD
        self._enter_active(pod, now)

    def _enter_active(self, pod: Pod, now: float) -> None:
        if not self._nominates_late:
            self.nominator.add_nominated_pod(pod, pod.nominated_node)
        self._to_active(QueuedPod(pod, now), now, nominate=self._nominates_late)

    def update(self, old: Pod, new: Pod, now: float) -> None:
        """Take in the changed object of a pod without a node: it may open its gates, or wake it."""
        events = pod_changes(old, new)
        self._cause = POD_UPDATE
        # Its new object is read at the next try; the events decide where the pod goes after this one.
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
        """Forget a pod that is gone, or has a node.

        A pod in flight stays until ``mark_done``.
        """
        self.nominator.delete_nominated_pod(pod.key)
        for part in (self.active, self.backoff, self.unschedulable):
            if part.remove(pod.key) is not None:
                return

    def take_pod(self, pod: Pod) -> QueuedPod | None:
        """Take out a pod that is not in flight, to be put back later or never; returns ``None`` if it is not here."""
        self.nominator.delete_nominated_pod(pod.key)
        for part in (self.active, self.backoff, self.unschedulable):
            if isinstance(queued := part.remove(pod.key), QueuedPod):
                return queued
        return None

    # Pods are tried.

    @property
    def is_ready(self) -> bool:
        """True if ``pop`` has a pod to give."""
        return len(self.active) > 0 or self.backoff.may_pop_early

    def pop(self) -> QueuedPod | None:
        """Take the next pod, which is in flight then; returns ``None`` if there is none.

        If no pod is active, one that is backing off (not after an error) is taken early.
        """
        queued = self.pop_entity()
        assert queued is None or isinstance(queued, QueuedPod)
        return queued

    def pop_entity(self) -> Queued | None:
        """Take the next pod or group, as ``pop`` does."""
        while True:
            queued = self.active.pop()
            if queued is None and (queued := self.backoff.pop_early()) is not None:
                self._count_incoming("active", queued, POPPED_EARLY)
            if queued is None or self._mark_in_flight(queued):
                return queued

    def _mark_in_flight(self, queued: Queued) -> bool:
        """Let all its pods be in flight; returns true if any of them was not already."""
        queued.attempts += 1
        # A list, so that every pod is marked: ``any`` would stop at the first.
        return any([self.in_flight.take_pod(member) for member in queued.members])

    def mark_done(self, uid: str) -> None:
        """End the flight of a pod: it was handled, or cannot be rejected any more."""
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
        """Put a pod in flight back that was not scheduled, because of ``rejected_by`` and ``pending``.

        Without any plugin it was an error. The pod waits for an event that may help it, or only for its backoff if such
        an event came meanwhile. If it is not ``watched``, it was done with, and no event since then concerns it.
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
        """Count a failed try of the pod."""
        queued.rejected_by, queued.pending = frozenset(rejected_by), frozenset(pending)
        if queued.rejectors:
            queued.unschedulable += 1
            queued.errors = 0
        else:
            queued.errors += 1
        queued.queued, queued.expires, queued.flushed = now, None, False
        self._cause = FAILED

    def retry_now(self, queued: QueuedPod, now: float) -> None:
        """Try a pod again at once that was taken."""
        self._cause = FAILED
        self.mark_done(queued.pod.uid)
        self._to_active(queued, now, nominate=True)

    def _in_flight_strategy(self, queued: QueuedPod) -> Strategy:
        """Return the best consequence of the events that came while the pod was in flight."""
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
        """Wake the pods that an event may help; only those that ``only`` accepts."""
        if self.listener is not None:
            self.listener(event, old, new)
        if not self._hints.is_event_of_interest(event):
            return
        candidates = []
        # One look for each group of pods with the same rejecting plugins, not for each pod.
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
        """Return the plugins that rejected ``queued`` and that the event may satisfy; ``None`` if it does not help."""
        if not queued.rejectors:
            return [] if self._hints.is_event_of_interest(event) else None
        return self._hints.helping_plugins(queued, event, ObjectChange(old, new, self.cluster)) or None

    def _entity_strategy(self, queued: Queued, event: ClusterEvent, change: ObjectChange) -> Strategy:
        """Return the consequence of an event; for a group the best that it has for one of its pods."""
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
        # A pod in flight may be rejected later for a reason that this event has removed.
        if self.in_flight:
            self._remember_event(event, old, new)

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        """Try these pods again at once, whatever they wait for; a pod in flight when it comes back."""
        self._cause = FORCE_ACTIVATE.name
        for pod in pods:
            if (queued := self.unschedulable.get(pod.key)) is not None:
                self._to_active(queued, now)
            elif (queued := self.backoff.remove(pod.key)) is not None:
                self._to_active(queued, now, checked=True)
            elif pod.uid in self.in_flight:
                self._remember_event(FORCE_ACTIVATE, None, pod)

    def flush(self, now: float) -> None:
        """Do what is due by time: end backoffs, and try old pods again every ``FLUSH_PERIOD``."""
        for queued in self.backoff.pop_completed(now):
            self._cause = BACKOFF_COMPLETE
            self._to_active(queued, now, checked=True)
        if (period := self._flush_period(now)) > self._looked:
            self._looked = period
            if old := self._flag_leftover_pods(now):
                self._move_pods(old, UNSCHEDULABLE_TIMEOUT, None, None, now)

    def list_leftover_pods(self, now: float) -> list[Queued]:
        """Return the pods that ``flush`` would wake now, in the order of tries; none if anything else is due.

        With ``record_failed_tries`` a simulation skips tries whose failure is certain.
        """
        if self.is_ready or len(self.backoff) or self.in_flight or self._flush_period(now) <= self._looked:
            return []
        # With a longer backoff, pods would come back to the backoff queue instead of being tried.
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
        """Return the pods that have waited for long since their last try, or since ``flush`` last looked at them."""
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
        """Count a failed try of ``seconds`` for each of ``pods``, as if ``flush`` had woken them; returns the end."""
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
            self._count_incoming("active", queued, UNSCHEDULABLE_TIMEOUT.name, Strategy.AFTER_BACKOFF)
            self._count_incoming("unschedulable", queued, FAILED, Strategy.SKIP)
        return now

    def next_flush(self, now: float) -> float | None:
        """Return when ``flush`` must be called next after ``now``; ``None`` while time alone changes nothing."""
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
        """Put a pod that is nowhere, or unschedulable, where ``strategy`` says; returns true if it will be tried."""
        if strategy is Strategy.SKIP:
            self._to_unschedulable(queued, strategy)
            return False
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(queued, now):
            return self._to_backoff(queued, strategy)
        return self._to_active(queued, now, nominate=nominate, strategy=strategy)

    def _to_active(
        self,
        queued: Queued,
        now: float,
        *,
        checked: bool = False,
        nominate: bool = False,
        strategy: Strategy | None = None,
    ) -> bool:
        """Let the pod be tried, unless a PreEnqueue plugin keeps it out; ``checked`` skips asking these plugins."""
        if not checked and not self._passes_pre_enqueue(queued):
            if queued.key not in self.active and queued.key not in self.backoff:
                self._to_unschedulable(queued, strategy)
            return False
        self.unschedulable.remove(queued.key)
        self.backoff.remove(queued.key)
        self.active.add_or_update(queued.key, queued)
        self._count_incoming("active", queued, self._cause, strategy)
        if nominate:
            for member in queued.members:
                self.nominator.add_nominated_pod(member.pod, member.pod.nominated_node)
        return True

    def _to_backoff(self, queued: Queued, strategy: Strategy | None = None) -> bool:
        if not self._passes_pre_enqueue(queued):
            self._to_unschedulable(queued, strategy)
            return False
        self.unschedulable.remove(queued.key)
        self.backoff.add(queued)
        self._count_incoming("backoff", queued, self._cause, strategy)
        return True

    def _to_unschedulable(self, queued: Queued, strategy: Strategy | None = None) -> None:
        if queued.key not in self.unschedulable:
            self._count_incoming("unschedulable", queued, self._cause, strategy)
        self.unschedulable.add(queued)

    def _count_incoming(self, part: str, queued: Queued, cause: str, strategy: Strategy | None = None) -> None:
        """Count what comes into a part by a cause, as `recordIncomingEntitiesMetrics` does.

        An entity whose ``strategy`` names that part already is not counted again: its pods are.
        """
        self.incoming[part, cause] += len(queued.members)
        if strategy is None or PART_OF[strategy] != part:
            self.incoming_entities[part, cause, queued.kind] += 1

    def _passes_pre_enqueue(self, queued: Queued) -> bool:
        """Return true if no PreEnqueue plugin keeps it out. One pod of a group keeps out the group."""
        gating = ""
        for member in queued.members:
            if not self._run_pre_enqueue_plugins(member):
                gating = member.gating
        queued.gating = gating
        return not gating

    def _run_pre_enqueue_plugins(self, queued: QueuedPod) -> bool:
        """Run the PreEnqueue plugins, first of all the one that kept the pod out so far."""
        framework = self._frameworks.get(queued.pod.scheduler_name)
        plugins = framework.points.pre_enqueue if framework is not None else []
        # The sort is stable and ``False`` sorts first, so that the others stay in the configured order.
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
