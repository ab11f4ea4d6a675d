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


def draw(tag: str = "{% table table rows %}", cells: str = "", **more: object) -> str:
    template = engines["django"].from_string(f"{{% load lists %}}{tag}{cells}{{% endtable %}}")
    context = {"table": TABLE, "rows": ROWS} | more
    return str(template.render(context, RequestFactory().get("/?ordering=pod&page=2")))


def test_a_page_has_the_columns_with_labels_as_rows_and_as_cards() -> None:
    page = draw()
    assert [row["data-pod"] for row in elements(page, "tbody tr")] == ["shop/a", '"b"']
    assert elements(page, "tbody tr")[0]["data-times"] == "1200"
    assert [cell["data-label"] for cell in elements(page, "tbody td")] == ["Node", "Times", "Advice"] * 2
    assert [cell.text.strip() for cell in elements(page, "tbody th")] == ["SHOP/A", '"B"']
    assert [cell.text.strip() for cell in elements(page, "tbody td")][3:] == ["–", "1", "look at"]
    assert "1,200" in page
    assert elements(page, "th[aria-sort=ascending] a")[0]["href"] == "?ordering=-pod"


def test_a_page_may_draw_its_own_cells_and_name_columns() -> None:
    cells = (
        "{% cell node %} {{ it.plugin }} {{ forloop.counter }} {% endcell %}{% cell absent %}<b>none</b>{% endcell %}"
    )
    page = draw('{% table table rows each="it" label="Of a day" number="Evictions" %}', cells)
    assert elements(page, ".table-box")[0]["aria-label"] == "Of a day"
    assert [cell.text for cell in elements(page, "td.small")] == ["<PodLifeTime> 1", "<PodLifeTime> 2"]
    assert [cell["data-label"] for cell in elements(page, "tbody td.number")] == ["Evictions"] * 2
    assert elements(draw(cells=cells, rows=[]), "tbody td[colspan=4] b")


PRICES = RowTable(
    "prices",
    "Prices",
    (
        Column("label", "Name", value="0.name"),
        Column("hour", "An hour", "number", value="1.hour", form="floatformat:2", measured=True),
        Column("shown", "Nodes", value="1.nodes", form="join:', '", absent="no node", when="is_wide"),
    ),
)


def test_values_are_found_by_paths_and_shown_in_a_form() -> None:
    rows = [({"name": "a"}, {"hour": 1.256, "nodes": ["n1", "n2"]}), ({"name": "b"}, {"nodes": []}), (None, None)]
    page = draw('{% table table rows unit="EUR" label="All" %}', table=PRICES, rows=rows, is_wide=True)
    assert [cell.text for cell in elements(page, "tbody td")] == ["1.26", "n1, n2", "–", "no node", "–", "no node"]
    assert elements(page, "tbody td")[0]["data-label"] == "An hour (EUR)"
    assert [head.text for head in elements(draw(table=PRICES, rows=rows), "thead th")] == ["Name", "An hour"]
    assert elements(page, "thead th")[0].text == "Name"


def test_a_page_may_add_rows_and_say_one_thing_in_place_of_cells() -> None:
    cells = (
        "{% cell rest %}{% if not row.node %}<i>gone</i>{% endif %}{% endcell %}"
        '{% cell marks %}class="{{ row.count }}"{% endcell %}'
        "{% cell above %}{% ifchanged row.plugin %}<tr class=group></tr>{% endifchanged %}{% endcell %}"
    )
    page = draw(cells=cells)
    assert [row.attributes.get("class") for row in elements(page, "tbody tr")] == ["group", "1,200", "1"]
    assert [cell.text for cell in elements(page, "td[colspan=3]")] == ["gone"]


def test_a_file_has_the_same_rows_with_keys_as_heads() -> None:
    lines = b"".join(export_table("csv", "x", TABLE, ROWS)).decode().splitlines()
    assert lines == ["pod,node,number,plugin", "shop/a,n1,1200,<PodLifeTime>", '"""b""",,1,<PodLifeTime>']
    text = b"".join(export_table("json", "x", TABLE, ROWS))
    assert json.loads(text)["items"][0] == {
        "pod": "shop/a", "node": "n1", "number": 1200, "plugin": "<PodLifeTime>",
    }  # fmt: skip
