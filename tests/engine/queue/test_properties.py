"""Invariants of the scheduling queue, whatever happens to it."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kschedweb.engine import Pod
from kschedweb.engine.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD
from kschedweb.engine.objects.node import Node
from kschedweb.engine.queue import QueuedPod
from kschedweb.engine.queue.backoff_queue import WINDOW
from kschedweb.engine.queue.queued_pods import Queued
from tests.engine.builders import node
from tests.engine.queue.queues import FIT, make_pod, queue
from tests.support import tiers

PLUGINS = (FIT, "InterPodAffinity", "TaintToleration", "NodeAffinity")
BOUND, NODE = make_pod("bound", on="one"), Node.from_json(node("one"))
GATES = [{"name": "gate"}]


class QueueMachine(RuleBasedStateMachine):
    """Does at random what can happen, with a plain record of which pods there are."""

    @initialize()
    def begin(self) -> None:
        self.queue = queue()
        self.now = 0.0
        self.known: dict[str, Pod] = {}
        self.flying: list[QueuedPod] = []
        self.made = 0

    @rule(priority=st.integers(0, 2), gated=st.booleans())
    def add(self, priority: int, gated: bool) -> None:
        self.made += 1
        new_pod = make_pod(f"p{self.made}", priority=priority, schedulingGates=GATES if gated else [])
        self.known[new_pod.key] = new_pod
        self.queue.add(new_pod, self.now)

    @rule()
    def pop(self) -> None:
        active = list(self.queue.active)
        queued = self.queue.pop()
        if queued is None:
            assert not active
            assert not any(waits.rejectors for waits in self.queue.backoff)
            return
        assert queued.pod is self.known[queued.key]
        assert not queued.pod.gates
        if active:
            assert not any(self._less(other, queued) for other in active if other is not queued)
        self.flying.append(queued)

    @staticmethod
    def _less(first: Queued, other: Queued) -> bool:
        return (-first.subject.priority, first.queued) < (-other.subject.priority, other.queued)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), by=st.sets(st.sampled_from(PLUGINS)))
    def put_back(self, data: st.DataObject, by: set[str]) -> None:
        queued = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.queue.put_back(queued, self.now, by)
        expected = min(1 << ((queued.errors or queued.unschedulable) - 1), 10)
        ends = self.queue.backoff.get_backoff_time(queued)
        assert ends <= self.now + expected < ends + WINDOW

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        queued = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.queue.mark_done(queued.pod.uid)
        del self.known[queued.key]

    @rule(event=st.sampled_from(["deleted", "added", "node"]))
    def happen(self, event: str) -> None:
        if event == "deleted":
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, self.now)
        elif event == "added":
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, BOUND, self.now)
        else:
            self.queue.move_all_to_active_or_backoff(NODE_ADD, None, NODE, self.now)

    @rule(data=st.data(), gated=st.booleans())
    def change(self, data: st.DataObject, gated: bool) -> None:
        idle = [idle_pod for key, idle_pod in self.known.items()]
        if idle:
            old = data.draw(st.sampled_from(idle))
            gates = old.raw["spec"]["schedulingGates"] if gated else []  # gates can only go
            new = make_pod(old.name, priority=old.priority, schedulingGates=gates, labels={"at": str(self.now)})
            self.known[old.key] = new
            self.queue.update(old, new, self.now)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        idle = [idle_pod for key, idle_pod in self.known.items() if all(key != queued.key for queued in self.flying)]
        if idle:
            deleted_pod = data.draw(st.sampled_from(idle))
            del self.known[deleted_pod.key]
            self.queue.delete(deleted_pod)

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 3.0, 30.0, 400.0]))
    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while (time := self.queue.next_flush(self.now)) is not None and time <= end:
            assert time > self.now
            self.now = time
            self.queue.flush(time)
        self.now = end

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        parts = [[queued.key for queued in part] for part in (self.queue.active, self.queue.backoff)]
        parts += [[queued.key for queued in self.queue.unschedulable], [queued.key for queued in self.flying]]
        assert sorted(key for part in parts for key in part) == sorted(self.known)
        assert sorted(self.queue.in_flight) == sorted(queued.pod.uid for queued in self.flying)

    @invariant()
    def gated_pods_are_out_of_the_way(self) -> None:
        for part in (self.queue.active, self.queue.backoff):
            assert not any(member.pod.gates for queued in part for member in queued.members)

    @invariant()
    def nothing_waits_for_longer_than_it_must(self) -> None:
        for queued in self.queue.backoff:
            assert self.queue.backoff.get_backoff_time(queued) <= queued.queued + self.queue.backoff.longest
        for queued in self.queue.unschedulable:
            assert queued.gating or self.now - queued.queued <= 330.0

    @invariant()
    def events_are_kept_for_pods_in_flight_only(self) -> None:
        assert self.flying or not self.queue.in_flight.events


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=tiers.count(60, 500), stateful_step_count=40, deadline=None)
