"""docs/rebalancing.md: its scenario runs, and every key and measure is told."""

from __future__ import annotations

import re

import yaml

from kschedweb.engine.studies.actors.descheduler.keys import DESCHEDULER
from kschedweb.engine.studies.document.document import read_scenario
from kschedweb.engine.studies.measure.descheduling import find_fights
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import prepare_scenario
from tests.conftest import ROOT
from tests.engine.studies.clusters import configuration

TEXT = (ROOT / "docs" / "rebalancing.md").read_text(encoding="utf-8")


def test_the_scenario_runs_and_its_policies_fight() -> None:
    [example] = re.findall(r"```yaml\n(.*?)\n```", TEXT, re.DOTALL)
    outcome = run_scenario(
        prepare_scenario(read_scenario(yaml.safe_load(example)), [], {}, seed=1, now=0.0), configuration()
    )
    assert len(outcome.rounds) == 12
    assert [fight.plugin for fight in find_fights(outcome)] == ["HighNodeUtilization"]


def test_every_key_and_measure_of_scenarios_is_told() -> None:
    for field in DESCHEDULER.fields:
        assert f"| `{field.name}` |" in TEXT
    for name in ("evictions_descheduler", "evictions_again"):
        assert f"`{name}`" in TEXT
