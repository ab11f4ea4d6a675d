"""docs/queues.md: its scenario runs, and every key and measure has its words."""

from __future__ import annotations

import re

import yaml

from kschedweb.engine.studies.actors.queues.figures import find_log, list_courses
from kschedweb.engine.studies.actors.queues.keys import QUEUES, QUOTA
from kschedweb.engine.studies.actors.queues.measures import BY_PRIORITY, BY_QUEUE, MEASURES
from kschedweb.engine.studies.document.document import read_scenario
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import prepare_scenario
from tests.conftest import ROOT
from tests.engine.studies.clusters import configuration

TEXT = (ROOT / "docs" / "queues.md").read_text(encoding="utf-8")


def test_the_scenario_runs_and_the_owner_takes_its_quota_back() -> None:
    [example] = re.findall(r"```yaml\n(.*?)\n```", TEXT, re.DOTALL)
    prepared = prepare_scenario(read_scenario(yaml.safe_load(example)), [], {}, seed=1, now=0.0)
    outcome = run_scenario(prepared, configuration())
    assert not prepared.notes
    log = find_log(outcome)
    assert log is not None
    search, train = list_courses(log)
    assert (search.evictions, search.reason, train.wait) == (1, "InCohortReclamation", 30.0)
    assert search.ended is not None


def test_every_key_and_measure_is_explained() -> None:
    for field in (*QUEUES.fields, *QUOTA.fields):
        assert f"`{field.name}`" in TEXT, field.name
    for spec in (spec for block in MEASURES for spec in block):
        ending = {BY_QUEUE: "QUEUE", BY_PRIORITY: "PRIORITY"}.get(spec.split, "*")
        assert f"`{spec.name.replace('{}', ending)}`" in TEXT, spec.name
