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
    objects: list[Json], policy: Any = PACKED, baseline: Any = None, place: str = "all", **thresholds: Any
) -> GateVerdict:
    baseline_policy = GatePolicy("baseline", baseline) if baseline is not None else GatePolicy(DEFAULTS)
    return compute_verdict(
        prepared_of(objects, place=place),
        GateQuestion(GatePolicy("policy", policy), baseline_policy, read_thresholds(thresholds), "a small cluster"),
    )


def check(verdict: GateVerdict, name: str) -> Any:
    return next(candidate for candidate in verdict.judged.checks if candidate.name == name)


@pytest.mark.parametrize(("value", "text"), [(0.9999, "1 node-hour"), (0.917, "0.917 node-hours")])
def test_what_is_shown_as_one_is_in_the_singular(value: float, text: str) -> None:
    assert format_amount(value, "node-hours") == text


def test_a_policy_against_itself_passes_everything() -> None:
    verdict = judged(cluster(), baseline=PACKED, maxMoved=0, maxPending=0, maxSkewIncrease=0)
    assert verdict.passed
    assert verdict.judged.summary == "All 5 checks pass."
    assert (verdict.nodes, verdict.pods, verdict.judged.scheduled) == (4, 6, 6)
    assert [candidate.value for candidate in verdict.judged.checks[:3]] == [0.0, 0.0, 0.0]
    assert not verdict.notes
    assert not verdict.warnings


