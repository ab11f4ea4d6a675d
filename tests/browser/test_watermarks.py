"""From no figures to the skew of real ones, and through the pages that show them, in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.services import demo_load
from tests.support.browser import watch
from tests.support.processes import wait_until
from tests.support.prometheus import Exporter, Prometheus
from tests.support.seed import node
from tests.support.site import made_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.site import MadeRun

PageAs = Callable[..., "Page"]
SHARES = {"node-07": 68, "node-12": 44, "node-31": 27}  # percent of allocatable


@pytest.fixture
def demo(transactional_db: None) -> None:
    demo_load()


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    """A real one that scrapes an exporter of nodes with the shares above."""

    def expose_shares(now: float) -> str:
        lines = [f'machine_use{{node="{name}"}} {share}' for name, share in SHARES.items()]
        return "\n".join(["# TYPE machine_use gauge", *lines, ""])

    with Exporter(expose_shares).started() as exporter:
        server = Prometheus(tmp_path, scrape=[exporter.port])
        with server.started():
            wait_until(lambda: server.value("count(machine_use)") == len(SHARES), "the exporter was scraped", step=0.3)
            yield server


@pytest.fixture
def run(tmp_path: Path) -> Iterator[MadeRun]:
    settings = {"KSCHEDWEB_CLUSTER_ALLOWLIST": "127.0.0.1", "KSCHEDWEB_CLUSTER_ALLOW_INSECURE": "true"}
    with made_run(tmp_path, **settings) as run:
        yield run


@pytest.fixture
def visitor(browser: Browser, run: MadeRun) -> Iterator[Page]:
    """A browser whose person is logged in."""
    problems: list[str] = []
    context = browser.new_context(base_url=run.site.url, accept_downloads=True)
    page = context.new_page()
    watch(page, run.site.url, problems)
    username, password = run.first_login()
    run.site.login(username, password)
    page.goto("/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
    yield page
    context.close()
    assert not problems, "\n".join(problems)


def wait_for_chart(page: Page) -> Any:
    page.wait_for_selector("[data-figure] .main-svg")
    return page.locator("[data-figure] .main-svg").first


def page_heading(page: Page) -> str:
    return page.locator("h1").inner_text()


def test_from_a_source_to_the_skew_that_it_shows(visitor: Page, run: MadeRun, prometheus: Prometheus) -> None:
    page = visitor
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node(name) for name in SHARES]})
    body = {"data": objects.encode(), "headers": {"Content-Type": "application/json"}}
    run.site.call_rest("POST", "clusters/import/?name=shop", **body).raise_for_status()

    # Without a source the page teaches, and leads to where one is set.
    page.goto("/usage/?cluster=shop")
    assert "No usage data" in page_heading(page)
    page.get_by_role("link", name="Choose a source").click()
    page.get_by_role("radio", name="Prometheus").check()
    page.get_by_label("Address").fill(prometheus.url)
    page.get_by_label("Label that names a node").fill("node")
    page.locator("#id_unit").select_option("allocatable-percent")
    for query in page.locator(".queries textarea").all():
        query.fill("")
    page.locator("#id_node_cpu_15m").fill("machine_use")

    # A query that is wrong is said beside it, in Prometheus' own words; nothing is saved.
    page.locator("#id_node_cpu_1h").fill("avg_over_time(machine_use[1h)")
    page.get_by_role("button", name="Test only").click()
    page.wait_for_load_state()
    assert "parse error" in page.locator("#id_node_cpu_1h-error").inner_text()
    page.locator("#id_node_cpu_1h").fill("avg_over_time(machine_use[1h])")
    page.get_by_role("button", name="Test and save").click()
    page.wait_for_url("**/usage/source/?cluster=shop*")
    assert "Saved." in page.locator("main").inner_text()

    # The worker collects, and the page says how far apart the nodes are.
    def has_skew() -> bool:
        page.goto("/usage/?cluster=shop")
        return "Node skew" in page_heading(page)

    wait_until(has_skew, "figures were collected", step=1)
    assert page_heading(page) == "Node skew is 41 points: node-07 at 68 %, node-31 at 27 %"
    assert "Prometheus" in page.locator(".lead").inner_text()
    page.goto("/nodes/?cluster=shop&search=node-12")
    assert "44 % used" in page.get_by_role("row", name="node-12 Rehearse a drain").inner_text()
    skew = run.site.ask("GET", "clusters/shop/watermarks/skew/")
    assert skew["points"][-1]["skew"] == 41


@pytest.mark.usefixtures("demo")
def test_one_leads_from_the_skew_to_a_time_a_group_and_a_node(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/?cluster=demo")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Nodes").click()
    page.get_by_role("link", name="Use over time").click()
    assert re.match(r"Node skew is \d+ points: [\w-]+ at \d+ %, [\w-]+ at \d+ %", page_heading(page))
    box = wait_for_chart(page).bounding_box()
    assert box is not None
    # A click in the chart opens the distribution at that time.
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.wait_for_url("**/usage/distribution/?*at=*")
    assert re.match(r"At \d{4}-\d\d-\d\d \d\d:\d\d UTC half of 60 nodes", page_heading(page))
    page.get_by_role("link", name="Before").click()
    page.get_by_role("link", name="Heatmap").click()
    wait_for_chart(page)
    box = page.locator("[data-figure] .heatmaplayer, [data-figure] .plot").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 8)
    page.wait_for_url("**/usage/heatmap/?*search=*")
    assert page.locator("main").get_by_text("1 node", exact=False).count()


@pytest.mark.nightly
@pytest.mark.usefixtures("demo")
def test_the_filters_are_in_the_address_and_a_range_forgets_an_absolute_time(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/usage/?cluster=demo")
    page.get_by_label("Resource").select_option("memory")
    page.wait_for_url("**resource=memory**")
    page.get_by_label("From (UTC)").fill("2026-01-01T00:00")
    page.get_by_label("To (UTC)").fill("2026-01-01T06:00")
    page.locator("#main").get_by_role("button", name="Show").click()
    page.wait_for_url("**from=2026-01-01T00*")
    assert page_heading(page) == "No node has usage data in this time"
    page.get_by_role("link", name="6 hours").click()
    page.wait_for_url("**range=6h**")
    assert "from=" not in page.url
    assert "resource=memory" in page.url
    assert page_heading(page).startswith("Node skew is")


@pytest.mark.nightly
@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("path", ["", "heatmap/", "distribution/", "nodes/", "workloads/"])
def test_without_javascript_every_number_is_in_a_table(page_as: PageAs, path: str) -> None:
    page = page_as("viewer", javascript=False)
    page.goto(f"/usage/{path}?cluster=demo")
    for summary in page.locator("details.disclosure > summary").all():
        if summary.locator("..").get_attribute("open") is None:
            summary.click()
    assert page.locator("main table tbody tr:visible").count() >= 8
    page.get_by_label("Resource").select_option("memory")
    page.locator("#main").get_by_role("button", name="Show").click()
    page.wait_for_url("**resource=memory**")


@pytest.mark.nightly
@pytest.mark.usefixtures("demo")
def test_the_download_is_the_current_filter(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/usage/heatmap/?cluster=demo&search=spot&order=name&range=1h")
    with page.expect_download() as caught:
        page.get_by_role("link", name="CSV").click()
    lines = Path(caught.value.path()).read_text().splitlines()
    assert caught.value.suggested_filename == "demo-heatmap-cpu-1h.csv"
    assert [line.split(",")[0] for line in lines[1:]] == [
        f"spot-{zone}-{number}" for zone in "abc" for number in (1, 2, 3)
    ]
    assert lines[0].count(",") >= 11
