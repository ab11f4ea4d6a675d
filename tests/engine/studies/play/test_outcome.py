"""An outcome's columns: bytes and back, and where things are at any time."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.simulation import NodeLeaves, PodArrives, PodLeaves, Result, SimulationEvent, SimulationSettings
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.actors.recording import ActorRecorder, RecordedRun
from kschedweb.engine.studies.play import outcome as outcomes
from kschedweb.engine.studies.play import recorder
from kschedweb.engine.studies.play.outcome import MoveKind, OutcomeError, RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from kschedweb.engine.values import dataclass
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration, make_crowded_scenario
from tests.support import tiers

CPU = "cpu"
SEEDS = st.integers(0, 10_000)


def walked(outcome: RunOutcome, time: float) -> list[int]:
    """Follow the moves one after the other and return each pod's node."""
    places = [-1] * len(outcome.pods)
    for at, row, place, kind in zip(
        outcome.moves.time, outcome.moves.pod, outcome.moves.node, outcome.moves.kind, strict=True
    ):
        if at <= time:
            places[row] = int(place) if kind == MoveKind.BOUND else -1
    return places


def test_notes_tell_what_was_refused_once_and_how_many_others_there_are() -> None:
    outcome = run_scenario(make_crowded_scenario(1), configuration())
    outcome.notes, outcome.refused = ["left out"], [(0.0, "Pod a: no"), (5.0, "Pod a: no"), (6.0, "Pod b: no")]
    assert outcome.list_notes(3) == ["left out", "Pod a: no", "Pod b: no"]
    assert outcome.list_notes(2) == ["left out", "Pod a: no", "and 1 further note"]


@settings(max_examples=tiers.count(4, 100), deadline=None)
@given(seed=SEEDS)
def test_bytes_and_back_are_the_same(seed: int) -> None:
    outcome = run_scenario(make_crowded_scenario(seed), configuration())
    decoded = RunOutcome.decode(outcome.encode())
    assert decoded.encode() == outcome.encode()
    assert (decoded.pods, decoded.nodes, decoded.texts, decoded.refused) == (
        outcome.pods,
        outcome.nodes,
        outcome.texts,
        outcome.refused,
    )
    np.testing.assert_array_equal(decoded.moves.time, outcome.moves.time)
    np.testing.assert_array_equal(decoded.node_log.allocatable, outcome.node_log.allocatable)


@settings(max_examples=tiers.count(4, 100), deadline=None)
@given(seed=SEEDS)
def test_the_same_scenario_gives_the_same_outcome(seed: int) -> None:
    prepared = make_crowded_scenario(seed)
    first = run_scenario(prepared, configuration()).encode()
    run_scenario(prepared, configuration("MostAllocated"))
    repeated, alone = (run_scenario(scenario, configuration()).encode() for scenario in (prepared, replace(prepared)))
    assert first == repeated == alone


@settings(max_examples=tiers.count(4, 100), deadline=None)
@given(seed=SEEDS, times=st.lists(st.floats(-1, 2100), min_size=1, max_size=8), keyframe=st.sampled_from([3, 7, 4096]))
def test_a_seek_finds_what_a_walk_through_all_moves_finds(seed: int, times: list[float], keyframe: int) -> None:
    outcome = run_scenario(make_crowded_scenario(seed), configuration())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcomes, "KEYFRAME", keyframe)
        for time in times:
            assert outcome.placed(time).tolist() == walked(outcome, time)


@settings(max_examples=tiers.count(4, 100), deadline=None)
@given(seed=SEEDS)
def test_loads_are_the_sums_over_the_pods_that_are_there(seed: int) -> None:
    outcome = run_scenario(make_crowded_scenario(seed), configuration())
    times = np.linspace(0.0, outcome.end, 13)
    requested = outcome.requested(times, CPU)
    for row, time in enumerate(times):
        places, sums = outcome.placed(time), np.zeros(len(outcome.nodes))
        on = places >= 0
        np.add.at(sums, places[on], outcome.requests[0, on])
        np.testing.assert_array_equal(requested[row], sums)
    loads = outcome.requested_shares(times, CPU)
    assert np.nanmin(loads) >= 0.0
    assert np.nanmax(loads) <= 1.0


def test_a_node_that_left_has_no_load() -> None:
    prepared = PreparedScenario([node("a"), node("b")], [NodeLeaves(50.0, "a")], 100.0, SimulationSettings(sample=10.0))
    loads = run_scenario(prepared, configuration()).requested_shares([0.0, 49.0, 50.0, 100.0], CPU)
    assert np.isnan(loads[:, 0]).tolist() == [False, False, True, True]
    assert not np.isnan(loads[:, 1]).any()


