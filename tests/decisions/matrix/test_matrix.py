"""The rows of the matrix: groups of verdicts, sorting by any column, folded columns, a node against the winner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.test import Client

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import services
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.kept import explanation_bytes, insight
from kschedweb.decisions.kept.insight import KeptMatrix
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.policies.models import Revision
from tests.support.html import elements, text

from ..conftest import MOST_ALLOCATED

ADDRESS = "/decision/demo/{}/"
NOTEBOOK = ADDRESS.format("ml/notebook")
STUCK = ADDRESS.format("analytics/cube-builder")


@pytest.fixture
def notebook(demo: Snapshot, revision: Revision) -> Decision:
    return Decision(services.decide_pod(demo, "ml/notebook", revision))


@pytest.fixture
def viewer(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def test_every_rejected_node_is_in_one_group_of_its_verdict(demo: Snapshot, revision: Revision) -> None:
    several = 0
    for pod in PodRow.objects.filter(snapshot=demo, pending=True):
        decision = Decision(services.decide_pod(demo, f"{pod.namespace}/{pod.name}", revision))
        explanation = decision.explanation
        grouped_nodes = [node for group in decision.groups for node in group.nodes]
        assert sorted(grouped_nodes) == np.flatnonzero(explanation.rejected_by != FEASIBLE).tolist()
        assert len({group.key for group in decision.groups}) == len(decision.groups)
        for group in decision.groups:
            assert {explanation.rejected_by[node] for node in group.nodes} == {explanation.rejected_by[group.nodes[0]]}
            assert {explanation.verdict_at(node) for node in group.nodes} == {explanation.verdict_at(group.nodes[0])}
            assert group.hidden + len(group.names) == group.count
            several += group.count > 1
    assert several > 10


def test_taints_of_one_message_are_told_apart_also_where_the_decision_was_kept(
    demo: Snapshot, revision: Revision
) -> None:
    decision = Decision(services.decide_pod(demo, "analytics/cube-builder", revision))
    counts_by_words = {group.words: group.count for group in decision.groups if group.plugin == "TaintToleration"}
    assert counts_by_words["untolerated taint {dedicated=database:NoSchedule}"] == 9
    assert len(counts_by_words) > 1
    payload = explanation_bytes.pack_explanation(decision.explanation, insight.build_insight(decision))
    kept_matrix = KeptMatrix(*explanation_bytes.unpack_explanation(payload))
    kept_groups = [(group.key, group.words, group.nodes) for group in kept_matrix.groups]
    assert kept_groups == [(group.key, group.words, group.nodes) for group in decision.groups]


def test_a_group_is_a_row_that_leads_to_its_nodes(viewer: Client) -> None:
    page = viewer.get(STUCK)
    links = {link.text.strip(): link["href"] for link in elements(page, "#matrix tr[data-group] th a")}
    assert "45 nodes" in links
    response = viewer.get(f"{STUCK}{links['45 nodes'].partition('#')[0]}")
    assert {row.status.reasons for row in response.context["rows"]} == {("Insufficient cpu",)}
    assert len(response.context["rows"]) == 45
    assert not elements(response, "#matrix tr[data-group]")
    unknown = viewer.get(STUCK, {"verdict": "9.9.9"})
    assert unknown.context["verdict"] is None


@pytest.mark.parametrize("key", ["node", "rank", "total", "margin", "NodeResourcesFit", "ImageLocality"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_rows_sort_by_any_column(viewer: Client, key: str, sign: str) -> None:
    response = viewer.get(NOTEBOOK, {"sort": f"{sign}{key}"})
    rows = response.context["rows"]
    values: list[Any] = [
        {
            "node": row.node,
            "rank": row.place.rank,
            "total": row.place.total,
            "margin": row.margin,
            **{cell.plugin: cell.weighted for cell in row.cells},
        }[key]
        for row in rows
    ]
    assert len(set(values)) > 1
    assert values == sorted(values, reverse=sign == "-")
    (head,) = [candidate for candidate in response.context["heads"] if candidate.key == key]
    assert head.way == ("descending" if sign else "ascending")
    assert head.sort == (key if sign else f"-{key}")
    assert len(elements(response, "#matrix thead th[aria-sort=none]")) == len(response.context["heads"]) - 1


@pytest.mark.parametrize("key", ["other-rank", "-other-rank", "other-share", "-share", "-NodeResourcesFit", "nothing"])
def test_under_another_policy_nodes_without_a_value_come_last(
    viewer: Client, policy: Callable[..., Revision], key: str
) -> None:
    policy("most", MOST_ALLOCATED)
    response = viewer.get(NOTEBOOK, {"sort": key, "against": "most@1"})
    assert response.status_code == 200
    rows = response.context["rows"]
    if "other" in key:
        ranks = [row.other.rank for row in rows if row.other]
        assert ranks == sorted(ranks, reverse=key in ("-other-rank", "other-share"))
        assert all(row.other for row in rows[: len(ranks)])


def test_columns_in_which_all_nodes_are_equal_fold_away_and_unfold(viewer: Client, notebook: Decision) -> None:
    equal = {column.plugin for column in notebook.explanation.scores if len(set(column.weighted.tolist())) == 1}
    assert equal
    response = viewer.get(NOTEBOOK)
    labels = {head.label for head in response.context["heads"]}
    assert not equal & labels
    assert {plugin for plugin, _ in response.context["folded"]} == equal
    (unfold,) = elements(response, "#folded a")
    unfolded_page = viewer.get(f"{NOTEBOOK}{unfold['href'].partition('#')[0]}")
    assert equal <= {head.label for head in unfolded_page.context["heads"]}
    plugins = {column.plugin for column in notebook.explanation.scores}
    assert {cell.plugin for cell in unfolded_page.context["rows"][0].cells} == plugins


def test_a_node_that_fits_is_told_which_plugins_cost_it_how_many_points(viewer: Client, notebook: Decision) -> None:
    explanation = notebook.explanation
    winner = explanation.chosen
    for node in explanation.feasible.tolist():
        comparison = notebook.compare_with_winner(node)
        assert comparison is not None
        if node != winner:
            assert comparison.node == explanation.node
        differences = (*comparison.costs, *comparison.gains)
        assert sum(cost.difference for cost in differences) == comparison.ahead
        assert all(cost.difference for cost in differences)
        assert [cost.distance for cost in comparison.costs] == sorted(
            (cost.distance for cost in comparison.costs), reverse=True
        )
    page = viewer.get(NOTEBOOK, {"node": "compute-c-4"})
    comparison = page.context["winner_comparison"]
    assert comparison.costs[0].plugin == "NodeResourcesFit"
    cost_sentence = f"NodeResourcesFit costs it {comparison.costs[0].distance} points"
    assert cost_sentence in " ".join(elements(page, "#why .costs li")[0].text.split())
    rejected_page = viewer.get(NOTEBOOK, {"node": "memory-a-1"})
    assert rejected_page.context["winner_comparison"] is None


def test_a_bound_pod_says_where_it_is_and_apart_from_that_where_it_would_go(
    demo: Snapshot, revision: Revision, viewer: Client
) -> None:
    counts = {"here": 0, "elsewhere": 0}
    for row in PodRow.objects.filter(snapshot=demo, pending=False).exclude(node="")[:40]:
        decision = Decision(services.decide_pod(demo, f"{row.namespace}/{row.name}", revision))
        title, node = decision.build_headline().title, decision.explanation.node
        assert title.startswith(f"{row.name} is on {row.node}")
        if node == row.node:
            counts["here"] += 1
            assert "and would go there again" in title
        elif node:
            counts["elsewhere"] += 1
            assert f"; now it would go to {node}" in title
    assert all(counts.values())
    assert "fits now: gpu-a-2 scores best" in text(viewer.get(NOTEBOOK))
