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
from kschedweb.engine.queue.backoff import WINDOW, BackoffQueue
from kschedweb.engine.queue.heap import Heap
from kschedweb.engine.queue.hints import Hints, Strategy
from kschedweb.engine.queue.inflight import InFlight
from kschedweb.engine.queue.pods import Queued, QueuedPod, UnschedulablePods
from kschedweb.engine.queue.timing import FLUSH_PERIOD, Timing
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.nominator import Nominator

# What brings pods into the queue, beside events of the cluster; as kube-scheduler's metrics name it.
POD_ADD, POD_UPDATE = "PodAdd", "PodUpdate"
FAILED, BACKOFF_COMPLETE = "ScheduleAttemptFailure", "BackoffComplete"


class SchedulingQueue:
    """Pods to be scheduled by the profiles ``frameworks`` (by scheduler name; the first one's QueueSort counts).

    A pod is active (to be tried next), backing off, unschedulable, gated (among the unschedulable) or in flight
    (taken by ``pop`` and not yet ``done``). Times are seconds on any clock that does not go back. ``cluster`` is
    what hints read of other objects; the ``nominator`` may be a scheduler's; ``behaviour`` is that of the release.
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        cluster: ClusterObjects,
        timing: Timing | None = None,
        *,
        behaviour: Behaviour,
        extenders: bool = False,
        nominator: Nominator | None = None,
    ) -> None:
        self._frameworks = frameworks
        self._nominates_late = not behaviour.nominates_when_added
        self._looks_again = behaviour.looks_again_at_gated
        self._timing = timing or Timing()
        self._hints = Hints(frameworks, extenders=extenders, taints_wake=behaviour.taints_wake_for_new_nodes)
        self.cluster = cluster
        self.nominator = Nominator() if nominator is None else nominator
        sort = next(iter(frameworks.values())).points.queue_sort[0]

        def less(one: Queued, other: Queued) -> bool:
            return bool(sort.less(one.subject, one.queued, other.subject, other.queued))

        self._less = less
        self.active: Heap[Queued] = Heap(less)
        self.backoff = BackoffQueue(self._timing.initial_backoff, self._timing.longest_backoff, less)
        self.unschedulable = UnschedulablePods()
        self.in_flight = InFlight()
        self._looked = 0  # the last period in which old pods were looked for
        self.incoming: Counter[tuple[str, str]] = Counter()  # pods by the part they came into, and what brought them
        self._cause = ""
        self.listener: Callable[[ClusterEvent, Any, Any], None] | None = None  # hears of every event, with its objects

    def counts(self) -> tuple[int, int, int, int]:
        """How many pods are active or being tried, are backing off, wait for an event, and are gated."""
        gated = self.unschedulable.gated
        active = len(self.active) + len(self.in_flight)
        return active, len(self.backoff), len(self.unschedulable) - gated, gated

    # Pods come, change and go.

    def add(self, pod: Pod, now: float) -> None:
        """A new pod without a node."""
        self._cause = POD_ADD
        self._enter(pod, now)

    def _enter(self, pod: Pod, now: float) -> None:
        if not self._nominates_late:
            self.nominator.add(pod, pod.nominated_node)
        self._to_active(QueuedPod(pod, now), now, nominate=self._nominates_late)

    def update(self, old: Pod, new: Pod, now: float) -> None:
        """The object of a pod without a node changed: this may open its gates, or let it be tried again."""
        events = pod_changes(old, new)
        self._cause = POD_UPDATE
        if (flying := self.in_flight.get(new.uid)) is not None:
            flying.pod = new
            for event in events:
                self._remember(event, old, new)
            return
        if isinstance(queued := self.active.get(old.key), QueuedPod):
            queued.pod = new
            self.active.add(old.key, queued)
            self.nominator.update(old, new)
        elif self.backoff.update(old.key, new) is not None:
            self.nominator.update(old, new)
        elif isinstance(queued := self.unschedulable.get(old.key), QueuedPod):
            queued.pod = new
            self.nominator.update(old, new)
            for event in events:
                strategy = self._strategy(queued, event, ObjectChange(old, new, self.cluster))
                nominate = self._nominates_late and event == UNSCHEDULED_POD_UPDATE
                if self._requeue(queued, strategy, now, nominate=nominate):
                    break
        else:
            self._enter(new, now)

    def delete(self, pod: Pod) -> None:
        """The pod is gone, or has a node: it need not be scheduled any more. One in flight stays until ``done``."""
        self.nominator.remove(pod.key)
        for part in (self.active, self.backoff, self.unschedulable):
            if part.remove(pod.key) is not None:
                return

    def take(self, pod: Pod) -> QueuedPod | None:
        """Take a pod that is not in flight out, to be put back later or never; ``None`` where it is not here."""
        self.nominator.remove(pod.key)
        for part in (self.active, self.backoff, self.unschedulable):
            if isinstance(queued := part.remove(pod.key), QueuedPod):
                return queued
        return None

    # Pods are tried.

    @property
    def ready(self) -> bool:
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
            if queued is None or self._take_off(queued):
                return queued

    def _take_off(self, queued: Queued) -> bool:
        """Let all its pods be in flight; whether any is that was not already."""
        queued.attempts += 1
        return any([self.in_flight.take(member) for member in queued.members])

    def done(self, uid: str) -> None:
        """The pod needs no events any more: it was handled, or is beyond the point where it could be rejected."""
        self.in_flight.done(uid)

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
            self._count(queued, now, rejected_by, pending)
            unconcerned = not watched and queued.rejectors
            self._requeue(queued, Strategy.SKIP if unconcerned else self._meanwhile(queued), now)
        finally:
            self.done(queued.pod.uid)

    def _count(self, queued: QueuedPod, now: float, rejected_by: Iterable[str], pending: Iterable[str]) -> None:
        """Note that a try of the pod has failed."""
        queued.rejected_by, queued.pending = frozenset(rejected_by), frozenset(pending)
        if queued.rejectors:
            queued.unschedulable += 1
            queued.errors = 0
        else:
            queued.errors += 1
        queued.queued, queued.expires, queued.flushed = now, None, False
        self._cause = FAILED

    def again(self, queued: QueuedPod, now: float) -> None:
        """A pod that was taken is to be tried again at once."""
        self._cause = FAILED
        self.done(queued.pod.uid)
        self._to_active(queued, now, nominate=True)

    def _meanwhile(self, queued: QueuedPod) -> Strategy:
        """What the events mean for the pod that came while it was in flight."""
        if not queued.rejectors or queued.pod.uid not in self.in_flight:
            return Strategy.AFTER_BACKOFF
        found = Strategy.SKIP
        for event, change in self.in_flight.meanwhile(queued.pod.uid):
            strategy = self._hints.strategy(queued, event, change)
            if strategy is Strategy.IMMEDIATELY or (strategy is not Strategy.SKIP and not queued.pending):
                return strategy
            if strategy is not Strategy.SKIP:
                found = strategy
        return found

    # Things happen, and time passes.

    def move(
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
        if not self._hints.of_interest(event):
            return
        candidates = []
        for scheduler, rejectors, members in self.unschedulable.groups():
            concerned = (
                event.wildcard or not rejectors or not rejectors.isdisjoint(self._hints.concerned(scheduler, event))
            )
            if concerned or scheduler not in self._frameworks:
                candidates += [
                    queued for queued in members if only is None or any(only(member.pod) for member in queued.members)
                ]
        self._wake(candidates, event, old, new, now)

    def helpers(self, queued: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> list[str] | None:
        """The plugins that rejected ``queued`` and say that this may help it; ``None`` where it does not."""
        if not queued.rejectors:
            return [] if self._hints.of_interest(event) else None
        return self._hints.helpers(queued, event, ObjectChange(old, new, self.cluster)) or None

    def _strategy(self, queued: Queued, event: ClusterEvent, change: ObjectChange) -> Strategy:
        """What an event means: for a group the most that it means for one of its pods."""
        found = Strategy.SKIP
        for member in queued.members:
            strategy = self._hints.strategy(member, event, change)
            if strategy is Strategy.IMMEDIATELY:
                return strategy
            if strategy is not Strategy.SKIP:
                found = strategy
        return found

    def _may_open(self, gating: str, event: ClusterEvent) -> bool:
        return (self._looks_again and event.wildcard) or self._hints.opens_gate(gating, event)

    def _wake(self, candidates: Iterable[Queued], event: ClusterEvent, old: Any, new: Any, now: float) -> None:
        change = ObjectChange(old, new, self.cluster)
        self._cause = event.name
        for queued in candidates:
            if queued.gating and not self._may_open(queued.gating, event):
                continue
            strategy = self._strategy(queued, event, change)
            if strategy is not Strategy.SKIP:
                self.unschedulable.remove(queued.key)
                self._requeue(queued, strategy, now)
        if self.in_flight:
            self._remember(event, old, new)

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        """Try these pods again at once, whatever they wait for; one in flight, when it comes back."""
        self._cause = FORCE_ACTIVATE.name
        for pod in pods:
            if (queued := self.unschedulable.get(pod.key)) is not None:
                self._to_active(queued, now)
            elif (queued := self.backoff.remove(pod.key)) is not None:
                self._to_active(queued, now, checked=True)
            elif pod.uid in self.in_flight:
                self._remember(FORCE_ACTIVATE, None, pod)

    def flush(self, now: float) -> None:
        """What time brings about by itself: backoff ends, and each 30 seconds old pods are tried again."""
        for queued in self.backoff.pop_completed(now):
            self._cause = BACKOFF_COMPLETE
            self._to_active(queued, now, checked=True)
        if (period := self._period(now)) > self._looked:
            self._looked = period
            if old := self._look_at_old(now):
                self._wake(old, UNSCHEDULABLE_TIMEOUT, None, None, now)

    def long_waiting(self, now: float) -> list[Queued]:
        """The pods that ``flush`` would have tried again now, in that order, where nothing else is due."""
        if self.ready or len(self.backoff) or self.in_flight or self._period(now) <= self._looked:
            return []
        if self.backoff.longest + WINDOW >= self._timing.flush_age:
            return []
        tried = (
            one
            for one in self._old(now)
            if not one.gating or (self._may_open(one.gating, UNSCHEDULABLE_TIMEOUT) and self._passes_gates(one))
        )
        return sorted(tried, key=cmp_to_key(self._compare))

    def _old(self, now: float) -> list[Queued]:
        """What has waited for long since it was last tried, or looked at for that."""
        age = self._timing.flush_age
        return [queued for queued in self.unschedulable if now - max(queued.queued, queued.looked) > age]

    def _look_at_old(self, now: float) -> list[Queued]:
        old = self._old(now)
        for queued in old:
            queued.flushed = True
            if self._looks_again:
                queued.looked = now
        return old

    def _compare(self, one: Queued, other: Queued) -> int:
        return -1 if self._less(one, other) else int(self._less(other, one))

    def tried_in_vain(self, pods: Iterable[Queued], now: float, seconds: float) -> float:
        """As if ``flush`` had been called now, and each of ``pods`` tried for ``seconds`` and put back as it was."""
        self._looked = self._period(now)
        self._look_at_old(now)
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
            times.append(self._timing.start + (self._period(now) + 1) * FLUSH_PERIOD)
        return min(times, default=None)

    def _period(self, now: float) -> int:
        return math.floor((now - self._timing.start) / FLUSH_PERIOD)

    # Moves between the parts.

    def _requeue(self, queued: Queued, strategy: Strategy, now: float, *, nominate: bool = False) -> bool:
        """Put a pod that is nowhere, or unschedulable, where ``strategy`` says; whether it is to be tried again."""
        if strategy is Strategy.SKIP:
            self._wait(queued)
            return False
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.backing_off(queued, now):
            return self._to_backoff(queued)
        return self._to_active(queued, now, nominate=nominate)

    def _to_active(self, queued: Queued, now: float, *, checked: bool = False, nominate: bool = False) -> bool:
        """Let the pod be tried, unless a PreEnqueue plugin (not asked again where ``checked``) keeps it out."""
        if not checked and not self._passes_gates(queued):
            if queued.key not in self.active and queued.key not in self.backoff:
                self._wait(queued)
            return False
        self.unschedulable.remove(queued.key)
        self.backoff.remove(queued.key)
        self.active.add(queued.key, queued)
        self.incoming["active", self._cause] += len(queued.members)
        if nominate:
            for member in queued.members:
                self.nominator.add(member.pod, member.pod.nominated_node)
        return True

    def _to_backoff(self, queued: Queued) -> bool:
        if not self._passes_gates(queued):
            self._wait(queued)
            return False
        self.unschedulable.remove(queued.key)
        self.backoff.add(queued)
        self.incoming["backoff", self._cause] += len(queued.members)
        return True

    def _wait(self, queued: Queued) -> None:
        if queued.key not in self.unschedulable:
            self.incoming["unschedulable", self._cause] += len(queued.members)
        self.unschedulable.add(queued)

    def _passes_gates(self, queued: Queued) -> bool:
        """Whether no PreEnqueue plugin keeps it out; a group is where one of its pods is."""
        gating = ""
        for member in queued.members:
            if not self._passes(member):
                gating = member.gating
        queued.gating = gating
        return not gating

    def _passes(self, queued: QueuedPod) -> bool:
        """Ask the PreEnqueue plugins, first of all the one that kept the pod out so far."""
        framework = self._frameworks.get(queued.pod.scheduler_name)
        plugins = framework.points.pre_enqueue if framework is not None else []
        for plugin in sorted(plugins, key=lambda one: one.name != queued.gating) if queued.gating else plugins:
            if not plugin.pre_enqueue(queued.pod, self.cluster).ok:
                queued.rejected_by |= {plugin.name}
                queued.gating = plugin.name
                return False
        queued.gating = ""
        return True

    def _remember(self, event: ClusterEvent, old: Any, new: Any) -> None:
        self.in_flight.remember(event, ObjectChange(old, new, self.cluster))
