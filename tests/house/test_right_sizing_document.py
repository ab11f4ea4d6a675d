"""docs/right-sizing.md: its code runs, its history is understood, and its table has the defaults."""

from __future__ import annotations

import json
import re

import pytest

from kschedweb.engine.rightsizing.recommender import RecommenderSettings
from kschedweb.engine.rightsizing.scenario import read_settings, recommend_scenario
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "right-sizing.md").read_text(encoding="utf-8")
BLOCKS = {kind: text for kind, text in re.findall(r"```(\w+)\n(.*?)\n```", TEXT, re.DOTALL)}


def test_the_library_recommends_for_many_containers(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS["python"], "docs/right-sizing.md", "exec"), {"__name__": "__main__"})
    amounts = [int(match) for match in re.findall(r"\d+", capsys.readouterr().out)]
    assert len(amounts) == 8
    assert amounts[0] == amounts[1]


def test_the_history_is_read() -> None:
    answer = recommend_scenario(json.loads(BLOCKS["json"]))["containers"]["main"]
    assert (answer["cpuSamples"], answer["discarded"]) == (2, 0)
    for key in answer:
        assert f"`{key}`" in TEXT


def test_the_table_has_every_flag_and_its_default() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]+) \|$", TEXT.partition("| key | default |")[2], re.MULTILINE)
    flags: dict[str, str | float] = {}
    for keys, flag_values in rows:
        names, values = re.findall(r"\w+", keys), [part for part in flag_values.split(", ") if "at most" not in part]
        flags |= dict(zip(names, values * (len(names) if len(values) == 1 else 1), strict=True))
    assert len(flags) == 16
    spans = {name: value for name, value in flags.items() if str(value).endswith("h")}
    numbers = {name: float(value) for name, value in flags.items() if name not in spans}
    assert read_settings(spans | numbers) == RecommenderSettings()
    for name in flags:  # each is a key that is read: a list is refused by its name
        with pytest.raises(ValueError, match=f"config.{name}: "):
            read_settings({name: []})
