"""Verdicts: what is held to thresholds, against what a person counts in the two runs."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.engine.config import EMPTY
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import describe_object
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.compare.comparison import compare_runs
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate.gate import (
    DEFAULTS,
    GatePolicy,
    GateQuestion,
    GateVerdict,
    compute_verdict,
    newest_time,
    prepared_of,
    read_objects,
)
from kschedweb.engine.studies.gate.rendering import FORMATS, render_verdict
from kschedweb.engine.studies.gate.thresholds import read_thresholds
from kschedweb.engine.studies.gate.verdict import (
    MOST_PODS,
    NO_PROFILE,
    RunPair,
    compute_worsening,
    format_amount,
    format_number,
    judge_runs,
)
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.values import HIGHER, LOWER, RunMeasure
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.play.successors import latest_rows
from tests.engine.builders import node, pod
from tests.engine.studies.gates import PACKED, cluster, renamed
from tests.engine.studies.worlds import configuration, make_crowded_scenario
from tests.support import tiers
from tests.support.hostile import bent, originals


def judged(
    objects: list[Json], policy: Any = PACKED, baseline: Any = None, place: str = "all", **asked: Any
) -> GateVerdict:
    held = GatePolicy("baseline", baseline) if baseline is not None else GatePolicy(DEFAULTS)
    return compute_verdict(
        prepared_of(objects, place=place),
        GateQuestion(GatePolicy("policy", policy), held, read_thresholds(asked), "a small cluster"),
    )


def check(found: GateVerdict, name: str) -> Any:
    return next(one for one in found.judged.checks if one.name == name)


@pytest.mark.parametrize(("value", "text"), [(0.9999, "1 node-hour"), (0.917, "0.917 node-hours")])
def test_what_is_shown_as_one_is_in_the_singular(value: float, text: str) -> None:
    assert format_amount(value, "node-hours") == text


def test_a_policy_against_itself_passes_everything() -> None:
    found = judged(cluster(), baseline=PACKED, maxMoved=0, maxPending=0, maxSkewIncrease=0)
    assert found.passed
    assert found.judged.summary == "All 5 checks pass."
    assert (found.nodes, found.pods, found.judged.scheduled) == (4, 6, 6)
    assert [one.value for one in found.judged.checks[:3]] == [0.0, 0.0, 0.0]
    assert not found.notes
    assert not found.warnings


@pytest.mark.parametrize("asked", [{}, {"maxNewlyUnschedulable": "any"}])
def test_what_lets_nothing_run_never_passes_although_the_baseline_is_no_better(asked: Json) -> None:
    owner = [{"kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}]
    agent = pod("agent", on="small")
    agent["metadata"]["ownerReferences"] = owner
    found = judged([node("small"), agent, *(pod(f"p{number}", requests={"cpu": "9"}) for number in range(2))], **asked)
    assert not found.passed
    nothing = check(found, "nothing_runs")
    assert nothing.sentence.startswith("None of the 2 pods to be scheduled runs, so the policy was not tried on any: ")
    assert "1 Insufficient cpu" in nothing.sentence
    assert [one.pod for one in nothing.pods] == ["default/p0", "default/p1"]


def test_pods_that_fit_nowhere_beside_others_that_run_are_no_news() -> None:
    objects = [node("small"), pod("runs", on="small"), pod("large", requests={"cpu": "9"})]
    assert [one.name for one in judged(objects, place="pending").judged.checks] == ["newly_unschedulable"]


def test_moved_pods_are_counted_named_and_explained() -> None:
    found = judged(cluster(), maxMoved="50%")
    moved = check(found, "moved")
    assert not moved.passed
    assert moved.value == len(moved.pods) == found.judged.counts["moved"] >= 4
    assert all(one.before != one.after and one.plugin == "NodeResourcesFit" for one in moved.pods)
    assert f"({100 * moved.value / 6:.1f} % of the 6 that have one under both); allowed: at most 50 %" in moved.sentence
    assert judged(cluster(), maxMoved=6).passed
    assert judged(cluster(), maxMoved="100%").passed
    assert judged(cluster(), maxMoved="any").passed


def test_pods_that_lose_their_node_are_newly_unschedulable() -> None:
    # Spread over four nodes, the large pod finds no room; packed on one it does.
    large = pod("zz-large", requests={"cpu": "4"})
    objects = cluster(2, 2, large)
    assert judged(objects, policy=PACKED, baseline=EMPTY).passed
    found = judged(objects, policy=EMPTY, baseline=PACKED)
    lost = check(found, "newly_unschedulable")
    assert not found.passed
    assert [(one.pod, one.after, one.plugin, one.message) for one in lost.pods] == [
        ("default/zz-large", "", "NodeResourcesFit", "Insufficient cpu")
    ]
    assert lost.sentence == "1 pod finds no node but would under the baseline; allowed: none."
    assert judged(objects, policy=EMPTY, baseline=PACKED, maxNewlyUnschedulable=1).passed
    assert judged(objects, policy=EMPTY, baseline=PACKED, maxNewlyUnschedulable="34%").passed
    assert not judged(objects, policy=EMPTY, baseline=PACKED, maxNewlyUnschedulable="33%").passed


def test_pods_that_no_profile_would_look_at_are_newly_unschedulable() -> None:
    """Nobody waits for them, so nothing else of the run would tell."""
    found = judged(cluster(), policy=renamed())
    lost = check(found, "newly_unschedulable")
    assert (found.passed, lost.value) == (False, 6.0)
    assert {one.message for one in lost.pods} == {NO_PROFILE}
    neither = judged(cluster(), policy=renamed("a"), baseline=renamed("b"))
    assert check(neither, "newly_unschedulable").passed  # neither would the baseline
    assert check(neither, "nothing_runs").sentence.endswith(NO_PROFILE)


def test_what_an_extender_would_have_to_be_asked_is_no_node() -> None:
    extender = {"urlPrefix": "http://192.0.2.1", "filterVerb": "filter"}
    found = judged(cluster(), policy={**EMPTY, "extenders": [extender]})
    lost = check(found, "newly_unschedulable")
    assert lost.value == 6.0
    assert all("http://192.0.2.1" in one.message for one in lost.pods)


def test_pods_that_wait_under_both_are_pending_and_not_newly_unschedulable() -> None:
    objects = cluster(2, 2, pod("huge", requests={"cpu": "100"}))
    found = judged(objects, maxPending=0)
    assert check(found, "newly_unschedulable").passed
    waiting = check(found, "pending")
    assert (waiting.passed, waiting.value, waiting.baseline) == (False, 1.0, 1.0)
    assert waiting.pods[0].message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert judged(objects, maxPending=1).passed


def test_pods_with_a_node_keep_it_where_only_those_that_wait_are_placed() -> None:
    objects = cluster(4, 6, pod("waits", requests={"cpu": "500m"}))
    found = judged(objects, place="pending", maxMoved=0)
    assert found.pods == 1
    assert check(found, "moved").value == 1.0  # on node-0 with the others, or away from it
    assert check(found, "moved").pods[0].after == "node-0"


def owned(raw: Json, priority: int) -> Json:
    """The pod with a controller, which would make it anew, and a priority."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    spec = {**raw["spec"], "priority": priority}
    return {**raw, "metadata": {**raw["metadata"], "ownerReferences": [owner]}, "spec": spec}


