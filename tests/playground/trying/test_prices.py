"""What a change costs: told where the cluster has prices, passed on to the gate and to scenarios."""

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
def priced(small: Snapshot) -> Snapshot:
    prices_save(user=None, cluster=small.cluster, text=TEXT, expected=0)
    return small


def costs(found: Any) -> dict[str, tuple[float, float, str]]:
    answer = selectors.answer_of(found)
    assert answer is not None
    told = (one for one in answer["measures"] if one["name"].startswith("cost"))
    return {one["name"]: (one["current"], one["changed"], one["unit"]) for one in told}


def tried(user: User, base: Revision, snapshot: Snapshot) -> Any:
    asked = services.TryRequest(base, Content(PACKED, {}), snapshot=snapshot)
    return services.change_try(user=user, request=asked)


def test_an_answer_tells_what_the_nodes_in_use_cost(
    client_as: Callable[..., Any], editor: User, small: Snapshot, revision: Revision
) -> None:
    assert costs(tried(editor, revision, small)) == {}
    prices_save(user=None, cluster=small.cluster, text=TEXT, expected=0)
    found = tried(editor, revision, small)
    told = costs(found)
    assert told.keys() == {"cost_used_end"}
    current, changed, unit = told["cost_used_end"]
    assert unit == "EUR/h"
    assert changed < current
    page = client_as("editor").get(f"/trying/{found.pk}/")
    assert "Cost of nodes in use at the end" in " ".join(str(one) for one in elements(page, "#cost th"))


def test_the_gate_holds_a_policy_to_its_cost(editor: User, priced: Snapshot, revision: Revision) -> None:
    found = tried(editor, revision, priced)
    free = {"maxNewlyUnschedulable": "any", "measures": {"cost_used_end": {"maxChange": "2%"}}}
    judged = services.change_judge(user=editor, tried_change=found, thresholds=limits.read_thresholds(free))
    assert judged.passed is True
    strict = {"maxNewlyUnschedulable": "any", "measures": {"cost_used_end": {"max": 0.5}}}
    assert (
        services.change_judge(user=editor, tried_change=found, thresholds=limits.read_thresholds(strict)).passed
        is False
    )


def test_the_scenario_of_a_snapshot_has_the_prices_of_its_cluster(editor: User, small: Snapshot) -> None:
    assert "prices" not in scenario_of(small, editor).document
    prices_save(user=None, cluster=small.cluster, text=TEXT, expected=0)
    made = scenario_of(small, editor)
    assert made.document["prices"]["currency"] == "EUR"
    table = scenarios.prepare_revision(made, 1).prices
    assert table is not None
    assert [one.price for one in table.prices] == [4.0, 1.0]
