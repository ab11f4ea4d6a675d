"""The experiment in full, on both recorded days: what docs/experiment.md says is so."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import mean

import pytest

from kschedweb.engine.experiment import Recording, Workload, replay
from kschedweb.engine.experiment.policies import configuration, policies
from tests.conftest import ROOT

SEEDS = {1, 2, 3}
POLICIES = {"default", "water-level", "found", "alone", "future"}
WRITTEN = ROOT / "docs" / "experiment"


@pytest.mark.nightly
@pytest.mark.parametrize("day", ["20110303", "20110322"])
def test_what_is_written_of_the_experiment_holds_and_comes_out_again(shared: Path, day: str) -> None:
    written = json.loads((WRITTEN / f"{day}.json").read_text())
    skews = {(run["policy"], run["seed"]): run["skew"] for run in written["runs"]}
    assert skews.keys() == {(policy, seed) for policy in POLICIES for seed in SEEDS}
    by_policy = {policy: mean(skews[policy, seed] for seed in SEEDS) for policy in POLICIES}
    assert by_policy["default"] > 50.0
    assert by_policy["water-level"] <= 0.55 * by_policy["default"]
    assert by_policy["found"] <= 0.45 * by_policy["default"]

    lines = gzip.decompress((shared / "data" / f"planetlab-cpu-{day}.csv.gz").read_bytes()).decode().splitlines()
    workload = Workload(Recording.read(lines), 1)
    assert written["setup"] == workload.setup.to_dict()
    known = policies(workload.setup.nodes)
    (other,) = {"20110303", "20110322"} - {day}
    found = json.loads((WRITTEN / f"found-on-{other}.json").read_text())
    for policy, document in (("default", known["default"]), ("water-level", known["water-level"]), ("found", found)):
        assert replay(workload, configuration(document)).balance.skew == pytest.approx(skews[policy, 1], abs=0.01)
