"""The scenario editor in a browser: form and YAML stay in step, and what becomes of the cluster is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kschedweb.playground.scenarios import selectors, services
from tests.support.scenarios import on_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_change_made_in_the_form_stands_in_the_yaml_and_is_saved(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User
) -> None:
    scenario = services.scenario_create(text=on_cluster(editor), author=editor)
    page = page_as("editor", width=390)
    page.goto(f"/scenarios/{scenario.pk}/")
    page.locator("#new_changes").select_option("addNodes")
    page.locator("[name=add_changes]").click()
    page.locator("[name='changes.0.addNodes.count']").fill("4")
    page.locator("[name='changes.0.addNodes.like']").fill("node-00001")
    page.locator("[name='changes.0.addNodes.like']").blur()
    expect(page.locator("#scenario-effect")).to_contain_text("4 nodes added")
    expect(page.locator(".cm-content")).to_contain_text("like: node-00001")
    axe(page)
    page.locator("[name=save]").click()
    expect(page.locator("main")).to_contain_text("Saved as revision 2")
    assert selectors.revision_get(scenario).document["changes"] == [{"addNodes": {"count": 4, "like": "node-00001"}}]
