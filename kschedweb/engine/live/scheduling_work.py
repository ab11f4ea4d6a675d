"""Try pods of a real cluster: a pod gets a reservation, and is bound or comes back to the queue."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from kschedweb.engine.cycle.binding import PREEMPTED, BindingCycle, BindingRefusal
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.decision import Clock, Decision, Stopwatch
from kschedweb.engine.framework.events import ASSIGNED_POD_DELETE
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.live.intents import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    BindPod,
    EvictPod,
    FreeDevices,
    GroupRef,
    HoldPod,
    Intent,
    NominateNode,
    PodRef,
    ReportPod,
    Superseded,
    WaitAtPermit,
)
from kschedweb.engine.live.reservations import Reservation, Reservations, Stage
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue import QueuedPod, SchedulingQueue
from kschedweb.engine.queue.queued_pods import Queued
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot

# Calls of plugins are measured in the last of so many cycles; kube-scheduler draws one in ten at random.
SAMPLED = 10
SKIPPED = "skip schedule deleting pod: {}"
# The type of the condition that tells whether a pod was scheduled.
SCHEDULED = "PodScheduled"


class SchedulingWork:
    """The scheduling cycles and binding cycles of a live loop."""

    def __init__(
        self,
        scheduler: Scheduler,
        queue: SchedulingQueue,
        world: SchedulerCache,
        pods: dict[str, Pod],
        holds: frozenset[str],
        request: SearchRequest,
        clock: Clock | None,
    ) -> None:
        # ``pods`` are the cluster's by ``namespace/name``, as it last showed them.
        self.scheduler, self.queue, self.world, self.pods, self.holds = scheduler, queue, world, pods, holds
        # ``request`` is the template of each search, and ``clock`` measures it.
        self.request, self.clock = request, clock
        self.reservations = Reservations()
        self._cycles = 0

    def refresh_snapshot(self, now: float) -> Snapshot:
        """Show the scheduler the cluster as it is now, and return that."""
        snapshot = self.world.snapshot
        snapshot.now = now
        self.scheduler.use_snapshot(snapshot)
        return snapshot

    def current_pod(self, queued: QueuedPod) -> Pod | None:
        """Return the pod as the cluster last showed it; ``None`` if it is gone."""
        pod = self.pods.get(queued.key)
        return pod if pod is not None and pod.uid == queued.pod.uid else None

    # A pod is tried.

    def try_next(self, now: float) -> list[Intent]:
        """Run one cycle for the next pod or group, if there is any."""
        queued = self.queue.pop_entity()
        return [] if queued is None else self._try_queued(queued, now)

    def _try_queued(self, queued: Queued, now: float) -> list[Intent]:
        assert isinstance(queued, QueuedPod)
        pod, intents = self._fetch_pod(queued)
        if pod is None:
            return intents
        self.refresh_snapshot(now)
        self._cycles += 1
        watch = Stopwatch(self.clock, by_plugin=self._cycles % SAMPLED == 0)
        placement = self.scheduler.find(pod, replace(self.request, watch=watch))
        decision = placement.to_decision(pod, now, queued.attempts, watch)
        if not placement.node:
            return self._put_back(queued, decision, placement, now)
        reservation, intents = self._assume_pod(queued, decision, watch, now)
        return intents if reservation is None else self._continue_binding(reservation, now)

    def _fetch_pod(self, queued: QueuedPod) -> tuple[Pod | None, list[Intent]]:
        """Return the pod as it is now, or ``None`` with what to report if it is not to be tried any more."""
        pod = self._read_pod(queued)
        return (None, [self._skip_pod(pod)]) if pod is not None and pod.terminating else (pod, [])

    def _read_pod(self, queued: QueuedPod) -> Pod | None:
        """Return the pod as it is now, or ``None`` if it is gone or has a node."""
        pod = self.current_pod(queued)
        if pod is not None and not pod.node_name and pod.uid not in self.reservations:
            return pod
        self.queue.mark_done(queued.pod.uid)
        return None

    def _skip_pod(self, pod: Pod) -> Intent:
        """Leave out a pod that is being deleted: kube-scheduler's ``skipPodSchedule`` writes an event."""
        self.queue.mark_done(pod.uid)
        return ReportPod(PodRef.from_pod(pod), "", SKIPPED.format(pod.key))

    # A node was found.

    def _assume_pod(
        self, queued: QueuedPod, decision: Decision, watch: Stopwatch, now: float
    ) -> tuple[Reservation | None, list[Intent]]:
        """Reserve the node for the pod; returns the reservation, or what to do if that is refused."""
        self.queue.nominator.delete_nominated_pod(queued.key)
        binding = self.scheduler.create_binding(queued.pod, decision.node, decision, watch)
        refusal = binding.reserve_and_permit(now)
        if refusal is not None:
            return None, self._put_back(queued, decision, refusal.to_placement(queued.key), now)
        self.world.assume_pod(binding.cycle.snapshot.get_pod(queued.key))
        reservation = Reservation(queued, binding, decision)
        self.reservations.add(reservation)
        return reservation, []

    def _continue_binding(self, reservation: Reservation, now: float) -> list[Intent]:
        return self._wait_at_permit(reservation) if reservation.binding.waits else self._bind_pod(reservation, now)

    def _wait_at_permit(self, reservation: Reservation) -> list[Intent]:
        binding, pod = reservation.binding, PodRef.from_pod(reservation.queued.pod)
        intents: list[Intent] = []
        other_plugins = tuple(plugin for plugin in binding.waits if plugin not in self.holds)
        for plugin in [plugin for plugin in binding.waits if plugin in self.holds]:
            _, seconds = binding.waits[plugin]
            # A held pod never times out here: the caller ends the wait.
            binding.waits[plugin] = math.inf, seconds
            request = binding.cycle.approval_requests.get(plugin, {})
            intents.append(HoldPod(pod, binding.node, plugin, seconds, reservation.decision, request))
        if other_plugins and binding.deadline is not None:
            intents.append(WaitAtPermit(pod, binding.node, other_plugins, binding.deadline, reservation.decision))
        reservation.is_held = len(other_plugins) < len(binding.waits)
        self.reservations.update_deadline(reservation)
        if reservation.is_held:
            # The pod may wait for hours, and events must not be kept for it that long.
            self.queue.mark_done(pod.uid)
        return intents

    def _bind_pod(self, reservation: Reservation, now: float) -> list[Intent]:
        # From here on no plugin can reject the pod, so that no event concerns it any more.
        queued, binding = reservation.queued, reservation.binding
        self.queue.mark_done(queued.pod.uid)
        # Other pods were placed since the pod's own cycle.
        binding.cycle.snapshot = self.world.snapshot
        try:
            preparations = binding.framework.collect_preparations(binding.cycle, binding.node)
        except CycleError as error:
            return self.forget_reservation(reservation, binding.give_up(str(error)), now)
        self.reservations.enter_stage(reservation, Stage.BINDING)
        extender = self.scheduler.extenders.create_binder(queued.pod, binding.node)
        return [BindPod(PodRef.from_pod(queued.pod), binding.node, reservation.decision, preparations, extender)]

    def on_bound(self, reservation: Reservation) -> None:
        """Take in that the binding was accepted, or that the cluster shows it."""
        if reservation.stage is Stage.BINDING:
            self.reservations.enter_stage(reservation, Stage.BOUND)
            reservation.binding.cycle.snapshot = self.world.snapshot
            reservation.binding.framework.post_bind(reservation.binding.cycle, reservation.node)

    # A wait ends.

    def allow_waiting(self, reservation: Reservation, plugin: str, now: float) -> list[Intent]:
        """Let the waiting pod go on for ``plugin``."""
        if plugin not in reservation.binding.waits or not reservation.binding.allow(plugin):
            return []
        # Hours may have passed since the pod was filtered, unlike for kube-scheduler's own waits.
        if reservation.is_held and (why := self.recheck_reservation(reservation, now)):
            return self.supersede_waiting(reservation, why, now)
        return self._bind_pod(reservation, now)

    def reject_waiting(self, reservation: Reservation, plugin: str, reason: str, now: float) -> list[Intent]:
        """Reject the waiting pod for ``plugin``."""
        return self.forget_reservation(reservation, self._refresh_binding(reservation).reject(plugin, reason), now)

    def expire_waits(self, now: float) -> list[Intent]:
        """End the waits whose time is up."""
        intents: list[Intent] = []
        for reservation in self.reservations.list_overdue(now):
            refusal = self._refresh_binding(reservation).time_out()
            if refusal is not None:
                intents += self._supersede_intents(reservation, refusal.message)
                intents += self.forget_reservation(reservation, refusal, now)
            elif reservation.binding.waits:
                self.reservations.update_deadline(reservation)
            else:
                intents += self._bind_pod(reservation, now)
        return intents

    def preempt_waiting(self, reservation: Reservation, why: str, now: float) -> list[Intent]:
        """Reject a waiting pod that must give way to another: it comes back as after an error."""
        superseded = self._supersede_intents(reservation, why)
        return [*superseded, *self.forget_reservation(reservation, self._refresh_binding(reservation).preempt(), now)]

    def fail_binding(self, reservation: Reservation, message: str, now: float) -> list[Intent]:
        """Take the pod off its node after a binding that failed."""
        return self.forget_reservation(reservation, self._refresh_binding(reservation).give_up(message), now)

    def supersede_waiting(self, reservation: Reservation, why: str, now: float) -> list[Intent]:
        """Release the reservation of a waiting pod because it is not valid any more; an existing pod is tried again."""
        superseded = self._supersede_intents(reservation, why)
        self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, self.release_reservation(reservation), None, now)
        if (pod := self.current_pod(reservation.queued)) is None or pod.node_name:
            self.queue.mark_done(reservation.uid)
        else:
            reservation.queued.pod = pod
            self.queue.retry_now(reservation.queued, now)
        return superseded

    @staticmethod
    def _supersede_intents(reservation: Reservation, why: str) -> list[Intent]:
        return [Superseded(PodRef.from_pod(reservation.queued.pod), why)] if reservation.is_held else []

    def recheck_reservation(self, reservation: Reservation, now: float) -> str:
        """Return why the pod cannot be bound to its node any more; "" if it can."""
        pod = self.current_pod(reservation.queued)
        if pod is None:
            return "the pod is gone"
        if why := explain_unfit(pod):
            return why
        with self.refresh_snapshot(now).pod_removed(pod.key):
            return self.scheduler.find_misfit_reason(pod, reservation.node)

    # The reservation ends without a binding.

    def forget_reservation(self, reservation: Reservation, refusal: BindingRefusal, now: float) -> list[Intent]:
        """Take a refused pod off its node, which may help other pods.

        An error may be over by then, so that the pod itself is woken, too. A pod that was rejected is not: its own
        departure does not help it.
        """
        queued, off, intents = reservation.queued, self._remove_from_node(reservation), list[Intent]()
        # The order matters: before it is put back, the pod is in flight and keeps the event.
        if not refusal.rejected_by:
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, off, None, now)
        if self.current_pod(queued) is None:
            self.queue.mark_done(queued.pod.uid)
        else:
            intents = self._put_back(queued, reservation.decision, refusal.to_placement(queued.key), now)
        if refusal.rejected_by:
            self.queue.move_all_to_active_or_backoff(
                ASSIGNED_POD_DELETE, off, None, now, only=lambda other: other.uid != off.uid
            )
        return intents

    def release_reservation(self, reservation: Reservation) -> Pod:
        """Take the pod off its node without any event; returns it as it was there."""
        self._refresh_binding(reservation).give_up("")
        return self._remove_from_node(reservation)

    def _refresh_binding(self, reservation: Reservation) -> BindingCycle:
        """Return the pod's binding, to be continued on the cluster as it is now."""
        reservation.binding.cycle.snapshot = self.world.snapshot
        return reservation.binding

    def _remove_from_node(self, reservation: Reservation) -> Pod:
        off = reservation.queued.pod.on(reservation.node)
        self.world.forget_pod(off)
        self.reservations.remove(reservation.uid)
        return off

    # No node was found, or it was refused.

    def _put_back(self, queued: QueuedPod, decision: Decision, placement: Placement, now: float) -> list[Intent]:
        queued.pod = pod = self.current_pod(queued) or queued.pod
        self._requeue_pod(queued, placement.rejected_by, now)
        # An error also ends an earlier nomination.
        node = "" if placement.is_error else placement.nominated
        self.queue.nominator.add_nominated_pod(pod, pod.nominated_node if node is None else node)
        reason = SCHEDULER_ERROR if placement.is_error else UNSCHEDULABLE
        message, by = placement.condition, tuple(sorted(placement.rejected_by))
        decision = replace(decision, message=message, rejected_by=by, nominated=node)
        changes = not is_reported_already(pod, reason, message, node)
        report = ReportPod(PodRef.from_pod(pod), reason, message, node, decision, changes)
        frees = [FreeDevices(PodRef.from_pod(pod), claim) for claim in placement.frees]
        return [*frees, *self._make_room(pod, node or "", placement.victims, now), report]

    def _requeue_pod(self, queued: QueuedPod, rejected_by: frozenset[str], now: float) -> None:
        self.queue.put_back(queued, now, rejected_by, watched=queued.pod.uid in self.queue.in_flight)

    def _make_room(self, pod: Pod, node: str, victims: tuple[str, ...], now: float) -> list[Intent]:
        """Evict the victims; nominated pods of lower priority must look for another node.

        As kube-scheduler's ``prepareCandidate`` does.
        """
        if not victims:
            return []
        intents = self._clear_nominations((node,), pod.priority)
        return [*intents, *self._evict_victims(victims, PodRef.from_pod(pod), node, pod.scheduler_name, now)]

    def _clear_nominations(self, nodes: Iterable[str], priority: int) -> list[Intent]:
        """Take the nominations to ``nodes`` from pods of lower priority than ``priority``."""
        intents: list[Intent] = []
        for node in nodes:
            for other in self.queue.nominator.nominated_pods_for_node(node):
                if other.priority < priority and other.nominated_node:
                    self.queue.nominator.delete_nominated_pod(other.key)
                    intents.append(NominateNode(PodRef.from_pod(other), ""))
        return intents

    def _evict_victims(
        self, victims: Iterable[str], preemptor: PodRef | GroupRef, node: str, scheduler: str, now: float
    ) -> list[Intent]:
        intents: list[Intent] = []
        for key in victims:
            victim = self.pods.get(key)
            reservation = None if victim is None else self.reservations.find_waiting(victim.uid)
            if reservation is not None:
                intents += self.preempt_waiting(reservation, PREEMPTED, now)
            elif victim is not None:
                intents.append(EvictPod(PodRef.from_pod(victim), preemptor, node, scheduler))
        return intents

    def group_member(self, uid: str) -> Pod | None:
        """Return a pod without a node of the group with this uid; ``None`` if there is no such group."""
        return None

    def scheduler_for(self, pod: Pod, now: float) -> Scheduler:
        """Return the scheduler to explain ``pod`` with, over the cluster as it was when the pod was tried."""
        return self.scheduler

    # After a restart.

    def restore_reservation(self, pod: Pod, node: str, plugin: str, seconds: float, now: float) -> str:
        """Restore the reservation with which ``plugin`` held a queued pod; returns why that fails, else ""."""
        why = explain_unfit(pod) or self._explain_misfit(pod, node, now)
        if why:
            return why
        queued = self.queue.take_pod(pod) or QueuedPod(pod, now)
        queued.pod = pod
        decision = Decision(pod.key, pod.uid, now, pod.scheduler_name, queued.attempts, node)
        binding = self.scheduler.create_binding(pod, node, decision)
        refusal = binding.assume_and_reserve()
        if refusal is not None:
            self.queue.retry_now(queued, now)
            return refusal.message
        binding.waits[plugin] = math.inf, seconds
        self.world.assume_pod(binding.cycle.snapshot.get_pod(pod.key))
        self.reservations.add(Reservation(queued, binding, decision, is_held=True))
        return ""

    def _explain_misfit(self, pod: Pod, node: str, now: float) -> str:
        self.refresh_snapshot(now)
        return self.scheduler.find_misfit_reason(pod, node)


def is_reported_already(pod: Pod, reason: str, message: str, nominated: str | None) -> bool:
    """Return true if the pod's condition PodScheduled and its nomination say this already.

    ``nominated`` of ``None`` accepts any nomination.
    """
    if nominated is not None and pod.nominated_node != nominated:
        return False
    expected = {"type": SCHEDULED, "status": "False", "reason": reason, "message": message}
    conditions = get_objects(get_mapping(pod.raw, "status"), "conditions", "status.")
    current = next((item for item in conditions if item.get("type") == SCHEDULED), {})
    return all(current.get(key) == value for key, value in expected.items())


def explain_unfit(pod: Pod) -> str:
    """Return why the pod must not be bound to any node as it is; "" if it may."""
    if pod.terminating:
        return "the pod is being deleted"
    if pod.node_name:
        return f'the pod is on node "{pod.node_name}"'
    return f"the pod has scheduling gates: {', '.join(pod.gates)}" if pod.gates else ""
