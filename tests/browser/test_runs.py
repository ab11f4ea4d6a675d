"""From a scenario to the policy that should be changed, in Chromium; and reports that need no site."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from kschedweb.accounts.models import User
from tests.browser.test_every_page import OVERFLOW
from tests.support import seed_runs
from tests.support.tiers import one_of

pytestmark = pytest.mark.django_db(transaction=True)
FLAT = "Insufficient cpu"


def test_from_a_scenario_to_the_plugin_that_moved_a_pod(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User
) -> None:
    scenario = seed_runs.scenario(editor).scenario
    seed_runs.packed(editor)
    page = page_as("editor")

    page.goto(f"/scenarios/{scenario.pk}/")
    page.get_by_role("link", name="Run", exact=True).click()
    page.locator("#id_policy").select_option("default@1")
    page.locator("main").get_by_role("button", name="Run").click()
    expect(page.locator("h1")).to_contain_text("not done yet")
    seed_runs.work_off()
    expect(page.locator("h1")).to_contain_text("All 21 pods find a node under default@1")

    expect(page.locator("#nodes-map [data-plot] .nodemap-svg").first).to_be_visible()
    follows = page.locator("[data-marked]").last
    follows.scroll_into_view_if_needed()
    expect(follows.locator(".shapelayer path")).to_have_count(1)
    page.get_by_role("slider", name="Time in the simulation").press("Home")
    expect(page.locator("#pods-title")).to_have_text("Pods after 0 s")
    page.locator("[data-step='1']").click()
    expect(page.locator("#pods-title")).to_have_text("Pods after 1 ms")
    expect(page).to_have_url(re.compile(r"at=0.001"))
    page.locator("[data-speed]").select_option("5")
    page.locator("[data-play]").click()
    expect(page.locator("[data-clock]")).to_have_text("10 min")
    expect(page.locator("#pods-title")).to_have_text("Pods at the end")

    page.get_by_label("State").select_option(label="preempted (2)")
    page.locator("#pods").get_by_role("button", name="Filter").click()
    page.goto(f"{page.url.partition('?')[0]}?search=important")
    page.get_by_role("link", name="default/important", exact=True).click()
    expect(page.locator("h1")).to_contain_text("important goes to")
    page.get_by_role("link", name="Earlier try").click()
    expect(page.locator("main")).to_contain_text(FLAT)

    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Runs").click()
    page.get_by_role("navigation", name="Simulations").get_by_role("link", name="Comparisons").click()
    page.get_by_role("link", name="Compare policies").first.click()
    page.locator("#id_reference").select_option("default@1")
    page.get_by_role("searchbox", name="Find a policy: Policies").fill("pack")
    expect(page.get_by_label("default, revision 1")).to_be_hidden()
    page.get_by_label("packed, revision 1").check()
    axe(page)
    page.locator("main").get_by_role("button", name="Run").click()
    expect(page.locator("#progress")).to_contain_text("0 of 2 runs are done")
    seed_runs.work_off()
    expect(page.locator("h1")).to_contain_text("packed@1 against default@1")
    expect(page.locator("main")).to_contain_text("One seed is enough")
    page.locator(".groups a").first.click()
    expect(page).to_have_url(re.compile(r"plugin=NodeResourcesFit"))
    page.locator("#moved td[data-label='Decided by'] a").first.click()
    expect(page).to_have_url(re.compile(r"/policies/packed/\?revision=1#row-NodeResourcesFit"))
    expect(page.locator("#row-NodeResourcesFit")).to_be_visible()


def test_a_run_that_is_cancelled_says_so_at_once(page_as: Callable[..., Any], editor: User) -> None:
    from kschedweb.jobs.services import job_claim
    from kschedweb.playground.runs import services

    run = services.run_start(user=editor, revision=seed_runs.scenario(editor), policy="default")
    assert run.job is not None
    assert job_claim(str(run.job.pk)) is not None
    page = page_as("editor")
    page.goto(f"/runs/{run.pk}/")
    page.get_by_role("button", name="Cancel").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run.pk}/"))
    expect(page.locator("#job")).to_contain_text("Stopping")


@pytest.mark.nightly
def test_a_link_is_copied(page_as: Callable[..., Any], editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    page = page_as("viewer")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/comparisons/{comparison.pk}/")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#announcer")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "dark"), one_of((1440, False), (390, True)))
def test_a_saved_report_opens_from_a_disk_without_a_network(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User, tmp_path: Path, width: int, dark: bool
) -> None:
    comparison = seed_runs.comparison(editor, seeds=[1, 2])
    page = page_as("viewer", width=width, dark=dark)
    page.goto(f"/comparisons/{comparison.pk}/")
    title = page.locator("h1").inner_text()
    expect(page.locator("[data-figure]:not(.js-plotly-plot):visible")).to_have_count(0)
    page.get_by_text("Report", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Page with figures").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    assert file.stat().st_size < 4_000_000

    wrong: list[str] = []
    alone = page.context.browser.new_page(
        offline=True,
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    alone.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.on("request", lambda request: None if request.url == file.as_uri() else wrong.append(request.url))
    # Never idle, so that a figure is drawn for one reason alone: somebody comes near it, or prints.
    alone.add_init_script("requestIdleCallback = () => 0")
    alone.goto(file.as_uri())
    assert alone.locator("h1").inner_text() == title
    figures, drawn_figures = alone.locator("[data-figure]"), alone.locator("[data-figure].js-plotly-plot")
    assert figures.count() > 6
    # Figures far below take no room when they are drawn that they had not before.
    assert drawn_figures.count() < figures.count()
    before = page_height(alone)
    figures.last.scroll_into_view_if_needed()
    expect(figures.last.locator(".main-svg").first).to_be_visible()
    assert 0 < drawn_figures.count() < figures.count()
    assert abs(page_height(alone) - before) < 20 * figures.count()
    assert alone.evaluate(OVERFLOW) <= 0
    axe(alone)
    paper = alone.evaluate(PRINT_CHECK)
    assert paper == {"theme": "light", "widest": True, "undrawn": 0, "dark": dark}
    expect(drawn_figures).to_have_count(figures.count())
    assert alone.evaluate(OVERFLOW) <= 0
    assert alone.pdf(format="A4")[:5] == b"%PDF-"
    alone.close()
    assert not wrong


def page_height(page: Any) -> int:
    pixels: int = page.evaluate("document.documentElement.scrollHeight")
    return pixels


PRINT_CHECK = """() => {
    const ink = () => getComputedStyle(document.body).color;
    const screen = ink();
    dispatchEvent(new Event("beforeprint"));
    const theme = document.documentElement.dataset.theme;
    const widest = [...document.querySelectorAll(".main-svg")].every((one) => one.getBoundingClientRect().width <= 681);
    const undrawn = document.querySelectorAll("[data-figure]:not(.js-plotly-plot)").length;
    const paper = ink();
    dispatchEvent(new Event("afterprint"));
    return { theme, widest, undrawn, dark: screen !== paper && ink() === screen };
}"""


@pytest.mark.parametrize("width", one_of(390, 1440))
def test_a_run_draws_how_its_workloads_were_scaled(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User, width: int
) -> None:
    run = seed_runs.run(editor, seed_runs.elastic(editor))
    page = page_as("editor", width=width, dark=width == 390)
    page.goto(f"/runs/{run.pk}/")
    expect(page.locator("#scalings-title")).to_be_visible()
    chart = page.locator("[data-figure=scaling-figure]").first
    chart.scroll_into_view_if_needed()
    expect(page.locator("#scaling-figure .main-svg, [data-plot] .nodemap-svg").first).to_be_visible()
    expect(page.get_by_role("region", name="Changes of scale").locator("tbody tr")).to_have_count(3)
    assert not page.evaluate(OVERFLOW)
    axe(page)