def test_pods_from_a_priority_on_find_a_node_whichever_zone_is_lost() -> None:
    objects = [owned(raw, 10) if raw["kind"] == "Pod" else raw for raw in cluster(nodes=2, pods=10)]
    found = judged(objects, policy=EMPTY, zoneLossPriority=10)
    lost = check(found, "zone_loss")
    assert (lost.passed, lost.value, lost.limits) == (False, 2.0, {"max": 0})
    assert lost.sentence == ("2 pods of priority 10 and above find no node after the loss of zone z0; allowed: none.")
    assert "Insufficient cpu" in lost.pods[0].message
    assert check(judged(objects, zoneLossPriority=11), "zone_loss").passed
    fewer = check(judged(cluster(nodes=2, pods=8), zoneLossPriority=0), "zone_loss")
    assert fewer.sentence == "Every pod of priority 0 and above finds a node again after the loss of any one zone."
    without = [{**raw, "metadata": {**raw["metadata"], "labels": {}}} for raw in cluster()]
    assert check(judged(without, zoneLossPriority=0), "zone_loss").sentence.startswith("No node has a zone")


def test_skew_may_grow_by_so_many_points() -> None:
    found = judged(cluster(), maxSkewIncrease=30)
    cpu, memory = check(found, "skew_cpu_end"), check(found, "skew_memory_end")
    # Six pods of an eighth each: over four nodes 2, 2, 1, 1; packed 6, 0, 0, 0.
    assert (cpu.baseline, cpu.value) == (12.5, 75.0)
    assert not cpu.passed
    assert cpu.sentence == (
        "Skew of CPU requests at the end: 75 points, 62.5 points more than under the baseline; "
        "allowed: at most 30 points more."
    )
    assert (memory.baseline, memory.value) == (12.5, 75.0)
    assert judged(cluster(), maxSkewIncrease=62.5).passed
    assert judged(cluster(), policy=EMPTY, baseline=PACKED, maxSkewIncrease=0).passed  # less is never worse


