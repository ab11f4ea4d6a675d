"""Samples of a search: new points within the space, the same for the same rows."""

from __future__ import annotations

import pytest

from kschedweb.engine.config import EMPTY
from kschedweb.engine.studies.search.space import Point, Space, read_space
from kschedweb.playground.sweeps.sampling import NSGA2, TPE, KnownTrial, suggest_trials
from tests.support.seed_sweeps import BALANCED, FIT, STRATEGY

RANGES = [{"path": FIT, "from": 0, "to": 40}, {"path": BALANCED, "from": 1, "to": 40, "step": 3}]


def make_space(*dimensions: dict[str, object]) -> Space:
    return read_space([*RANGES, *dimensions], EMPTY)


def search_trials(search_space: Space, method: str, rounds: int, best: Point, seed: int = 1) -> list[KnownTrial]:
    """Trials whose first objective is the distance from ``best``, the second its opposite for other methods."""
    trials = [KnownTrial(search_space.base_point, [50.0, 0.0])]
    for _ in range(rounds):
        for suggestion in suggest_trials(search_space, ["lower", "lower"], trials, method=method, seed=seed, count=8):
            far = float(sum(abs(a - b) for a, b in zip(suggestion.point, best, strict=True)))
            trials.append(KnownTrial(suggestion.point, [far, far / 10.0], notes=suggestion.notes))
    return trials


@pytest.mark.parametrize("method", [TPE, NSGA2])
def test_points_are_new_within_the_space_and_come_closer(method: str) -> None:
    search_space = make_space()
    trials = search_trials(search_space, method, 9, (33, 22))
    points = [trial.point for trial in trials]
    assert len(set(points)) == len(points) == 73
    assert all(search_space.can_hold(point) for point in points)
    assert {(point[1] - 1) % 3 for point in points} == {0}
    far = [trial.values[0] for trial in trials if trial.values]
    assert min(far[40:]) < min(far[:12])
    assert sum(far[49:]) / len(far[49:]) < sum(far[1:25]) / 24


@pytest.mark.parametrize("method", [TPE, NSGA2])
def test_the_same_rows_and_seed_ask_for_the_same_points(method: str) -> None:
    first, repeated, other_seed = (search_trials(make_space(), method, 4, (5, 5), seed) for seed in (1, 1, 2))
    assert (
        [trial.point for trial in first] == [trial.point for trial in repeated] != [trial.point for trial in other_seed]
    )


def test_generations_of_nsga_outlive_the_study() -> None:
    trials = search_trials(make_space(), NSGA2, 8, (5, 5))
    assert {value for trial in trials[1:] for key, value in trial.notes.items() if "generation" in key} >= {0, 1, 2}


def test_trials_that_fail_or_run_are_known_and_not_asked_for_again() -> None:
    search_space = read_space(
        [{"path": FIT, "from": 1, "to": 3}, {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}], EMPTY
    )
    points = list(search_space.iterate_grid())
    trials = [KnownTrial(points[0], [1.0]), KnownTrial(points[1], None, failed=True), KnownTrial(points[2], None)]
    suggestions = suggest_trials(search_space, ["lower"], trials, method=TPE, seed=1, count=8)
    assert sorted(suggestion.point for suggestion in suggestions) == sorted(points[3:])


def test_a_base_policy_that_stands_beside_the_space_is_left_out() -> None:
    search_space = read_space([{"path": FIT, "from": 10, "to": 20, "step": 5}], EMPTY)
    suggestions = suggest_trials(
        search_space, ["lower"], [KnownTrial(search_space.base_point, [1.0])], method=TPE, seed=1, count=8
    )
    assert sorted(suggestion.point for suggestion in suggestions) == [(10,), (15,), (20,)]
