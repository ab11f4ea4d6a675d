"""The pods of a simulation, from their arrival until they are gone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from kschedweb.engine.controllers.claims import create_claims, delete_claims, keep_claims, needs_claims
from kschedweb.engine.controllers.kubelet import KubeletRefusal
from kschedweb.engine.controllers.taint_eviction import TaintEviction
from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    RESOURCE_CLAIM_UPDATE,
    UNSCHEDULED_POD_ADD,
    pod_changes,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue import GroupQueue, SchedulingQueue
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.agenda import Action, Agenda
from kschedweb.engine.simulation.observer import Observer
from kschedweb.engine.simulation.pod_life import Departure, PodLife
from kschedweb.engine.simulation.result import Bound, Evicted, Failed, Result
from kschedweb.engine.state.scheduler_cache import SchedulerCache

# Reason of the condition of pods that make room for another.
PREEMPTION = "PreemptionByScheduler"
# Metadata that no two pods share.
PERSONAL = frozenset({"uid", "deletionTimestamp", "generateName"})
NODE_LEFT = "the node left"
# Seconds, unless the pod says otherwise.
GRACE_PERIOD = 30


def make_replica(pod: Pod, name: str) -> Pod:
    """Return a pod like ``pod`` with another name, as it would be created: without a node, status or end."""
    spec = {key: value for key, value in get_mapping(pod.raw, "spec").items() if key != "nodeName"}
    metadata = {key: value for key, value in get_mapping(pod.raw, "metadata").items() if key not in PERSONAL}
    raw = {**pod.raw, "metadata": {**metadata, "name": name}, "spec": spec}
    raw.pop("status", None)
    if pod.node_name or "status" in pod.raw or any(volume.ephemeral for volume in pod.volumes):
        return Pod.from_json(raw)
    twin = copy.copy(pod)
    # A copy keeps what was worked out of the spec, which is the same; reading it again would be slow.
    for attribute, value in {"name": name, "uid": f"{pod.namespace}/{name}", "raw": raw}.items():
        object.__setattr__(twin, attribute, value)
    return twin


class Pods:
    """The pods, and everything that happens to them.

    ``schedulers`` are the scheduler names that are simulated. ``reachable`` says whether a node's kubelet can end pods.
    ``actors`` let new pods in and hear of them, and ``observer`` hears of everything.
    """

    def __init__(
        self,
        world: SchedulerCache,
        queue: SchedulingQueue,
        agenda: Agenda,
        result: Result,
        schedulers: Container[str],
        reachable: Callable[[str], bool],
        observer: Observer | None = None,
    ) -> None:
        self.actors: Sequence[Actor] = ()
        self.world, self.queue, self.agenda, self.result = world, queue, agenda, result
        self.eviction = TaintEviction()
        self.lives: dict[str, PodLife] = {}
        # Takes back a pod that is on its way to a node; returns true if it was.
        self.dismiss: Callable[[str, float], bool] = lambda key, now: False
        self.observer = observer or Observer()
        self._schedulers, self._reachable = schedulers, reachable
        self._groups = isinstance(queue, GroupQueue)
        # Pods that should have ended on nodes whose kubelet is silent, by node.
        self._stuck: dict[str, list[PodLife]] = {}
        # key of a pod -> key of the pod that a controller put in its place last
        self._heirs: dict[str, str] = {}

    def let_in(self, pod: Pod, come: Action, now: float, *, checked: bool = False) -> None:
        """Call ``come`` with the time at which every actor lets the pod in, if ever; ``checked`` as for the actors."""

        def ask_actors(place: int, time: float) -> None:
            for following, actor in enumerate(self.actors[place:], place + 1):
                if actor.hold_pod(pod, partial(ask_actors, following), time, checked=checked):
                    return
            come(time)

        ask_actors(0, now)

    def add_pod(self, life: PodLife, now: float) -> None:
        """Add a pod: on its node already, or to be scheduled."""
        self.wait(life, now)
        pod = life.pod
        if pod.node_name:
            self.put_on_node(life, now)
        elif pod.scheduler_name in self._schedulers:
            self.world.cluster.groups.add_member(pod)
            self.queue.add(pod, now)
            if self._groups:
                self.queue.move_all_to_active_or_backoff(UNSCHEDULED_POD_ADD, None, pod, now)
        else:
            # A scheduler knows only of its own pods, and of those on nodes.
            self.world.cluster.groups.remove_member(pod)
            self.result.ignored.append(pod.key)

    def wait(self, life: PodLife, now: float) -> None:
        """Add a pod with its claims that nobody takes care of yet."""
        life.pod, problems = self._create_claims(life.pod, now)
        life.message = next(iter(problems), life.message)
        self.lives[life.pod.key] = life
        for actor in self.actors:
            actor.on_pod_added(life, now)
        self.observer.arrived(life, now)

    def put_on_node(self, life: PodLife, now: float) -> None:
        """Add a pod to the node that it names."""
        self.world.cluster.groups.add_member(life.pod)
        self.world.add_pod(life.pod)
        self._on_settled(life, now)

    def create_missing_claims(self) -> None:
        """Create the claims that pods on nodes lack at the beginning."""
        snapshot = self.world.snapshot
        for pod in [candidate for candidate in self.world.all_pods() if needs_claims(candidate)]:
            position = snapshot.index.get(pod.node_name)
            if position is not None:
                snapshot.volume_use.account_pod(pod, position, -1)
            claimed_pod, _ = self._create_claims(pod, 0.0)
            if position is not None:
                snapshot.volume_use.account_pod(claimed_pod, position, 1)
            if claimed_pod is not pod:
                self.world.refresh_pod(claimed_pod)

    def _create_claims(self, pod: Pod, now: float) -> tuple[Pod, list[str]]:
        """Create the pod's claims as controllers do; returns the pod, and what they could not create."""
        claimed_pod, problems = create_claims(pod, self.world.cluster, self.world.claims)
        self.result.refused += [(now, f"Pod {pod.key}: {problem}") for problem in problems]
        return claimed_pod, problems

    def change_pod(self, new: Pod, now: float) -> None:
        """Replace the object of a pod."""
        life = self.lives[new.key]
        new = keep_claims(life.pod, new)
        old, life.pod = life.pod, new
        self.observer.changed(life, now)
        if life.bound is not None:
            self._changed_on_node(old, new, now)
            return
        if new.node_name:
            return
        self.queue.update(old, new, now)
        if old.nominated_node and old.nominated_node != new.nominated_node:
            self._release_nomination(old, now)

    def _changed_on_node(self, old: Pod, new: Pod, now: float) -> None:
        self.world.update_pod(old, new)
        if old.tolerations != new.tolerations:
            self.eviction.pod_changed(new, now)
        for event in pod_changes(old, new):
            self.queue.move_all_to_active_or_backoff(event, old, new, now)

    def nominate_pod(self, key: str, node: str, now: float) -> None:
        """Write into the pod that it waits for ``node``, "" for none."""
        pod = self.lives[key].pod
        if pod.nominated_node != node:
            self.change_pod(replace(pod, nominated_node=node), now)

    def on_bound(self, life: PodLife, pod: Pod, attempts: int, now: float) -> None:
        """Take in that the pod is bound; the snapshot has it on its node already."""
        life.pod, life.attempts = pod, attempts
        self.result.bound.append(Bound(now, pod.key, pod.node_name, now - life.arrived, attempts))
        self._on_settled(life, now)
        self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, pod, now)

    def _on_settled(self, life: PodLife, now: float) -> None:
        life.bound = now
        self.observer.bound(life, now)
        self._report_moved(life, now)
        self._start_pod(life, now)
        self.eviction.pod_changed(life.pod, now)
        if life.duration is not None:
            self.agenda.schedule_action(now + life.duration, lambda time: self._complete_pod(life, time))

    def report_unplaced(self, life: PodLife, now: float) -> None:
        """Tell the actors that the pod was tried in vain."""
        for actor in self.actors:
            actor.on_unplaced(life, now)

    def _report_moved(self, life: PodLife, now: float) -> None:
        for actor in self.actors:
            actor.on_moved(life, now)

    def _start_pod(self, life: PodLife, now: float) -> None:
        """Let the pod do its work once it is ready."""
        startup = max((actor.startup_seconds(life) for actor in self.actors), default=0.0)
        if startup:
            life.ready = now + startup
            self.agenda.schedule_action(life.ready, lambda time: self._on_ready(life, time))
        else:
            self._on_ready(life, now)

    def _on_ready(self, life: PodLife, now: float) -> None:
        if self.is_alive(life) and life.leaves is None:
            for actor in self.actors:
                actor.on_pod_ready(life, now)

    def _complete_pod(self, life: PodLife, now: float) -> None:
        if self.is_alive(life):
            self.result.completed += 1
            self._report_moved(life, now)
            self.remove_pod(life, now)

    def is_alive(self, life: PodLife) -> bool:
        """Return true if the pod still exists."""
        return self.lives.get(life.pod.key) is life

    def evict_pod(self, life: PodLife, reason: str, now: float, condition: str = "") -> None:
        """Evict the pod: it leaves within its grace period, and a controller may replace it."""
        if life.leaves is None and self.is_alive(life):
            life.why = Departure.PREEMPTED if condition == PREEMPTION else Departure.EVICTED
            life.because = reason
            self.delete_pod(life, now, condition)
            leaves = life.leaves if life.leaves is not None else now
            self.result.evicted.append(Evicted(now, life.pod.key, life.pod.node_name, reason, leaves))
            self.observer.evicted(life, reason, now)
            self._replace_pod(life, now)

    def delete_pod(self, life: PodLife, now: float, condition: str = "") -> None:
        """Delete the pod: on a node it has its grace period, else it is gone at once."""
        if life.bound is None:
            self.remove_pod(life, now)
        elif life.leaves is None:
            old = life.pod
            life.leaves = now + _grace_period(old)
            life.pod = mark_terminating(old, now, condition)
            self._report_moved(life, now)
            self.observer.changed(life, now)
            self._changed_on_node(old, life.pod, now)
            self.agenda.schedule_action(life.leaves, lambda time: self._end_pod(life, time))

    def _end_pod(self, life: PodLife, now: float) -> None:
        if not self.is_alive(life):
            return
        if self._reachable(life.pod.node_name):
            self.remove_pod(life, now)
        else:
            for actor in self.actors:
                actor.on_pod_overdue(life, now)
            self._stuck.setdefault(life.pod.node_name, []).append(life)

    def on_node_reached(self, node: str, now: float) -> None:
        """End the pods that should be gone: the node's kubelet is heard of again."""
        for life in self._stuck.pop(node, ()):
            if self.is_alive(life):
                self.remove_pod(life, now)

    def on_node_lost(self, pods: list[Pod], node: str, now: float) -> None:
        """Remove the pods of a node that is gone."""
        self._stuck.pop(node, None)
        for pod in pods:
            life = self.lives.get(pod.key)
            if life is None or life.bound is None:
                continue
            if life.leaves is None:
                life.why, life.because = Departure.NODE_GONE, NODE_LEFT
            self._remove_from_node(life, now)
            if life.leaves is None:
                life.leaves = now
                self.result.evicted.append(Evicted(now, pod.key, node, NODE_LEFT, now))
                self.observer.evicted(life, NODE_LEFT, now)
                self._replace_pod(life, now)

    def fail_pod(self, life: PodLife, refusal: KubeletRefusal, now: float) -> None:
        """Let the kubelet end the pod at once as failed; a controller may replace it."""
        life.why, life.because, life.message = Departure.FAILED, str(refusal), str(refusal)
        pod = life.pod
        self.result.failed.append(Failed(now, pod.key, pod.node_name, refusal.reason, refusal.message))
        self.remove_pod(life, now)
        self._replace_pod(life, now)

    def remove_pod(self, life: PodLife, now: float) -> None:
        """Remove a pod that does not exist any more."""
        if life.bound is not None:
            self.world.remove_pod(life.pod)
            self._remove_from_node(life, now)
            return
        del self.lives[life.pod.key]
        self.observer.withdrawn(life, now)
        self._report_removed(life, now)
        waited = self.dismiss(life.pod.key, now)
        if not waited:
            # The pod leaves its group after the queue: a group that was complete with it is tried once more.
            self.queue.delete(life.pod)
        self.world.cluster.groups.remove_member(life.pod)
        if life.pod.nominated_node and not waited:
            self._release_nomination(life.pod, now)
        self._release_claims(life.pod, now)

    def _remove_from_node(self, life: PodLife, now: float) -> None:
        del self.lives[life.pod.key]
        self.world.cluster.groups.remove_member(life.pod)
        self.observer.departed(life, life.why, life.because, now)
        self.eviction.pod_gone(life.pod.key)
        self._report_removed(life, now)
        self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, life.pod, None, now)
        self._release_claims(life.pod, now)

    def _report_removed(self, life: PodLife, now: float) -> None:
        for actor in self.actors:
            actor.on_pod_removed(life, now)

    def _release_claims(self, pod: Pod, now: float) -> None:
        """Release the pod's claims; those that were made for it are deleted."""
        changes = self.world.release_claims(pod)
        delete_claims(pod, self.world.cluster, self.world.claims)
        for before, after in changes:
            self.queue.move_all_to_active_or_backoff(RESOURCE_CLAIM_UPDATE, before, after, now)

    def _release_nomination(self, pod: Pod, now: float) -> None:
        """Wake the pods of no higher priority: the room that was kept for ``pod`` is free."""
        self.queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, pod, None, now, only=lambda other: other.priority <= pod.priority
        )

    def find_heir(self, key: str) -> str:
        """Return the key of the pod that last took the place of the pod ``key``; else ``key`` itself."""
        return self._heirs.get(key, key)

    def _replace_pod(self, life: PodLife, now: float) -> None:
        if life.replaced:
            base = life.template.name.rpartition("-again")[0] if life.heirs else life.template.name
            heir = make_replica(life.template, f"{base}-again{life.heirs + 1}")
            self._heirs[f"{heir.namespace}/{base}"] = heir.key
            remaining, heirs = life.remaining_seconds, life.heirs + 1

            def on_admitted(time: float) -> None:
                self.add_pod(PodLife(heir, heir, time, remaining, True, heirs=heirs), time)

            self.let_in(heir, on_admitted, now)


def with_start_time(pod: Pod, now: float) -> Pod:
    """Return the pod with its start time: of equal victims, preemption takes those that started last."""
    time = datetime.fromtimestamp(now, UTC).isoformat()
    return replace(pod, raw={**pod.raw, "status": {**get_mapping(pod.raw, "status"), "startTime": time}})


def _grace_period(pod: Pod) -> int:
    """Return the seconds between the deletion of the pod and its end."""
    return max(0, get_integer(get_mapping(pod.raw, "spec"), "terminationGracePeriodSeconds", GRACE_PERIOD, bits=64))


def mark_terminating(pod: Pod, now: float, reason: str = "") -> Pod:
    """Return the pod as terminating, with a condition DisruptionTarget if there is a ``reason``."""
    raw: Json = pod.raw
    deleted = datetime.fromtimestamp(now, UTC).isoformat()
    status = get_mapping(raw, "status")
    if reason:
        target = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        status = {**status, "conditions": [*get_objects(status, "conditions"), target]}
    metadata = {**get_mapping(raw, "metadata"), "deletionTimestamp": deleted}
    return replace(pod, terminating=True, raw={**raw, "metadata": metadata, "status": status})
