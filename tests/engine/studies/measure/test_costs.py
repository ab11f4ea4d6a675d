"""Costs of a run's nodes, by hand and by rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import PriceTable, read_price_table
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeJoins,
    NodeLeaves,
    PodArrives,
    SimulationEvent,
    SimulationSettings,
)
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.document import read_scenario as scenario
from kschedweb.engine.studies.measure.costs import compute_costs
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.occupancy import working_steps
from kschedweb.engine.studies.measure.values import Measures
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.packing import unpack_values
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration
from tests.support import tiers

HEAD = {"apiVersion": "kschedweb/v1", "kind": "PriceTable", "currency": "EUR"}
TYPE = "node.kubernetes.io/instance-type"
PRICES = [{"instanceType": "big", "price": 4}, {"instanceType": "small", "price": 1}]


def table(**more: Any) -> PriceTable:
    return read_price_table({**HEAD, "prices": PRICES, **more})


def priced_node(name: str, kind: str) -> dict[str, Any]:
    return node(name, labels={TYPE: kind})


def played(
    objects: list[Any], events: list[SimulationEvent], prices: PriceTable | None, end: float = 3600.0
) -> RunOutcome:
    return run_scenario(
        PreparedScenario(objects, events, end, SimulationSettings(cycle=0.0), prices=prices), configuration()
    )


def names(measures: Measures) -> set[str]:
    return {measure.name for measure in measures}


def test_each_node_is_paid_while_it_is_there() -> None:
    events: list[SimulationEvent] = [NodeJoins(1800.0, priced_node("late", "big")), NodeLeaves(2700.0, "begun")]
    outcome = played([priced_node("begun", "small"), priced_node("odd", "other")], events, table())
    measures, costs = compute_measures(outcome), compute_costs(outcome)
    assert measures["cost"].value == pytest.approx(0.75 * 1 + 0.5 * 4)
    assert (costs.first_hour, costs.hour) == (1.0, 4.0)
    assert (measures["cost"].unit, measures["cost_used_end"].unit) == ("EUR", "EUR/h")
    assert measures["unpriced_node_hours"].value == 1.0
    assert measures["cost_used"].value == 0.0


def test_nodes_in_use_cost_what_they_cost_alone() -> None:
    prices = table(perNode=0.5, commitments=[{"labels": {"team": "a"}, "nodes": 1, "discount": 50}])
    big, small = priced_node("big", "big"), priced_node("small", "small")
    for raw_node in (big, small):
        raw_node["metadata"]["labels"]["team"] = "a"
    events: list[SimulationEvent] = [PodArrives(1800.0, pod("web", nodeSelector={TYPE: "small"}))]
    measures = compute_measures(played([big, small], events, prices))
    assert measures["cost"].value == pytest.approx(2.0 + 1.0 + 2 * 0.5)
    # Alone, the small node has the discount that the dearer one takes otherwise.
    assert measures["cost_used"].value == pytest.approx((0.5 + 0.5) / 2)
    assert measures["cost_used_end"].value == pytest.approx(1.0)


def test_without_prices_nothing_is_told_and_nothing_is_kept_otherwise() -> None:
    objects, events = [priced_node("a", "big")], [PodArrives(0.0, pod("web"))]
    plain, priced = (played(objects, list(events), prices) for prices in (None, table()))
    assert names(compute_measures(priced)) - names(compute_measures(plain)) == {
        "cost",
        "cost_used",
        "cost_used_end",
        "unpriced_node_hours",
    }
    assert unpack_values(plain.encode()).keys() == unpack_values(priced.encode()).keys() - {"kinds", "kind"}
    decoded = RunOutcome.decode(priced.encode())
    assert compute_measures(decoded).to_dict() == compute_measures(priced).to_dict()
    assert compute_measures(RunOutcome.decode(plain.encode())).to_dict() == compute_measures(plain).to_dict()


def test_a_node_that_changes_its_labels_costs_otherwise_from_then_on() -> None:
    events: list[SimulationEvent] = [NodeChanges(900.0, "a", {TYPE: "big"})]
    assert compute_measures(played([priced_node("a", "small")], events, table()))["cost"].value == pytest.approx(
        0.25 + 3.0
    )


TIMES = st.floats(1.0, 3500.0)


@settings(max_examples=tiers.count(25, 100))
@given(data=st.data())
def test_costs_are_those_of_each_node_at_each_time(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(["big", "small", "other"]), min_size=1, max_size=5))
    commitments = data.draw(
        st.lists(st.fixed_dictionaries({"nodes": st.integers(1, 3), "discount": st.integers(0, 100)}), max_size=2)
    )
    prices = table(
        perNode=0.25,
        commitments=[
            {"instanceType": kind, **commitment}
            for kind, commitment in zip(("big", "small"), commitments, strict=False)
        ],
    )
    begun = [f"n{place}" for place in range(len(kinds))]
    events: list[SimulationEvent] = []
    for place, (name, kind) in enumerate(zip(begun, kinds, strict=True)):
        if data.draw(st.booleans()):
            events.append(NodeLeaves(data.draw(TIMES), name))
        events.append(NodeJoins(data.draw(TIMES), priced_node(f"late-{place}", kind)))
        events.append(PodArrives(data.draw(TIMES), pod(f"p{place}", requests={"cpu": "3"}), data.draw(TIMES)))
    events.sort(key=lambda event: event.time)
    outcome = played([priced_node(name, kind) for name, kind in zip(begun, kinds, strict=True)], events, prices)
    kind_by_node = {name: kinds[int(name[1:] if name.startswith("n") else name[5:])] for name in outcome.nodes}
    labels = [{TYPE: kind_by_node[name]} for name in outcome.nodes]
    rates = Rates.from_table(prices, labels)
    moments = np.unique(np.concatenate([outcome.node_log.time, outcome.moves.time, [0.0, outcome.end]]))
    presence = ~np.isnan(outcome.allocatable(moments, "cpu"))[:-1]
    working = np.zeros((len(moments), len(outcome.nodes)), dtype=np.int64)
    at = np.searchsorted(moments, outcome.moves.time)
    np.add.at(working, (at, outcome.moves.node), working_steps(outcome))
    used = presence & (np.cumsum(working, axis=0)[:-1] > 0)
    costs = compute_costs(outcome)
    for mine, mask in ((costs.total, presence), (costs.used, used)):
        expected = rates.cost_over(moments, mask)
        assert (mine.amount or 0.0) == pytest.approx(expected.amount or 0.0)
        assert mine.node_hours == pytest.approx(expected.node_hours)
        assert mine.unpriced == pytest.approx(expected.unpriced)


def test_a_scenario_names_its_prices_and_bad_ones_are_told_at_their_place() -> None:
    raw: dict[str, Any] = {"name": "priced", "objects": [priced_node("a", "big")], "run": {"until": "1h"}}
    document = scenario({**raw, "prices": {"currency": "EUR", "prices": PRICES}})
    prepared = prepare_scenario(document, [], {}, seed=1, now=0.0)
    assert compute_measures(run_scenario(prepared, configuration()))["cost"].value == pytest.approx(4.0)
    with pytest.raises(ScenarioError) as caught:
        scenario({**raw, "prices": {"currency": "EUR", "prices": [*PRICES, {"instanceType": "big", "price": -1}]}})
    assert str(caught.value) == "prices.prices[2].price: must be at least 0, is -1"
    with pytest.raises(ScenarioError) as caught:
        scenario({**raw, "prices": {"currency": "EUR", "prices": [*PRICES, PRICES[0]]}})
    assert str(caught.value) == "prices.prices[2]: is about the same nodes as prices.prices[0]: remove one of them"
