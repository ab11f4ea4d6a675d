"""Pages on paper: light whatever the theme, with text that can be read on what is printed behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.services import demo_load
from tests.support.browser import settled
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAGES = {
    "overview": "/?cluster=demo",
    "matrix": "/decision/demo/ml/notebook/",
    "pending": "/decision/demo/batch/cube-builder/",
    "nodes": "/nodes/?cluster=demo",
    "policy": "/policies/default/?cluster=demo",
    "skew": "/watermarks/?cluster=demo",
}
# The browser darkens ink and leaves out backgrounds, unless it is told that both carry meaning.
LEFT_AS_THEY_ARE = """() => [...document.querySelectorAll("main *")]
    .every(one => getComputedStyle(one).printColorAdjust === "exact")"""
INK = "() => [...document.querySelectorAll('[data-nodemap] .group')].map(one => getComputedStyle(one).fill)"
FITS = "() => document.querySelector('.nodemap-svg').getBoundingClientRect().right <= innerWidth"
BLACK = "rgb(27, 32, 39)"


def test_dark_pages_are_legible_on_paper(page_as: Callable[..., Page], axe: Callable[..., None]) -> None:
    demo_load()
    page = page_as("editor", dark=True)
    page.context.add_cookies([{"name": "theme", "value": "dark", "url": page.context.request.get("/login/").url}])
    for name, address in PAGES.items():
        page.emulate_media(media="screen")
        page.goto(address)
        settled(page)
        if name == "nodes":
            check_printed_map(page)
        dark = page.evaluate("getComputedStyle(document.body).color")
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).color") == BLACK != dark, name
        assert page.evaluate(LEFT_AS_THEY_ARE), name
        axe(page, colours=True)
        assert page.pdf(format="A4", print_background=True)[:5] == b"%PDF-", name


def check_printed_map(page: Page) -> None:
    """It is light on paper, and fits it; on the screen it is as before."""
    screen = page.evaluate(INK)
    page.emulate_media(media="print")
    assert set(page.evaluate(INK)) == {BLACK} != set(screen)
    page.emulate_media(media="screen")
    assert page.evaluate(INK) == screen
    assert page.evaluate(FITS)


@pytest.mark.parametrize("width", one_of(1440, 390))
def test_the_login_form_stands_in_the_middle(page_as: Callable[..., Any], width: int) -> None:
    page = page_as("", width=width)
    page.goto("/login/")
    box = page.locator("main").bounding_box()
    assert box["x"] + box["width"] / 2 == pytest.approx(width / 2, abs=1)
    assert box["y"] + box["height"] / 2 == pytest.approx(450, abs=1)
