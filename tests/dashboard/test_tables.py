"""The tags that write the rows of large tables: what a loop of the template would write, and as safe."""

from __future__ import annotations

from django.template import Context, Template

from kschedweb.dashboard.templatetags.ui import numbers
from kschedweb.decisions.parts import Cell, NodeRow
from kschedweb.decisions.templatetags.playground import placed

HOSTILE = '<b>"&'
SAFE = "&lt;b&gt;&quot;&amp;"
LOOP = """{% for value in row %}{% if not forloop.first %}<td class="number">{{ value }}</td>{% endif %}{% endfor %}"""


def test_numbers_are_what_a_loop_writes() -> None:
    row = ["head", 0, 12345, 1.5, -0.25, 100.0, "82–84", HOSTILE]
    assert numbers(row) == Template(LOOP).render(Context({"row": row}))
    assert f">{SAFE}<" in numbers(row)


def test_a_number_that_is_not_known_is_a_dash() -> None:
    assert numbers(["head", None]) == '<td class="number">–</td>'


def test_scores_lead_to_their_arithmetic() -> None:
    row = NodeRow(f"node{HOSTILE}", 2, 90, -10, cells=(Cell(f"Fit{HOSTILE}", 7, 70, 2, 140, 5),))
    shown = placed(row, "stage=best&", True, False)
    assert shown == (
        '<td class="number">2</td><td class="number"><strong>90</strong></td><td class="number">−10</td>'
        '<td class="score"><a class="t5" href="?stage=best&amp;node=node%3Cb%3E%22%26&amp;'
        f'cell=Fit{SAFE}#cell">140<span class="parts">7 → 70 × 2</span></a></td>'
    )
    assert "<a" not in placed(row, "", False, False)


def test_the_other_policy_s_total_stands_beside() -> None:
    def beside(other: int | None, difference: int | None) -> str:
        row = NodeRow("node", 1, 90, 0, other=other, difference=difference)
        return placed(row, "", True, True).partition('<td class="number">0</td>')[2]

    assert beside(95, 5) == '<td class="number">95</td><td class="number"><span class="delta-up">▲ +5</span></td>'
    assert beside(85, -5) == '<td class="number">85</td><td class="number"><span class="delta-down">▼ -5</span></td>'
    assert beside(90, 0) == '<td class="number">90</td><td class="number">0</td>'
    assert beside(None, None) == '<td class="number">✕</td><td class="number">–</td>'
