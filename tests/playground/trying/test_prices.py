"""Costs of a change: shown where the cluster has prices, passed on to the gate and to scenarios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.prices.services import prices_save
from kschedweb.engine.studies.gate import thresholds as limits
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.trying import selectors, services
from kschedweb.playground.trying.changes import Content
from kschedweb.playground.trying.snapshot_scenarios import scenario_of
from kschedweb.policies.models import Revision
from tests.decisions.conftest import revision
from tests.engine.studies.gates import PACKED
from tests.support.html import elements

__all__ = ["revision"]
pytestmark = pytest.mark.django_db
TEXT = """apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
  - labels: {kubernetes.io/hostname: node-0}
    price: 4
  - labels: {kubernetes.io/hostname: node-1}
    price: 1
"""


@pytest.fixture
def priced_snapshot(small: Snapshot) -> Snapshot:
    prices_save(user=None, cluster=small.cluster, text=TEXT, expected=0)
    return small


def cost_values(tried_change: Any) -> dict[str, tuple[float, float, str]]:
    answer = selectors.answer_of(tried_change)
    assert answer is not None
    cost_measures = (measure for measure in answer["measures"] if measure["name"].startswith("cost"))
    return {measure["name"]: (measure["current"], measure["changed"], measure["unit"]) for measure in cost_measures}


def try_packing(user: User, base: Revision, snapshot: Snapshot) -> Any:
    try_request = services.TryRequest(base, Content(PACKED, {}), snapshot=snapshot)
    return services.change_try(user=user, request=try_request)


def test_an_answer_tells_what_the_nodes_in_use_cost(
    client_as: Callable[..., Any], editor: User, small: Snapshot, revision: Revision
) -> None:
    assert cost_values(try_packing(editor, revision, small)) == {}
    prices_save(user=None, cluster=small.cluster, text=TEXT, expected=0)
    tried_change = try_packing(editor, revision, small)
    values = cost_values(tried_change)
    assert values.keys() == {"cost_used_end"}
    current, changed_cost, unit = values["cost_used_end"]
    assert unit == "EUR/h"
    assert changed_cost < current
    page = client_as("editor").get(f"/trying/{tried_change.pk}/")
    assert "Cost of nodes in use at the end" in " ".join(str(element) for element in elements(page, "#cost th"))


def test_the_gate_holds_a_policy_to_its_cost(editor: User, priced_snapshot: Snapshot, revision: Revision) -> None:
    tried_change = try_packing(editor, revision, priced_snapshot)
    free = {"maxNewlyUnschedulable": "any", "measures": {"cost_used_end": {"maxChange": "2%"}}}
    gate = services.change_judge(user=editor, tried_change=tried_change, thresholds=limits.read_thresholds(free))
    assert gate.passed is True
    strict = {"maxNewlyUnschedulable": "any", "measures": {"cost_used_end": {"max": 0.5}}}
    assert (
        services.change_judge(user=editor, tried_change=tried_change, thresholds=limits.read_thresholds(strict)).passed
        is False
    )


def test_the_scenario_of_a_snapshot_has_the_prices_of_its_cluster(editor: User, small: Snapshot) -> None:
    assert "prices" not in scenario_of(small, editor).document
    prices_save(user=None, cluster=small.cluster, text=TEXT, expected=0)
    revision_made = scenario_of(small, editor)
    assert revision_made.document["prices"]["currency"] == "EUR"
    table = scenarios.prepare_revision(revision_made, 1).prices
    assert table is not None
    assert [price.price for price in table.prices] == [4.0, 1.0]