@pytest.mark.parametrize("thresholds", [{}, {"maxNewlyUnschedulable": "any"}])
def test_what_lets_nothing_run_never_passes_although_the_baseline_is_no_better(thresholds: Json) -> None:
    owner = [{"kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}]
    agent = pod("agent", on="small")
    agent["metadata"]["ownerReferences"] = owner
    verdict = judged(
        [node("small"), agent, *(pod(f"p{number}", requests={"cpu": "9"}) for number in range(2))], **thresholds
    )
    assert not verdict.passed
    nothing = check(verdict, "nothing_runs")
    assert nothing.sentence.startswith("None of the 2 pods to be scheduled runs, so the policy was not tried on any: ")
    assert "1 Insufficient cpu" in nothing.sentence
    assert [pod_change.pod for pod_change in nothing.pods] == ["default/p0", "default/p1"]


def test_pods_that_fit_nowhere_beside_others_that_run_are_no_news() -> None:
    objects = [node("small"), pod("runs", on="small"), pod("large", requests={"cpu": "9"})]
    assert [candidate.name for candidate in judged(objects, place="pending").judged.checks] == ["newly_unschedulable"]


def test_moved_pods_are_counted_named_and_explained() -> None:
    verdict = judged(cluster(), maxMoved="50%")
    moved = check(verdict, "moved")
    assert not moved.passed
    assert moved.value == len(moved.pods) == verdict.judged.counts["moved"] >= 4
    assert all(
        pod_change.before != pod_change.after and pod_change.plugin == "NodeResourcesFit" for pod_change in moved.pods
    )
    assert f"({100 * moved.value / 6:.1f} % of the 6 that have one under both); allowed: at most 50 %" in moved.sentence
    assert judged(cluster(), maxMoved=6).passed
    assert judged(cluster(), maxMoved="100%").passed
    assert judged(cluster(), maxMoved="any").passed


def test_pods_that_lose_their_node_are_newly_unschedulable() -> None:
    # Spread over four nodes, the large pod finds no room; packed on one it does.
    large = pod("zz-large", requests={"cpu": "4"})
    objects = cluster(2, 2, large)
    assert judged(objects, policy=PACKED, baseline=EMPTY).passed
    verdict = judged(objects, policy=EMPTY, baseline=PACKED)
    lost = check(verdict, "newly_unschedulable")
    assert not verdict.passed
    assert [(pod_change.pod, pod_change.after, pod_change.plugin, pod_change.message) for pod_change in lost.pods] == [
        ("default/zz-large", "", "NodeResourcesFit", "Insufficient cpu")
    ]
    assert lost.sentence == "1 pod finds no node but would under the baseline; allowed: none."
    assert judged(objects, policy=EMPTY, baseline=PACKED, maxNewlyUnschedulable=1).passed
    assert judged(objects, policy=EMPTY, baseline=PACKED, maxNewlyUnschedulable="34%").passed
    assert not judged(objects, policy=EMPTY, baseline=PACKED, maxNewlyUnschedulable="33%").passed


def test_pods_that_no_profile_would_look_at_are_newly_unschedulable() -> None:
    """Nobody waits for them, so nothing else of the run would tell."""
    verdict = judged(cluster(), policy=renamed())
    lost = check(verdict, "newly_unschedulable")
    assert (verdict.passed, lost.value) == (False, 6.0)
    assert {pod_change.message for pod_change in lost.pods} == {NO_PROFILE}
    neither = judged(cluster(), policy=renamed("a"), baseline=renamed("b"))
    assert check(neither, "newly_unschedulable").passed  # neither would the baseline
    assert check(neither, "nothing_runs").sentence.endswith(NO_PROFILE)


def test_what_an_extender_would_have_to_be_asked_is_no_node() -> None:
    extender = {"urlPrefix": "http://192.0.2.1", "filterVerb": "filter"}
    verdict = judged(cluster(), policy={**EMPTY, "extenders": [extender]})
    lost = check(verdict, "newly_unschedulable")
    assert lost.value == 6.0
    assert all("http://192.0.2.1" in pod_change.message for pod_change in lost.pods)


def test_pods_that_wait_under_both_are_pending_and_not_newly_unschedulable() -> None:
    objects = cluster(2, 2, pod("huge", requests={"cpu": "100"}))
    verdict = judged(objects, maxPending=0)
    assert check(verdict, "newly_unschedulable").passed
    waiting = check(verdict, "pending")
    assert (waiting.passed, waiting.value, waiting.baseline) == (False, 1.0, 1.0)
    assert waiting.pods[0].message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert judged(objects, maxPending=1).passed


def test_pods_with_a_node_keep_it_where_only_those_that_wait_are_placed() -> None:
    objects = cluster(4, 6, pod("waits", requests={"cpu": "500m"}))
    verdict = judged(objects, place="pending", maxMoved=0)
    assert verdict.pods == 1
    assert check(verdict, "moved").value == 1.0  # on node-0 with the others, or away from it
    assert check(verdict, "moved").pods[0].after == "node-0"


def owned(raw: Json, priority: int) -> Json:
    """The pod with a controller, which would make it anew, and a priority."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    spec = {**raw["spec"], "priority": priority}
    return {**raw, "metadata": {**raw["metadata"], "ownerReferences": [owner]}, "spec": spec}


def test_pods_from_a_priority_on_find_a_node_whichever_zone_is_lost() -> None:
    objects = [owned(raw, 10) if raw["kind"] == "Pod" else raw for raw in cluster(nodes=2, pods=10)]
    verdict = judged(objects, policy=EMPTY, zoneLossPriority=10)
    lost = check(verdict, "zone_loss")
    assert (lost.passed, lost.value, lost.limits) == (False, 2.0, {"max": 0})
    assert lost.sentence == ("2 pods of priority 10 and above find no node after the loss of zone z0; allowed: none.")
    assert "Insufficient cpu" in lost.pods[0].message
    assert check(judged(objects, zoneLossPriority=11), "zone_loss").passed
    fewer = check(judged(cluster(nodes=2, pods=8), zoneLossPriority=0), "zone_loss")
    assert fewer.sentence == "Every pod of priority 0 and above finds a node again after the loss of any one zone."
    without_zones = [{**raw, "metadata": {**raw["metadata"], "labels": {}}} for raw in cluster()]
    assert check(judged(without_zones, zoneLossPriority=0), "zone_loss").sentence.startswith("No node has a zone")


def test_skew_may_grow_by_so_many_points() -> None:
    verdict = judged(cluster(), maxSkewIncrease=30)
    cpu, memory = check(verdict, "skew_cpu_end"), check(verdict, "skew_memory_end")
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
    for max_change, end in ends.items():
        last_check = judge_runs(pair, read_thresholds({"measures": {name: {"maxChange": max_change}}})).checks[-1]
        assert (last_check.name, last_check.unit) == (name, "%")
        assert last_check.value is not None
        assert last_check.baseline is not None
        assert f" {format_number(abs(last_check.value - last_check.baseline))} points " in last_check.sentence
        assert last_check.value != last_check.baseline
        assert last_check.sentence.endswith(end)


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
    verdict = judged(cluster(), measures={name: limits})
    measure_check = check(verdict, name)
    assert measure_check.passed is verdict.passed is passes
    assert measure_check.sentence.endswith(".")


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
    verdict = judged(cluster(), policy=renamed(), maxNewlyUnschedulable="any", measures={"wait_p99": {"max": 60}})
    assert check(verdict, "wait_p99").sentence.endswith("there is nothing to measure under the policy.")
    assert not verdict.passed


def test_an_unknown_measure_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ScenarioError, match=r"thresholds.measures\['skew_cpuu'\]: is not measured here; .* skew_cpu,"):
        judged(cluster(), measures={"skew_cpuu": {"max": 1}})


def test_only_the_first_pods_are_named() -> None:
    verdict = judged(cluster(MOST_PODS, MOST_PODS + 30), maxMoved=0)
    moved = check(verdict, "moved")
    assert len(moved.pods) == MOST_PODS
    assert moved.more == moved.value - MOST_PODS > 0


@pytest.mark.parametrize("kind", ["Node", "Pod"])
def test_a_dump_without_nodes_or_pods_does_not_pass_for_having_tried_nothing(kind: str) -> None:
    with pytest.raises(ScenarioError, match=f"there is no {kind.lower()} in it"):
        judged([raw for raw in cluster() if raw["kind"] != kind])


def test_that_no_pod_had_to_be_scheduled_is_said() -> None:
    verdict = judged(cluster(), place="pending")
    assert verdict.pods == 0
    assert verdict.notes == ("no pod had to be scheduled, so nothing was tried",)


def test_what_is_left_out_and_what_is_said_in_vain_is_told() -> None:
    bad = {"kind": "Pod", "metadata": {"name": "bad", "namespace": "default"}, "spec": {"containers": "none"}}
    vain = {**renamed("default-scheduler"), "percentageOfNodesToScore": 100}
    verdict = judged([*cluster(), bad], policy=vain)
    assert any("Pod default/bad" in note for note in verdict.notes)
    assert len(verdict.warnings) == 1
    assert verdict.warnings[0].startswith("percentageOfNodesToScore: at 100 the search never stops early")
    assert (verdict.to_dict()["notes"], verdict.to_dict()["warnings"]) == (list(verdict.notes), list(verdict.warnings))


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

    def progress(text: str, count: int, total: int) -> None:
        heard.append(text)
        assert 0 <= count <= total
        if text == "Under policy:":
            raise Stop

    question = GateQuestion(GatePolicy("policy", PACKED), GatePolicy(DEFAULTS), read_thresholds({}), "")
    with pytest.raises(Stop):
        compute_verdict(prepared_of(cluster(20, 400)), question, progress=progress)
    assert dict.fromkeys(heard) == {f"Under {DEFAULTS}:": None, "Under policy:": None}


@settings(max_examples=tiers.count(4, 50))
@given(st.integers(0, 10_000))
def test_a_verdict_says_of_every_pod_what_the_runs_say(seed: int) -> None:
    """Whatever happens in a run: drains, failures, preemption."""
    prepared, before, after = make_crowded_scenario(seed), configuration(), configuration("MostAllocated")
    first, second = run_scenario(prepared, before), run_scenario(prepared, after)
    compared = compare_runs(first, second, prepared, before, after)
    pair = RunPair(first, second, compute_measures(first), compute_measures(second), compared)
    verdict = judge_runs(pair, read_thresholds({"maxMoved": 0, "maxPending": 0}))
    unschedulable, moved, pending = verdict.checks
    ends = [{pod: outcome.node[row] for pod, row in latest_rows(outcome).items()} for outcome in (first, second)]
    both = ends[0].keys() & ends[1].keys()
    assert moved.value == sum(ends[0][pod] != ends[1][pod] and min(ends[0][pod], ends[1][pod]) >= 0 for pod in both)
    assert pending.value == len(second.pending)
    rows = [(latest_rows(outcome), set(outcome.pending.tolist())) for outcome in (first, second)]
    waits = [{pod for pod, row in row_by_pod.items() if row in waiting} for row_by_pod, waiting in rows]
    never = {pod for pod in both if ends[0][pod] >= 0 > ends[1][pod]}
    assert unschedulable.value == len((waits[1] - waits[0]) | never)
    assert verdict.passed is all(candidate.passed for candidate in verdict.checks)
    assert [candidate.passed for candidate in verdict.checks] == [candidate.value == 0 for candidate in verdict.checks]


@settings(
    max_examples=tiers.count(15, 200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(bent(), min_size=3, max_size=3), st.sampled_from(["all", "pending"]))
def test_no_bent_object_of_a_dump_breaks_a_verdict(items: list[Json], place: str) -> None:
    """Each is judged with the others, or named among the notes; or the whole is refused."""
    bent_objects = {describe_object(item) for item in items}
    sound_objects = [item for item in originals() if describe_object(item) not in bent_objects]
    with contextlib.suppress(ScenarioError):
        verdict = judged([*sound_objects, *items], place=place, maxMoved=0, maxPending=0, maxSkewIncrease=0)
        for form in FORMATS:
            assert render_verdict(verdict.to_dict(), form)


def test_a_snapshot_is_measured_alike_whether_its_use_is_known_or_not() -> None:
    """A dump has no use and the site has, and both are asked the same: for node-hours, too."""
    names, levels = [f"node-{place}" for place in range(4)], np.array([60.0, 10.0, 20.0, 30.0])
    watermarks = Watermarks(names, np.full(4, newest_time(cluster())), {("cpu", "5m"): levels})
    plain, used = (
        {
            measure.name: measure.value
            for measure in compute_measures(run_scenario(prepared_of(cluster(), utilisation=marks), configuration()))
        }
        for marks in (None, watermarks)
    )
    assert plain == {name: used[name] for name in plain}
    assert plain["node_hours"] == pytest.approx(4 / 6, rel=1e-3)
    assert (plain["node_hours_used"] or 0.0) > 0.3
    assert used.keys() - plain.keys() == {"use_skew_cpu", "use_spread_cpu", "use_hottest_cpu"}
