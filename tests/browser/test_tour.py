"""docs/tour.md, followed to the letter in Chromium on a site that `make run` has just started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import watch
from tests.support.site import MadeRun, made_run
from tests.support.tour import TourError, Visitor, clauses, efforts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = (Path(__file__).parents[2] / "docs" / "tour.md").read_text(encoding="utf-8")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[MadeRun]:
    with made_run(tmp_path) as run:
        yield run


@pytest.fixture
def new_page(browser: Browser, run: MadeRun) -> Iterator[Callable[[], Page]]:
    """A window of somebody who has never been here."""
    contexts, problems = [], list[str]()

    def make() -> Page:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        watch(page, run.site.url, problems)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


@pytest.mark.nightly
def test_the_tour_leads_to_a_comparison_that_a_colleague_can_open(run: MadeRun, new_page: Callable[[], Page]) -> None:
    username, password = run.first_login()
    places = {
        "the printed address": run.site.url,
        "the printed username": username,
        "the printed password": password,
    }
    visitor = Visitor(new_page(), places, new_page)
    steps = clauses(TEXT)
    assert len(steps) > 40
    for chapter, effort in efforts(visitor, steps).items():
        done = f"{effort.clicks:3} clicks, {effort.fields:2} fields, {effort.words:5} words"
        print(f"{done}, {effort.seconds:5.1f} s  {chapter}")
    # Ada stands where the first person stood.
    assert visitor.page.url == visitor.remembered["the copied link"]
    assert "packing@1" in visitor.page.locator("h1").inner_text()
    assert "ada" in visitor.page.locator("header").inner_html()


@pytest.mark.parametrize(
    "step",
    [
        "1. Look at **Pods**.",
        "1. Click on `Run`.",
        "1. Press **Run**, and there is “a figure”.",
        "1. Press **Run** and *hope*, then type `x`.",
        "1. Nothing.",
        "Press **Run**.",
    ],
)
def test_a_step_that_nobody_could_follow_is_refused(step: str) -> None:
    with pytest.raises(TourError):
        clauses(step)


PAGE = """<main><section><h2>First</h2><button type=button>Run</button><a href='#a'>Other</a><a href='#b'>Other</a>
<label>Name <input></label><label>Letter <select><option>a</option></select></label></section></main>"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "step",
    [
        "Press **Stop**.",
        "Type `x` into **Title**.",
        "Choose `c` for **Letter**.",
        "Under **Second**, press **Run**.",
        "You see “done”.",
        "Unfold **More**.",
    ],
)
def test_what_the_page_does_not_have_ends_the_tour(browser: Browser, step: str) -> None:
    page = browser.new_page()
    page.set_content(PAGE)
    visitor = Visitor(page, patience=3000)
    visitor.do("Press **Run**.", "Under **First**, type `x` into **Name** and choose `a`.")
    page.set_default_timeout(3000)
    with pytest.raises(TourError, match="Timeout"):
        visitor.do(step)
    page.close()


@pytest.mark.nightly
def test_a_name_that_two_things_have_ends_the_tour(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(PAGE)
    with pytest.raises(TourError, match="2 different things are called Other"):
        Visitor(page).do("Press **Other**.")
    page.close()
