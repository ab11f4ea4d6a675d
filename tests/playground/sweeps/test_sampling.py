"""What a search asks for: new points within the space, the same for the same rows."""

from __future__ import annotations

import pytest

from kschedweb.engine.config import EMPTY
from kschedweb.engine.studies.search.space import Point, Space, read_space
from kschedweb.playground.sweeps.sampling import NSGA2, TPE, KnownTrial, suggest_trials
from tests.support.seed_sweeps import BALANCED, FIT, STRATEGY

RANGES = [{"path": FIT, "from": 0, "to": 40}, {"path": BALANCED, "from": 1, "to": 40, "step": 3}]


def space(*more: dict[str, object]) -> Space:
    return read_space([*RANGES, *more], EMPTY)


def searched(found: Space, method: str, rounds: int, best: Point, seed: int = 1) -> list[KnownTrial]:
    """Trials whose first objective is the distance from ``best``, the second its opposite for other methods."""
    known = [KnownTrial(found.base_point, [50.0, 0.0])]
    for _ in range(rounds):
        for one in suggest_trials(found, ["lower", "lower"], known, method=method, seed=seed, count=8):
            far = float(sum(abs(a - b) for a, b in zip(one.point, best, strict=True)))
            known.append(KnownTrial(one.point, [far, far / 10.0], notes=one.notes))
    return known


@pytest.mark.parametrize("method", [TPE, NSGA2])
def test_points_are_new_within_the_space_and_come_closer(method: str) -> None:
    found = space()
    known = searched(found, method, 9, (33, 22))
    points = [one.point for one in known]
    assert len(set(points)) == len(points) == 73
    assert all(found.can_hold(point) for point in points)
    assert {(point[1] - 1) % 3 for point in points} == {0}
    far = [one.values[0] for one in known if one.values]
    assert min(far[40:]) < min(far[:12])
    assert sum(far[49:]) / len(far[49:]) < sum(far[1:25]) / 24


@pytest.mark.parametrize("method", [TPE, NSGA2])
def test_the_same_rows_and_seed_ask_for_the_same_points(method: str) -> None:
    first, again, other = (searched(space(), method, 4, (5, 5), seed) for seed in (1, 1, 2))
    assert [one.point for one in first] == [one.point for one in again] != [one.point for one in other]


def test_generations_of_nsga_outlive_the_study() -> None:
    known = searched(space(), NSGA2, 8, (5, 5))
    assert {value for one in known[1:] for key, value in one.notes.items() if "generation" in key} >= {0, 1, 2}


def test_trials_that_fail_or_run_are_known_and_not_asked_for_again() -> None:
    found = read_space(
        [{"path": FIT, "from": 1, "to": 3}, {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}], EMPTY
    )
    points = list(found.iterate_grid())
    known = [KnownTrial(points[0], [1.0]), KnownTrial(points[1], None, failed=True), KnownTrial(points[2], None)]
    asked = suggest_trials(found, ["lower"], known, method=TPE, seed=1, count=8)
    assert sorted(one.point for one in asked) == sorted(points[3:])


def test_a_base_policy_that_stands_beside_the_space_is_left_out() -> None:
    found = read_space([{"path": FIT, "from": 10, "to": 20, "step": 5}], EMPTY)
    asked = suggest_trials(found, ["lower"], [KnownTrial(found.base_point, [1.0])], method=TPE, seed=1, count=8)
    assert sorted(one.point for one in asked) == [(10,), (15,), (20,)]
