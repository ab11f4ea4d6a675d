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

PAGE, APPLY, EXPORT = (f"/right-sizing/{one}?cluster=demo" for one in ("", "apply/", "export/"))
API = "/api/v1/right-sizing/"
PRICES = """apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
  - {instanceType: m6i.2xlarge, price: 0.5}
"""


def rate(snapshot: Snapshot, price: float, kind: str) -> float:
    """What a millicore costs an hour where each node of ``kind`` ("": all) costs ``price``, half of it for CPU."""
    nodes = node_rows(snapshot).filter(**({"instance_type": kind} if kind else {}))
    return price * nodes.count() / 2 / sum(nodes.values_list("cpu_allocatable", flat=True))


def test_before_anything_is_collected_the_page_says_how(client_as: Callable[..., Any], demo: Snapshot) -> None:
    answer = client_as("viewer").get(PAGE)
    assert answer.status_code == 200
    assert elements(answer, "a[href=/usage/source/]")
    assert elements(client_as("viewer").get(APPLY), "a[href=/usage/source/]")


def test_the_list_has_what_saves_most_first(client_as: Callable[..., Any], used: Snapshot) -> None:
    client = client_as("viewer")
    answer = client.get(PAGE)
    hours = [one.hour for one in answer.context["page"]]
    assert len(hours) > 20
    assert hours == sorted(hours, reverse=True)
    assert answer.context["rates"].unit == "node-hours"
    assert elements(answer, "[data-container]")
    narrowed = client.get(f"{PAGE}&namespace=shop&show=less&ordering=name").context["page"].object_list
    assert narrowed
    assert {one.namespace for one in narrowed} == {"shop"}
    lines = b"".join(client.get(f"{PAGE}&format=csv").streaming_content).decode().splitlines()
    assert lines[0].startswith("namespace,workload,container,pods,cpu_requested")
    assert len(lines) == 1 + answer.context["page"].paginator.count


def test_savings_are_money_where_there_are_prices(client_as: Callable[..., Any], used: Snapshot) -> None:
    client = client_as("viewer")
    assert client.get(PAGE).context["rates"].cpu == pytest.approx(rate(used, 1.0, ""))
    prices_save(user=None, cluster=used.cluster, text=PRICES, expected=0)
    answer = client.get(PAGE)
    assert answer.context["rates"].unit == "EUR"
    assert answer.context["rates"].cpu == pytest.approx(rate(used, 0.5, "m6i.2xlarge"))
    first = answer.context["page"][0]
    rates = answer.context["rates"]
    assert first.hour == pytest.approx(first.cpu.saved * rates.cpu + first.memory.saved * rates.memory)


def test_what_would_be_more_is_said_in_words(client_as: Callable[..., Any], used: Snapshot) -> None:
    client = client_as("viewer")
    rows = client.get(f"{PAGE}&show=more&ordering=hour")
    one = rows.context["page"][0]
    assert one.hour < 0
    row = html_of(rows).split(f'data-container="{one.name}"')[1].split("</tr>")[0]
    assert f"costs {format_saving(-one.hour, 'money')} more" in row
    what = "cpu" if one.cpu.saved < 0 else "memory"
    assert f"needs {format_saving(-getattr(one, what).saved, what)} more" in row


@pytest.mark.parametrize(("hour", "said"), [(0.5, "save 0.50 EUR an hour"), (-2, "cost 2.00 EUR more an hour")])
def test_the_heading_says_what_is_saved_or_costs_more(hour: float, said: str) -> None:
    assert (
        render_heading(SizeTotals(1, 0, 0, 0, hour, 1.0), "demo", "EUR") == f"Right-sized requests of demo would {said}"
    )


@pytest.mark.parametrize(
    ("hour", "hours", "said"),
    [(0.5, 1, ("0.50", "EUR saved an hour")), (-2, 730, ("1,460.00", "EUR more a month of 730 hours"))],
)
def test_sums_of_what_is_saved(hour: float, hours: int, said: tuple[str, str]) -> None:
    assert list_savings(SizeTotals(1, 0, -500, 2**30, hour, 1.0), "EUR", hours) == [
        ("0.50", "cores more"),
        ("1.00", "GiB saved"),
        said,
    ]


