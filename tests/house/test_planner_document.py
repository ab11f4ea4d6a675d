"""docs/planner.md: its example is planned as it says, its code runs, and its tables name what there is."""

from __future__ import annotations

import json
import re

import pytest

from kschedweb.engine.planning.results import BEST, BUDGET, MAX_MOVES, NO_GAIN, NO_PLACE, PRICE, REACHED
from kschedweb.engine.planning.scenario import DOCUMENT, plan_scenario
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "planner.md").read_text(encoding="utf-8")
BLOCKS = {kind: text for kind, text in re.findall(r"```(\w+)\n(.*?)\n```", TEXT, re.DOTALL)}


def test_the_example_is_planned_as_the_page_says() -> None:
    plan = plan_scenario(json.loads(BLOCKS["json"]))
    ((move,),) = plan["waves"]
    assert (move["pod"], move["from"], move["to"]) == ("default/web-1", "a", "b")
    assert (plan["before"], plan["after"], plan["bound"]["moves"]) == (75.0, 5.0, 1)
    for key in plan.keys() - {"name", "objective", "engine"}:
        assert f"`{key}`" in TEXT


def test_the_library_plans_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS["python"], "docs/planner.md", "exec"), {"__name__": "__main__", **json.loads(BLOCKS["json"])})
    assert capsys.readouterr().out.splitlines()[0] == "1 default/web-1 a b 70.0"


def test_every_objective_and_every_end_is_named() -> None:
    for field in DOCUMENT.fields:
        assert f'"{field.name}"' in TEXT or f"`{field.name}`" in TEXT
    for word in (REACHED, BEST, MAX_MOVES, PRICE, BUDGET, NO_PLACE, NO_GAIN):
        assert f"`{word}`" in TEXT
    objective_texts = re.findall(r'^\| `(\{"\w+": \{.*?\}\})` \|', TEXT, re.MULTILINE)
    assert [
        DOCUMENT.read(json.loads(objective_text), "objective", []) is not None for objective_text in objective_texts
    ] == [True] * 4
