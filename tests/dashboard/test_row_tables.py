"""A table of rows: what a page draws and what a file has come from one declaration."""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.template import engines
from django.test import RequestFactory

from kschedweb.web.exports import export_table
from kschedweb.web.tables import Column, RowTable
from tests.support.html import elements


@dataclass(frozen=True)
class Eviction:
    pod: str
    node: str
    count: int
    plugin: str = "<PodLifeTime>"


TABLE = RowTable(
    "evictions",
    "Evictions",
    (
        Column("pod", "Pod", sort="pod", cell=lambda row: row.pod.upper()),
        Column("node", "Node", cell_css="small"),
        Column("number", "Times", "number", value="count"),
        Column("plugin"),
        Column("advice", "Advice", value=lambda row: f"look at {row.node}", exported=False),
    ),
    marks={"data-pod": "pod", "data-times": "count"},
)
ROWS = [Eviction("shop/a", "n1", 1200), Eviction('"b"', "", 1)]


def draw() -> str:
    template = engines["django"].from_string("{% load ui %}{% row_table table rows %}")
    return template.render({"table": TABLE, "rows": ROWS}, RequestFactory().get("/?ordering=pod&page=2"))


def test_a_page_has_the_columns_with_labels_as_rows_and_as_cards() -> None:
    page = draw()
    assert [row["data-pod"] for row in elements(page, "tbody tr")] == ["shop/a", '"b"']
    assert elements(page, "tbody tr")[0]["data-times"] == "1200"
    assert [cell["data-label"] for cell in elements(page, "tbody td")] == ["Node", "Times", "Advice"] * 2
    assert [cell.text.strip() for cell in elements(page, "tbody th")] == ["SHOP/A", '"B"']
    assert [cell.text.strip() for cell in elements(page, "tbody td")][3:] == ["–", "1", "look at"]
    assert "1,200" in page
    assert elements(page, "th[aria-sort=ascending] a")[0]["href"] == "?ordering=-pod"


def test_a_file_has_the_same_rows_with_keys_as_heads() -> None:
    lines = b"".join(export_table("csv", "x", TABLE, ROWS)).decode().splitlines()
    assert lines == ["pod,node,number,plugin", "shop/a,n1,1200,<PodLifeTime>", '"""b""",,1,<PodLifeTime>']
    text = b"".join(export_table("json", "x", TABLE, ROWS))
    assert json.loads(text)["items"][0] == {
        "pod": "shop/a", "node": "n1", "number": 1200, "plugin": "<PodLifeTime>",
    }  # fmt: skip
