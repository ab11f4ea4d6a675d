"""Pods that another scheduler places, as a shadow hears of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.cycle.judgement import Agreement
from kschedweb.engine.releases import load
from kschedweb.live.shadow.watcher import ShadowWatcher
from tests.engine.builders import CONFIGURATION, node, pod

MOST_ALLOCATED = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
NOW = 1.7e9


def watcher(name: str = "default-scheduler", **profile: Any) -> ShadowWatcher:
    loaded = load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]})
    assert loaded.configuration is not None
    return ShadowWatcher(loaded.configuration, name)


def raw(name: str, on: str = "", says: str = "", **fields: Any) -> dict:
    document = pod(name, on=on, requests=fields.pop("requests", {"cpu": "1", "memory": "1Gi"}), **fields)
    document["metadata"]["uid"] = f"uid-{name}"
    reason = {"status": "False", "reason": "Unschedulable", "message": says} if says else {"status": "True"}
    document["status"] = {"conditions": [{"type": "PodScheduled", **reason}]} if says or on else {}
    return document


def begun(shadow: ShadowWatcher, *pods: dict) -> ShadowWatcher:
    shadow.replace("Node", [node("a"), node("b")], NOW)
    assert shadow.replace("Pod", list(pods), NOW) == []
    return shadow


def test_a_placement_is_judged_as_of_just_before() -> None:
    shadow = begun(watcher())
    assert shadow.apply("Pod", raw("p"), NOW) == []
    (first,) = shadow.apply("Pod", raw("p", on="a"), NOW + 1)
    assert (first.judgement.verdict, first.judgement.best, first.time) == (Agreement.AGREE, ("a", "b"), NOW + 1)
    shadow.apply("Pod", raw("q"), NOW)
    (second,) = shadow.apply("Pod", raw("q", on="a"), NOW)
    assert (second.judgement.verdict, second.judgement.best) == (Agreement.DIFFER, ("b",))
    assert shadow.apply("Pod", raw("q", on="a"), NOW) == []


def test_what_was_bound_before_anybody_looked_is_not_judged() -> None:
    shadow = begun(watcher(), raw("p", on="a"))
    assert shadow.apply("Pod", raw("q", on="a"), NOW) == []
    assert shadow.size == (2, 2)


def test_pods_of_other_schedulers_only_take_room() -> None:
    shadow = begun(watcher("mine"))
    shadow.apply("Pod", raw("p"), NOW)
    assert shadow.apply("Pod", raw("p", on="a"), NOW) == []
    shadow.apply("Pod", raw("q", schedulerName="mine"), NOW)
    (judged,) = shadow.apply("Pod", raw("q", on="a", schedulerName="mine"), NOW)
    assert judged.judgement.best == ("b",)


def test_each_reason_for_finding_no_node_is_judged_once() -> None:
    shadow = begun(watcher())
    big: dict[str, Any] = {"requests": {"cpu": "9"}}
    shadow.apply("Pod", raw("p", **big), NOW)
    (judged,) = shadow.apply("Pod", raw("p", says="0/2 nodes are available", **big), NOW)
    assert judged.judgement.verdict is Agreement.AGREE
    assert judged.reported_message == "0/2 nodes are available"
    assert judged.judgement.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert shadow.apply("Pod", raw("p", says="0/2 nodes are available", **big), NOW) == []
    assert len(shadow.apply("Pod", raw("p", says="another", **big), NOW)) == 1
    shadow.apply("Pod", raw("q"), NOW)
    (judged,) = shadow.apply("Pod", raw("q", says="no room"), NOW)
    assert judged.judgement.verdict is Agreement.WOULD_PLACE


def test_what_happened_while_nobody_looked_is_judged_late() -> None:
    shadow = begun(watcher(), raw("p"), raw("q"))
    late = shadow.replace("Pod", [raw("p", on="a"), raw("q")], NOW)
    assert [(judged.pod.name, judged.late, judged.judgement.verdict) for judged in late] == [
        ("p", True, Agreement.AGREE)
    ]


def test_a_pod_of_the_same_name_with_another_uid_is_another_pod() -> None:
    shadow = begun(watcher(), raw("p"))
    shadow.delete("Pod", raw("p"), NOW)
    recreated = raw("p")
    recreated["metadata"]["uid"] = "another"
    assert shadow.apply("Pod", recreated, NOW) == []
    bound = raw("p", on="a")
    bound["metadata"]["uid"] = "another"
    assert len(shadow.apply("Pod", bound, NOW)) == 1


def test_room_that_is_kept_for_a_nominated_pod_is_not_taken() -> None:
    shadow = begun(watcher())
    big = raw("big", requests={"cpu": "4"}, priority=10, says="0/2 nodes are available")
    big["status"]["nominatedNodeName"] = "b"
    shadow.apply("Pod", raw("big", requests={"cpu": "4"}, priority=10), NOW)
    shadow.apply("Pod", big, NOW)
    shadow.apply("Pod", raw("p"), NOW)
    (judged,) = shadow.apply("Pod", raw("p", on="b"), NOW)
    assert judged.judgement.verdict is Agreement.INFEASIBLE
    assert judged.judgement.best == ("a",)


@given(st.lists(st.tuples(st.integers(100, 900), st.sampled_from(["a", "b"])), min_size=1, max_size=12))
def test_two_opposite_policies_never_both_differ_where_nodes_are_unequal(placed: list[tuple[int, str]]) -> None:
    """Of two nodes, what is worse for the one that spreads by requests is better for the one that packs."""
    only = [{"name": name} for name in ("PrioritySort", "DefaultBinder", "NodeResourcesFit")]
    alone = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": only}}
    spreading = begun(watcher(plugins=alone))
    packing = begun(watcher(plugins=alone, pluginConfig=[MOST_ALLOCATED]))
    for number, (cpu, node_name) in enumerate(placed):
        asks: dict[str, Any] = {"requests": {"cpu": f"{cpu}m", "memory": f"{2 * cpu}Mi"}}
        verdicts = set()
        for shadow in (spreading, packing):
            shadow.apply("Pod", raw(f"p{number}", **asks), NOW)
            (judged,) = shadow.apply("Pod", raw(f"p{number}", on=node_name, **asks), NOW)
            verdicts.add(judged.judgement.verdict)
        if Agreement.INFEASIBLE not in verdicts:
            assert Agreement.AGREE in verdicts
