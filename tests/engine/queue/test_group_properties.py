"""Whatever happens to groups and their pods, the queue loses none and has none twice."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kschedweb.engine import Pod
from kschedweb.engine.framework.events import POD_GROUP_ADD, UNSCHEDULED_POD_ADD
from kschedweb.engine.queue import QueuedGroup, QueuedPod
from kschedweb.engine.queue.queued_pods import Queued
from tests.engine.builders import pod
from tests.engine.gangs import member, read_group
from tests.engine.queue.test_group_queue import queue
from tests.support import tiers

NAMES = st.sampled_from(["one", "two"])


class GroupQueueMachine(RuleBasedStateMachine):
    """One entity is tried at a time, as by a scheduler."""

    @initialize()
    def begin(self) -> None:
        self.queue = queue()
        self.now = 0.0
        self.known: dict[str, Pod] = {}  # without a node
        self.tried: Queued | None = None
        self.binding: list[QueuedPod] = []
        self.made = 0

    @property
    def groups(self) -> set[str]:
        return {group.name for group in self.queue.cluster.groups}

    @rule(group_name=st.one_of(st.just(""), NAMES), priority=st.integers(0, 1))
    def come(self, group_name: str, priority: int) -> None:
        self.made += 1
        name = f"p{self.made}"
        new_pod = Pod.from_json(
            member(name, group_name, priority=priority) if group_name else pod(name, priority=priority)
        )
        self.known[new_pod.key] = new_pod
        self.queue.cluster.groups.add_member(new_pod)
        self.queue.add(new_pod, self.now)
        self.queue.move_all_to_active_or_backoff(UNSCHEDULED_POD_ADD, None, new_pod, self.now)

    @rule(name=NAMES, at_least=st.integers(1, 3), priority=st.integers(0, 1))
    def group_comes(self, name: str, at_least: int, priority: int) -> None:
        if name not in self.groups:
            group = read_group(name, at_least, priority=priority)
            self.queue.cluster.groups.put_group(group)
            self.queue.add_group(group, self.now)
            self.queue.move_all_to_active_or_backoff(POD_GROUP_ADD, None, group, self.now)

    @rule(name=NAMES)
    def group_goes(self, name: str) -> None:
        if (group := self.queue.cluster.groups.remove_group(f"default/{name}")) is not None:
            self.queue.delete_group(group)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def goes(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.known)))
        if key not in self.flying:
            deleted_pod = self.known.pop(key)
            self.queue.cluster.groups.remove_member(deleted_pod)
            self.queue.delete(deleted_pod)

    @precondition(lambda self: self.tried is None)
    @rule()
    def tries(self) -> None:
        self.tried = self.queue.pop_entity()
        if isinstance(self.tried, QueuedGroup):
            assert len({tried_pod.scheduling_group for tried_pod in self.tried.pods}) == 1
            assert self.tried.members

    @precondition(lambda self: self.tried is not None)
    @rule(data=st.data(), placed=st.booleans(), rejected=st.booleans())
    def ends(self, data: st.DataObject, placed: bool, rejected: bool) -> None:
        assert self.tried is not None
        bound = [tried_member for tried_member in self.tried.members if placed and data.draw(st.booleans())]
        for queued_pod in self.tried.members:
            if queued_pod in bound:
                self.binding.append(queued_pod)
            else:
                self.queue.put_back(queued_pod, self.now, {"NodeResourcesFit"} if rejected else ())
        if isinstance(self.tried, QueuedGroup):
            self.queue.conclude_group(self.tried, self.now, placed=placed, rejected=rejected)
        self.tried = None

    @precondition(lambda self: self.binding)
    @rule(fails=st.booleans())
    def binds(self, fails: bool) -> None:
        queued_pod = self.binding.pop()
        if fails:
            self.queue.put_back(queued_pod, self.now)
        else:
            self.queue.mark_done(queued_pod.pod.uid)
            del self.known[queued_pod.key]

    @rule(seconds=st.floats(0.1, 400.0))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.queue.flush(self.now)

    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        if self.known:
            self.queue.activate([self.known[data.draw(st.sampled_from(sorted(self.known)))]], self.now)

    @property
    def flying(self) -> list[str]:
        tried_members = self.tried.members if self.tried is not None else ()
        return [queued_pod.key for queued_pod in (*tried_members, *self.binding)]

    @invariant()
    def each_pod_is_in_one_place(self) -> None:
        parts = (self.queue.active, self.queue.backoff, self.queue.unschedulable)
        places_by_pod = Counter(queued_pod.key for part in parts for entity in part for queued_pod in entity.members)
        for waiting_by_group in (self.queue._incomplete, self.queue._pending):
            places_by_pod.update(key for members in waiting_by_group.values() for key in members)
        places_by_pod.update(self.flying)
        assert places_by_pod == Counter(list(self.known))

    @invariant()
    def the_numbers_are_right(self) -> None:
        assert sum(self.queue.count_pods()) == len(self.known)

    @invariant()
    def groups_are_known_and_not_empty(self) -> None:
        for part in (self.queue.active, self.queue.backoff, self.queue.unschedulable):
            for entity in part:
                assert entity.members
                if isinstance(entity, QueuedGroup):
                    assert entity.group.name in self.groups


TestGroupQueue = GroupQueueMachine.TestCase
TestGroupQueue.settings = settings(max_examples=tiers.count(40, 400), stateful_step_count=30, deadline=None)
