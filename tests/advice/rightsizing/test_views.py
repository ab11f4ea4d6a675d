from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kschedweb.advice.rightsizing.sizing import SizeTotals
from kschedweb.advice.rightsizing.words import format_saving, list_savings, render_heading
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.prices.services import prices_save
from kschedweb.clusters.selectors import node_rows
from kschedweb.playground.scenarios.models import Scenario
from tests.support.html import elements, html_of

PAGE, APPLY, EXPORT = (f"/right-sizing/{path}?cluster=demo" for path in ("", "apply/", "export/"))
API = "/api/v1/right-sizing/"
PRICES = """apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
  - {instanceType: m6i.2xlarge, price: 0.5}
"""


def rate(snapshot: Snapshot, price: float, kind: str) -> float:
    """Price a millicore per hour where each node of ``kind`` ("": all) costs ``price``, half of it for CPU."""
    nodes = node_rows(snapshot).filter(**({"instance_type": kind} if kind else {}))
    return price * nodes.count() / 2 / sum(nodes.values_list("cpu_allocatable", flat=True))


def test_before_anything_is_collected_the_page_says_how(client_as: Callable[..., Any], demo: Snapshot) -> None:
    answer = client_as("viewer").get(PAGE)
    assert answer.status_code == 200
    assert elements(answer, "a[href=/usage/source/]")
    assert elements(client_as("viewer").get(APPLY), "a[href=/usage/source/]")


def test_the_list_has_what_saves_most_first(client_as: Callable[..., Any], used_demo: Snapshot) -> None:
    client = client_as("viewer")
    answer = client.get(PAGE)
    hours = [row.hour for row in answer.context["page"]]
    assert len(hours) > 20
    assert hours == sorted(hours, reverse=True)
    assert answer.context["rates"].unit == "node-hours"
    assert elements(answer, "[data-container]")
    filtered_rows = client.get(f"{PAGE}&namespace=shop&show=less&ordering=name").context["page"].object_list
    assert filtered_rows
    assert {row.namespace for row in filtered_rows} == {"shop"}
    lines = b"".join(client.get(f"{PAGE}&format=csv").streaming_content).decode().splitlines()
    assert lines[0].startswith("namespace,workload,container,pods,cpu_requested")
    assert len(lines) == 1 + answer.context["page"].paginator.count


def test_savings_are_money_where_there_are_prices(client_as: Callable[..., Any], used_demo: Snapshot) -> None:
    client = client_as("viewer")
    assert client.get(PAGE).context["rates"].cpu == pytest.approx(rate(used_demo, 1.0, ""))
    prices_save(user=None, cluster=used_demo.cluster, text=PRICES, expected=0)
    answer = client.get(PAGE)
    assert answer.context["rates"].unit == "EUR"
    assert answer.context["rates"].cpu == pytest.approx(rate(used_demo, 0.5, "m6i.2xlarge"))
    first = answer.context["page"][0]
    rates = answer.context["rates"]
    assert first.hour == pytest.approx(first.cpu.saved * rates.cpu + first.memory.saved * rates.memory)


def test_what_would_be_more_is_said_in_words(client_as: Callable[..., Any], used_demo: Snapshot) -> None:
    client = client_as("viewer")
    rows = client.get(f"{PAGE}&show=more&ordering=hour")
    size = rows.context["page"][0]
    assert size.hour < 0
    row = html_of(rows).split(f'data-container="{size.name}"')[1].split("</tr>")[0]
    assert f"costs {format_saving(-size.hour, 'money')} more" in row
    resource = "cpu" if size.cpu.saved < 0 else "memory"
    assert f"needs {format_saving(-getattr(size, resource).saved, resource)} more" in row


@pytest.mark.parametrize(("hour", "sentence"), [(0.5, "would save 0.50 EUR an hour"), (-2, "+2.00 EUR an hour")])
def test_the_heading_says_what_is_saved_or_costs_more(hour: float, sentence: str) -> None:
    assert render_heading(SizeTotals(1, 0, 0, 0, hour, 1.0), "demo", "EUR").endswith(sentence)


@pytest.mark.parametrize(
    ("hour", "hours", "money"),
    [(0.5, 1, ("0.50", "EUR saved an hour")), (-2, 730, ("1,460.00", "EUR more a month of 730 hours"))],
)
def test_sums_of_what_is_saved(hour: float, hours: int, money: tuple[str, str]) -> None:
    assert list_savings(SizeTotals(1, 0, -500, 2**30, hour, 1.0), "EUR", hours) == [
        ("0.50", "cores more"),
        ("1.00", "GiB saved"),
        money,
    ]


