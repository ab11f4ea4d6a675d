"""The form of a policy in Chromium: finding, ordering, extenders, undo, two profiles side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.policies import selectors, services
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

PAGE = "/policies/default/"
COUNT = "#f-count"
CODE = ".cm-content"


@pytest.fixture
def expect() -> Callable[..., Any]:
    from playwright.sync_api import expect

    return expect


def plugin_order(page: Page, point: str = "score") -> list[str]:
    plugins: list[str] = page.locator(f"#point-{point} ol > li").evaluate_all(
        "rows => rows.map(row => row.dataset.plugin)"
    )
    return plugins


@pytest.mark.parametrize("width", one_of(390, 1440))
def test_a_plugin_is_found_while_typing_and_the_page_fits(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any], width: int
) -> None:
    page = page_as("editor", width=width)
    page.goto(PAGE)
    page.locator("#f-find").press_sequentially("imagelocality")
    expect(page.locator(COUNT)).to_have_text("1 of 35 plugins")
    expect(page.locator("#row-ImageLocality")).to_be_visible()
    expect(page.locator("#row-NodeAffinity")).to_be_hidden()
    weight = page.locator("[id='f-weight-ImageLocality']")
    weight.fill("4")
    weight.blur()
    expect(page.locator(CODE)).to_contain_text("weight: 4")
    expect(page.locator("#row-NodeAffinity")).to_be_hidden()
    assert page.url.endswith("?find=imagelocality")
    page.locator("#f-find").fill("")
    page.locator("#f-changed").check()
    expect(page.locator(COUNT)).to_have_text("1 of 35 plugins")
    page.get_by_label("Extension points").check()
    expect(page.locator("#point-score")).to_be_visible()
    expect(page.locator("#point-filter")).to_be_hidden()
    axe(page, themes=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_plugins_are_ordered_by_keys_and_the_focus_stays(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(f"{PAGE}?by=point")
    handle = page.locator("#f-order-score-NodeAffinity")
    handle.focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(CODE)).to_contain_text("name: NodeAffinity")
    expect(handle).to_be_focused()
    assert plugin_order(page)[:2] == ["NodeAffinity", "TaintToleration"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(CODE)).to_contain_text("name: TaintToleration")
    expect(page.locator("#f-order-score-NodeResourcesFit ~ .point-place")).to_have_text("2")
    assert plugin_order(page)[:3] == ["TaintToleration", "NodeResourcesFit", "NodeAffinity"]
    axe(page, themes=True)


def test_plugins_are_ordered_by_drag_and_it_can_be_undone(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(f"{PAGE}?by=point")
    before = plugin_order(page)
    last, first = (page.locator(f"#f-order-score-{name}") for name in (before[-1], before[0]))
    last.scroll_into_view_if_needed()
    start, end = last.bounding_box(), first.bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 8, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(start["x"] + 8, end["y"] + 30, steps=5)
    page.mouse.move(start["x"] + 8, end["y"] - 4, steps=5)
    assert plugin_order(page) == [before[-1], *before[:-1]]
    page.mouse.up()
    expect(page.locator(CODE)).to_contain_text(f"name: {before[-1]}")
    expect(page.locator("#f-undo")).to_be_enabled()
    assert plugin_order(page) == [before[-1], *before[:-1]]
    page.keyboard.press("Control+z")
    expect(page.locator("#policy-said")).to_have_text("Undone.")
    assert plugin_order(page) == before
    expect(page.locator(CODE)).not_to_contain_text(before[-1])
    page.keyboard.press("Control+Shift+Z")
    expect(page.locator("#policy-said")).to_have_text("Redone.")
    assert plugin_order(page)[0] == before[-1]


@pytest.mark.nightly
def test_a_drag_that_is_broken_off_changes_nothing(page_as: Callable[..., Page], expect: Callable[..., Any]) -> None:
    page = page_as("editor")
    page.goto(f"{PAGE}?by=point")
    before = plugin_order(page)
    handle = page.locator(f"#f-order-score-{before[1]}")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 8, box["y"] - 40, steps=4)
    assert plugin_order(page) != before
    handle.press("Escape")
    assert plugin_order(page) == before
    page.mouse.up()
    expect(page.locator("#f-undo")).to_be_disabled()


@pytest.mark.nightly
def test_buttons_pressed_one_after_the_other_all_count(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(f"{PAGE}?by=point")
    before = plugin_order(page)
    up = page.locator(f"#f-up-score-{before[3]}")
    for _ in range(3):
        up.dispatch_event("click")
    expect(page.locator("#point-score ol > li").first).to_have_attribute("data-plugin", before[3])
    assert plugin_order(page) == [before[3], *before[:3], *before[4:]]


@pytest.mark.parametrize("width", one_of(1440, 390))
def test_an_extender_is_added_and_its_error_stands_beside_its_field(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any], width: int
) -> None:
    page = page_as("editor", width=width)
    page.goto(PAGE)
    page.get_by_text("Add an extender").click()
    address = page.locator("[id='f-extenders-0-urlPrefix']")
    address.fill("https://gpus.example.com")
    address.press("Tab")
    expect(page.locator(CODE)).to_contain_text("urlPrefix: https://gpus.example.com")
    expect(page.locator("[id='f-extenders-0-filterVerb']")).to_be_focused()
    weight = page.locator("[id='f-extenders-0-weight']")
    weight.fill("1.5")
    weight.blur()
    error = page.locator("[id='f-extenders-0-weight-error']")
    expect(error).to_contain_text("cannot unmarshal number 1.5 into Go struct field")
    expect(error.locator("strong")).to_have_text("Must be a whole number.")
    expect(weight).to_have_value("1.5")
    axe(page, themes=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Remove extender 1").click()
    expect(page.locator(CODE)).not_to_contain_text("extenders")


@pytest.mark.nightly
def test_what_is_being_typed_is_undone_by_the_browser_and_then_the_form(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    weight = page.locator("[id='f-weight-ImageLocality']")
    weight.fill("4")
    weight.press("Enter")
    expect(page.locator(CODE)).to_contain_text("weight: 4")
    weight.press("End")
    weight.press_sequentially("2")
    weight.press("Control+z")
    expect(weight).to_have_value("4")
    expect(page.locator("#f-redo")).to_be_disabled()
    weight.press("Control+z")
    expect(weight).to_have_value("")
    expect(page.locator(CODE)).not_to_contain_text("weight")
    weight.press("Control+y")
    expect(weight).to_have_value("4")


@pytest.mark.nightly
def test_two_profiles_stand_side_by_side(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any], editor: User
) -> None:
    policy = selectors.policy_get("default")
    text = selectors.revision_get(policy).document + "  - schedulerName: batch\n    percentageOfNodesToScore: 30\n"
    services.revision_save(policy=policy, document=text, author=editor, expected=1)
    page = page_as("editor")
    page.goto(PAGE)
    page.get_by_label("Compare with").select_option("batch")
    expect(page.locator("#beside-title")).to_have_text("default-scheduler and batch differ in 1 setting")
    page.locator("#beside summary").click()
    axe(page, themes=True)
    page.get_by_role("button", name="batch").click()
    expect(page.locator("[name='profile']")).to_have_value("1")
    expect(page.locator("#beside-title")).to_have_text("batch and default-scheduler differ in 1 setting")
    assert page.url.endswith("?beside=0&profile=1")


@pytest.mark.nightly
def test_who_may_only_read_finds_plugins_and_other_profiles(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any]
) -> None:
    page = page_as("viewer")
    page.goto(PAGE)
    page.locator("#f-find").press_sequentially("imagelocality")
    expect(page.locator("#row-NodeAffinity")).to_be_hidden()
    page.get_by_label("Extension points").check()
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#point-score")).to_be_visible()
    expect(page.locator("#f-find")).to_have_value("imagelocality")
    axe(page, themes=True)


def test_without_a_script_the_form_does_the_same(page_as: Callable[..., Page]) -> None:
    page = page_as("editor", javascript=False)
    page.goto(f"{PAGE}?by=point&find=nodeaffinity")
    page.get_by_role("button", name="Call NodeAffinity earlier at score").click()
    assert "name: NodeAffinity" in page.locator("#document").input_value()
    page.get_by_role("button", name="Undo").click()
    assert "NodeAffinity" not in page.locator("#document").input_value()
    page.get_by_role("button", name="Redo").click()
    assert "name: NodeAffinity" in page.locator("#document").input_value()
