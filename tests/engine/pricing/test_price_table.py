"""Tables of prices: what they say, and what is wrong with those that say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.pricing.price_table import CAPACITY_TYPE, INSTANCE_TYPE, TableError, read_price_table

HEAD = {"apiVersion": "kschedweb/v1", "kind": "PriceTable", "currency": "EUR"}


def table(**fields: Any) -> dict[str, Any]:
    return {**HEAD, **fields}


def test_the_first_price_that_matches_holds() -> None:
    price_table = read_price_table(
        table(
            prices=[
                {"instanceType": "m", "capacityType": "spot", "price": 1},
                {"instanceType": "m", "price": 3},
                {"labels": {"pool": "gpu", "zone": "a"}, "price": 9},
            ]
        )
    )
    assert price_table.find_entry({INSTANCE_TYPE: "m", CAPACITY_TYPE: "spot"}) == 0
    assert price_table.find_entry({INSTANCE_TYPE: "m", CAPACITY_TYPE: "on-demand"}) == 1
    assert price_table.find_entry({"beta.kubernetes.io/instance-type": "m"}) == 1
    assert price_table.find_entry({"pool": "gpu", "zone": "a", INSTANCE_TYPE: "g"}) == 2
    assert price_table.find_entry({"pool": "gpu"}) is None


@pytest.mark.parametrize(
    ("fields", "expected_error"),
    [
        ({"prices": [{"instanceType": "m", "price": -1}]}, "prices[0].price: must be at least 0, is -1"),
        ({"prices": [{"instanceType": "m"}]}, "prices[0].price: is missing"),
        (
            {"prices": [{"price": 1}]},
            "prices[0]: must say which nodes it is about: instanceType, capacityType or labels",
        ),
        ({"prices": [{"instanceType": "m", "price": float("nan")}]}, "prices[0].price: must be a finite number"),
        (
            {"prices": [{"instanceType": "m", "price": 1}, {"instanceType": "m", "price": 2}]},
            "prices[1]: is about the same nodes as prices[0]: remove one of them",
        ),
        (
            {"commitments": [{"instanceType": "m", "nodes": 1, "discount": 120}]},
            "commitments[0].discount: must be at most 100, is 120",
        ),
        (
            {"commitments": [{"instanceType": "m", "nodes": 0, "discount": 10}]},
            "commitments[0].nodes: must be at least 1, is 0",
        ),
        ({"currency": "two words"}, "currency: must be one word, such as EUR, is 'two words'"),
        ({"weights": {"cpu": 0, "memory": 0}}, "weights: must not both be 0"),
        ({"price": []}, "price: is not known; known are"),
        ({"kind": "Prices"}, "kind: must be PriceTable, is 'Prices'"),
    ],
)
def test_a_table_that_cannot_be_used_says_where_and_why(fields: dict[str, Any], expected_error: str) -> None:
    with pytest.raises(TableError) as caught:
        read_price_table(table(**fields))
    assert expected_error in str(caught.value)


def test_a_document_of_nothing_says_what_is_missing() -> None:
    with pytest.raises(TableError) as caught:
        read_price_table({})
    assert [str(problem) for problem in caught.value.problems] == [
        "apiVersion: is missing",
        "kind: is missing",
        "currency: is missing",
    ]