def test_a_workload_has_its_figures_and_says_how_they_came_about(client_as: Callable[..., Any], used: Snapshot) -> None:
    client = client_as("viewer")
    name = client.get(PAGE).context["page"][0].workload
    answer = client.get(f"/right-sizing/workload/?cluster=demo&workload={name}")
    (block, *_) = answer.context["blocks"]
    assert len(block["charts"]) == 4
    assert len(block["reasons"]) >= 4
    assert "half as much after 24 hours" in answer.content.decode()
    assert client.get("/right-sizing/workload/?cluster=demo&workload=a/Deployment/b").status_code == 404


def test_applying_makes_a_scenario_that_an_engine_takes(client_as: Callable[..., Any], used: Snapshot) -> None:
    client = client_as("editor")
    page = client.get(APPLY)
    assert page.context["sizes"]
    answer = client.post(APPLY, {"run": "1"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/runs/new/?scenario=")
    scenario = Scenario.objects.get(name__startswith="demo right-sized")
    document = scenario.revisions.get().document
    assert len(document["changes"]) == len({one.workload for one in page.context["sizes"]})
    assert document["base"] == {"snapshot": str(used.pk)}
    assert document["autoscaler"]["clusterAutoscaler"]["nodeGroups"]
    assert client_as("viewer").post(APPLY, {"make": "1"}).status_code == 403


def test_the_selected_alone_are_applied(client_as: Callable[..., Any], used: Snapshot) -> None:
    client = client_as("editor")
    (one, *_) = (one for one in client.get(PAGE).context["page"] if one.changes)
    page = client.get(f"{APPLY}&workload={one.workload}")
    assert {found.workload for found in page.context["sizes"]} == {one.workload}
    assert client.post(f"{APPLY}&workload={one.workload}", {"make": "1"}).status_code == 302
    (change,) = Scenario.objects.get(name__startswith="demo right-sized").revisions.get().document["changes"]
    assert change["setRequests"]["containers"][one.container]["cpu"] == f"{one.cpu.target}m"
    assert client.get(f"{APPLY}&workload=a/Deployment/none").status_code == 400


@pytest.mark.parametrize("mode", ["Off", "Initial"])
def test_files_are_downloads(client_as: Callable[..., Any], used: Snapshot, mode: str) -> None:
    client = client_as("viewer")
    answer = client.get(f"{EXPORT}&form=vpa&mode={mode}")
    assert answer["Content-Disposition"] == 'attachment; filename="demo-vpa.yaml"'
    found = list(yaml.safe_load_all(answer.content))
    assert {one["spec"]["updatePolicy"]["updateMode"] for one in found} == {mode}
    lines = client.get(f"{EXPORT}&form=kubectl").content.decode().splitlines()
    assert len(lines) == len(found)
    assert client.get(f"{EXPORT}&form=none").status_code == 400


def test_rest_has_the_same(api_as: Callable[..., Any], client_as: Callable[..., Any], used: Snapshot) -> None:
    answer = api_as("viewer").get(API, {"cluster": "demo"}).json()
    page = client_as("viewer").get(PAGE).context
    assert [container["workload"] for container in answer["containers"]][:10] == [one.workload for one in page["page"]][
        :10
    ]
    assert answer["hour"] == pytest.approx(page["totals"].hour)
    first = answer["containers"][0]
    assert first["cpu"]["lower"] <= first["cpu"]["target"] <= first["cpu"]["upper"]
    body = {"cluster": "demo", "workloads": [first["workload"]]}
    made = api_as("editor").post(f"{API}scenario/", body, format="json")
    assert made.status_code == 201, made.content
    assert Scenario.objects.get(pk=made.json()["scenario"]).name == made.json()["name"]
    text = api_as("viewer").get(f"{API}export/", {"cluster": "demo", "form": "patches"}).json()["text"]
    assert text.startswith("apiVersion: apps/v1")


@pytest.mark.parametrize(
    ("given", "path"), [({"method": "p10"}, "method"), ({"ordering": "none"}, "ordering"), ({"show": "x"}, "show")]
)
def test_what_is_not_known_is_told_at_its_place(
    api_as: Callable[..., Any], used: Snapshot, given: dict[str, str], path: str
) -> None:
    answer = api_as("viewer").get(API, {"cluster": "demo", **given})
    assert answer.status_code == 400
    assert [error["path"] for error in answer.json()["errors"]] == [path]
