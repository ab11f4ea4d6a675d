"""Kinds of locks that keep each other out, and the way from one to another."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from kschedweb.live.schedulers.election.locks import PARTS, exclude_each_other, migration_steps
from kschedweb.live.schedulers.models import Lock


def test_there_is_every_kind_that_kube_scheduler_had() -> None:
    assert set(PARTS) == set(Lock.values)


@pytest.mark.parametrize(
    ("first", "second", "way"),
    [
        ("endpoints", "leases", ["endpointsleases"]),
        ("leases", "configmaps", ["configmapsleases"]),
        ("endpoints", "configmaps", ["endpointsleases", "configmapsleases"]),
        ("leases", "endpointsleases", []),
        ("leases", "leases", []),
    ],
)
def test_the_way_between_two_is_the_shortest(first: str, second: str, way: list[str]) -> None:
    assert migration_steps(first, second) == way


def test_on_every_way_each_keeps_the_next_out() -> None:
    for first, other in product(PARTS, PARTS):
        for kind, following in pairwise([first, *migration_steps(first, other), other]):
            assert exclude_each_other(kind, following)
    assert not exclude_each_other("endpoints", "leases")
    assert not exclude_each_other("configmaps", "endpointsleases")
