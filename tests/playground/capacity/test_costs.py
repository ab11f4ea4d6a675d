"""Costs of new nodes and savings of emptied ones: a sentence on the page, numbers by REST, none without prices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.prices.services import prices_save

pytestmark = pytest.mark.django_db
TEXT = """apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
  - instanceType: m6i.2xlarge
    price: 0.5
"""
NODES = {"cluster": "demo", "node": {"like": "general-a-1"}, "pending": False, "copies": 400}
NODES |= {"pod": {"requests": {"cpu": "1", "memory": "1Gi"}}}
DRAIN = {"cluster": "demo", "nodes": ["general-a-1", "edge-a-1"], "force": True, "delete_emptydir_data": True}


def test_without_prices_nothing_is_said(
    client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot
) -> None:
    assert api_as("viewer").post("/api/v1/capacity/drain/", DRAIN).json()["cost"] is None
    page = client_as("viewer").get("/capacity/drain/?cluster=demo&nodes=general-a-1&force=on&emptydir=on")
    assert page.context["cost"] == ""


def test_new_nodes_cost_money(api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    sizing = api_as("viewer").post("/api/v1/capacity/nodes/", NODES).json()
    assert sizing["needed"] > 0
    cost = sizing["cost"]
    assert (cost["unit"], cost["nodes"], cost["unpriced"]) == ("EUR", sizing["needed"], 0)
    assert (cost["before"], cost["change"]) == (12.0, pytest.approx(0.5 * sizing["needed"]))
    query = "cluster=demo&ask=1&copies=400&cpu=1&memory=1Gi&like=general-a-1"
    page = client_as("viewer").get(f"/capacity/nodes/?{query}")
    hour, month = 0.5 * sizing["needed"], 365 * sizing["needed"]
    sentence = f"The {sizing['needed']} new nodes cost {hour:,.2f} EUR an hour ({month:,.2f} a month)"
    assert page.context["cost"] == sentence
    assert sentence in page.content.decode()


def test_emptied_nodes_save_money(client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot) -> None:
    prices_save(user=None, cluster=demo.cluster, text=TEXT, expected=0)
    drain = api_as("viewer").post("/api/v1/capacity/drain/", DRAIN).json()
    emptied_nodes = {node["name"] for node in drain["nodes"] if node["emptied"]}
    assert "general-a-1" in emptied_nodes
    assert drain["cost"]["change"] == -0.5
    assert drain["cost"]["unpriced"] == len(emptied_nodes - {"general-a-1"})
    page = client_as("viewer").get("/capacity/drain/?cluster=demo&nodes=general-a-1&force=on&emptydir=on")
    assert page.context["cost"] == "Removing 1 node saves 0.50 EUR an hour (365.00 a month)"
    page = client_as("viewer").get("/capacity/drain/?cluster=demo&nodes=edge-a-1&force=on&emptydir=on")
    assert page.context["cost"] in ("", "None of these nodes has a price, so the saving is unknown")