def test_a_percentage_changes_by_points_and_may_change_by_a_share_of_itself() -> None:
    prepared, before, after = make_crowded_scenario(11), configuration(), configuration("MostAllocated")
    first, second = run_scenario(prepared, before), run_scenario(prepared, after)
    compared = compare_runs(first, second, prepared, before, after)
    pair = RunPair(first, second, compute_measures(first), compute_measures(second), compared)
    name, ends = "fragmentation_memory", {5: "at most 5 points more.", "5%": "at most 5 % more."}
    for most, end in ends.items():
        one = judge_runs(pair, read_thresholds({"measures": {name: {"maxChange": most}}})).checks[-1]
        assert (one.name, one.unit) == (name, "%")
        assert one.value is not None
        assert one.baseline is not None
        assert f" {format_number(abs(one.value - one.baseline))} points " in one.sentence
        assert one.value != one.baseline
        assert one.sentence.endswith(end)


@pytest.mark.parametrize(
    ("name", "limits", "passes"),
    [
        ("skew_cpu_end", {"max": 75}, True),
        ("skew_cpu_end", {"max": 74.9}, False),
        ("skew_cpu_end", {"min": 75.1}, False),
        ("skew_cpu_end", {"maxChange": 62}, False),
        ("skew_cpu_end", {"maxChange": "500%"}, True),
        ("skew_cpu_end", {"maxChange": "499%"}, False),
        ("nodes_empty", {"min": 3, "maxChange": 0}, True),
        ("nodes_empty", {"min": 4}, False),
        ("nodes_empty", {"max": 3, "maxChange": 0}, True),
        ("disruptions", {"max": 0}, True),
        ("use_skew_cpu", {"max": 0}, True),
    ],
)
def test_any_measure_may_be_limited(name: str, limits: Json, passes: bool) -> None:
    found = judged(cluster(), measures={name: limits})
    one = check(found, name)
    assert one.passed is found.passed is passes
    assert one.sentence.endswith(".")


@pytest.mark.parametrize(
    ("direction", "value", "base", "expected"),
    [
        (LOWER, 5.0, 3.0, 2.0),
        (LOWER, 3.0, 5.0, -2.0),
        (HIGHER, 3.0, 5.0, 2.0),
        ("", 3.0, 5.0, 2.0),
        ("", 5.0, 3.0, 2.0),
    ],
)
def test_what_is_worse_depends_on_the_measure(direction: str, value: float, base: float, expected: float) -> None:
    assert compute_worsening(RunMeasure("m", "M", value, "pods", direction, "M."), value, base) == expected


