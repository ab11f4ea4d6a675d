"""The tags that write the rows of large tables: what a loop of the template would write, and as safe."""

from __future__ import annotations

from django.template import Context, Template

from kschedweb.dashboard.templatetags.ui import number_cells
from kschedweb.decisions.page_parts import Cell, NodeRow, Place
from kschedweb.decisions.templatetags.playground import feasible_node_cells

HOSTILE = '<b>"&'
SAFE = "&lt;b&gt;&quot;&amp;"
LOOP = """{% for value in row %}{% if not forloop.first %}<td class="number">{{ value }}</td>{% endif %}{% endfor %}"""


def test_numbers_are_what_a_loop_writes() -> None:
    row = ["head", 0, 12345, 1.5, -0.25, 100.0, "82–84", HOSTILE]
    assert number_cells(row) == Template(LOOP).render(Context({"row": row}))
    assert f">{SAFE}<" in number_cells(row)


def test_a_number_that_is_not_known_is_a_dash() -> None:
    assert number_cells(["head", None]) == '<td class="number">–</td>'


def test_scores_lead_to_their_arithmetic() -> None:
    cells = (Cell(f"Fit{HOSTILE}", 7, 70, 2, 140, -2),)
    row = NodeRow(f"node{HOSTILE}", Place(2, 9, 90, 200), -10, cells=cells)
    html = feasible_node_cells(row, "stage=best&", True, "")
    assert html == (
        '<td class="number">2</td><td class="number"><strong>90</strong></td><td class="number">−10</td>'
        '<td class="score"><a class="below-2" href="?stage=best&amp;node=node%3Cb%3E%22%26&amp;'
        f'cell=Fit{SAFE}#cell">140<span class="parts">7 → 70 × 2</span></a></td>'
    )
    assert "<a" not in feasible_node_cells(row, "", False, "")


def test_the_place_under_the_other_policy_stands_beside() -> None:
    def cells_beside(other_place: Place | None) -> str:
        row = NodeRow("node", Place(1, 9, 90, 200), other=other_place)
        return feasible_node_cells(row, "", True, "most@1").partition('<td class="number">0</td>')[2]

    share = '<td class="number">45.0 %</td>'
    assert cells_beside(Place(3, 8, 1, 8)) == f'{share}<td class="number">3</td><td class="number">12.5 %</td>'
    assert cells_beside(None).startswith(f'{share}<td class="number"><span class="soft">rejected</span></td>')
