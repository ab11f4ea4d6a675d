"""Bills: their parts sum to the whole, use is a part of the price, and nodes without a price change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.advice.costs.billing import NODE_HOURS, Bill, UsageShares, compute_bill, compute_total, hourly_of
from kschedweb.advice.costs.columns import NodeColumns, PodColumns
from kschedweb.advice.costs.examples import NOTE, build_example_table
from kschedweb.clusters.prices.validation import check_prices
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.price_table import CAPACITY_TYPE, INSTANCE_TYPE, PriceTable, read_price_table

HEAD = {"apiVersion": "kschedweb/v1", "kind": "PriceTable", "currency": "EUR"}
TABLE = read_price_table({**HEAD, "prices": [{"instanceType": "m", "price": 4}, {"instanceType": "s", "price": 1}]})
GIB = float(1 << 30)


def nodes(types: list[str], requested_amounts: tuple[float, float] = (0.0, 0.0)) -> NodeColumns:
    count = len(types)
    return NodeColumns(
        [f"node-{place}" for place in range(count)],
        [{INSTANCE_TYPE: kind} if kind else {} for kind in types],
        types,
        {CPU: np.full(count, 4000.0), MEMORY: np.full(count, 8 * GIB)},
        {CPU: np.full(count, requested_amounts[0]), MEMORY: np.full(count, requested_amounts[1])},
    )


def bill_of(table: PriceTable | None, node_columns: NodeColumns, on: PodColumns, shares: UsageShares) -> Bill:
    return compute_bill(table, hourly_of(table, node_columns), node_columns, on, shares)


def pod_columns(places: list[int], cpu: list[float], memory: list[float]) -> PodColumns:
    names = [f"a/Deployment/w{place % 3}" for place in range(len(places))]
    distinct = list(dict.fromkeys(names))
    codes = np.array([distinct.index(name) for name in names], dtype=np.int32)
    spaces = ["a"] if places else []
    node_positions = np.array(places, dtype=np.int32)
    requests = {CPU: np.array(cpu, dtype=np.float64), MEMORY: np.array(memory, dtype=np.float64)}
    return PodColumns(node_positions, spaces, np.zeros(len(places), dtype=np.int32), distinct, codes, requests)


def usage_shares(count: int, share: float, workloads: list[tuple[float, float]]) -> UsageShares:
    of_nodes = {name: np.full(count, share) for name in (CPU, MEMORY)}
    amounts = np.array(workloads, dtype=np.float64).reshape(len(workloads), 2).T
    return UsageShares(of_nodes, {CPU: amounts[0], MEMORY: amounts[1]})


def test_use_and_idle_are_parts_of_what_nodes_and_pods_cost() -> None:
    # One pod requests half of the CPU and a quarter of the memory, and uses half of that.
    bill = bill_of(
        TABLE, nodes(["m", "s", ""]), pod_columns([0], [2000.0], [2 * GIB]), usage_shares(3, 0.25, [(1000.0, GIB)])
    )
    total = bill.total
    assert (bill.unit, total.hour, total.month, total.unpriced) == ("EUR", 5.0, 3650.0, 1)
    assert (total.requested, total.used, total.idle, total.idle_share) == (1.5, 1.25, 3.75, 75.0)
    [line] = bill.workloads
    assert (line.name, line.count, line.hour, line.used, line.idle) == ("a/Deployment/w0", 1, 1.5, 0.75, 0.75)
    assert [(kind.name, kind.hour, kind.has_price) for kind in bill.types] == [
        ("m", 4.0, True),
        ("s", 1.0, True),
        ("", 0.0, False),
    ]


def test_without_a_table_each_node_counts_one_node_hour() -> None:
    bill = bill_of(None, nodes(["m", "s"]), pod_columns([], [], []), usage_shares(2, float("nan"), []))
    assert (bill.unit, bill.total.hour, bill.total.has_use, bill.namespaces) == (NODE_HOURS, 2.0, False, [])


SHARES = st.lists(
    st.tuples(st.integers(0, 3), st.floats(0, 3000), st.floats(0, 6 * GIB), st.floats(0, 3000), st.floats(0, 6 * GIB)),
    max_size=12,
)


def _bill(types: list[str], drawn_pods: list[tuple[Any, ...]], share: float) -> Bill:
    of_pods = pod_columns(
        [pod[0] for pod in drawn_pods], [pod[1] for pod in drawn_pods], [pod[2] for pod in drawn_pods]
    )
    used_amounts = [(drawn_pods[place][3], drawn_pods[place][4]) for place in range(len(of_pods.workloads))]
    return bill_of(TABLE, nodes(types), of_pods, usage_shares(len(types), share, used_amounts))


@given(st.lists(st.sampled_from(["m", "s", "x"]), min_size=4, max_size=4), SHARES, st.floats(0, 1.5))
def test_parts_sum_to_the_whole(types: list[str], drawn: list[tuple[Any, ...]], share: float) -> None:
    bill = _bill(types, drawn, share)
    assert sum(kind.hour for kind in bill.types) == pytest.approx(bill.total.hour)
    assert sum(pool.hour for pool in bill.pools) == pytest.approx(bill.total.hour)
    for lines in (bill.namespaces, bill.workloads):
        assert sum(line.hour for line in lines) == pytest.approx(bill.total.requested)
    for line_of_type in (*bill.types, *bill.workloads):
        assert not line_of_type.has_use or line_of_type.used + line_of_type.idle == pytest.approx(
            line_of_type.hour_with_use
        )
        assert -1e-9 <= line_of_type.free <= line_of_type.hour + 1e-9


@given(st.lists(st.sampled_from(["m", "s", "x"]), min_size=4, max_size=4), SHARES, st.floats(0, 1.5))
def test_a_node_without_a_price_changes_no_amount(types: list[str], drawn: list[tuple[Any, ...]], share: float) -> None:
    before, after = _bill(types, drawn, share).total, _bill([*types, "x"], drawn, share).total
    assert (after.hour, after.requested, after.unpriced) == (before.hour, before.requested, before.unpriced + 1)
    assert after.has_use == before.has_use
    assert not after.has_use or (after.used, after.idle) == pytest.approx((before.used, before.idle))


def test_the_summary_says_what_the_bill_says() -> None:
    of_nodes = nodes(["m", "s", ""], (2000.0, 2 * GIB))
    of_pods = pod_columns([0, 1, 2], [2000.0] * 3, [2 * GIB] * 3)
    total = bill_of(TABLE, of_nodes, of_pods, usage_shares(3, 0.25, [(1.0, 1.0)] * 3)).total
    assert (
        compute_total(TABLE, hourly_of(TABLE, of_nodes), of_nodes, {CPU: np.full(3, 0.25), MEMORY: np.full(3, 0.25)})
        == total
    )


def test_example_prices_are_a_table_for_every_node_with_an_instance_type() -> None:
    columns = nodes(["m", "s", "s", ""])
    columns.labels[2] = {INSTANCE_TYPE: "s", CAPACITY_TYPE: "spot"}
    table = check_prices(build_example_table(columns)).table
    assert table is not None
    assert table.note == NOTE
    assert [table.find_entry(labels) is None for labels in columns.labels] == [False, False, False, True]
    assert [(price.match.capacity_type, price.price) for price in table.prices] == [
        ("spot", 0.08),
        ("", 0.2),
        ("", 0.2),
    ]
