"""Groups of pods, whatever happens: nothing is bound twice or forgotten, and gangs begin with as many as they need."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from kschedweb.engine.live import BindPod, EvictPod
from kschedweb.engine.queue import GroupQueue
from tests.engine.builders import node, pod
from tests.engine.gangs import group, member
from tests.engine.live.loops import HOLDER, WAITER, WITH_GROUPS, live, versioned
from tests.engine.live.test_machine import EXAMPLES, POD_NAMES, REQUESTS, SETTINGS, Live

GROUPS = {"low": 0, "high": 100}  # name -> priority
GROUP_NAMES = st.sampled_from(list(GROUPS))
NOW = 1_700_000_000.0


class LiveGroups(Live):
    """As ``Live``; pods may be of groups, which come, change and go, too."""

    configured = WITH_GROUPS

    @rule(name=GROUP_NAMES, min_count=st.sampled_from([None, 1, 2, 3]), anew=st.booleans())
    def group_is_written(self, name: str, min_count: int | None, anew: bool) -> None:
        stored = self.store.objects.get("PodGroup", {}).get(f"default/{name}")
        raw = group(name, min_count, priority=GROUPS[name], whole=name == "low")
        if stored is not None and not anew:
            raw["metadata"]["uid"] = stored["metadata"]["uid"]
            raw["status"] = stored.get("status", {})
        elif stored is not None:
            self.store.delete("PodGroup", f"default/{name}")
        self.store.put(raw)

    @rule(name=GROUP_NAMES)
    def group_leaves(self, name: str) -> None:
        if f"default/{name}" in self.store.objects.get("PodGroup", {}):
            self.store.delete("PodGroup", f"default/{name}")

    @rule(
        names=st.lists(POD_NAMES, min_size=1, max_size=4, unique=True),
        group_name=GROUP_NAMES,
        requests=REQUESTS,
        labels=st.sampled_from([{}, {}, {HOLDER: "x"}, {WAITER: "x"}]),
    )
    def members_are_created(self, names: list[str], group_name: str, requests: dict, labels: dict) -> None:
        for name in names:
            if f"default/{name}" in self.store.objects.get("Pod", {}):
                self.store.delete("Pod", f"default/{name}")
            self.store.put(
                member(name, group_name, requests=requests, labels=dict(labels), priority=GROUPS[group_name])
            )

    @rule(number=st.integers(1, 3))
    def hear_of_groups(self, number: int) -> None:
        for _ in range(number):
            if self.store.streams.get("PodGroup"):
                self.take(self.store.deliver(self.loop, "PodGroup", self.now))

    @rule()
    def relist_groups(self) -> None:
        self.take(self.store.relist(self.loop, "PodGroup", self.now))

    def _queued(self) -> set[str]:
        queue = self.loop._queue
        assert isinstance(queue, GroupQueue)
        assert not any(queue._pending.values())
        return super()._queued() | {key for pods in queue._incomplete.values() for key in pods}


LiveGroups.TestCase.settings = SETTINGS
TestLiveGroups = LiveGroups.TestCase


@st.composite
def arrivals(draw: st.DrawFn) -> list[dict]:
    """Nodes, gangs and pods, in any order."""
    sizes = st.sampled_from(["2", "4"])
    raws: list[dict] = [node(f"n{number}", allocatable={"cpu": draw(sizes)}) for number in range(4)]
    for name in ("x", "y", "z"):
        priority = draw(st.sampled_from([0, 0, 100]))
        raws.append(group(name, draw(st.sampled_from([1, 2, 3])), priority=priority))
        for number in range(draw(st.integers(1, 5))):
            raws.append(member(f"{name}{number}", name, requests=draw(REQUESTS), priority=priority))
    raws += [pod(f"single{number}", requests=draw(REQUESTS)) for number in range(draw(st.integers(0, 3)))]
    return draw(st.permutations(raws))


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(arrivals(), st.lists(st.integers(0, 3), min_size=20, max_size=20))
def test_a_gang_begins_with_as_many_as_it_needs(raws: list[dict], come: list[int]) -> None:
    loop, now, bound = live(WITH_GROUPS), NOW, Counter[str]()
    raw_by_key = {f"default/{raw['metadata']['name']}": raw for raw in raws}
    min_counts = {name: raw_by_key[f"default/{name}"]["spec"]["schedulingPolicy"]["gang"]["minCount"] for name in "xyz"}
    bound_uids: set[str] = set()
    for count in [*come, len(raws), *[0] * 30]:
        arriving, raws = raws[:count], raws[count:]
        for raw in arriving:
            loop.apply_object(raw["kind"], versioned(raw), now)
        intents = loop.step(now)
        for evict in (intent for intent in intents if isinstance(intent, EvictPod)):
            loop.delete_object("Pod", raw_by_key[evict.pod.key], now)
            bound[_group(raw_by_key[evict.pod.key])] -= 1
        fresh = Counter[str]()
        for bind in (intent for intent in intents if isinstance(intent, BindPod)):
            assert bind.pod.uid not in bound_uids, "bound twice"
            bound_uids.add(bind.pod.uid)
            raw = raw_by_key[bind.pod.key]
            fresh[_group(raw)] += 1
            raw["spec"]["nodeName"] = bind.node
            loop.on_bound(bind.pod.uid, now)
            loop.apply_object("Pod", versioned(raw, 2), now)
        for name in fresh.keys() - {""}:
            assert bound[name] + fresh[name] >= min_counts[name], (name, intents)
        bound += fresh
        now += 1.0
    assert (loop.depths.waiting, loop.depths.binding) == (0, 0)


def _group(raw: dict) -> str:
    return str(raw["spec"].get("schedulingGroup", {}).get("podGroupName", ""))
