"""The pages of recorded use as a person gets them, without JavaScript."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from itertools import product
from typing import Any

import plotly.graph_objects as go
import pytest
from django.test import Client

from kschedweb.clusters.models import Cluster
from tests.support.html import elements, text
from tests.support.tiers import NIGHTLY
from tests.watermarks.conftest import store_cluster

PAGES = ("", "heatmap/", "distribution/", "nodes/", "workloads/")


@pytest.fixture
def viewer(client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def lines(response: Any) -> list[dict[str, str]]:
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(StringIO(b"".join(response.streaming_content).decode())))


def heading(response: Any) -> str:
    return text(response).split("<h1>")[1].split("</h1>")[0]


@pytest.mark.parametrize("path", PAGES)
def test_without_a_cluster_a_page_teaches_how_to_start(viewer: Client, path: str) -> None:
    assert elements(viewer.get(f"/usage/{path}"), ".empty a[href=/clusters/connect/]")


@pytest.mark.parametrize("path", PAGES)
def test_without_figures_a_page_says_where_they_would_come_from(viewer: Client, path: str, db: None) -> None:
    store_cluster()
    page = viewer.get(f"/usage/{path}?cluster=metered")
    assert elements(page, ".empty a[href=/usage/source/?cluster=metered]")
    assert page.context["freshness"].kind == "none"


def test_the_title_says_how_far_apart_nodes_are_and_which(viewer: Client, measured_cluster: Cluster) -> None:
    assert heading(viewer.get("/usage/?cluster=metered")) == ("Node skew is 41 points: node-b at 66 %, node-c at 25 %")
    assert heading(viewer.get("/usage/?cluster=metered&statistic=15m&search=NODE-A")) == (
        "Node skew is 0 points: node-a at 58 %"
    )


def test_the_address_says_which_time_is_shown(viewer: Client, measured_cluster: Cluster) -> None:
    response = viewer.get("/usage/", {"cluster": "metered", "from": "2026-11-21T08:00", "to": "2026-11-21T08:30"})
    assert heading(response) == "Node skew is 50 points: node-a at 75 %, node-c at 25 %"
    assert ">2026-11-21 08:00 UTC</time> to" in text(response)
    assert ">2026-11-21 08:30 UTC</time>" in text(response)
    hour = viewer.get("/usage/", {"cluster": "metered", "range": "1h", "format": "json"}).json()
    assert hour["count"] == 12
    assert hour["items"][-1] == {
        "time": "2026-11-21 10:00", "skew": 41.0, "standard_deviation": 17.6, "coefficient_of_variation": 35.7,
        "mean": 49.3, "hottest_node": "node-b", "hottest": 66.0, "coldest_node": "node-c", "coldest": 25.0, "nodes": 3,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["", "heatmap/", "distribution/"])
def test_a_copied_link_goes_on_showing_the_same_time(viewer: Client, measured_cluster: Cluster, path: str) -> None:
    first = viewer.get(f"/usage/{path}?cluster=metered&range=1h")
    [button] = elements(first, "button[data-pins]")
    pinned_page = viewer.get(f"/usage/{path}?range=1h&{button['data-pins']}")
    assert pinned_page.context["query"].range == "", "no time that ends now"
    assert heading(pinned_page) == heading(first)
    [second_button] = elements(pinned_page, "button[data-pins]")
    assert second_button["data-pins"] == button["data-pins"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"resource": "disk"}, "Choose one of cpu, memory."),
        ({"statistic": "2h"}, "Choose one of 5m"),
        ({"range": "1y"}, "Choose one of 1h, 6h, 24h, 7d, 14d."),
        ({"from": "yesterday"}, "such as 2026-11-20T09:00"),
        ({"from": "2026-11-21T09:00", "to": "2026-11-21T08:00"}, "The time must end after it begins."),
        ({"from": "2020-01-01T00:00"}, "At most 366 days"),
        ({"at": "noon"}, "such as 2026-11-20T09:00"),
        ({"at": "1887-01-01T00:00"}, "between 2000 and 2100"),
    ],
)
def test_a_wrong_filter_is_said_beside_its_field_and_the_page_still_shows_something(
    viewer: Client, measured_cluster: Cluster, query: dict[str, str], message: str
) -> None:
    response = viewer.get("/usage/distribution/", {"cluster": "metered", **query})
    [errors] = response.context["form"].errors.values()
    assert message in " ".join(errors)
    assert elements(response, ".field-error")
    assert sum(row[1] for row in response.context["chart"].rows) == 3


ODD = ("", "\0", "9" * 400, "0001-01-01T00:00", "9999-12-31T23:59", "9999-12-31T23:59-14:00", "-1", "💥")


NAMES = ("resource", "statistic", "range", "from", "to", "at", "first", "search", "order", "page", "ordering")


@pytest.mark.parametrize("path", PAGES)
def test_no_odd_address_breaks_a_page(viewer: Client, measured_cluster: Cluster, path: str) -> None:
    """Each odd value of each name on one of the pages, and in the full tier on all of them."""
    for name, value in list(product(NAMES, ODD))[0 if NIGHTLY else PAGES.index(path) :: 1 if NIGHTLY else len(PAGES)]:
        answer = viewer.get(f"/usage/{path}", {"cluster": "metered", name: value})
        assert answer.status_code == 200, (name, value)


def test_where_nothing_is_recent_the_last_figures_are_shown_and_their_age_said(
    viewer: Client, measured_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime

    before = viewer.get("/usage/", {"cluster": "metered"})
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime(2026, 11, 24, 10, tzinfo=UTC))
    response = viewer.get("/usage/", {"cluster": "metered"})
    assert heading(response).startswith("Node skew is 41 points")
    assert response.context["recorded_use"].late
    assert not before.context["recorded_use"].late
    assert response.context["stale"]
    assert any(element.text.endswith("stale") for element in elements(response, ".badge.amber"))
    assert not any(element.text.endswith("stale") for element in elements(before, ".badge.amber"))


def test_the_heatmap_shows_every_node_and_its_csv_every_time(viewer: Client, measured_cluster: Cluster) -> None:
    response = viewer.get("/usage/heatmap/?cluster=metered")
    assert heading(response) == "node-a was hottest with 69 % on average, node-c coldest with 25 %"
    figure = response.context["chart"].figure
    go.Figure(figure)
    assert figure["data"][0]["y"] == ["node-a", "node-b", "node-c"]
    assert "colorscale" not in figure["data"][0]  # the theme has it
    table = lines(viewer.get("/usage/heatmap/?cluster=metered&format=csv&order=name"))
    assert [row["node"] for row in table] == ["node-a", "node-b", "node-c"]
    assert len(table[0]) == 25
    assert table[2]["2026-11-21 10:00"] == "25.0"


def test_a_heatmap_of_many_nodes_is_grouped_and_every_group_opens(viewer: Client, db: None, clock: float) -> None:
    from tests.support.seed import measured as record
    from tests.watermarks.conftest import node

    names = [f"node-{number:05d}" for number in range(430)]
    store_cluster("large", [node(name) for name in names])
    record("large", names, 1, clock)
    response = viewer.get("/usage/heatmap/?cluster=large")
    rows = response.context["rows"]
    assert len(rows) == 50
    assert rows[0].label == "places 1 to 9"
    assert any(element["href"].endswith("first=1&last=9") for element in elements(response, "#main a"))
    assert "Choose a line to see its nodes." in text(response)
    opened_group = viewer.get("/usage/heatmap/?cluster=large&first=1&last=9")
    assert "Choose a line to see it alone." in text(opened_group)
    assert [row.label for row in opened_group.context["rows"]] == names[:9]
    assert elements(opened_group, "#main a[href=?cluster=large]")
    assert len(lines(viewer.get("/usage/heatmap/?cluster=large&format=csv"))) == 430


def test_the_distribution_is_that_of_the_chosen_time_and_leads_to_its_neighbours(
    viewer: Client, measured_cluster: Cluster
) -> None:
    at = {"cluster": "metered", "at": "2026-11-21T09:02"}
    response = viewer.get("/usage/distribution/", at)
    assert heading(response).startswith("At 2026-11-21 09:00 UTC half of 3 nodes lay at or below")
    for rel, time in (("prev", "08%3A55"), ("next", "09%3A05")):
        [link] = elements(response, f"#main a[rel={rel}]")
        assert f"at=2026-11-21T{time}" in link["href"]
    go.Figure(response.context["chart"].figure)
    assert sum(row[1] for row in response.context["chart"].rows) == 3
    assert lines(viewer.get("/usage/distribution/", at | {"format": "csv"}))[2] == {
        "node": "node-c", "value": "25.0", "time": "2026-11-21 09:00",
    }  # fmt: skip


def test_nodes_show_what_is_requested_of_them_beside_what_they_use(viewer: Client, measured_cluster: Cluster) -> None:
    response = viewer.get("/usage/nodes/?cluster=metered")
    # All seven pods are on node-a, which has 2 cores and uses 57 % of them.
    uses = {use.name: use for use in response.context["page"]}
    assert uses["node-a"].requested == 3500
    assert uses["node-a"].used == pytest.approx(1140)
    assert uses["node-a"].ratio == pytest.approx(3500 / 1140)
    assert uses["node-b"].ratio == 0
    assert [use.name for use in response.context["page"]] == ["node-a", "node-c", "node-b"]
    go.Figure(response.context["chart"].figure)
    rising = viewer.get("/usage/nodes/?cluster=metered&ordering=used_share")
    assert [use.name for use in rising.context["page"]] == ["node-c", "node-a", "node-b"]


def test_workloads_show_who_asks_for_much_and_uses_little(viewer: Client, measured_cluster: Cluster) -> None:
    response = viewer.get("/usage/workloads/?cluster=metered&ordering=-ratio")
    uses = list(response.context["page"])
    # Two pods request half a core each and use an eighth; what was not measured comes last.
    assert (uses[0].name, uses[0].requested, uses[0].used, uses[0].ratio) == ("shop/Deployment/web", 1000, 250, 4)
    assert (uses[1].name, uses[1].unused) == ("shop/StatefulSet/db", -250)
    assert [use.is_known for use in uses] == [True, True, False, False]
    assert heading(response) == "shop/Deployment/web leaves most unused: 750m CPU of 1 CPU requested"
    go.Figure(response.context["chart"].figure)
    memory = lines(viewer.get("/usage/workloads/?cluster=metered&resource=memory&format=csv"))
    assert memory[0]["name"] == "shop/Deployment/web"
    assert (memory[0]["requested"], memory[0]["used"]) == ("2147483648.0", "268435456.0")
    assert not viewer.get("/usage/workloads/?cluster=metered&namespace=bank").context["page"].object_list


def test_the_overview_and_the_nodes_show_use_beside_requests(viewer: Client, measured_cluster: Cluster) -> None:
    overview = viewer.get("/?cluster=metered")
    [skew] = elements(overview, ".stat[href=/usage/?cluster=metered&statistic=1h] b")
    assert skew.text == "41"
    # 2 cores at 57 %, 4 at 66 % and 4 at 25 %.
    assert overview.context["zones"][0].cpu.used == pytest.approx(47.8)
    nodes = viewer.get("/nodes/?cluster=metered")
    assert {node.name: cpu for node, cpu, _ in nodes.context["rows"]}["node-b"] == pytest.approx(66)
    assert "66 % used" in text(nodes)
    assert "33 % used" in text(nodes)


def test_every_chart_has_the_same_numbers_as_a_table(viewer: Client, measured_cluster: Cluster) -> None:
    chart = viewer.get("/usage/?cluster=metered").context["chart"]
    go.Figure(chart.figure)
    assert len(chart.rows) == 24
    lines_by_name = {trace["name"]: trace["y"] for trace in chart.figure["data"]}
    assert [row[1] for row in chart.rows] == lines_by_name["skew (hottest − coldest)"]
    assert [row[6] for row in chart.rows] == lines_by_name["hottest node"]