def test_a_workload_has_its_figures_and_says_how_they_came_about(
    client_as: Callable[..., Any], used_demo: Snapshot
) -> None:
    client = client_as("viewer")
    name = client.get(PAGE).context["page"][0].workload
    answer = client.get(f"/right-sizing/workload/?cluster=demo&workload={name}")
    (block, *_) = answer.context["blocks"]
    assert len(block["charts"]) == 4
    assert len(block["reasons"]) >= 4
    assert "the weight halves every 24 hours" in answer.content.decode()
    assert client.get("/right-sizing/workload/?cluster=demo&workload=a/Deployment/b").status_code == 404


def test_applying_makes_a_scenario_that_an_engine_takes(client_as: Callable[..., Any], used_demo: Snapshot) -> None:
    client = client_as("editor")
    page = client.get(APPLY)
    assert page.context["sizes"]
    answer = client.post(APPLY, {"run": "1"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/runs/new/?scenario=")
    scenario = Scenario.objects.get(name__startswith="demo right-sized")
    document = scenario.revisions.get().document
    assert len(document["changes"]) == len({size.workload for size in page.context["sizes"]})
    assert document["base"] == {"snapshot": str(used_demo.pk)}
    assert document["autoscaler"]["clusterAutoscaler"]["nodeGroups"]
    assert client_as("viewer").post(APPLY, {"make": "1"}).status_code == 403


def test_the_selected_alone_are_applied(client_as: Callable[..., Any], used_demo: Snapshot) -> None:
    client = client_as("editor")
    (size, *_) = (size for size in client.get(PAGE).context["page"] if size.changes)
    page = client.get(f"{APPLY}&workload={size.workload}")
    assert {selected_size.workload for selected_size in page.context["sizes"]} == {size.workload}
    assert client.post(f"{APPLY}&workload={size.workload}", {"make": "1"}).status_code == 302
    (change,) = Scenario.objects.get(name__startswith="demo right-sized").revisions.get().document["changes"]
    assert change["setRequests"]["containers"][size.container]["cpu"] == f"{size.cpu.target}m"
    assert client.get(f"{APPLY}&workload=a/Deployment/none").status_code == 400


@pytest.mark.parametrize("mode", ["Off", "Initial"])
def test_files_are_downloads(client_as: Callable[..., Any], used_demo: Snapshot, mode: str) -> None:
    client = client_as("viewer")
    answer = client.get(f"{EXPORT}&form=vpa&mode={mode}")
    assert answer["Content-Disposition"] == 'attachment; filename="demo-vpa.yaml"'
    vpas = list(yaml.safe_load_all(answer.content))
    assert {vpa["spec"]["updatePolicy"]["updateMode"] for vpa in vpas} == {mode}
    lines = client.get(f"{EXPORT}&form=kubectl").content.decode().splitlines()
    assert len(lines) == len(vpas)
    assert client.get(f"{EXPORT}&form=none").status_code == 400


def test_rest_has_the_same(api_as: Callable[..., Any], client_as: Callable[..., Any], used_demo: Snapshot) -> None:
    answer = api_as("viewer").get(API, {"cluster": "demo"}).json()
    page = client_as("viewer").get(PAGE).context
    assert [container["workload"] for container in answer["containers"]][:10] == [
        size.workload for size in page["page"]
    ][:10]
    assert answer["hour"] == pytest.approx(page["totals"].hour)
    first = answer["containers"][0]
    assert first["cpu"]["lower"] <= first["cpu"]["target"] <= first["cpu"]["upper"]
    body = {"cluster": "demo", "workloads": [first["workload"]]}
    response = api_as("editor").post(f"{API}scenario/", body, format="json")
    assert response.status_code == 201, response.content
    assert Scenario.objects.get(pk=response.json()["scenario"]).name == response.json()["name"]
    text = api_as("viewer").get(f"{API}export/", {"cluster": "demo", "form": "patches"}).json()["text"]
    assert text.startswith("apiVersion: apps/v1")


@pytest.mark.parametrize(
    ("query", "path"), [({"method": "p10"}, "method"), ({"ordering": "none"}, "ordering"), ({"show": "x"}, "show")]
)
def test_what_is_not_known_is_told_at_its_place(
    api_as: Callable[..., Any], used_demo: Snapshot, query: dict[str, str], path: str
) -> None:
    answer = api_as("viewer").get(API, {"cluster": "demo", **query})
    assert answer.status_code == 400
    assert [error["path"] for error in answer.json()["errors"]] == [path]
