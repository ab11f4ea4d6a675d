"""Pods that are made up: the same for the same seed, as many as asked for, when asked for."""

from __future__ import annotations

from collections import Counter

from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.studies import PreparedScenario
from tests.engine.studies.prepare.test_prepared import prepared, problems, run, zoned


def generated(seed: int = 1, **generate: object) -> PreparedScenario:
    shapes = [{"cpu": "500m", "memory": "1Gi", "weight": 3, "life": "2h"}, {"cpu": 2, "name": "big"}]
    return prepared(*zoned("a"), seed=seed, arrivals=[{"generate": {"perHour": 600, "shapes": shapes, **generate}}])


def comings(scenario: PreparedScenario) -> list[PodArrives]:
    return [event for event in scenario.events if isinstance(event, PodArrives)]


def test_the_same_seed_gives_the_same_pods_and_another_one_others() -> None:
    first = comings(generated(1))
    assert comings(generated(1)) == first
    assert [event.time for event in first] != [event.time for event in comings(generated(2))]


def test_pods_come_as_often_as_asked_and_by_their_weights() -> None:
    events = comings(generated())
    assert abs(len(events) - 14_400) < 5 * 120
    owners = Counter(event.pod["metadata"]["labels"]["app"] for event in events)  # type: ignore[index]
    assert abs(owners["big"] / len(events) - 0.25) < 0.02
    assert {event.duration for event in events} == {7200.0, None}


def test_the_tide_is_highest_at_its_peak_and_lowest_twelve_hours_away() -> None:
    events = comings(generated(tide={"low": 0.2, "peak": "14h"}))
    hours = Counter(int(event.time // 3600) for event in events)
    high, low = sum(hours[hour] for hour in (13, 14)), sum(hours[hour] for hour in (1, 2))
    assert high > 3.5 * low
    assert abs(len(events) - 0.6 * 14_400) < 600


def test_lives_are_drawn_between_their_bounds() -> None:
    shapes = [{"cpu": 1, "life": {"least": "10m", "most": "8h"}}]
    lives = [event.duration for event in comings(generated(shapes=shapes))]
    assert all(life is not None and 600.0 <= life <= 28_800.0 for life in lives)
    means = [event.duration or 0.0 for event in comings(generated(shapes=[{"life": {"mean": "1h"}}]))]
    assert abs(sum(means) / len(means) - 3600.0) < 200.0


def test_too_many_pods_are_refused_before_they_are_made() -> None:
    arrivals = [{"generate": {"perHour": 1e6, "shapes": [{}]}}]
    problem_texts = problems(*zoned("a"), arrivals=arrivals)
    assert problem_texts == [
        "arrivals[0].generate.perHour: would make about 24,000,000 pods; at most 300,000 are taken"
    ]


def test_made_up_pods_belong_to_a_deployment_of_their_own_and_are_scheduled() -> None:
    scenario = generated(perHour=20, until="1h")
    kinds = Counter(raw["kind"] for raw in scenario.objects)
    assert kinds == {"Deployment": 2, "ReplicaSet": 2, "Node": 1}
    result = run(scenario, 7200.0)
    assert len(result.bound) + len(result.pending) == len(comings(scenario))
    assert result.bound
