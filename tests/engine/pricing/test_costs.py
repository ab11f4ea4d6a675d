"""Costs of nodes, by hand and by rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.pricing.cost_division import divide_costs
from kschedweb.engine.pricing.costs import NodeCost, Rates
from kschedweb.engine.pricing.price_table import Commitment, Match, Price, PriceTable, Weights

BIG, SMALL, OTHER = ({"node.kubernetes.io/instance-type": name} for name in ("big", "small", "other"))
PRICES = (Price(Match("big"), 4.0), Price(Match("small"), 1.0))
TABLE = PriceTable("EUR", PRICES)


def test_a_node_without_a_price_counts_in_hours_only() -> None:
    rates = Rates.from_table(TABLE, [BIG, SMALL, OTHER])
    assert rates.entry.tolist() == [0, 1, -1]
    assert rates.cost_per_hour() == NodeCost(5.0, 3.0, 1.0)
    assert rates.cost_per_hour(np.array([False, False, True])) == NodeCost(None, 1.0, 1.0)


def test_without_a_table_there_are_node_hours() -> None:
    rates = Rates.from_table(None, [BIG, SMALL])
    assert rates.cost_per_hour() == NodeCost(None, 2.0, 2.0)


def test_a_commitment_takes_the_dearest_first_and_no_node_twice() -> None:
    labels = [{**BIG, "team": "a"}, {**SMALL, "team": "a"}, {**BIG, "team": "b"}]
    first, second = Commitment(Match(labels={"team": "a"}), 1, 50.0), Commitment(Match("big"), 5, 25.0)
    rates = Rates.from_table(PriceTable("EUR", PRICES, 0.5, (first, second)), labels)
    assert rates.price_per_node().tolist() == [2.5, 1.5, 3.5]
    # Once the dearest has gone the discount is that of the next.
    prices = rates.price_per_node(np.array([False, True, True]))
    assert math.isnan(prices[0])
    assert prices[1:].tolist() == [1.0, 3.5]


def test_over_time_each_node_is_paid_while_it_exists() -> None:
    rates = Rates.from_table(TABLE, [BIG, SMALL])
    presence = np.array([[True, True], [True, False]])
    assert rates.cost_over(np.array([0.0, 3600.0, 5400.0]), presence) == NodeCost(4.0 + 1.0 + 2.0, 2.5)


@given(
    prices=st.lists(st.one_of(st.just(math.nan), st.floats(0, 100)), min_size=1, max_size=8),
    nodes=st.integers(1, 9),
    discount=st.floats(0, 100),
)
def test_a_discount_never_makes_anything_dearer(prices: list[float], nodes: int, discount: float) -> None:
    labels = [{"name": str(place)} for place in range(len(prices))]
    entries = tuple(
        Price(Match(labels=node_labels), price)
        for node_labels, price in zip(labels, prices, strict=True)
        if not math.isnan(price)
    )
    plain = Rates.from_table(PriceTable("EUR", entries), labels).price_per_node()
    lower = Rates.from_table(
        PriceTable("EUR", entries, 0.0, (Commitment(Match(), nodes, discount),)), labels
    ).price_per_node()
    assert np.array_equal(np.isnan(plain), np.isnan(lower))
    has_price = ~np.isnan(plain)
    assert (lower[has_price] <= plain[has_price]).all()
    dearest = sorted(plain[has_price].tolist(), reverse=True)[:nodes]
    assert float(plain[has_price].sum() - lower[has_price].sum()) == pytest.approx(sum(dearest) * discount / 100)


@given(data=st.data())
def test_kinds_of_nodes_cost_what_their_nodes_cost(data: st.DataObject) -> None:
    label = st.fixed_dictionaries({"kind": st.sampled_from("abcd"), "team": st.sampled_from("xyz")})
    labels = data.draw(st.lists(label, min_size=1, max_size=12))
    price = st.builds(Price, st.builds(lambda kind: Match(labels={"kind": kind}), st.sampled_from("abc")), st.just(2.0))
    prices = (*data.draw(st.lists(price, max_size=3)), Price(Match(labels={"kind": "b"}), 5.0))
    by_team = st.builds(lambda team: Match(labels={"team": team}), st.sampled_from("xyz"))
    commitment = st.builds(Commitment, st.one_of(by_team, st.just(Match())), st.integers(1, 5), st.floats(0, 100))
    table = PriceTable("EUR", prices, 0.25, tuple(data.draw(st.lists(commitment, max_size=3))))
    rates = Rates.from_table(table, labels)
    assert rates.entry.tolist() == [
        -1 if (entry := table.find_entry(node_labels)) is None else entry for node_labels in labels
    ]
    presence = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))), dtype=np.bool_)
    hourly = rates.price_per_node(presence)
    counts = np.bincount(rates.kind[presence], minlength=len(rates.kinds.price)).astype(np.float64)
    amount, unpriced = rates.kinds.cost_per_hour(counts[None, :])
    assert amount[0] == pytest.approx(float(np.nansum(hourly)))
    assert unpriced[0] == int(presence.sum()) - int((~np.isnan(hourly)).sum())


@given(data=st.data())
def test_what_is_paid_is_divided_without_a_rest(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 4))
    pods = data.draw(st.integers(0, 10))

    def amounts(count: int, minimum: float = 0.0) -> np.ndarray:
        return np.array(data.draw(st.lists(st.floats(minimum, 1e4), min_size=count, max_size=count)))

    hourly, node = (
        amounts(nodes),
        np.array(data.draw(st.lists(st.integers(0, nodes - 1), min_size=pods, max_size=pods)), dtype=np.int32),
    )
    has = {name: amounts(nodes, 1.0) for name in ("cpu", "memory")}
    asks = {name: amounts(pods) for name in ("cpu", "memory")}
    uses = {name: amounts(pods) for name in ("cpu", "memory")}
    division = divide_costs(hourly, node, has, asks, uses, Weights(2.0, 1.0))
    by_node = np.bincount(node, weights=division.requested_cost, minlength=nodes)
    assert by_node + division.free == pytest.approx(hourly)
    assert (division.idle <= division.requested_cost + 1e-9).all()
    assert (division.free >= -1e-9).all()
