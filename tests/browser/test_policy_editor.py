"""The policy editor in Chromium: form and YAML in step, errors while typing, completion, saving."""

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
STRATEGY = "[id='f-args-NodeResourcesFit-scoringStrategy-type']"


@pytest.fixture
def expect() -> Callable[..., object]:
    from playwright.sync_api import expect

    return expect


def type_at_end(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


@pytest.mark.parametrize("width", one_of(1440, 390))
def test_a_strategy_chosen_in_the_form_appears_in_the_yaml_and_is_saved(
    page_as: Callable[..., Page], axe: Callable[..., None], expect: Callable[..., Any], width: int
) -> None:
    page = page_as("editor", width=width)
    page.goto(PAGE)
    axe(page, themes=True)
    page.locator("#row-NodeResourcesFit summary").click()
    page.select_option(STRATEGY, "MostAllocated")
    expect(page.locator(".cm-content")).to_contain_text("type: MostAllocated")
    expect(page.locator("#policy-effective")).to_contain_text("NodeResourcesFit: LeastAllocated → MostAllocated")
    assert page.locator("#row-NodeResourcesFit details").get_attribute("open") is not None
    axe(page, themes=True)
    page.fill("#comment", "Pack nodes")
    page.get_by_role("button", name="Save as a revision").click()
    expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("differs from kube-scheduler's defaults in 1 setting")
    revision = selectors.revision_get(selectors.policy_get("default"))
    assert (revision.number, revision.comment) == (2, "Pack nodes")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_error_typed_into_the_yaml_shows_at_its_line(
    page_as: Callable[..., Page], axe: Callable[[Page], None], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    type_at_end(page, "parallelism: 0")
    expect(page.locator("#policy-problems")).to_contain_text("should be an integer value greater than zero")
    expect(page.locator("#policy-problems")).to_contain_text("Line 5")
    expect(page.locator(".cm-lintRange-error")).to_have_text("0")
    expect(page.locator("[id='f-general-parallelism']")).to_have_attribute("aria-invalid", "true")
    axe(page)
    page.keyboard.press("Backspace")
    page.keyboard.type("8")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    expect(page.locator("[id='f-general-parallelism']")).to_have_value("8")


@pytest.mark.nightly
def test_the_form_follows_the_yaml_and_takes_part_in_what_cannot_be_read(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    type_at_end(page, "parallelism: 8: x")
    expect(page.locator("#policy-fields")).to_contain_text("The YAML cannot be read.")
    weight = page.locator("[id='f-weight-NodeAffinity']")
    weight.fill("7")
    weight.blur()
    expect(weight).to_have_value("7")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    for _ in ": x":
        page.keyboard.press("Backspace")
    expect(page.locator(".cm-content")).to_contain_text("weight: 7")
    expect(weight).to_have_value("7")


@pytest.mark.nightly
def test_what_is_typed_while_an_answer_is_put_in_is_kept(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    type_at_end(page, "parallelism: 8")
    expect(page.locator("[id='f-general-parallelism']")).to_have_value("8")
    page.evaluate(
        """() => document.body.addEventListener("htmx:afterSwap", () => {
            document.querySelector(".cm-content").focus();
            document.execCommand("insertText", false, " # eight");
        }, {once: true})"""
    )
    weight = page.locator("[id='f-weight-NodeAffinity']")
    weight.fill("7")
    weight.blur()
    expect(page.locator(".cm-content")).to_contain_text("weight: 7")
    expect(page.locator(".cm-content")).to_contain_text("# eight")
    expect(weight).to_have_value("7")


@pytest.mark.nightly
def test_the_slider_and_the_number_say_the_same(page_as: Callable[..., Page], expect: Callable[..., Any]) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    page.locator("[data-for='f-weight-ImageLocality']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[id='f-weight-ImageLocality']")).to_have_value("3")
    expect(page.locator(".cm-content")).to_contain_text("weight: 3")
    page.get_by_role("button", name="Reset ImageLocality to its default").click()
    expect(page.locator(".cm-content")).not_to_contain_text("weight")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "completion"),
    [
        ("perc", "percentageOfNodesToScore"),
        ("    plug", "pluginConfig"),
        ("    plugins:\n      multi", "multiPoint"),
        ("    plugins:\n      score:\n        enabled:\n          - name: Image", "ImageLocality"),
        ("    plugins:\n      score:\n        enabled:\n        - wei", "weight"),
        ("    pluginConfig:\n      - name: NodeResourcesFit\n        args:\n          scoring", "scoringStrategy"),
        ("    pluginConfig:\n    - name: InterPodAffinity\n      args:\n        hard", "hardPodAffinityWeight"),
        (
            "    pluginConfig:\n      - name: NodeResourcesFit\n        args:\n"
            "          scoringStrategy:\n            type: Most",
            "MostAllocated",
        ),
    ],
)
def test_completion_knows_the_schema(
    page_as: Callable[..., Page], expect: Callable[..., Any], text: str, completion: str
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    type_at_end(page, "")
    # Inserted, not typed, so that the editor's own indentation does not add to the text's.
    page.keyboard.insert_text(text[:-2])
    page.keyboard.type(text[-2:], delay=30)
    expect(page.locator(".cm-tooltip-autocomplete li", has_text=completion).first).to_be_visible()


def test_completion_follows_the_release_that_is_chosen(
    page_as: Callable[..., Page], expect: Callable[..., Any]
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    completions = page.locator(".cm-tooltip-autocomplete li")
    type_at_end(page, "")
    page.keyboard.insert_text("    plugins:\n      ")
    page.keyboard.type("pl", delay=30)
    expect(completions.filter(has_text="placementGenerate")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("[name='process.release']").select_option("1.34")
    expect(page.locator("[name='base.release']")).to_have_value("1.34")
    type_at_end(page, "")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    page.keyboard.type("p", delay=30)
    expect(completions.filter(has_text="preFilter")).to_be_visible()
    expect(completions.filter(has_text="placementGenerate")).to_have_count(0)


@pytest.mark.nightly
def test_a_lost_update_shows_the_difference(
    page_as: Callable[..., Page], expect: Callable[..., Any], editor: User
) -> None:
    page = page_as("editor")
    page.goto(PAGE)
    policy = selectors.policy_get("default")
    text = selectors.revision_get(policy).document
    services.revision_save(policy=policy, document=text + "parallelism: 4\n", author=editor, expected=1)
    type_at_end(page, "percentageOfNodesToScore: 30")
    page.get_by_role("button", name="Save as a revision").click()
    expect(page.get_by_role("alert")).to_contain_text("Revision 2 was saved in the meantime")
    expect(page.locator(".cm-content")).to_contain_text("percentageOfNodesToScore: 30")
    page.get_by_role("button", name="Save as a revision").click()
    expect(page.get_by_text("Saved as revision 3.")).to_be_visible()


@pytest.mark.nightly
@pytest.mark.parametrize("width", one_of(390, 1440))
def test_the_faces_of_policy_pages_that_have_no_address_of_their_own_are_accessible_and_fit(
    page_as: Callable[..., Page], axe: Callable[[Page], None], editor: User, width: int
) -> None:
    policy = selectors.policy_get("default")
    text = selectors.revision_get(policy).document
    services.revision_save(policy=policy, document=text + "parallelism: 4\n", author=editor, expected=1)
    page = page_as("editor", width=width)
    for address in (f"{PAGE}diff/?view=unified", f"{PAGE}delete/"):
        page.goto(address)
        axe(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


@pytest.mark.nightly
def test_a_viewer_reads_and_cannot_edit(page_as: Callable[..., Page], axe: Callable[[Page], None]) -> None:
    page = page_as("viewer")
    page.goto(PAGE)
    axe(page)
    assert page.get_by_role("button", name="Save as a revision").count() == 0
    before = page.locator(".cm-content").inner_text()
    type_at_end(page, "x")
    assert page.locator(".cm-content").inner_text() == before
