"""The page of the REST API: finding operations, and calling them from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from kschedweb.clusters.services import demo_load
from kschedweb.policies.models import Revision
from tests.support.tiers import one_of


@pytest.fixture(autouse=True)
def demo(transactional_db: None, plain_demo: None) -> None:
    demo_load()


@pytest.mark.parametrize("width", one_of(390, 1440))
def test_operations_are_found_and_called(page_as: Callable[..., Any], axe: Callable[..., None], width: int) -> None:
    page = page_as("editor", width=width)
    page.goto("/api/v1/docs/")
    visible_operations = page.locator("[data-operation]:visible")
    operation_count = visible_operations.count()
    page.get_by_label("Find operations").fill("nodes/ get")
    expect(page.locator("[data-found]")).to_have_text(f"3 of {operation_count} operations")
    expect(visible_operations).to_have_count(3)
    nodes = page.locator("#clusters_nodes_list")
    nodes.locator("summary").click()
    nodes.get_by_label("name (required)").fill("demo")
    nodes.get_by_label("zone").fill("eu-west-1a")
    nodes.get_by_role("button", name="Send GET").click()
    expect(nodes.get_by_role("status")).to_have_text("200 OK")
    answer = json.loads(nodes.locator("[data-answer]").inner_text())
    assert {node["zone"] for node in answer["results"]} == {"eu-west-1a"}
    axe(page)


def test_a_body_begins_as_its_example_and_a_problem_is_shown(page_as: Callable[..., Any]) -> None:
    page = page_as("editor")
    page.goto("/api/v1/docs/#policies_revisions_create")
    save = page.locator("#policies_revisions_create")
    expect(save).to_have_attribute("open", "")
    save.get_by_label("name (required)").fill("default")
    save.get_by_label("If-Match (required)").fill('"7"')
    save.get_by_role("button", name="Send POST").click()
    expect(save.get_by_role("status")).to_contain_text("412")
    assert json.loads(save.locator("[data-answer]").inner_text())["status"] == 412
    save.get_by_label("If-Match (required)").fill('"1"')
    save.get_by_role("button", name="Send POST").click()
    expect(save.get_by_role("status")).to_contain_text("201")
    assert "percentageOfNodesToScore: 50" in Revision.objects.latest("number").document
