"""The claim at a reduced size: weighing what nodes really use makes them more even than placing by requests."""

from __future__ import annotations

import numpy as np
import pytest

from kschedweb.engine.experiment import ExperimentWorkload, ReplayResult, Setup, UseRecording, replay_workload
from kschedweb.engine.experiment.future import knowing_future
from kschedweb.engine.experiment.policies import HHE, PolicyError, create_profile, list_policies, load_configuration

RECORDING = UseRecording.generate(np.random.default_rng(7), 120, 120)  # ten hours
SMALL = Setup(nodes=10, deployments=120, pace=30.0)


@pytest.fixture(scope="module")
def workload() -> ExperimentWorkload:
    return ExperimentWorkload(RECORDING, 1, SMALL)


@pytest.fixture(scope="module")
def default(workload: ExperimentWorkload) -> ReplayResult:
    return replay_workload(workload, load_configuration(list_policies(10)["default"]))


def test_every_pod_is_placed_and_every_node_measured(workload: ExperimentWorkload, default: ReplayResult) -> None:
    assert default.pods == default.placed == len(workload.arrivals)
    assert default.levels.shape == (120, 10)
    assert default.skew[48:].mean() == pytest.approx(default.balance.skew)


def test_the_water_level_makes_nodes_more_even(workload: ExperimentWorkload, default: ReplayResult) -> None:
    level = replay_workload(workload, load_configuration(create_profile({HHE: 2})))
    assert level.balance.skew < 0.75 * default.balance.skew
    assert level.balance.deviation < 0.75 * default.balance.deviation
    assert level.balance.mean == pytest.approx(default.balance.mean, rel=0.05)  # the same pods, placed elsewhere


def test_who_knows_the_future_places_better_than_by_requests(
    workload: ExperimentWorkload, default: ReplayResult
) -> None:
    assert knowing_future(workload).balance.skew < 0.75 * default.balance.skew


def test_a_run_can_be_repeated_and_pods_used_again(workload: ExperimentWorkload, default: ReplayResult) -> None:
    repeated = replay_workload(ExperimentWorkload(RECORDING, 1, SMALL), load_configuration(None))
    assert repeated.levels.tolist() == default.levels.tolist()
    assert replay_workload(workload, load_configuration(None)).to_dict() == default.to_dict()


def test_progress_is_told_each_hour_and_can_end_the_run(workload: ExperimentWorkload) -> None:
    hours: list[float] = []
    replay_workload(workload, load_configuration(None), progress=hours.append)
    assert hours == [3600.0 * hour for hour in range(1, 11)]

    def stop(time: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        replay_workload(workload, load_configuration(None), progress=stop)


def test_every_policy_can_be_loaded_and_one_that_is_wrong_is_refused() -> None:
    for name, document in list_policies(40).items():
        assert load_configuration(document).profiles, name
    with pytest.raises(PolicyError, match="must be 0 or more"):
        load_configuration(create_profile({HHE: 1}, {HHE: {"clusterCpuMinNodeWeight": -1}}))
