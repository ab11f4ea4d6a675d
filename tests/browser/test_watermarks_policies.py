"""The trip from the skew to other weights: see it, edit weights with live curves, compare, save."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.services import demo_load
from kschedweb.policies import selectors
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

HHE = "HheWaterLevelBalance"
CURVE = f"[data-figure=score-curve-{HHE}] .main-svg"


@pytest.fixture
def expect() -> Callable[..., Any]:
    from playwright.sync_api import expect

    return expect


@pytest.fixture(autouse=True)
def demo(transactional_db: None, admin: User) -> None:
    demo_load(user=admin)


@pytest.mark.parametrize("width", one_of(390, 1440))
def test_from_the_skew_to_saved_weights(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any], width: int
) -> None:
    page = page_as("editor", width=width)
    page.goto("/usage/?cluster=demo")
    expect(page.locator("h1")).to_contain_text(re.compile(r"Node skew is \d+ points"))
    if width < 900:
        page.get_by_role("button", name="Menu").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Policies").click()
    page.get_by_role("link", name="Load curves").click()
    page.wait_for_selector(CURVE)
    page.get_by_role("link", name="Edit weights").click()
    page.wait_for_url("**/policies/default/")  # with its scripts

    row = page.locator(f"#row-{HHE}")
    row.locator("label.check", has_text="score").locator("input").last.check()
    page.wait_for_selector(f"[data-figure=figure-{HHE}] .main-svg")
    caption = page.locator(f"#curve-{HHE} figcaption")
    before = caption.inner_text()
    slider = page.locator(f"[id='f-args-{HHE}-clusterCpuMinNodeWeight-slider']")
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    expect(page.locator(f"[id='f-args-{HHE}-clusterCpuMinNodeWeight']")).to_have_value("1.2")
    expect(caption).not_to_have_text(before)
    expect(page.locator("#document")).to_have_value(re.compile("clusterCpuMinNodeWeight: 1.2"))
    axe(page, themes=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    expect(page.locator("#policy-effect")).to_contain_text("pending pods would change node")
    page.fill("#comment", "Fill the lowest nodes first")
    page.get_by_role("button", name="Save as a revision").click()
    page.get_by_role("button", name="Save with these warnings").click()
    expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
    revision = selectors.revision_get(selectors.policy_get("default"))
    assert (revision.number, revision.comment) == (2, "Fill the lowest nodes first")

    page.goto("/load-aware/?cluster=demo&policy=default&revision=2&against=default@1")
    page.wait_for_selector(CURVE)
    expect(page.locator(f"[data-figure=score-curve-{HHE}] path.js-line")).to_have_count(2)  # one of them dotted
    expect(page.locator(f"[data-figure=score-curve-{HHE}] path.point").first).to_be_attached()  # a node
    page.locator("tr.chosen td.score a").first.click()
    expect(page.locator("#cell .arithmetic")).to_contain_text("How ")
    expect(page.locator("#cell .arithmetic")).to_contain_text("Age at the snapshot")
    axe(page, themes=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.nightly
def test_the_curves_follow_the_sliders_and_the_address_keeps_them(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("viewer")
    page.goto("/load-aware/?cluster=demo")
    page.wait_for_selector(CURVE)
    before = float(page.locator("#id_average").input_value())
    page.locator("[data-for=id_average]").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#id_average")).to_have_value(f"{before + 10:g}")
    page.wait_for_url(re.compile(f"average={before + 10:g}"))
    page.wait_for_selector(CURVE)
    caption = page.locator("#curves figcaption").first.inner_text()
    page.reload()
    expect(page.locator("#curves figcaption").first).to_have_text(caption)
    expect(page.locator("#id_average")).to_have_value(f"{before + 10:g}")


@pytest.mark.nightly
def test_without_javascript_the_curves_are_tables(page_as: Callable[..., Page], expect: Callable[..., Any]) -> None:
    page = page_as("viewer", javascript=False)
    page.goto("/load-aware/?cluster=demo")
    page.fill("#id_pod", "20")
    page.get_by_role("button", name="Draw").click()
    page.locator("#curves details summary").click()
    expect(page.locator("#curves details tbody tr")).to_have_count(21)
    assert "pod=20" in page.url
