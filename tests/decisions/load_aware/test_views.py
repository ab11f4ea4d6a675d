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
    charted = {chart.curve.side.label for chart in response.context["charts"]}
    for side in all_sides():
        assert side.label in charted
        assert side.unknown
        assert side.unknown in page
    assert {entrant.side.plugin for entrant in response.context["contest"].entrants} == {
        *list_load_aware_plugins(),
        "NodeResourcesFit",
    }
    in_force = response.context["in_force"]
    assert (in_force.source, in_force.ages) == ("prometheus", "10 min")
    assert f"{in_force.ages} old at the snapshot" in page


def test_the_table_says_what_the_charts_say(viewer: Client) -> None:
    context = viewer.get(ADDRESS, {"pod": "5", "average": "30"}).context
    by_name = {chart.curve.side.label: chart.figure["data"][0] for chart in context["charts"]}
    assert len(by_name) == len(all_sides())
    assert [row[0] for row in context["table"].rows] == [f"{percent} %" for percent in range(0, 101, 5)]
    for row in context["table"].rows:
        percent = int(str(row[0]).removesuffix(" %"))
        for name, cell in zip(context["table"].head, row, strict=True):
            if name in by_name:
                score = by_name[name]["y"][by_name[name]["x"].index(percent)]
                assert cell == ("rejected" if score is None else score)
    axes = [(chart.figure["layout"]["xaxis"], chart.figure["layout"]["yaxis"]) for chart in context["charts"]]
    assert all(pair == axes[0] for pair in axes)


def test_nodes_are_marked_where_they_are_on_each_curve(viewer: Client, demo: Snapshot) -> None:
    """The row of nodes has the mean of the cluster, so that a curve is that of its nodes."""
    store_use(demo, general_a_1=10.0, general_a_2=90.4)
    context = viewer.get(ADDRESS).context
    use, table = context["use"], context["table"]
    assert (use.by_percent[10], use.by_percent[90], use.count) == (["general-a-1"], ["general-a-2"], 60)
    assert context["conditions"].average == 40.5
    for chart in context["charts"]:
        line, marks = chart.figure["data"][0], chart.figure["data"][-1]
        assert marks["x"] == [10, 40, 90]
        assert marks["customdata"][0].removesuffix(": rejected") == "general-a-1"
        for percent, score, symbol in zip(marks["x"], marks["y"], marks["marker"]["symbol"], strict=True):
            on_curve = line["y"][line["x"].index(percent)]
            assert (score, symbol) == ((0, "x") if on_curve is None else (on_curve, "circle"))
    sentences = {chart.curve.side.key: chart.sentence for chart in context["charts"]}
    hhe = next(chart.curve for chart in context["charts"] if chart.curve.side.key == "HheWaterLevelBalance")
    scores = [hhe.scores[percent] for percent in (10, 40, 90)]
    assert sentences["HheWaterLevelBalance"] == (
        f"Your 60 nodes score {min(scores)} to {max(scores)}; its peak is at {hhe.top[1]}\N{NO-BREAK SPACE}%."
    )
    assert sentences["LoadAwareScheduling"].startswith("Rejects 1 of your 60 nodes; the others score ")
    assert sentences["NodeResourcesFit"].endswith("it does not tell them apart.")
    assert [row[1] for row in table.rows if row[1]] == [1, 58, 1]
    moved = viewer.get(ADDRESS, {"lowest": "50"}, headers={"HX-Request": "true", "HX-Target": "curves"}).context
    assert not moved["form"].errors
    assert moved["charts"][0].figure["data"][-1]["x"] == [90]


def test_without_figures_of_use_no_node_is_marked(client_as: Callable[[str], Client], no_cluster: None) -> None:
    context = client_as("viewer").get(ADDRESS).context
    assert [len(chart.figure["data"]) for chart in context["charts"]] == [1] * len(all_sides())
    assert context["charts"][0].sentence == "Peaks at 38\N{NO-BREAK SPACE}% with 99."
    assert context["table"].head[1] == context["charts"][0].curve.side.label


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
    assert page.context["conditions"] == Conditions(average=page.context["conditions"].average)
    for field, wrong in (("moving", "<b>"), ("pod", "1e9")):
        assert list(viewer.get(ADDRESS, {field: wrong}).context["form"].errors) == [field]


def test_another_policy_is_drawn_beside_where_its_arguments_differ(
    viewer: Client, policy: Callable[[str, str], Revision]
) -> None:
    policy("other", OTHER_WEIGHTS)
    charts = viewer.get(ADDRESS, {"against": "other@1"}).context["charts"]
    line_names = [trace["name"] for chart in charts for trace in chart.figure["data"]]
    assert [name for name in line_names if "other@1" in name] == ["HheWaterLevelBalance (other@1)"]
    assert [trace["line"]["dash"] for trace in charts[0].figure["data"][:2]] == ["solid", "dot"]
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
    assert len(elements(page, ".multiples [data-figure]")) == len(all_sides())


def test_the_constant_50_prefers_full_nodes_to_empty_ones(viewer: Client) -> None:
    summary = viewer.get(ADDRESS).context["fifty"].summary
    assert "an empty node scores 19" in summary
    assert "scores 10 where the score starts from the target, but 49 where it starts from 50" in summary


@pytest.mark.parametrize("query", [{"policy": "nothing"}, {"revision": "77"}, {"against": "nothing@1"}])
def test_what_is_not_there_is_not_found(viewer: Client, query: dict[str, str]) -> None:
    assert viewer.get(ADDRESS, query).status_code == 404
