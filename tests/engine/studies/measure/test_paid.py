"""What the nodes of a run cost, by hand and by rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.table import PriceTable, read
from kschedweb.engine.simulation import Event, NodeChanges, NodeJoins, NodeLeaves, PodArrives, Settings
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.document.document import read as scenario
from kschedweb.engine.studies.measure.measured import Measures
from kschedweb.engine.studies.measure.measures import measure
from kschedweb.engine.studies.measure.occupancy import working_steps
from kschedweb.engine.studies.measure.paid import paid
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.packing import unpack
from kschedweb.engine.studies.play.run import run
from kschedweb.engine.studies.prepare.prepared import Prepared, prepare
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration
from tests.support import tiers

HEAD = {"apiVersion": "kschedweb/v1", "kind": "PriceTable", "currency": "EUR"}
TYPE = "node.kubernetes.io/instance-type"
PRICES = [{"instanceType": "big", "price": 4}, {"instanceType": "small", "price": 1}]


def table(**more: Any) -> PriceTable:
    return read({**HEAD, "prices": PRICES, **more})


def of(name: str, kind: str) -> dict[str, Any]:
    return node(name, labels={TYPE: kind})


def played(objects: list[Any], events: list[Event], prices: PriceTable | None, until: float = 3600.0) -> Outcome:
    return run(Prepared(objects, events, until, Settings(cycle=0.0), prices=prices), configuration())


def names(found: Measures) -> set[str]:
    return {one.name for one in found}


def test_each_node_is_paid_while_it_is_there() -> None:
    events: list[Event] = [NodeJoins(1800.0, of("late", "big")), NodeLeaves(2700.0, "begun")]
    outcome = played([of("begun", "small"), of("odd", "other")], events, table())
    found, costs = measure(outcome), paid(outcome)
    assert found["cost"].value == pytest.approx(0.75 * 1 + 0.5 * 4)
    assert (costs.first_hour, costs.hour) == (1.0, 4.0)
    assert (found["cost"].unit, found["cost_used_end"].unit) == ("EUR", "EUR/h")
    assert found["unpriced_node_hours"].value == 1.0
    assert found["cost_used"].value == 0.0


def test_nodes_in_use_cost_what_they_cost_alone() -> None:
    prices = table(perNode=0.5, commitments=[{"labels": {"team": "a"}, "nodes": 1, "discount": 50}])
    big, small = of("big", "big"), of("small", "small")
    for one in (big, small):
        one["metadata"]["labels"]["team"] = "a"
    events: list[Event] = [PodArrives(1800.0, pod("web", nodeSelector={TYPE: "small"}))]
    found = measure(played([big, small], events, prices))
    assert found["cost"].value == pytest.approx(2.0 + 1.0 + 2 * 0.5)
    # Alone, the small node has the discount that the dearer one takes otherwise.
    assert found["cost_used"].value == pytest.approx((0.5 + 0.5) / 2)
    assert found["cost_used_end"].value == pytest.approx(1.0)


def test_without_prices_nothing_is_told_and_nothing_is_kept_otherwise() -> None:
    objects, events = [of("a", "big")], [PodArrives(0.0, pod("web"))]
    plain, priced = (played(objects, list(events), prices) for prices in (None, table()))
    assert names(measure(priced)) - names(measure(plain)) == {
        "cost",
        "cost_used",
        "cost_used_end",
        "unpriced_node_hours",
    }
    assert unpack(plain.encode()).keys() == unpack(priced.encode()).keys() - {"kinds", "kind"}
    again = Outcome.decode(priced.encode())
    assert measure(again).to_dict() == measure(priced).to_dict()
    assert measure(Outcome.decode(plain.encode())).to_dict() == measure(plain).to_dict()


def test_a_node_that_changes_its_labels_costs_otherwise_from_then_on() -> None:
    events: list[Event] = [NodeChanges(900.0, "a", {TYPE: "big"})]
    assert measure(played([of("a", "small")], events, table()))["cost"].value == pytest.approx(0.25 + 3.0)


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
        commitments=[{"instanceType": kind, **one} for kind, one in zip(("big", "small"), commitments, strict=False)],
    )
    begun = [f"n{place}" for place in range(len(kinds))]
    events: list[Event] = []
    for place, (name, kind) in enumerate(zip(begun, kinds, strict=True)):
        if data.draw(st.booleans()):
            events.append(NodeLeaves(data.draw(TIMES), name))
        events.append(NodeJoins(data.draw(TIMES), of(f"late-{place}", kind)))
        events.append(PodArrives(data.draw(TIMES), pod(f"p{place}", requests={"cpu": "3"}), data.draw(TIMES)))
    events.sort(key=lambda event: event.time)
    outcome = played([of(name, kind) for name, kind in zip(begun, kinds, strict=True)], events, prices)
    named = {name: kinds[int(name[1:] if name.startswith("n") else name[5:])] for name in outcome.nodes}
    labels = [{TYPE: named[name]} for name in outcome.nodes]
    rates = Rates.of(prices, labels)
    moments = np.unique(np.concatenate([outcome.node_log.time, outcome.moves.time, [0.0, outcome.end]]))
    there = ~np.isnan(outcome.allocatable(moments, "cpu"))[:-1]
    working = np.zeros((len(moments), len(outcome.nodes)), dtype=np.int64)
    at = np.searchsorted(moments, outcome.moves.time)
    np.add.at(working, (at, outcome.moves.node), working_steps(outcome))
    used = there & (np.cumsum(working, axis=0)[:-1] > 0)
    found = paid(outcome)
    for mine, mask in ((found.there, there), (found.used, used)):
        expected = rates.over(moments, mask)
        assert (mine.amount or 0.0) == pytest.approx(expected.amount or 0.0)
        assert mine.node_hours == pytest.approx(expected.node_hours)
        assert mine.unpriced == pytest.approx(expected.unpriced)


def test_a_scenario_names_its_prices_and_bad_ones_are_told_at_their_place() -> None:
    raw: dict[str, Any] = {"name": "priced", "objects": [of("a", "big")], "run": {"until": "1h"}}
    document = scenario({**raw, "prices": {"currency": "EUR", "prices": PRICES}})
    prepared = prepare(document, [], {}, seed=1, now=0.0)
    assert measure(run(prepared, configuration()))["cost"].value == pytest.approx(4.0)
    with pytest.raises(DocumentError) as caught:
        scenario({**raw, "prices": {"currency": "EUR", "prices": [*PRICES, {"instanceType": "big", "price": -1}]}})
    assert str(caught.value) == "prices.prices[2].price: must be at least 0, is -1"
    with pytest.raises(DocumentError) as caught:
        scenario({**raw, "prices": {"currency": "EUR", "prices": [*PRICES, PRICES[0]]}})
    assert str(caught.value) == "prices.prices[2]: is about the same nodes as prices.prices[0]: remove one of them"
