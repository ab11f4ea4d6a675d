"""Evictable pods for one that fits nowhere, on the decision page and over REST."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from tests.engine.builders import node, pod
from tests.support.html import html_of

NODES = [node("a"), node("b", unschedulable=True), node("c")]
BOUND = [
    pod("cheap", on="a", requests={"cpu": "3"}, priority=1),
    pod("dear", on="c", requests={"cpu": "2"}, priority=5),
    pod("guarded", on="c", requests={"cpu": "2"}, labels={"app": "guarded"}, priority=1),
]
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "guard", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
    "status": {"disruptionsAllowed": 0},
}


@pytest.fixture
def cluster(store_snapshot: Callable[..., Snapshot]) -> Snapshot:
    high = pod("high", requests={"cpu": "3"}, priority=10)
    humble = pod("humble", requests={"cpu": "3"}, priority=10, preemptionPolicy="Never")
    return store_snapshot([*NODES, *BOUND, BUDGET, high, humble])


def test_the_page_names_the_pods_that_would_go(cluster: Snapshot, client_as: Callable[[str], Client]) -> None:
    page = unescape(html_of(client_as("viewer").get("/decision/demo/default/high/")))
    assert "kube-scheduler would evict 1 pod of lower priority" in page
    assert "default/cheap</a>" in page
    assert "default/guarded</a>" in page
    humble = unescape(html_of(client_as("viewer").get("/decision/demo/default/humble/")))
    assert "preemption: not eligible due to preemptionPolicy=Never." in humble


def test_rest_gives_the_candidates_and_the_words(cluster: Snapshot, api_as: Callable[[str], Any]) -> None:
    answer = api_as("viewer").get("/api/v1/clusters/demo/pods/default/high/decision/").json()
    assert answer["preemption"] == {
        "candidates": {
            "a": {"pods": ["default/cheap"], "pdb_violations": 0},
            "c": {"pods": ["default/dear", "default/guarded"], "pdb_violations": 1},
        },
        "node": "a",
    }
    assert answer["message"] == "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
    humble = api_as("viewer").get("/api/v1/clusters/demo/pods/default/humble/decision/").json()
    assert humble["post_filter"].endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert "preemption" not in humble