def test_a_measure_that_vanishes_fails() -> None:
    """No pod is bound any more, so nobody waited long: that must not pass."""
    found = judged(cluster(), policy=renamed(), maxNewlyUnschedulable="any", measures={"wait_p99": {"max": 60}})
    assert check(found, "wait_p99").sentence.endswith("there is nothing to measure under the policy.")
    assert not found.passed


def test_an_unknown_measure_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ScenarioError, match=r"thresholds.measures\['skew_cpuu'\]: is not measured here; .* skew_cpu,"):
        judged(cluster(), measures={"skew_cpuu": {"max": 1}})


def test_only_the_first_pods_are_named() -> None:
    found = judged(cluster(MOST_PODS, MOST_PODS + 30), maxMoved=0)
    moved = check(found, "moved")
    assert len(moved.pods) == MOST_PODS
    assert moved.more == moved.value - MOST_PODS > 0


@pytest.mark.parametrize("kind", ["Node", "Pod"])
def test_a_dump_without_nodes_or_pods_does_not_pass_for_having_tried_nothing(kind: str) -> None:
    with pytest.raises(ScenarioError, match=f"there is no {kind.lower()} in it"):
        judged([one for one in cluster() if one["kind"] != kind])


def test_that_no_pod_had_to_be_scheduled_is_said() -> None:
    found = judged(cluster(), place="pending")
    assert found.pods == 0
    assert found.notes == ("no pod had to be scheduled, so nothing was tried",)


def test_what_is_left_out_and_what_is_said_in_vain_is_told() -> None:
    bad = {"kind": "Pod", "metadata": {"name": "bad", "namespace": "default"}, "spec": {"containers": "none"}}
    vain = {**renamed("default-scheduler"), "percentageOfNodesToScore": 100}
    found = judged([*cluster(), bad], policy=vain)
    assert any("Pod default/bad" in note for note in found.notes)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("percentageOfNodesToScore: at 100 the search never stops early")
    assert (found.to_dict()["notes"], found.to_dict()["warnings"]) == (list(found.notes), list(found.warnings))


def test_a_policy_that_kube_scheduler_refuses_is_refused_with_its_line() -> None:
    text = PACKED.replace("MostAllocated", "MostAlocated")
    with pytest.raises(ScenarioError) as caught:
        judged(cluster(), policy=text)
    assert caught.value.problems[0].path == "policy"
    assert caught.value.problems[0].text.startswith("line ")
    assert "MostAlocated" in str(caught.value)
    with pytest.raises(ScenarioError, match=r"^baseline: "):
        judged(cluster(), baseline="kind: Pod")


def test_lists_are_taken_apart_and_other_values_refused() -> None:
    items = [{"metadata": {"name": "a"}}, {"kind": "Pod", "metadata": {"name": "b"}}]
    nested = {"kind": "List", "items": [{"kind": "NodeList", "items": items}]}
    assert [raw["kind"] for raw in read_objects([nested, [{"kind": "Service"}]])] == ["Node", "Pod", "Service"]
    for wrong, problem in ((None, "a null"), ("x", "a text")):
        with pytest.raises(ScenarioError, match=f"snapshot: must hold Kubernetes objects: {problem} is not"):
            read_objects([{"kind": "List", "items": [wrong]}])


