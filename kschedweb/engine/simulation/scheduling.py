"""The scheduling loop of a simulation: pod after pod, each try taking its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from kschedweb.engine.cycle.binding import BindingCycle, BindingRefusal
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.events import ASSIGNED_POD_DELETE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue import QueuedPod
from kschedweb.engine.queue.queued_pods import Queued
from kschedweb.engine.simulation.hopeless_tries import HopelessTries
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.simulation.pods import PREEMPTION, Pods, with_start_time
from kschedweb.engine.simulation.result import Rejected
from kschedweb.engine.state.snapshot import Snapshot

PREEMPTED = "preempted by {}"


class SchedulingLoop:
    """Takes pods from the queue while it is idle; a cycle takes ``seconds``, and sees the cluster as it began."""

    def __init__(self, scheduler: Scheduler, pods: Pods, seconds: float, hopeless: HopelessTries | None = None) -> None:
        self.scheduler, self.pods, self.seconds, self.hopeless = scheduler, pods, seconds, hopeless
        self.busy = False
        # Pods that wait at Permit, by key.
        self._waiting: dict[str, tuple[QueuedPod, BindingCycle]] = {}
        pods.dismiss = self._dismiss_waiting

    def run_cycles(self, now: float) -> None:
        """Begin with the next pod, if there is one and the last cycle is over."""
        while not self.busy and (queued := self.pods.queue.pop_entity()) is not None:
            self._begin_cycle(queued, now)

    def _begin_cycle(self, queued: Queued, now: float) -> None:
        assert isinstance(queued, QueuedPod)
        life = self._find_life(queued)
        if life is None or life.pod.terminating:
            self.pods.queue.mark_done(queued.pod.uid)
            return
        self._refresh_snapshot(now)
        self.pods.observer.tries(life, queued.attempts, self.scheduler.start, now)
        placement = self._try_pod(queued, life, now)
        self._conclude_later(lambda time: self._conclude_cycle(queued, placement, time), now)

    def _conclude_later(self, conclude: Callable[[float], None], now: float) -> None:
        """End the cycle that began now when its time is over."""
        if not self.seconds:
            conclude(now)
            return

        def end_cycle(time: float) -> None:
            self.busy = False
            conclude(time)

        self.busy = True
        self.pods.agenda.schedule_action(now + self.seconds, end_cycle)

    def _try_pod(self, queued: QueuedPod, life: PodLife, now: float) -> Placement:
        """Return the scheduler's decision; a decision that is known is not worked out again."""
        observer, hopeless, pod = self.pods.observer, self.hopeless, queued.pod
        failed_try = hopeless.recall_try(pod) if hopeless is not None else None
        if hopeless is not None and failed_try is not None and (failed_try.to_the_letter or observer.works_out):
            hopeless.skip_search(failed_try)
            if not failed_try.to_the_letter:
                observer.skipped(life, now)
                return failed_try.placement
            observer.decided(pod, replace(failed_try.placement, pod=pod.key), now)
            return failed_try.placement
        start = self.scheduler.start
        placement = self.scheduler.find(pod, observer.request())
        observer.decided(pod, placement, now)
        if hopeless is not None:
            hopeless.remember_try(pod, placement, start)
        return placement

    def repeat_hopeless_tries(self, now: float, deadline: float) -> bool:
        """Make all tries at once that are due only because pods have waited for long; returns false if it cannot.

        All of them must be known to fail, and to be over before anything else happens, at ``deadline``.
        """
        if self.hopeless is None or self.busy or not self.pods.observer.works_out:
            return False
        listed = [entity for entity in self.pods.queue.list_leftover_pods(now) if isinstance(entity, QueuedPod)]
        if not listed or now + (len(listed) + 1) * self.seconds >= deadline:
            return False
        self._refresh_snapshot(now)
        lives = [self._find_life(queued) for queued in listed]
        answers = [self.hopeless.recall_try(queued.pod) for queued in listed]
        if not all(answers) or not all(life is not None and not life.pod.terminating for life in lives):
            return False
        begun = now
        for queued, life, failed_try in zip(listed, lives, answers, strict=True):
            assert life is not None
            assert failed_try is not None
            life.attempts = queued.attempts + 1
            self.pods.observer.tries(life, life.attempts, self.scheduler.start, begun)
            self.pods.observer.skipped(life, begun)
            self.hopeless.skip_search(failed_try)
            begun += self.seconds
        self.pods.queue.record_failed_tries(listed, now, self.seconds)
        return True

    def _refresh_snapshot(self, now: float) -> Snapshot:
        """Show the scheduler the cluster as it is now, and return that."""
        snapshot = self.pods.world.snapshot
        snapshot.now = now
        self.scheduler.use_snapshot(snapshot)
        return snapshot

    def _find_life(self, queued: QueuedPod) -> PodLife | None:
        """Return the life of the pod; ``None`` if it is gone."""
        life = self.pods.lives.get(queued.key)
        return life if life is not None and life.pod.uid == queued.pod.uid else None

    def _conclude_cycle(self, queued: QueuedPod, placement: Placement, now: float) -> None:
        life = self._find_life(queued)
        if life is None:
            self.pods.queue.mark_done(queued.pod.uid)
        # The cluster may have changed while the cycle took its time.
        elif placement.node and placement.node not in self.pods.world.nodes:
            message = f'node "{placement.node}" not found'
            self._put_back(queued, Placement(queued.key, message=message, nominated=""), now)
        elif placement.node:
            self._assume_pod(queued, life, placement, now)
        else:
            self._put_back(queued, placement, now)

    # A node was found.

    def _assume_pod(self, queued: QueuedPod, life: PodLife, placement: Placement, now: float) -> None:
        snapshot = self._refresh_snapshot(now)
        self.pods.queue.nominator.delete_nominated_pod(queued.key)
        pod = with_start_time(life.pod, now)
        binding = self.scheduler.create_binding(pod, placement.node, placement.to_decision(pod, now))
        refusal = binding.reserve_and_permit(now)
        if refusal is not None:
            self._put_back(queued, refusal.to_placement(queued.key), now)
            return
        self.pods.world.assume_pod(snapshot.get_pod(queued.key))
        for plugin, keys in binding.cycle.allows.items():
            for key in keys:
                self.allow_pod(key, plugin, now)
        if binding.deadline is None:
            self._bind_pod(queued, binding, now)
        else:
            self._waiting[queued.key] = queued, binding
            self.pods.agenda.schedule_action(binding.deadline, lambda time: self._time_out(queued.key, binding, time))

    def _bind_pod(self, queued: QueuedPod, binding: BindingCycle, now: float) -> None:
        # From here on no plugin can reject the pod, so that no event concerns it any more.
        self.pods.queue.mark_done(queued.pod.uid)
        binding.cycle.snapshot = self.pods.world.snapshot
        refusal = binding.run_binding()
        if refusal is not None:
            self._forget_pod(queued, binding, refusal, now)
            return
        pod = binding.cycle.snapshot.get_pod(queued.key)
        self.pods.on_bound(self.pods.lives[queued.key], pod, queued.attempts, now)

    def _forget_pod(self, queued: QueuedPod, binding: BindingCycle, refusal: BindingRefusal, now: float) -> None:
        """Take the pod off its node again: this may help others, and the pod itself if it was not rejected."""
        pod = queued.pod.on(binding.node)
        self.pods.world.forget_pod(pod)
        if not refusal.rejected_by:
            self.pods.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None, now)
        if self._find_life(queued) is None:
            self.pods.queue.mark_done(queued.pod.uid)
        else:
            self._put_back(queued, refusal.to_placement(queued.key), now)
        if refusal.rejected_by:
            self.pods.queue.move_all_to_active_or_backoff(
                ASSIGNED_POD_DELETE, pod, None, now, only=lambda other: other.uid != pod.uid
            )

    # Waiting at Permit.

    def allow_pod(self, key: str, plugin: str, now: float) -> None:
        """Let the pod ``namespace/name`` go on for ``plugin``, if it waits."""
        if key in self._waiting and self._waiting[key][1].allow(plugin):
            self._bind_pod(*self._waiting.pop(key), now)

    def reject_pod(self, key: str, plugin: str, reason: str, now: float) -> None:
        """Reject the pod for ``plugin``, if it waits."""
        if key in self._waiting:
            queued, binding = self._take_waiting(key)
            self._forget_pod(queued, binding, binding.reject(plugin, reason), now)

    def _time_out(self, key: str, expected: BindingCycle, now: float) -> None:
        if key not in self._waiting or self._waiting[key][1] is not expected:
            return
        # The plugin with the least time has allowed the pod, so that the deadline is a later one now.
        if expected.deadline is not None and expected.deadline > now:
            self.pods.agenda.schedule_action(expected.deadline, lambda time: self._time_out(key, expected, time))
            return
        queued, binding = self._take_waiting(key)
        refusal = binding.time_out()
        if refusal is not None:
            self._forget_pod(queued, binding, refusal, now)
        elif binding.deadline is None:
            self._bind_pod(queued, binding, now)
        else:
            self._waiting[key] = queued, binding
            self.pods.agenda.schedule_action(binding.deadline, lambda time: self._time_out(key, binding, time))

    def _take_waiting(self, key: str) -> tuple[QueuedPod, BindingCycle]:
        queued, binding = self._waiting.pop(key)
        binding.cycle.snapshot = self.pods.world.snapshot
        return queued, binding

    def _dismiss_waiting(self, key: str, now: float) -> bool:
        """Take back a deleted pod that waits at Permit; returns false if it does not."""
        if key not in self._waiting:
            return False
        queued, binding = self._take_waiting(key)
        self._forget_pod(queued, binding, binding.preempt(), now)
        return True

    def remove_node(self, node: str, now: float) -> None:
        """Reject the pods that wait at Permit to be bound to a node that is about to go."""
        for key in [key for key, (_, binding) in self._waiting.items() if binding.node == node]:
            queued, binding = self._take_waiting(key)
            self._forget_pod(queued, binding, binding.preempt(), now)

    # No node was found.

    def _put_back(self, queued: QueuedPod, placement: Placement, now: float) -> None:
        queue, life = self.pods.queue, self.pods.lives[queued.key]
        life.attempts, life.message = queued.attempts, placement.condition
        queued.pod = life.pod
        if self.hopeless is None:
            by = tuple(sorted(placement.rejected_by))
            rejection = Rejected(now, queued.key, placement.condition, by, placement.nominated or "")
            self.pods.result.rejected.append(rejection)
        self.pods.observer.failed(life, now)
        self.pods.report_unplaced(life, now)
        queue.put_back(queued, now, placement.rejected_by)
        # An error also ends an earlier nomination.
        node = "" if placement.is_error else placement.nominated
        queue.nominator.add_nominated_pod(life.pod, life.pod.nominated_node if node is None else node)
        if node is not None:
            self.pods.nominate_pod(queued.key, node, now)
        if node:
            self._make_room(life.pod, node, placement.victims, now)

    def _make_room(self, pod: Pod, node: str, victims: tuple[str, ...], now: float) -> None:
        """Evict the victims; nominated pods of lower priority must look for another node.

        As kube-scheduler's ``prepareCandidate`` does.
        """
        self._clear_nominations((node,), pod.priority, now)
        self._evict_victims(pod.key, victims, now)

    def _clear_nominations(self, nodes: Iterable[str], priority: int, now: float) -> None:
        """Take the nominations to ``nodes`` from pods of lower priority than ``priority``."""
        for node in nodes:
            for other in self.pods.queue.nominator.nominated_pods_for_node(node):
                if other.priority < priority and other.nominated_node and other.key in self.pods.lives:
                    self.pods.nominate_pod(other.key, "", now)

    def _evict_victims(self, preemptor: str, victims: tuple[str, ...], now: float) -> None:
        for key in victims:
            if key in self._waiting:
                queued, binding = self._take_waiting(key)
                self._forget_pod(queued, binding, binding.preempt(), now)
            elif (life := self.pods.lives.get(key)) is not None and life.bound is not None:
                self.pods.evict_pod(life, PREEMPTED.format(preemptor), now, PREEMPTION)
