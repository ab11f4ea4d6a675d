"""The pages of costs: the bill with and without prices, and the editor of the price table."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.advice.costs.editor import FORM, PricesEditor
from kschedweb.clusters.models import NodeRow, Snapshot
from kschedweb.clusters.prices.selectors import sheet_get, table_of
from kschedweb.clusters.prices.services import prices_save
from kschedweb.engine.documents.marked_documents import parse_document
from tests.support.html import elements

pytestmark = pytest.mark.django_db
PAGE, PRICES = "/costs/?cluster=demo", "/costs/prices/?cluster=demo"
TEXT = """apiVersion: kschedweb/v1
kind: PriceTable
currency: CHF
prices:
  - instanceType: m6i.2xlarge # general
    price: 0.5
"""


def post(client: Any, **fields: Any) -> Any:
    return client.post(PRICES, fields)


def fields_of(answer: Any) -> dict[str, str]:
    """Return the fields that a browser would post from the editor."""
    return {"version": str(answer.context["expected"]), **editor_fields(answer.context["editor"])}


def editor_fields(view: PricesEditor) -> dict[str, str]:
    cells = {
        cell.name: cell.value for field in view.fields for cell in field.walk() if cell.kind not in ("group", "table")
    }
    return {"document": view.document, "base": view.base, **cells}


def unsaved_form(version: int) -> dict[str, str]:
    """The editor with TEXT in it, which nobody has saved."""
    return {"version": str(version), **editor_fields(FORM.open_editor(TEXT))}


def test_without_prices_costs_are_node_hours(client_as: Callable[..., Any], demo: Snapshot) -> None:
    answer = client_as("viewer").get(PAGE)
    bill = answer.context["bill"]
    nodes = NodeRow.objects.filter(snapshot=demo).count()
    assert (bill.unit, bill.total.hour, bill.total.unpriced) == ("node-hours", nodes, 0)
    assert "has 60 nodes and no prices" in answer.content.decode()
    free = 100 - bill.total.requested_share
    assert answer.context["map"].tables[0]["summary"].startswith(f"{free:.0f} % of the price is not requested; ")
    # Node-hours of all nodes are alike.
    assert sum(bill.unrequested.values()) == pytest.approx(nodes * free)
    assert "EUR" not in answer.content.decode()


def test_example_prices_fill_the_editor_and_are_marked(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("editor")
    answer = post(client, **fields_of(client.get(PRICES)), example="1")
    assert table_of(demo.cluster) is None
    assert "Invented, round example prices" in answer.context["editor"].document
    response = post(client, **fields_of(answer), save="1")
    assert response.status_code == 302
    table = table_of(demo.cluster)
    assert table is not None
    assert table.note == "Invented example prices"
    assert answer.context["unpriced_nodes"] == 0
    page = client.get(PAGE)
    assert "Invented example prices" in page.content.decode()
    assert "EUR an hour" in page.content.decode()


def test_parts_sum_to_the_whole_and_unpriced_nodes_count_in_none(client_as: Callable[..., Any], demo: Snapshot) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    for by in ("type", "pool", "namespace", "workload"):
        bill = client_as("viewer").get(f"{PAGE}&by={by}").context["bill"]
        lines, total = bill.lines_by(by), bill.total
        assert total.hour == 24 * 0.5
        assert total.unpriced == 36
        expected_sum = total.hour if by in ("type", "pool") else total.requested
        assert sum(line.hour for line in lines) == pytest.approx(expected_sum)
    assert "Costs leave out 36 nodes without a price" in client_as("viewer").get(PAGE).content.decode()


def test_the_list_sorts_and_is_there_as_a_file(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    page = client.get(f"{PAGE}&by=workload&ordering=-hour").context["page"]
    amounts = [line.hour for line in page]
    assert amounts == sorted(amounts, reverse=True)
    lines = b"".join(client.get(f"{PAGE}&by=workload&format=csv").streaming_content).decode().splitlines()
    assert lines[0] == "name,count,hour,month,requested,used,idle,unpriced,unit"
    assert len(lines) > 10
    assert elements(client.get(PAGE), "[data-figure=costs-figure]")


def test_the_form_changes_one_price_and_leaves_the_rest_of_the_text(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    client = client_as("editor")
    fields = fields_of(client.get(PRICES))
    fields |= {
        "prices.prices.0.price": "0.75",
        "prices.prices.1.labels": "pool=gpu, zone=a",
        "prices.prices.1.price": "3",
    }
    assert post(client, **fields, save="1").status_code == 302
    text = sheet_get(demo.cluster).text
    assert "m6i.2xlarge # general" in text
    assert parse_document(text).data["prices"] == [
        {"instanceType": "m6i.2xlarge", "price": 0.75},
        {"labels": {"pool": "gpu", "zone": "a"}, "price": 3},
    ]


@pytest.mark.parametrize(
    ("cells", "name", "message"),
    [
        ({"prices.prices.0.price": "-1"}, "prices.prices.0.price", "Must be at least 0, is -1"),
        ({"prices.prices.1.instanceType": "m6i.2xlarge", "prices.prices.1.price": "1"}, "prices.prices", "same nodes"),
        ({"prices.prices.1.labels": "what", "prices.prices.1.price": "1"}, "prices.prices.1.labels", "an object"),
    ],
)
def test_what_is_wrong_is_told_at_its_cell_and_nothing_is_lost(
    client_as: Callable[..., Any], demo: Snapshot, cells: dict[str, str], name: str, message: str
) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    client = client_as("editor")
    answer = post(client, **fields_of(client.get(PRICES)) | cells, save="1")
    assert answer.status_code == 422
    fields = [cell for field in answer.context["editor"].fields for cell in field.walk()]
    wrong = {
        cell.name: " ".join(f"{problem.message} {problem.plain}" for problem in cell.problems)
        for cell in fields
        if cell.problems
    }
    assert message in wrong[name]
    kept_cells = {cell.name: cell.value for cell in fields}
    assert {key: kept_cells[key] for key in cells} == cells
    assert sheet_get(demo.cluster).version == 1


def test_nodes_without_a_price_are_listed_and_get_a_row(client_as: Callable[..., Any], demo: Snapshot) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    client = client_as("editor")
    page = client.get(PRICES)
    assert page.context["unpriced_nodes"] == 36
    assert page.context["lacking"][0].type == "c6i.4xlarge"
    answer = post(client, **fields_of(page), add="c6i.4xlarge ")
    assert parse_document(answer.context["editor"].document).data["prices"][1] == {
        "instanceType": "c6i.4xlarge",
        "price": None,
    }
    assert [problem.path for problem in answer.context["editor"].problems] == ["prices[1].price"]


def test_a_file_fills_the_editor_and_a_bad_one_keeps_what_was_typed(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    client = client_as("editor")
    good = post(
        client,
        **unsaved_form(0),
        upload="1",
        file=SimpleUploadedFile("prices.yaml", TEXT.replace("CHF", "USD").encode()),
    )
    assert "currency: USD" in good.context["editor"].document
    for file, message in (
        (None, "Choose a file first."),
        (SimpleUploadedFile("a", b"\xff\xfe\x00"), "not text in UTF-8"),
    ):
        form = {"file": file} if file else {}
        answer = post(client, **unsaved_form(0), upload="1", **form)
        assert answer.status_code == 400
        assert message in unescape(answer.content.decode())
        assert "currency: CHF" in answer.context["editor"].document


def test_a_table_that_another_saved_meanwhile_is_shown_beside(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("editor")
    prices_save(user=None, cluster=demo.cluster, text=TEXT.replace("0.5", "9"), expected=0)
    answer = post(client, **unsaved_form(0), save="1")
    assert answer.status_code == 412
    assert "Version 1 of the prices was saved in the meantime" in answer.content.decode()
    assert answer.context["editor"].document == TEXT
    assert post(client, **fields_of(answer), save="1").status_code == 302
    assert sheet_get(demo.cluster).version == 2


def test_prices_are_deleted(client_as: Callable[..., Any], demo: Snapshot) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    client = client_as("editor")
    assert client.get("/costs/prices/demo/download/").content.decode() == TEXT
    assert post(client, **fields_of(client.get(PRICES)), delete="1").status_code == 302
    assert table_of(demo.cluster) is None
    assert client.get("/costs/prices/demo/download/").status_code == 404


def test_viewers_see_prices_and_do_not_change_them(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    page = client.get(PRICES)
    assert page.status_code == 200
    assert not elements(page, "button[name=save]")
    assert post(client, **fields_of(page), save="1").status_code == 403


def test_rest_says_the_same(client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    client = api_as("viewer")
    answer = client.get("/api/v1/clusters/demo/cost/?by=pool&ordering=name").json()
    bill = client_as("viewer").get(PAGE).context["bill"]
    assert (answer["unit"], answer["total"]["hour"], answer["total"]["month"]) == ("CHF", 12.0, 12.0 * 730)
    assert answer["total"]["requested"] == bill.total.requested
    assert [group["name"] for group in answer["groups"]] == sorted(line.name for line in bill.pools)
    assert client.get("/api/v1/clusters/demo/cost/?unit=node-hours").json()["total"]["hour"] == 60
    assert client.get("/api/v1/clusters/demo/cost/?by=none").status_code == 400
    lacking = client.get("/api/v1/clusters/demo/cost/unpriced/").json()["groups"]
    assert sum(group["count"] for group in lacking) == 36