def test_who_left_and_why_is_in_the_log() -> None:
    events: list[SimulationEvent] = [
        PodArrives(0.0, pod("ends", requests={CPU: "1"}), 10.0),
        PodArrives(0.0, pod("deleted", requests={CPU: "1"}, terminationGracePeriodSeconds=5)),
        PodLeaves(20.0, "default/deleted"),
        PodArrives(30.0, pod("low", requests={CPU: "4"}, terminationGracePeriodSeconds=0)),
        PodArrives(40.0, pod("high", requests={CPU: "4"}, priority=1000)),
        NodeLeaves(90.0, "only"),
    ]
    classes = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    events[4] = PodArrives(40.0, pod("high", requests={CPU: "4"}, priorityClassName="high"))
    prepared = PreparedScenario([node("only"), classes], events, 100.0, SimulationSettings(cycle=0.0))
    outcome = run_scenario(prepared, configuration())
    moves = outcome.moves
    leavings = [
        (outcome.pods[row], MoveKind(kind).name, round(float(time)), outcome.texts[text] if text >= 0 else "")
        for time, row, kind, text in zip(moves.time, moves.pod, moves.kind, moves.text, strict=True)
        if kind != MoveKind.BOUND
    ]
    assert leavings == [
        ("default/ends", "ENDED", 10, ""),
        ("default/deleted", "ENDED", 25, ""),
        ("default/low", "PREEMPTED", 40, "preempted by default/high"),
        ("default/high", "NODE_GONE", 90, "the node left"),
    ]


def test_without_an_end_the_run_lasts_until_nothing_more_happens() -> None:
    events: list[SimulationEvent] = [
        PodArrives(5.0, pod("one", requests={CPU: "3"}), 60.0),
        PodArrives(6.0, pod("two", requests={CPU: "3"})),
    ]
    events.append(PodArrives(7.0, pod("never", requests={CPU: "9"})))
    outcome = run_scenario(PreparedScenario([node("only")], events, None), configuration())
    assert outcome.bound[1] > 65.0
    assert outcome.end < 120.0
    assert [outcome.pods[row] for row in outcome.pending] == ["default/never"]
    assert "Insufficient cpu" in outcome.texts[outcome.message[2]]


def test_a_node_that_fails_is_waited_for() -> None:
    outcome = run_scenario(make_crowded_scenario(3), configuration())
    assert outcome.end == 2000.0
    quiet = run_scenario(
        PreparedScenario(make_crowded_scenario(3).objects, make_crowded_scenario(3).events, None), configuration()
    )
    assert quiet.end < math.inf
    assert set(outcome.pods) >= {f"default/p{number:03d}" for number in range(40)}


def test_progress_is_told_and_may_end_the_run() -> None:
    class EnoughError(Exception):
        pass

    reports: list[tuple[float, int, int]] = []

    def progress(seconds: float, tries: int, total: int) -> None:
        reports.append((seconds, tries, total))
        if len(reports) == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        run_scenario(make_crowded_scenario(1, pods=400), configuration(), progress=progress)
    assert reports[0][0] < reports[1][0]
    assert reports[0][1] < reports[1][1]
    assert reports[0][2] >= 401


@pytest.mark.parametrize(
    ("damaged", "expected_error"),
    [
        (b"", "is not an outcome"),
        (b"KSWO\x09rest", "another version"),
        (b"KSWO\x02rest", "is damaged"),
        (b"KSWO\x02" + zlib.compress(b"\x05\0\0\0\0\0\0\0notjs"), "is damaged"),
        (b"KSWO\x02" + zlib.compress(b"\x02\0\0\0\0\0\0\0{}"), "is missing"),
    ],
)
def test_bytes_that_are_no_outcome_are_refused(damaged: bytes, expected_error: str) -> None:
    with pytest.raises(OutcomeError, match=expected_error):
        RunOutcome.decode(damaged)


def test_bytes_that_were_cut_off_are_refused() -> None:
    data = run_scenario(make_crowded_scenario(1, pods=3), configuration()).encode()
    with pytest.raises(OutcomeError):
        RunOutcome.decode(data[:-20])


def test_a_long_run_is_sampled_less_often() -> None:
    prepared = PreparedScenario([node("only")], [], 1000.0, SimulationSettings(sample=1.0, most_samples=10))
    times = run_scenario(prepared, configuration()).samples.time
    assert len(times) <= 10
    gaps = np.diff(times)
    assert times[0] == 0.0
    assert set(gaps) == {128.0}
    assert 1000.0 - times[-1] < 128.0


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """Times at which pods began to wait."""

    time: Floats
    names: list[str]


class QueueRecorder(ActorRecorder):
    """Records texts that an actor reports."""

    reports = (str,)
    records = {"queues": Waits}

    def __init__(self, setup: ActorSetup | None) -> None:
        super().__init__(setup)
        self.heard: list[tuple[float, str]] = []

    def add_report(self, report: str, now: float, run: RecordedRun) -> None:
        self.heard.append((now, report))

    def build_columns(self, run: RecordedRun) -> dict[str, object]:
        time = np.array([now for now, _ in self.heard], dtype=np.float64)
        return {"queues": Waits(time, [text for _, text in self.heard])} if self.heard else {}


def test_columns_of_a_further_actor_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run_scenario(make_crowded_scenario(1), configuration()).encode()
    kinds = {**outcomes.list_recorders(), "queues": QueueRecorder}
    for module in (outcomes, recorder):
        monkeypatch.setattr(module, "list_recorders", lambda: kinds)
    assert run_scenario(make_crowded_scenario(1), configuration()).encode() == plain, "without reports nothing differs"
    heard = recorder.RunRecorder([], 0)
    heard.reported("default/a", 5.0)
    heard.reported(17, 6.0)  # of nobody's type
    outcome = heard.build_outcome(Result(), 1, [])
    restored = RunOutcome.decode(outcome.encode())
    assert (restored.further["queues"].time.tolist(), restored.further["queues"].names) == ([5.0], ["default/a"])
