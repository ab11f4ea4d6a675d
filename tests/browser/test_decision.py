"""The decision page and the frame in the real browser: palette, cells, charts, themes, phones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.clusters.services import demo_load, snapshot_store
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.playground.scenarios.ready import all_ready
from tests.support.seed_classic import classic

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

PageAs = Callable[..., "Page"]
NOTEBOOK = "/decision/demo/ml/notebook/"
WORKED_OUT = '#cell .arithmetic[data-announce="NodeResourcesFit on gpu-a-2"]'


@pytest.fixture(autouse=True)
def demo(transactional_db: None, plain_demo: None) -> None:
    demo_load()


def wait_for_chart(page: Page) -> Any:
    page.wait_for_selector("[data-figure] .main-svg")
    return page.locator("[data-figure] .main-svg").first


def test_devices_can_be_read_by_anyone_on_a_phone(page_as: PageAs, axe: Any) -> None:
    ready = next(scenario for scenario in all_ready() if scenario.key == "devices")
    objects = [{"apiVersion": "v1", **item} for item in parse_document(ready.text).data["objects"]]
    for item in objects:
        if item["kind"] == "Pod":
            item["metadata"] |= {"namespace": "default"}
    cluster = Cluster.objects.create(name="lab", source=ClusterSource.DEMO, refreshed_at=timezone.now())
    snapshot_store(cluster=cluster, objects=objects, problems=[])
    for dark in (False, True):
        page = page_as("viewer", width=390, dark=dark)
        page.goto("/decision/lab/default/trainer/?node=gpu-1#devices")
        assert page.locator("#devices [data-state=refused]").count() == 2
        axe(page)


def test_a_click_on_a_cell_shows_its_arithmetic_and_the_address_leads_back_to_it(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto(NOTEBOOK)
    wait_for_chart(page)
    page.locator("tr.chosen td.score a").nth(1).click()
    page.wait_for_selector("#cell .arithmetic")
    assert page.locator(WORKED_OUT).is_visible()
    assert re.search(r"node=gpu-a-2&cell=NodeResourcesFit", page.url)
    assert page.locator("h1").count() == 1
    page.reload()
    assert page.locator(WORKED_OUT).is_visible()
    page.go_back()
    page.wait_for_selector("#matrix")
    assert page.locator("#cell .arithmetic").count() == 0


def test_a_classic_decision_leads_from_a_cell_to_its_arithmetic_and_from_a_head_to_what_explains_it(
    page_as: PageAs, admin: User
) -> None:
    page = page_as("viewer")
    page.goto(f"{NOTEBOOK}?policy={classic(admin)}&against=default@1")
    wait_for_chart(page)
    page.locator("tr.chosen td.score a[href*='cell=LeastRequestedPriority']").click()
    page.wait_for_selector("#cell .arithmetic")
    arithmetic = page.locator("#cell").inner_text()
    assert "How LeastRequestedPriority scores gpu-a-2" in arithmetic
    assert "Reduced over the feasible nodes" in arithmetic
    page.goto(f"{page.url.partition('#')[0]}&columns=all")
    page.get_by_role("link", name="About SelectorSpreadPriority").click()
    page.wait_for_url("**/classic/SelectorSpreadPriority/")
    assert "two pods of the service run on a" in page.locator("main").inner_text()
    page.locator("summary", has_text="objects of the example").click()
    assert "kind: Service" in page.locator("details pre").inner_text()


def test_the_matrix_is_one_tab_stop_that_arrow_keys_walk(page_as: PageAs, axe: Any) -> None:
    page = page_as("viewer")
    page.goto(NOTEBOOK)
    wait_for_chart(page)
    grid = page.locator("#matrix table[role=grid]").first
    assert grid.locator("[tabindex='0']").count() == 1
    assert page.locator("#matrix .table-box[tabindex]").count() == 0

    def focused_text() -> str:
        return " ".join(str(page.evaluate("document.activeElement.innerText")).split())

    grid.locator("[tabindex='0']").focus()
    assert focused_text() == "Node"
    page.keyboard.press("ArrowDown")
    assert focused_text() == "gpu-a-2", "the link of the cell"
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert focused_text() == "80 80 → 80 × 1"
    page.keyboard.press("Enter")
    page.wait_for_selector(WORKED_OUT)
    assert focused_text() == "80 80 → 80 × 1"
    page.keyboard.press("ArrowUp")
    assert focused_text() == "NodeResourcesFit"
    page.keyboard.press("Control+End")
    assert focused_text().endswith("× 1")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    assert not page.evaluate("!!document.activeElement.closest('#matrix .matrix')")
    page.keyboard.press("Shift+Tab")
    assert focused_text() == "Node"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=-total**")
    axe(page)


def test_a_cell_with_several_links_is_entered_and_left_by_keys(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/decision/demo/analytics/cube-builder/")
    grid = page.locator("table[role=grid]")
    grid.locator("[tabindex='0']").focus()
    for key in ("ArrowDown", "End", "Enter", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "general-b-1"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.tagName") == "TD"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("F2")
    assert page.evaluate("document.activeElement.tagName") == "TD"


def test_rows_sort_and_columns_unfold_without_javascript(page_as: PageAs) -> None:
    page = page_as("viewer", javascript=False)
    page.goto(NOTEBOOK)
    page.locator("#matrix thead a", has_text="NodeResourcesFit").click()
    page.wait_for_url("**sort=-NodeResourcesFit**")
    assert page.locator("#matrix tbody tr").first.locator("th").inner_text().startswith("gpu-a-2")
    page.locator("#matrix thead a", has_text="NodeResourcesFit").click()
    page.wait_for_url("**sort=NodeResourcesFit**")
    assert not page.locator("#matrix tbody tr").first.locator("th").inner_text().startswith("gpu-a-2")
    page.locator("#folded a").click()
    assert page.locator("#matrix thead th", has_text="VolumeBinding").count() == 1


def test_six_plugins_fit_a_laptop(page_as: PageAs) -> None:
    page = page_as("viewer", width=1440)
    page.goto(f"{NOTEBOOK}?columns=all")
    assert page.locator("#matrix thead th .weight").count() == 6
    box = page.locator("#matrix .table-box").first
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.nightly
def test_the_chart_takes_its_colours_from_the_theme_and_changes_with_it(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto(NOTEBOOK)
    wait_for_chart(page)

    def colour() -> str:
        return str(page.evaluate("getComputedStyle(document.querySelector('[data-figure] .ytick text')).fill"))

    light = colour()
    page.locator("summary:has([aria-label=Theme])").click()
    page.locator("button[name=theme][value=dark]").click()
    page.wait_for_function(
        "light => getComputedStyle(document.querySelector('[data-figure] .ytick text')).fill !== light", arg=light
    )
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"


@pytest.mark.nightly
def test_the_palette_finds_a_pod_by_keyboard_alone(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/")
    page.keyboard.press("Control+k")
    page.locator("#palette input").wait_for()
    page.keyboard.type("cube-b")
    page.locator("#palette .results a", has_text="analytics/cube-builder").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/decision/demo/analytics/cube-builder/")
    assert "cube-builder is pending" in page.locator("h1").inner_text()


@pytest.mark.nightly
def test_single_keys_can_be_turned_off(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "searchbox"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    page.locator("#single-keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert not page.locator("#shortcuts").is_visible()


@pytest.mark.nightly
def test_node_names_are_suggested_while_typing(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto(NOTEBOOK)
    page.locator("#why-node").press_sequentially("gpu-b")
    page.wait_for_selector("#node-names option[value=gpu-b-1]", state="attached")
    page.locator("#why-node").fill("memory-a-1")
    page.locator("#why button").click()
    page.wait_for_selector(".verdicts")
    assert "node(s) had untolerated taint(s)" in page.locator(".verdicts .decisive").inner_text()


@pytest.mark.nightly
def test_the_choosers_change_the_page_and_stay_in_the_address(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/pods/?pending=true")
    page.locator(".bar select[name=namespace]").select_option("ml")
    page.wait_for_url("**namespace=ml**")
    assert page.locator("tbody tr").count() > 0
    assert set(page.locator("tbody td[data-label=Namespace]").all_inner_texts()) == {"ml"}


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_a_search_finds_fits_a_phone_and_axe_finds_nothing(
    page_as: PageAs, axe: Callable[[Page], None], dark: bool
) -> None:
    page = page_as("viewer", width=390, dark=dark)
    page.goto("/search/?q=gpu")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    axe(page)


@pytest.mark.nightly
def test_the_drawer_opens_on_a_phone(page_as: PageAs) -> None:
    page = page_as("viewer", width=390)
    page.goto("/")
    assert not page.locator("#rail").is_visible()
    page.get_by_role("button", name="Menu").click()
    page.locator("#rail a", has_text="Nodes").click()
    page.wait_for_url("**/nodes/**")


@pytest.mark.nightly
def test_everything_reads_without_javascript(page_as: PageAs) -> None:
    page = page_as("viewer", javascript=False)
    page.goto(f"{NOTEBOOK}?stage=feasible")
    page.locator("tr.chosen td.score a").nth(1).click()
    assert page.locator(WORKED_OUT).is_visible()
    page.goto("/pods/")
    page.locator(".bar select[name=namespace]").select_option("ml")
    page.locator(".bar form:has(select[name=namespace]) button.no-js").click()
    assert "namespace=ml" in page.url
