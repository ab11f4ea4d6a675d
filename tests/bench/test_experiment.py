"""The experiment in full, on both recorded days: what docs/experiment.md says is so."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import mean

import pytest

from kschedweb.engine.experiment import Recording, Workload, replay
from kschedweb.engine.experiment.policies import configuration, policies

SEEDS = (1, 2, 3)
WRITTEN = Path(__file__).parents[2] / "docs" / "experiment"


@pytest.mark.parametrize(("day", "least"), [("20110303", 50.0), ("20110322", 45.0)])
def test_the_water_level_halves_the_skew_of_placing_by_requests(shared: Path, day: str, least: float) -> None:
    lines = gzip.decompress((shared / "data" / f"planetlab-cpu-{day}.csv.gz").read_bytes()).decode().splitlines()
    recording, known = Recording.read(lines), policies(40)
    workloads = [Workload(recording, seed) for seed in SEEDS]
    skews = {
        name: [replay(one, configuration(known[name])).balance.skew for one in workloads]
        for name in ("default", "water-level")
    }
    assert mean(skews["default"]) > least
    assert mean(skews["water-level"]) <= 0.55 * mean(skews["default"])
    written = {(run["policy"], run["seed"]): run for run in json.loads((WRITTEN / f"{day}.json").read_text())["runs"]}
    for name, found in skews.items():
        for seed, skew in zip(SEEDS, found, strict=True):
            assert skew == pytest.approx(written[name, seed]["skew"], abs=0.01), (name, seed)
