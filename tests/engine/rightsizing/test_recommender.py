from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kschedweb.engine.rightsizing.recommender import Bounds, RecommenderSettings, Usage, get_recommended_pod_resources
from kschedweb.engine.rightsizing.samples import MAX_RESOURCE_AMOUNT, Instance, UsageSample

MINUTE = 60 * 10**9
BEGIN = 1_767_225_600 * 10**9  # 2026-01-01


def steady(cpu: int, memory: int, minutes: int) -> Instance:
    samples = [UsageSample(BEGIN + place * MINUTE, cpu=cpu, memory=memory) for place in range(minutes)]
    return Instance(RecommenderSettings().interval).add_samples(samples)


def recommend_for(*instances: Instance, siblings: int = 1) -> tuple[Bounds, Bounds]:
    usage = Usage(RecommenderSettings(), 1)
    usage.add_instances((0, instance) for instance in instances)
    return get_recommended_pod_resources(usage, np.array([siblings]))


def test_the_target_is_the_end_of_the_bucket_with_the_margin() -> None:
    cpu, memory = recommend_for(steady(1000, 10**9, 1441))
    assert 1150 <= cpu.target[0] <= 1150 * 1.05
    assert 1.15e9 <= memory.target[0] <= 1.15e9 * 1.05


def test_after_a_day_the_upper_bound_is_twice_as_much_and_the_lower_one_about_the_target() -> None:
    cpu, memory = recommend_for(steady(1000, 10**9, 1441))
    for bounds in (cpu, memory):
        assert bounds.upper[0] == 2 * bounds.target[0]
        assert 0.997 * bounds.target[0] < bounds.lower[0] < bounds.target[0]


def test_one_sample_says_nothing_of_bounds() -> None:
    cpu, memory = recommend_for(steady(1000, 10**9, 1))
    assert (cpu.upper[0], memory.upper[0]) == (MAX_RESOURCE_AMOUNT, MAX_RESOURCE_AMOUNT)
    assert (cpu.lower[0], memory.lower[0]) == (25, 250 * 2**20)


@pytest.mark.parametrize(("siblings", "cpu", "memory"), [(1, 25, 262144000), (2, 12, 131072000), (3, 8, 87381333)])
def test_the_containers_of_a_pod_share_its_minimum(siblings: int, cpu: int, memory: int) -> None:
    bounds = recommend_for(siblings=siblings)
    assert [int(column[0]) for column in bounds[0]] == [cpu] * 3
    assert [int(column[0]) for column in bounds[1]] == [memory] * 3


def test_rounding_goes_up_to_a_multiple() -> None:
    amounts = np.array([1, 1000, 1001])
    assert [list(rounded) for rounded in Bounds(amounts, amounts, amounts).round_up(1000)] == [[1000, 1000, 2000]] * 3


def test_many_containers_at_once_get_what_each_gets_alone() -> None:
    random = Random(3)
    instances = []
    for _ in range(40):
        times = sorted(random.randrange(10**6) for _ in range(random.randrange(60)))
        samples = [
            UsageSample(
                BEGIN + time * 10**9, random.randrange(9000), random.randrange(10**10), random.choice((None, 10**9))
            )
            for time in times
        ]
        instances.append((random.randrange(12), Instance(RecommenderSettings().interval).add_samples(samples)))
    usage, siblings = Usage(RecommenderSettings(), 12), np.arange(12) % 3 + 1
    usage.add_instances(instances)
    whole = get_recommended_pod_resources(usage, siblings)
    for container in range(12):
        alone = recommend_for(
            *(instance for row, instance in instances if row == container), siblings=int(siblings[container])
        )
        for resource in (0, 1):
            assert [column[container] for column in whole[resource]] == [column[0] for column in alone[resource]]
