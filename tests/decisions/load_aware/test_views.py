"""The page that puts all load-aware policies side by side, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions.load_aware.curves import Conditions, compute_curve
from kschedweb.decisions.load_aware.sides import all_sides, list_load_aware_plugins
from kschedweb.policies.models import Revision
from kschedweb.watermarks import storage
from kschedweb.watermarks.figures import NODE, Figure
from tests.decisions.conftest import HEAD
from tests.support.html import elements, text

ADDRESS = "/load-aware/"
WEIGHTS = "{windowWeights: {1d: 1}, clusterCpuMinNodeWeight: 1}"
OTHER_WEIGHTS = f"{HEAD}profiles: [{{pluginConfig: [{{name: HheWaterLevelBalance, args: {WEIGHTS}}}]}}]\n"


def store_use(snapshot: Snapshot, before: int = 600, **use: float) -> None:
    """Collected ``before`` seconds before the snapshot: so much percent of CPU and memory on each node."""
    from kschedweb.clusters.models import NodeRow

    names = list(NodeRow.objects.filter(snapshot=snapshot).values_list("name", flat=True))
    at = int(snapshot.taken_at.timestamp()) - before
    percents = np.array([use.get(name.replace("-", "_"), 40.0) for name in names])
    keys = [Figure(NODE, resource, key) for resource in ("cpu", "memory") for key in ("5m", "15m", "1h", "1d")]
    rows = [(at, {key: percents for key in keys})]
    storage.samples_store(cluster=snapshot.cluster, kind=NODE, names=names, rows=rows, origin="prometheus")


@pytest.fixture
def viewer(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def test_every_policy_has_a_curve_a_winner_and_words_about_missing_figures(viewer: Client, demo: Snapshot) -> None:
    store_use(demo, general_a_1=10.0, general_a_2=90.0)
    response = viewer.get(ADDRESS, {"pod_name": "ml/notebook"})
    page = text(response)
    names = {trace["name"] for trace in response.context["chart"].figure["data"]}
    for side in all_sides():
        assert side.label in names
        assert side.unknown
        assert side.unknown in page
    assert {entrant.side.plugin for entrant in response.context["contest"].entrants} == {
        *list_load_aware_plugins(),
        "NodeResourcesFit",
    }
    in_force = response.context["in_force"]
    assert (in_force.source, in_force.ages) == ("prometheus", "10 min")
    assert f"{in_force.ages} old at the snapshot" in page


def test_the_table_says_what_the_chart_says(viewer: Client) -> None:
    chart = viewer.get(ADDRESS, {"pod": "5", "average": "30"}).context["chart"]
    by_name = {trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in chart.figure["data"]}
    assert [row[0] for row in chart.rows] == [f"{percent} %" for percent in range(0, 101, 5)]
    for row in chart.rows:
        percent = int(str(row[0]).removesuffix(" %"))
        for name, cell in zip(chart.head[1:], row[1:], strict=True):
            assert cell == ("rejected" if by_name[name][percent] is None else by_name[name][percent])


def test_a_click_on_a_score_shows_its_arithmetic(viewer: Client, demo: Snapshot) -> None:
    store_use(demo)
    page = text(viewer.get(ADDRESS, {"pod_name": "ml/notebook"}))
    (first, *_) = re.findall(r'href="(\?[^"]*cell=HheWaterLevelBalance)#cell"', page)
    page_with_arithmetic = text(viewer.get(ADDRESS + first))
    answer = viewer.get(ADDRESS + first, headers={"HX-Request": "true", "HX-Target": "cell"})
    assert answer.context["arithmetic"].plugin == "HheWaterLevelBalance"
    assert "mean over 15 minutes" in text(answer)
    assert text(answer).strip() in page_with_arithmetic


def test_conditions_that_cannot_be_are_said_beside_the_field(viewer: Client) -> None:
    page = viewer.get(ADDRESS, {"average": "99"})
    [error] = page.context["form"].errors["average"]
    assert error == "With a node at every percent from 0, the average must be from 5 to 95."
    assert elements(page, "#id_average[aria-invalid=true]")
    assert page.context["conditions"] == Conditions()
    for field, wrong in (("moving", "<b>"), ("pod", "1e9")):
        assert list(viewer.get(ADDRESS, {field: wrong}).context["form"].errors) == [field]


def test_another_policy_is_drawn_beside_where_its_arguments_differ(
    viewer: Client, policy: Callable[[str, str], Revision]
) -> None:
    policy("other", OTHER_WEIGHTS)
    chart = viewer.get(ADDRESS, {"against": "other@1"}).context["chart"]
    line_names = [trace["name"] for trace in chart.figure["data"]]
    assert [name for name in line_names if "other@1" in name] == ["HheWaterLevelBalance (other@1), saved"]
    mine = viewer.get(ADDRESS, {"policy": "other"}).context["drawn"][0]
    assert mine.side.args["windowWeights"] == {"1d": 1}
    assert mine.scores != compute_curve(all_sides()[0], viewer.get(ADDRESS).context["conditions"]).scores


def test_a_pod_that_is_not_there_is_said_beside_the_field(viewer: Client) -> None:
    page = viewer.get(ADDRESS, {"pod_name": "shop/<b>"})
    [error] = elements(page, "#pod-name-error")
    assert error.text == "The snapshot has no pod shop/<b> that a scheduler would look at."


def test_pods_are_suggested_by_the_server(viewer: Client) -> None:
    assert "ml/notebook" in text(viewer.get(ADDRESS + "pods/", {"cluster": "demo", "pod": "notebook"}))


def test_without_a_cluster_there_are_curves_all_the_same(client_as: Callable[[str], Client], no_cluster: None) -> None:
    page = client_as("viewer").get(ADDRESS)
    assert page.context["contest"] is None
    assert elements(page, "[data-figure=score-curves]")


def test_the_constant_50_prefers_full_nodes_to_empty_ones(viewer: Client) -> None:
    summary = viewer.get(ADDRESS).context["fifty"].summary
    assert "an empty node scores 19" in summary
    assert "scores 10 where the score starts from the target, but 49 where it starts from 50" in summary


@pytest.mark.parametrize("query", [{"policy": "nothing"}, {"revision": "77"}, {"against": "nothing@1"}])
def test_what_is_not_there_is_not_found(viewer: Client, query: dict[str, str]) -> None:
    assert viewer.get(ADDRESS, query).status_code == 404
