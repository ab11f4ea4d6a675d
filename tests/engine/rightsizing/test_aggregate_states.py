from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.rightsizing.aggregate_states import (
    EXPIRY,
    AggregateContainerStates,
    ContainerSample,
    UsageColumns,
)
from kschedweb.engine.rightsizing.recommender import (
    DAY,
    MINUTE,
    RecommenderSettings,
    Usage,
    get_recommended_pod_resources,
)
from kschedweb.engine.rightsizing.samples import UNKNOWN_AMOUNT, Instance, UsageSample

BEGIN = 1_767_225_600 * 10**9
GIB = 2**30
NAME = "shop/Deployment/web/main"
amounts = st.tuples(st.integers(1, 600), st.integers(0, 8000), st.integers(0, 8 * GIB), st.booleans())


def samples(drawn: list[tuple[int, int, int, bool]]) -> list[UsageSample]:
    """Samples at minutes after each other, some of them kills."""
    usage_samples, time = [], BEGIN
    for minutes, cpu, memory, killed in drawn:
        time += minutes * MINUTE
        usage_samples.append(UsageSample(time, cpu, memory, memory if killed else None))
    return usage_samples


@given(st.lists(amounts, min_size=1, max_size=40))
def test_a_container_that_is_followed_gets_what_all_its_samples_at_once_get(
    drawn: list[tuple[int, int, int, bool]],
) -> None:
    usage_samples = samples(drawn)
    book = AggregateContainerStates.create_empty()
    for sample in usage_samples:
        book = AggregateContainerStates.from_bytes(
            book.with_samples([ContainerSample(NAME, "web-1", sample)], sample.time).to_bytes()
        )
    whole = Usage(RecommenderSettings(), 1)
    whole.add_instances([(0, Instance(DAY).add_samples(usage_samples))])
    alone = np.ones(1, np.int64)
    if usage_samples[-1].time - usage_samples[0].time < EXPIRY and max(minutes for minutes, *_ in drawn) * MINUTE < DAY:
        for mine, theirs in zip(book.compute_bounds(alone), get_recommended_pod_resources(whole, alone), strict=True):
            assert [column.tolist() for column in mine] == [column.tolist() for column in theirs]
        assert book.killed.tolist() == [sum(killed for *_, killed in drawn)]


known = st.none() | st.integers(-1, 8 * GIB)
columns = st.lists(st.lists(st.tuples(known, known), min_size=3, max_size=3), min_size=1, max_size=30)


@given(columns, st.integers(1, 9))
def test_usage_in_columns_is_the_same_as_sample_by_sample(drawn: list[list[tuple[Any, Any]]], hours: int) -> None:
    """Of two pods of one container, and one of another."""
    containers = [(NAME, "web-1"), (NAME, "web-2"), ("shop/Deployment/db/main", "db-1")]
    times = [BEGIN + place * hours * 60 * MINUTE for place in range(len(drawn))]
    kill = ContainerSample(NAME, "web-2", UsageSample(BEGIN, oom=GIB))
    one_by_one = [
        ContainerSample(*container, UsageSample(time, *used))
        for time, row in zip(times, drawn, strict=True)
        for container, used in zip(containers, row, strict=True)
    ]
    filled = np.array([[[UNKNOWN_AMOUNT if v is None else v for v in used] for used in row] for row in drawn], np.int64)
    usage = UsageColumns(containers, np.array(times), filled[:, :, 0], filled[:, :, 1])
    empty = AggregateContainerStates.create_empty()
    in_columns = empty.with_samples([kill], times[-1], usage)
    assert in_columns.to_bytes() == empty.with_samples([kill, *one_by_one], times[-1]).to_bytes()


@given(st.lists(amounts, min_size=1, max_size=12), st.integers(2, 5))
def test_bounds_hold_the_target_between_them(drawn: list[tuple[int, int, int, bool]], pods: int) -> None:
    book = AggregateContainerStates.create_empty()
    for sample in samples(drawn):
        book = book.with_samples([ContainerSample(NAME, f"web-{pod}", sample) for pod in range(pods)], sample.time)
    for bounds in book.compute_bounds(np.ones(1, np.int64)):
        assert bounds.lower[0] <= bounds.target[0] <= bounds.upper[0]


def test_what_was_not_heard_of_for_eight_days_is_forgotten() -> None:
    book = AggregateContainerStates.create_empty().with_samples(
        [ContainerSample("a/Deployment/b/c", "b-1", UsageSample(BEGIN, 100, GIB))], BEGIN
    )
    later = BEGIN + EXPIRY
    book = book.with_samples([ContainerSample(NAME, "web-1", UsageSample(later, 100, GIB))], later)
    assert book.names == [NAME]
    assert {pod for _, pod in book.running} == {"web-1"}


def test_a_kill_that_is_told_again_counts_once() -> None:
    killed = ContainerSample(NAME, "web-1", UsageSample(BEGIN, oom=GIB))
    book = AggregateContainerStates.create_empty().with_samples(
        [killed, ContainerSample(NAME, "web-1", UsageSample(BEGIN, 100, GIB))], BEGIN
    )
    later = BEGIN + MINUTE
    book = book.with_samples([killed, ContainerSample(NAME, "web-1", UsageSample(later, 100, GIB))], later)
    assert book.killed.tolist() == [1]