def test_a_dump_was_taken_about_when_its_newest_time_says() -> None:
    raw = node("a")
    raw["status"]["conditions"] = [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:01:00Z"}, "odd"]
    assert newest_time([*cluster(), raw]) - newest_time(cluster()[:1]) == 60.0
    assert newest_time([]) == newest_time([{"metadata": {"creationTimestamp": "yesterday"}}]) == 0.0


def test_progress_hears_of_both_runs_and_may_end_them() -> None:
    class Stop(Exception):
        pass

    heard: list[str] = []

    def progress(text: str, done: int, known: int) -> None:
        heard.append(text)
        assert 0 <= done <= known
        if text == "Under policy:":
            raise Stop

    asked = GateQuestion(GatePolicy("policy", PACKED), GatePolicy(DEFAULTS), read_thresholds({}), "")
    with pytest.raises(Stop):
        compute_verdict(prepared_of(cluster(20, 400)), asked, progress=progress)
    assert dict.fromkeys(heard) == {f"Under {DEFAULTS}:": None, "Under policy:": None}


@settings(max_examples=tiers.count(4, 50))
@given(st.integers(0, 10_000))
def test_a_verdict_says_of_every_pod_what_the_runs_say(seed: int) -> None:
    """Whatever happens in a run: drains, failures, preemption."""
    prepared, before, after = make_crowded_scenario(seed), configuration(), configuration("MostAllocated")
    first, second = run_scenario(prepared, before), run_scenario(prepared, after)
    compared = compare_runs(first, second, prepared, before, after)
    pair = RunPair(first, second, compute_measures(first), compute_measures(second), compared)
    found = judge_runs(pair, read_thresholds({"maxMoved": 0, "maxPending": 0}))
    unschedulable, moved, pending = found.checks
    ends = [{pod: outcome.node[row] for pod, row in latest_rows(outcome).items()} for outcome in (first, second)]
    both = ends[0].keys() & ends[1].keys()
    assert moved.value == sum(ends[0][pod] != ends[1][pod] and min(ends[0][pod], ends[1][pod]) >= 0 for pod in both)
    assert pending.value == len(second.pending)
    rows = [(latest_rows(outcome), set(outcome.pending.tolist())) for outcome in (first, second)]
    waits = [{pod for pod, row in named.items() if row in waiting} for named, waiting in rows]
    never = {pod for pod in both if ends[0][pod] >= 0 > ends[1][pod]}
    assert unschedulable.value == len((waits[1] - waits[0]) | never)
    assert found.passed is all(one.passed for one in found.checks)
    assert [one.passed for one in found.checks] == [one.value == 0 for one in found.checks]


@settings(
    max_examples=tiers.count(15, 200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(bent(), min_size=3, max_size=3), st.sampled_from(["all", "pending"]))
def test_no_bent_object_of_a_dump_breaks_a_verdict(items: list[Json], place: str) -> None:
    """Each is judged with the others, or named among the notes; or the whole is refused."""
    taken = {describe_object(item) for item in items}
    others = [item for item in originals() if describe_object(item) not in taken]
    with contextlib.suppress(ScenarioError):
        found = judged([*others, *items], place=place, maxMoved=0, maxPending=0, maxSkewIncrease=0)
        for form in FORMATS:
            assert render_verdict(found.to_dict(), form)


def test_a_snapshot_is_measured_alike_whether_its_use_is_known_or_not() -> None:
    """A dump has no use and the site has, and both are asked the same: for node-hours, too."""
    names, levels = [f"node-{place}" for place in range(4)], np.array([60.0, 10.0, 20.0, 30.0])
    known = Watermarks(names, np.full(4, newest_time(cluster())), {("cpu", "5m"): levels})
    plain, used = (
        {
            one.name: one.value
            for one in compute_measures(run_scenario(prepared_of(cluster(), utilisation=marks), configuration()))
        }
        for marks in (None, known)
    )
    assert plain == {name: used[name] for name in plain}
    assert plain["node_hours"] == pytest.approx(4 / 6, rel=1e-3)
    assert (plain["node_hours_used"] or 0.0) > 0.3
    assert used.keys() - plain.keys() == {"use_skew_cpu", "use_spread_cpu", "use_hottest_cpu"}
