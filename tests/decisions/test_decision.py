"""Decision pages agree with themselves and with the explanation, for every pod of the demo cluster."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
import pytest
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import figures, services
from kschedweb.decisions.case import Case
from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.presentation import UNSCORED
from kschedweb.decisions.snapshots import engine_snapshot
from kschedweb.engine import Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.policies.models import Revision
from tests.support.html import html_of

from .conftest import HEAD


@pytest.fixture
def decisions(demo: Snapshot, revision: Revision) -> list[Decision]:
    pods = list(PodRow.objects.filter(snapshot=demo, pending=True))
    pods += PodRow.objects.filter(snapshot=demo, pending=False)[:15]
    return [Decision(services.decide_pod(demo, f"{pod.namespace}/{pod.name}", revision)) for pod in pods]


def test_the_funnel_loses_every_node_once(decisions: list[Decision]) -> None:
    for decision in decisions:
        stages = decision.build_stages()
        total = len(decision.explanation.nodes)
        filters = [stage for stage in stages if stage.kind == "filter"]
        feasible = next(stage for stage in stages if stage.kind == "feasible")
        assert stages[0].remaining == total
        assert sum(stage.lost for stage in filters) + feasible.remaining == total
        assert feasible.remaining == len(decision.explanation.feasible)
        assert [stage.remaining for stage in stages] == sorted((stage.remaining for stage in stages), reverse=True)


def test_choosing_a_bar_shows_exactly_its_nodes(decisions: list[Decision]) -> None:
    for decision in decisions:
        parts = [
            decision.list_positions(stage.key)
            for stage in decision.build_stages()
            if stage.kind in ("filter", "feasible")
        ]
        together = [node for part in parts for node in part]
        assert sorted(together) == sorted(decision.list_positions("")) == list(range(len(decision.explanation.nodes)))
        for stage in decision.build_stages():
            if stage.kind == "filter":
                assert len(decision.list_positions(stage.key)) == stage.lost


@pytest.mark.parametrize("version", ["1.37", "1.13", "1.9"])
def test_where_nothing_scores_nodes_each_of_them_scores_1(
    version: str,
    demo: Snapshot,
    policy: Callable[..., Revision],
    classic: Callable[..., Revision],
    api_as: Callable[[str], APIClient],
    client_as: Callable[[str], Client],
) -> None:
    nothing = f"{HEAD}profiles:\n- plugins: {{score: {{disabled: [{{name: '*'}}]}}}}\n"
    if version == "1.37":
        revision = policy("nothing", nothing)
    else:
        revision = classic("nothing", {"version": version}, predicates=[{"name": "HostName"}], priorities=[])
    candidates = (
        (pod, get_decider(revision).present(services.decide_pod(demo, f"{pod.namespace}/{pod.name}", revision)))
        for pod in PodRow.objects.filter(snapshot=demo)
    )
    pod, decision = next((pod, candidate) for pod, candidate in candidates if len(candidate.explanation.feasible) > 1)
    assert {row.place and row.place.total for row in decision.rows(decision.list_positions("feasible"))} == {1}
    assert (decision.ceiling, UNSCORED in decision.build_headline().details) == (1, True)
    address = f"demo/{pod.namespace}/{pod.name}/?policy=nothing"
    answer = api_as("viewer").get(f"/api/v1/clusters/demo/pods/{pod.namespace}/{pod.name}/decision/?policy=nothing")
    assert set(answer.json()["total"].values()) == {1}
    assert UNSCORED in html_of(client_as("viewer").get(f"/decision/{address}"))


def test_a_row_adds_up_and_the_best_comes_first(decisions: list[Decision]) -> None:
    scored_rows = 0
    for decision in decisions:
        rows = decision.rows(decision.list_positions("feasible"))
        totals = [row.place.total for row in rows if row.place]
        assert len(totals) == len(rows)
        assert totals == sorted(totals, reverse=True)
        for row, total in zip(rows, totals, strict=True):
            assert row.place is not None
            assert total == sum(cell.weighted for cell in row.cells)
            assert row.behind == totals[0] - total
            assert row.place.rank == 1 + sum(rival > total for rival in totals)
            assert row.place.share == total / decision.ceiling
            scored_rows += 1
        if rows:
            assert rows[0].chosen
            assert sum(row.chosen for row in rows) == 1
    assert scored_rows > 100


def test_every_rejected_node_has_the_schedulers_words_and_a_plain_reading(decisions: list[Decision]) -> None:
    for decision in decisions:
        explanation = decision.explanation
        for node in decision.list_positions(""):
            if explanation.rejected_by[node] != FEASIBLE:
                reading = decision.decisive_reading(node)
                assert reading is not None
                assert reading.text
                decisive = [verdict for verdict in decision.verdicts(node) if verdict.decisive]
                assert len(decisive) == 1
                assert decisive[0].status == explanation.verdict_at(node)


def test_the_title_of_a_pod_that_fits_names_the_winner_and_its_lead(demo: Snapshot, revision: Revision) -> None:
    decision = Decision(services.decide_pod(demo, "ml/notebook", revision))
    best, second = decision.rows(decision.list_positions("feasible"))[:2]
    title = decision.build_headline().title
    assert best.place is not None
    assert title.startswith(f"notebook fits now: {best.node} scores best ({best.place.total} of {decision.ceiling})")
    assert f"{second.behind} ahead of {second.node}" in title


def test_the_title_of_a_pending_pod_counts_its_reasons_in_plain_words(demo: Snapshot, revision: Revision) -> None:
    decision = Decision(services.decide_pod(demo, "analytics/cube-builder", revision))
    answer = decision.build_headline()
    assert "45 of 60 nodes have less than 60 CPU free" in answer.title
    assert answer.quote == decision.explanation.message
    miss = decision.nearest_miss()
    assert miss is not None
    assert "lacks only" in miss.text


def test_a_gated_pod_says_what_it_waits_for(demo: Snapshot, revision: Revision) -> None:
    decision = Decision(services.decide_pod(demo, "batch/quarter-close", revision))
    assert decision.is_waiting
    gates = "[example.com/budget-approval kueue.x-k8s.io/admission]"
    assert f"waiting for scheduling gates: {gates}" in decision.build_headline().title


def test_a_bound_pod_is_explained_as_if_it_were_not_bound_and_says_so(demo: Snapshot, revision: Revision) -> None:
    row = PodRow.objects.filter(snapshot=demo, pending=False).exclude(node="").first()
    assert row is not None
    case = services.decide_pod(demo, f"{row.namespace}/{row.name}", revision)
    assert case.bound_to == row.node
    assert row.node in Decision(case).build_headline().details[0]
    shared_snapshot = engine_snapshot(demo)
    assert case.snapshot.pod_count.sum() == shared_snapshot.pod_count.sum() - 1
    # The node it is on does not narrow where it could go.
    assert len(case.explanation.feasible) > 1


def test_the_figure_is_valid_plotly_and_has_the_numbers_of_its_table(decisions: list[Decision]) -> None:
    charts = 0
    for decision in decisions:
        chart = figures.build_score_chart(decision)
        if chart is None:
            continue
        charts += 1
        go.Figure(chart.figure)
        trace = chart.figure["data"][0]
        values = [[point[3] for point in line] for line in trace["customdata"]]
        assert [list(column) for column in zip(*values, strict=True)] == [row[2:] for row in chart.rows]
        assert all(-1 <= value <= 1 for line in trace["z"] for value in line)
        assert len(chart.rows) <= figures.MOST_COLUMNS
        assert chart.summary.endswith(".")
    assert charts >= 5


def test_many_nodes_are_binned_and_every_node_is_in_one_bin(
    store_snapshot: Callable[..., Snapshot], demo_objects: list[Json], revision: Revision
) -> None:
    node = next(item for item in demo_objects if item["kind"] == "Node" and item["metadata"]["name"] == "general-a-1")
    nodes = [{**node, "metadata": {**node["metadata"], "name": f"n-{number}"}} for number in range(300)]
    nodes[0] = {**nodes[0], "spec": {"taints": [{"key": "old", "effect": "PreferNoSchedule"}]}}
    pod = next(item for item in demo_objects if item["kind"] == "Pod" and item["metadata"]["name"] == "web-preview")
    snapshot = store_snapshot([*nodes, pod], "many")
    chart = figures.build_score_chart(Decision(services.decide_pod(snapshot, "shop/web-preview", revision)))
    assert chart is not None
    assert len(chart.rows) == figures.MOST_COLUMNS
    assert str(chart.rows[0][0]).startswith("places 1 to 5 ")


CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "gpu-0", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
}
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"extendedResourceName": "example.com/gpu"},
}


SELECTOR = {"cel": {"expression": "nobody(device)"}}
ODD_CLASS = {**CLASS, "spec": {"extendedResourceName": "example.com/gpu", "selectors": [SELECTOR]}}


def decision_of(*objects: dict, **spec: object) -> Decision:
    """The decision about the pod ``web`` among ``objects``."""
    container = {"name": "main", "image": "web:1", "resources": {"requests": spec.pop("requests", {})}}
    web = {
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }
    engine = EngineSnapshot.from_objects([*objects, web])
    configuration = load(HEAD).configuration
    assert configuration is not None
    scheduler = Scheduler(engine, configuration)
    pod = engine.get_pod("default/web")
    return Decision(Case(engine, pod, scheduler, scheduler.explain(pod), ""))


def a_node(name: str, **allocatable: str) -> dict:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **allocatable}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}


def devices_on(node: str) -> dict:
    """A slice with one device."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": [{"name": "gpu-0"}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def test_a_pod_finds_no_device() -> None:
    claims = [{"name": "d", "resourceClaimName": "gpu-0"}]
    decision = decision_of(a_node("a"), CLASS, CLAIM, resourceClaims=claims)
    assert decision.build_headline().title == "web is pending: every node cannot allocate all claims"


def test_a_pod_whose_selector_is_not_understood_is_not_judged() -> None:
    claims = [{"name": "d", "resourceClaimName": "gpu-0"}]
    decision = decision_of(a_node("a"), ODD_CLASS, CLAIM, devices_on("a"), resourceClaims=claims)
    title = "web cannot be judged: whether a device meets the selector nobody(device)"
    assert decision.build_headline().title == title
    assert [row.node for row in decision.rows(decision.list_positions(""))] == ["a"]
    assert [stage.remaining for stage in decision.build_stages()] == [1, 0, 0]


def test_nodes_that_fit_are_left_open_where_others_may_be_better() -> None:
    plugin, bare = a_node("plugin", **{"example.com/gpu": "2"}), a_node("bare")
    decision = decision_of(plugin, bare, ODD_CLASS, devices_on("bare"), requests={"example.com/gpu": "1"})
    assert decision.build_headline().title.startswith("web cannot be judged: whether a device meets the selector")
    readings = [row.reading.text for row in decision.rows(decision.list_positions("")) if row.reading]
    assert len(readings) == 2
    assert any("fits, and so may others" in text for text in readings)


def test_a_pod_whose_claim_is_missing_is_not_tried() -> None:
    decision = decision_of(a_node("a"), resourceClaims=[{"name": "d", "resourceClaimName": "gpu-0"}])
    answer = decision.build_headline()
    assert answer.title == 'web is not tried: could not find ResourceClaim "default/gpu-0"'
    assert answer.details == ["DynamicResources keeps it out of the queue until that changes."]
