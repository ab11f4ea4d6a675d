"""The pods of the experiment: the same for every policy, made from a recording and a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod
from kschedweb.engine.experiment import ExperimentWorkload, Setup, SetupError, UseRecording
from kschedweb.engine.experiment.workload import HOUR

RECORDING = UseRecording.generate(np.random.default_rng(1), 30)
SMALL = Setup(nodes=4, deployments=20)


def test_the_same_seed_gives_the_same_pods_and_another_seed_others() -> None:
    first, repeated, other = (ExperimentWorkload(RECORDING, seed, SMALL) for seed in (1, 1, 2))
    assert first.arrivals == repeated.arrivals
    assert first.arrivals != other.arrivals


def test_pods_come_as_long_as_less_than_the_share_is_requested_and_at_the_pace() -> None:
    workload = ExperimentWorkload(RECORDING, 1, SMALL)
    requested_cores = SMALL.requested * SMALL.nodes * SMALL.cores
    times = np.array([arrival.time for arrival in workload.arrivals])
    assert (np.diff(times) >= SMALL.pace - 1e-9).all()
    for arrival in workload.arrivals:
        alive = [earlier for earlier in workload.arrivals if earlier.time < arrival.time < earlier.time + earlier.life]
        assert sum(workload.requests[earlier.deployment] for earlier in alive) < requested_cores
    last = [arrival for arrival in workload.arrivals if arrival.time <= 6 * HOUR < arrival.time + arrival.life]
    assert (
        requested_cores - 2.0 <= sum(workload.requests[arrival.deployment] for arrival in last) < requested_cores + 2.0
    )


def test_pods_live_and_request_within_the_limits() -> None:
    workload = ExperimentWorkload(RECORDING, 3, SMALL)
    lives = np.array([arrival.life for arrival in workload.arrivals])
    assert (lives >= 3 * HOUR).all()
    assert (lives <= 24 * HOUR).all()
    assert ((workload.requests >= 0.5) & (workload.requests <= 2.0)).all()
    pod = workload.events[0].pod
    assert isinstance(pod, Pod)
    assert pod.limits["cpu"] == 4 * pod.requests["cpu"]
    assert pod.requests["memory"] == pytest.approx(pod.requests["cpu"] * 4 * (1 << 30) / 1000, rel=0.01)


@pytest.mark.parametrize(("how", "middle"), [("even", 1.25), ("log", 1.0)])
def test_sizes_are_drawn_evenly_or_evenly_on_a_logarithmic_scale(how: str, middle: float) -> None:
    sizes = ExperimentWorkload(RECORDING, 1, Setup(nodes=4, deployments=2000, sizes=how)).requests
    assert np.median(sizes) == pytest.approx(middle, rel=0.05)
    assert ((sizes >= 0.5) & (sizes <= 2.0)).all()


@pytest.mark.parametrize(("how", "middle"), [("even", 13.5 * HOUR), ("log", 72.0**0.5 * HOUR)])
def test_lives_are_drawn_evenly_or_evenly_on_a_logarithmic_scale(how: str, middle: float) -> None:
    lives = [arrival.life for arrival in ExperimentWorkload(RECORDING, 1, Setup(lives=how)).arrivals[:900]]
    assert np.median(lives) == pytest.approx(middle, rel=0.08)


def test_deployments_follow_machines_of_their_own_as_long_as_there_are_any() -> None:
    workload = ExperimentWorkload(RECORDING, 1, Setup(nodes=4, deployments=70))
    assert set(np.bincount(workload.machines, minlength=30).tolist()) == {2, 3}


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_busy_machines_have_as_many_pods_as_it_takes_for_nodes_to_be_used(share: float) -> None:
    workload = ExperimentWorkload(RECORDING, 1, Setup(nodes=40, deployments=30, used=share))
    owners = [arrival.deployment for arrival in workload.arrivals]
    requests, use = workload.requests[owners], RECORDING.percent[workload.machines[owners]].mean(axis=1) / 100.0
    assert 0.85 * (requests * 4.0 * use).sum() / requests.sum() == pytest.approx(share, rel=0.1)


@pytest.mark.parametrize(
    ("values", "expected_error"),
    [
        ({"nods": 3}, "nods: is not known"),
        ({"nodes": "many"}, "nodes: 'many' does not fit"),
        ({"nodes": 2.5}, "nodes: 2.5 does not fit"),
        ({"linear": 1}, "linear: 1 does not fit"),
        ({"nodes": 0}, "nodes: must be above 0"),
        ({"requested": 1.5}, "requested: must be above 0 and at most 1"),
        ({"most": 64}, "most: must not be above cores"),
        ({"least": 4}, "least: must not be above most"),
        ({"shortest": 7200, "longest": 3600}, "shortest: must not be above longest"),
        ({"past": "all"}, 'past: must be "own" or "recorded"'),
        ({"since": 90000}, "since: must lie within the 24 h"),
        ({"sizes": "three"}, 'sizes: must be "even" or "log"'),
        ({"lives": "long"}, 'lives: must be "even" or "log"'),
        ({"used": 3.5}, "used: must be from"),
        ({"interval": 7}, "interval: must divide the 24 h"),
    ],
)
def test_a_set_up_that_cannot_be_run_is_refused_with_a_reason(values: dict[str, Any], expected_error: str) -> None:
    with pytest.raises(SetupError) as caught:
        ExperimentWorkload(RECORDING, 1, Setup.from_values(values))
    assert expected_error in str(caught.value)
