"""Ties as Go leaves them: the permutations were made with sort.Slice of Go 1.26."""

from __future__ import annotations

import hashlib
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.validation.gosort import sort_slice

DIVISORS = (1, 2, 5, 1000)


def by_key(keys: list[int], first: int, other: int) -> bool:
    return keys[first] < keys[other]


def by_odd_key(keys: list[int], first: int, second: int) -> bool:
    return keys[first] < keys[second] or (keys[first] == keys[second] and keys[first] % 2 == 0)


def permutations(size: int) -> list[list[int]]:
    """Sorted by keys with many ties: scattered, rising, falling, and by a comparison that contradicts itself."""
    orders = []
    for modulus in DIVISORS:
        shapes = [
            [(number * number * 7 + 3 * number) % modulus for number in range(size)],
            [number * modulus // size for number in range(size)],
            [(size - number) * modulus // size for number in range(size)],
        ]
        for keys in shapes:
            orders.append(list(range(size)))
            sort_slice(orders[-1], partial(by_key, keys))
        odd = [(number**3 * 31 + number) % modulus for number in range(size)]
        orders.append(list(range(size)))
        sort_slice(orders[-1], partial(by_odd_key, odd))
    return orders


@pytest.mark.parametrize(
    ("size", "digest"),
    [
        (5, "056a58a6dbc50869cd28913b90df9fe9e7de80565b5b9f74fed9180bf8e475cb"),
        (12, "e81dd5022805eb8ff2901343275e77b8ec3ebccc063b9416eba1a9aaabed777a"),
        (13, "943312b000f3cf19cdf0fbf3a11602786b5e6b6e09ce0e1e6aa4966a3c3424d0"),
        (20, "78d28e82c8362a08c25ea1edaf4a7f22904221e8649fad88148554666939a63c"),
        (49, "8a7065586a25f07c9cc69fd2f8afb8c6d675d889e164f4b9e6269cd092c1129f"),
        (50, "08a61f3b3b7f70cbfad15d16e10d8b48a4a2f3e019e8cbcf56b6b7ca861edf22"),
        (64, "0ff75d3625302c35c01a0be94e9a0f78ec5ac9d91b40e257e6c82819176e299f"),
        (200, "0f2ea753323d25a126b2a73d96eb4a4b4edbd71cfa91984103240bad80a8c5f7"),
        (1000, "381d3c833f96a436c5717a621052fad77f5845ee6c4f961ef0da5aa83d669e52"),
    ],
)
def test_ties_are_left_as_go_leaves_them(size: int, digest: str) -> None:
    text = "\n".join(",".join(map(str, order)) for order in permutations(size))
    assert hashlib.sha256(text.encode()).hexdigest() == digest


@given(st.lists(st.integers(0, 30), max_size=300))
def test_what_is_sorted_is_sorted(items: list[int]) -> None:
    expected = sorted(items)
    sort_slice(items, lambda first, other: first < other)
    assert items == expected
