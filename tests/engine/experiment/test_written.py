"""The experiment in full, on both recorded days: what docs/experiment.md says is so."""

from __future__ import annotations

import gzip
import json
from statistics import mean

import pytest

from kschedweb.engine.experiment import ExperimentWorkload, Setup, UseRecording, replay_workload
from kschedweb.engine.experiment.__main__ import main
from kschedweb.engine.experiment.policies import list_policies, load_configuration
from tests.conftest import ROOT
from tests.data import DATA

SEEDS = {1, 2, 3}
POLICIES = {"default", "water-level", "found", "alone", "future"}
RESULTS = ROOT / "docs" / "experiment"


@pytest.mark.nightly
@pytest.mark.parametrize("day", ["20110303", "20110322"])
def test_what_is_written_of_the_experiment_holds_and_comes_out_again(day: str) -> None:
    recorded = json.loads((RESULTS / f"{day}.json").read_text())
    skews = {(run["policy"], run["seed"]): run["skew"] for run in recorded["runs"]}
    assert skews.keys() == {(policy, seed) for policy in POLICIES for seed in SEEDS}
    by_policy = {policy: mean(skews[policy, seed] for seed in SEEDS) for policy in POLICIES}
    assert by_policy["default"] > 50.0
    assert by_policy["water-level"] <= 0.55 * by_policy["default"]
    assert by_policy["found"] <= 0.45 * by_policy["default"]

    lines = gzip.decompress((DATA / f"planetlab-cpu-{day}.csv.gz").read_bytes()).decode().splitlines()
    workload = ExperimentWorkload(UseRecording.from_csv(lines), 1)
    assert recorded["setup"] == workload.setup.to_dict()
    policies = list_policies(workload.setup.nodes)
    (other,) = {"20110303", "20110322"} - {day}
    best_policy = json.loads((RESULTS / f"found-on-{other}.json").read_text())
    for policy, document in (
        ("default", policies["default"]),
        ("water-level", policies["water-level"]),
        ("found", best_policy),
    ):
        assert replay_workload(workload, load_configuration(document)).balance.skew == pytest.approx(
            skews[policy, 1], abs=0.01
        )


@pytest.mark.nightly
@pytest.mark.parametrize("day", ["20110303", "20110322"])
def test_what_is_written_of_the_tides_holds_and_comes_out_again(day: str) -> None:
    recorded = json.loads((RESULTS / f"tidal-{day}.json").read_text())
    worst = {(run["policy"], run["seed"]): run["worst_skew"] for run in recorded["runs"]}
    assert worst.keys() == {(policy, seed) for policy in ("water-level", "tidal") for seed in SEEDS}
    assert all(worst["tidal", seed] < worst["water-level", seed] for seed in SEEDS)

    lines = gzip.decompress((DATA / f"planetlab-cpu-{day}.csv.gz").read_bytes()).decode().splitlines()
    recording = UseRecording.from_csv(lines)
    workload = ExperimentWorkload(recording.join_after(recording), 1, Setup(since=recording.seconds))
    assert recorded["setup"] == workload.setup.to_dict()
    for policy in ("water-level", "tidal"):
        replay = replay_workload(workload, load_configuration(list_policies(workload.setup.nodes)[policy]))
        assert replay.balance.worst_skew == pytest.approx(worst[policy, 1], abs=0.01)


@pytest.mark.nightly
@pytest.mark.parametrize("day", ["20110303", "20110322"])
def test_what_is_written_of_moves_comes_out_of_the_one_command(day: str, capsys: pytest.CaptureFixture[str]) -> None:
    recording = str(DATA / f"planetlab-cpu-{day}.csv.gz")
    options = ["--seeds", "1", "2", "3", "--policies", "default", "water-level", "--moves-an-hour", "2"]
    assert main(["run", recording, *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["policies"]["water-level, 2 % moved an hour"]["ofDefault"] <= 0.30
    recorded = json.loads((RESULTS / f"moves-{day}.json").read_text())
    assert answer["setup"] == recorded["setup"] == Setup().to_dict()
    recorded_skews = {(run["seed"], run.get("movesAnHour")): run["skew"] for run in recorded["runs"]}
    for run in answer["runs"]:
        assert run["skew"] == pytest.approx(recorded_skews[run["seed"], run.get("movesAnHour")], abs=0.01)
