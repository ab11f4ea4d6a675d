"""The editor of classic policies in Chromium: form and text in step, errors at their line and beside their field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.policies import selectors, services

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

DOCUMENT = """\
kind: Policy
apiVersion: v1
predicates:
  - name: PodFitsResources
priorities:
  - name: EqualPriority
    weight: 2
"""


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_a_person_edits_a_classic_policy_on_either_side(
    page_as: Callable[..., Page], axe: Callable[[Page], None]
) -> None:
    from playwright.sync_api import expect

    services.policy_create(name="old", document=DOCUMENT, author=None)
    page = page_as("editor", width=390)
    page.goto("/policies/old/")
    text, effective = page.locator(".cm-content"), page.locator("#policy-effective")
    page.get_by_label("NoDiskConflict").check()
    expect(text).to_contain_text("- name: NoDiskConflict")
    page.locator("[data-for='f-weight-EqualPriority']").press("ArrowRight")
    expect(text).to_contain_text("weight: 3")
    expect(effective).to_contain_text("EqualPriority weight: 2 → 3")

    page.select_option("[name='new.priorities.kind']", "labelPreference")
    page.locator("button[name=add][value=priorities]").click()
    page.locator("[name='argument.priorities.LabelPreference.label']").fill("ssd")
    page.select_option("[name='process.version']", "1.9")
    expect(text).to_contain_text("label: ssd")
    expect(effective).to_contain_text("version: 1.13 → 1.9")

    text.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("hardPodAffinitySymmetricWeight: 101")
    expect(page.locator("#policy-problems")).to_contain_text("must be in the range 1-100")
    field: Any = page.locator("[id='f-general-hardPodAffinitySymmetricWeight']")
    expect(field).to_have_attribute("aria-invalid", "true")
    axe(page)
    page.keyboard.press("Backspace")
    expect(field).to_have_value("10")
    page.get_by_role("button", name="Save as a revision").click()
    expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
    revision = selectors.revision_get(selectors.policy_get("old"))
    assert revision.process == {"version": "1.9"}
    assert selectors.load_algorithm(revision).weights == {"EqualPriority": 3, "LabelPreference": 1}
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
