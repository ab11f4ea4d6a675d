"""Pods moved while a recording is replayed: nodes become more even, and no hour has more moves than it may."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kschedweb.engine.experiment import ExperimentWorkload, ReplayResult, Setup, UseRecording, replay_workload
from kschedweb.engine.experiment.curve import CurveError, SkewCurve, render_curves
from kschedweb.engine.experiment.moving import Moving, MovingError
from kschedweb.engine.experiment.policies import list_policies, load_configuration
from tests.conftest import ROOT

RECORDING = UseRecording.generate(np.random.default_rng(7), 120, 72)  # six hours
SMALL = Setup(nodes=10, deployments=120, pace=30.0, since=2 * 3600.0)
RESULTS = ROOT / "docs" / "experiment"


@pytest.fixture(scope="module")
def workload() -> ExperimentWorkload:
    return ExperimentWorkload(RECORDING, 1, SMALL)


@pytest.fixture(scope="module")
def still(workload: ExperimentWorkload) -> ReplayResult:
    return replay_workload(workload, load_configuration(list_policies(10)["water-level"]))


@pytest.fixture(scope="module")
def moved(workload: ExperimentWorkload) -> ReplayResult:
    return replay_workload(workload, load_configuration(list_policies(10)["water-level"]), moving=Moving(3.0))


def test_moves_make_nodes_more_even(still: ReplayResult, moved: ReplayResult) -> None:
    assert moved.balance.skew < 0.8 * still.balance.skew
    assert moved.balance.mean == pytest.approx(still.balance.mean, rel=0.05)  # the same pods do the same work


def test_no_hour_has_more_moves_than_it_may(workload: ExperimentWorkload, moved: ReplayResult) -> None:
    assert moved.moves
    times = np.array(moved.moves)
    arrival_times = np.array([arrival.time for arrival in workload.arrivals])
    for time in times:
        running = int(
            (
                (arrival_times <= time)
                & (arrival_times + np.array([arrival.life for arrival in workload.arrivals]) > time)
            ).sum()
        )
        moves_in_hour = int(((times > time - 3600.0) & (times <= time)).sum())
        assert moves_in_hour <= 0.03 * (running + 1)  # a pod may be bound a moment later than it came


def test_each_moved_pod_is_replaced(still: ReplayResult, moved: ReplayResult) -> None:
    assert moved.moves is not None
    assert still.moves is None
    assert 0 <= moved.pods + len(moved.moves) - moved.placed <= 1  # the last one may be placed after the end


def test_no_moves_are_no_change(workload: ExperimentWorkload, still: ReplayResult) -> None:
    none = replay_workload(workload, load_configuration(list_policies(10)["water-level"]), moving=Moving(0.0))
    assert none.levels.tolist() == still.levels.tolist()
    assert none.moves == []


@pytest.mark.parametrize(
    ("moving", "expected_error"),
    [
        (Moving(-1.0), "--moves-an-hour: must be from 0"),
        (Moving(101.0), "--moves-an-hour: must be from 0"),
        (Moving(1.0, interval=0.0), "--moves-every"),
        (Moving(1.0, interval=450.0), "--moves-every"),
    ],
)
def test_moves_that_cannot_be_made_are_refused(moving: Moving, expected_error: str) -> None:
    with pytest.raises(MovingError, match=expected_error):
        moving.check_interval(300.0)


def test_the_figure_is_that_of_the_written_runs() -> None:
    days = ("20110303", "20110322")
    curves = [SkewCurve.from_answer(day, json.loads((RESULTS / f"moves-{day}.json").read_text())) for day in days]
    assert render_curves(curves) == (RESULTS / "moves.svg").read_text()
    for curve in curves:
        shares = {percent: share for percent, share, _ in curve.points}
        assert sorted(shares) == [0.0, 0.25, 0.5, 1.0, 2.0, 4.0]
        assert shares[2.0] <= 0.30
        assert max(spread for percent, _, spreads in curve.points if percent == 2.0 for spread in spreads) <= 0.30


@pytest.mark.parametrize("answer", [[], {}, {"runs": []}, {"runs": [{"policy": "default", "seed": 1, "skew": 0.0}]}])
def test_of_anything_else_no_figure_is_drawn(answer: object) -> None:
    with pytest.raises(CurveError, match=r"some\.json: "):
        SkewCurve.from_answer("some.json", answer)
