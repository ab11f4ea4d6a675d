"""The node map and the player, in Chromium: groups, nodes, pods; search, keyboard, and time without requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from kschedweb.clusters.services import demo_load
from tests.support import seed_runs

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

PageAs = Callable[..., "Page"]
CELLS = "node => [...node.querySelectorAll('.cell')].map(path => path.outerHTML).join()"
SEEK = "(field, at) => { field.value = at; field.dispatchEvent(new Event('input')); }"
FOCUSED_CELL = "() => document.querySelector('[data-frame=cursor]').style.transform"


def open_node_map(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("[data-nodemap][data-drawn]")


def query_parameters(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def cell_paths(page: Page, place: int = 0) -> str:
    """The cells of the map, by their colours."""
    return str(page.locator("[data-plot]").nth(place).evaluate(CELLS))


@pytest.fixture
def demo(transactional_db: None, plain_demo: None) -> None:
    demo_load()


def test_the_page_says_at_every_time_what_the_server_says(
    page_as: PageAs, client_as: Callable[[str], Any], editor: User
) -> None:
    run = seed_runs.run(editor)
    client, page = client_as("viewer"), page_as("viewer")
    open_node_map(page, f"/runs/{run.pk}/")
    for show in ("memory", "pods", "state", "cpu"):
        before = page.locator("[data-summary]").inner_text()
        page.get_by_label("Colour by").select_option(show)
        page.wait_for_function("before => document.querySelector('[data-summary]').textContent !== before", arg=before)
        for at in ("0.0", "0.0053", "335.0", "600.0"):
            page.locator("[data-seek]").evaluate(SEEK, at)
            answer = client.get(f"/runs/{run.pk}/", {"show": show, "at": at})
            assert page.locator("[data-summary]").inner_text() == answer.context["map"].tables[0]["summary"]
            assert cell_paths(page)


def test_nodes_that_are_gone_have_a_border_in_every_colouring(page_as: PageAs, editor: User) -> None:
    changes = [
        {"at": "2m", "setConditions": {"nodes": ["node-1"], "conditions": {"Ready": "Unknown"}}},
        {"at": "4m", "removeNodes": {"nodes": ["node-2"]}},
    ]
    run = seed_runs.run(editor, seed_runs.scenario(editor, changes=changes))
    page = page_as("viewer")
    open_node_map(page, f"/runs/{run.pk}/?at=0")
    bordered_cells = """() => [...document.querySelectorAll('.border:is(.gone, .not-ready):not(.below, .icon)')]
        .reduce((sum, path) => sum + path.getAttribute('d').split('z').length - 1, 0)"""
    for show in ("cpu", "memory", "pods", "state"):
        page.get_by_label("Colour by").select_option(show)
        page.wait_for_function("show => new URL(location).searchParams.get('show') === show", arg=show)
        for at, count in (("0", 0), ("150", 1), ("300", 2)):
            page.locator("[data-seek]").evaluate(SEEK, at)
            page.wait_for_function(f"count => ({bordered_cells})() === count", arg=count)
    page.get_by_label("Colour by").select_option("cpu")
    expect(page.locator("[data-legend]")).to_contain_text("not readyremoved")
    page.locator("[data-plot]").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # node-1, the first of the second zone
    expect(page.locator("[data-readout]")).to_contain_text(", not ready")


@pytest.mark.nightly
def test_playing_asks_the_server_for_nothing_and_the_address_keeps_the_time(page_as: PageAs, editor: User) -> None:
    run = seed_runs.run(editor)
    page = page_as("viewer")
    open_node_map(page, f"/runs/{run.pk}/?at=0&speed=5")
    begin, sentence = cell_paths(page), page.locator("[data-summary]").inner_text()
    requests: list[str] = []
    # The sign on the button comes from the icons' file, which the browser may look at again.
    page.on("request", lambda request: requests.extend([request.url] if "/static/icons" not in request.url else []))
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => Number(document.querySelector('[data-seek]').value) > 20")
    assert requests == [], requests
    page.get_by_role("button", name="Pause").click()
    assert cell_paths(page) != begin
    assert page.locator("[data-summary]").inner_text() != sentence
    page.wait_for_function("() => document.querySelector('#pods-title').textContent.includes('after')")
    paused_at = float(query_parameters(page)["at"])
    assert 20 < paused_at < 600
    assert query_parameters(page)["speed"] == "5"
    open_node_map(page, page.url)
    assert float(page.locator("[data-seek]").input_value()) == pytest.approx(paused_at, abs=1e-3)

    # Steps go from change to change, by key as by button; the ends are where they should be.
    seek = page.get_by_role("slider", name="Time in the simulation")
    seek.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    last = float(seek.input_value())
    outcome_changes = json.loads(page.locator("#player-changes").inner_text())
    assert last == pytest.approx(outcome_changes[-1], abs=1e-6)
    page.keyboard.press("ArrowLeft")
    assert float(seek.input_value()) == pytest.approx(outcome_changes[-2], abs=1e-6)
    page.get_by_role("link", name="Step on").click()
    assert float(query_parameters(page)["at"]) == pytest.approx(last, abs=1e-5)
    page.keyboard.press("Home")
    seek.focus()
    page.keyboard.press(">")
    page.keyboard.press("<")
    page.keyboard.press("<")
    assert query_parameters(page)["speed"] == "20"


@pytest.mark.nightly
def test_nodes_change_their_groups_while_the_player_passes_what_is_written(page_as: PageAs, editor: User) -> None:
    zone = "topology.kubernetes.io/zone"
    relabel: list[Any] = [
        {"at": "5m", "labelNodes": {"nodes": ["node-0"], "labels": {zone: "zone-1"}}},
        {"at": "8m", "labelNodes": {"nodes": ["node-3"], "labels": {zone: "zone-1"}}},
    ]
    run = seed_runs.run(editor, seed_runs.scenario(editor, changes=relabel))
    page = page_as("viewer")
    open_node_map(page, f"/runs/{run.pk}/?at=0")
    seek, heads = page.locator("[data-seek]"), page.locator(".nodemap-svg .group")
    for at, groups in (
        (0, ["zone-0 2", "zone-1 2", "zone-2 2"]),
        (301, ["zone-0 1", "zone-1 3", "zone-2 2"]),
        (600, ["zone-1 4", "zone-2 2"]),
        (299, ["zone-0 2", "zone-1 2", "zone-2 2"]),
    ):
        seek.evaluate(SEEK, str(at))
        assert heads.all_text_contents() == groups

    # A group that is chosen stays so while it has no node.
    page.get_by_role("group", name="Node map").focus()
    page.keyboard.press(" ")
    assert query_parameters(page)["group"] == "zone-0"
    for at, nodes in ((600, "no node has CPU"), (301, "1 node:"), (0, "2 nodes")):
        seek.evaluate(SEEK, str(at))
        assert nodes in page.locator("[data-summary]").inner_text()
        assert query_parameters(page)["group"] == "zone-0"


def test_from_all_nodes_to_a_group_a_node_and_its_pods_by_keys_alone(page_as: PageAs, axe: Any, editor: User) -> None:
    run = seed_runs.run(editor)
    page = page_as("viewer")
    open_node_map(page, f"/runs/{run.pk}/?at=400")
    page.get_by_role("group", name="Node map").focus()
    readout = page.locator("[data-readout]")
    assert readout.inner_text().startswith("node-0, zone zone-0: 100 % CPU requested")
    first = page.evaluate(FOCUSED_CELL)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(FOCUSED_CELL) != first
    assert readout.inner_text().startswith("node-3, zone zone-0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    assert query_parameters(page)["group"] == "zone-1"
    assert page.locator("[data-summary]").inner_text().startswith("zone-1: After 6 min 40 s, CPU of 2 nodes")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-node-panel] .nodemap-pods table")
    panel = page.locator("[data-node-panel]")
    assert "After 6 min 40 s it runs 3 pods, which request 75 % of its CPU." in panel.inner_text()
    assert query_parameters(page)["focus"] == "node-1"
    axe(page)
    page.keyboard.press("Escape")
    assert panel.is_hidden()
    assert not {"group", "focus"} & set(query_parameters(page))

    # A pod of the panel leads to its decision.
    open_node_map(page, f"/runs/{run.pk}/?at=400&focus=node-1")
    page.locator("[data-node-panel] tbody a").first.click()
    page.wait_for_url("**/pods/default/web-**")


@pytest.mark.nightly
def test_tables_groups_and_search_follow_each_other(page_as: PageAs, demo: None) -> None:
    page = page_as("viewer")
    open_node_map(page, "/nodes/?cluster=demo")
    labels = page.get_by_label("Group by").locator("option").all_inner_texts()
    assert {"zone", "instance type"} <= set(labels)
    page.locator("summary", has_text="Zone as a table").click()
    rows = page.locator("table[data-table=groups] tbody tr")
    assert rows.count() == 3
    sizes = [int(row.locator("td").first.inner_text()) for row in rows.all()]
    total = int(page.locator("#map-title").inner_text().split()[2])
    assert sum(sizes) == total
    rows.first.get_by_role("link").click()
    assert f"{sizes[0]} nodes" in page.locator("[data-summary]").inner_text()
    page.get_by_role("button", name="All nodes").click()
    assert f"{total} nodes" in page.locator("[data-summary]").inner_text()

    before = cell_paths(page)
    find = page.get_by_label("Find nodes")
    # The list below the map is folded: it has no inner text.
    name = (page.locator("main table.cards-below tbody th a").first.text_content() or "").strip()
    find.fill(name)
    assert page.locator("[data-found]").inner_text() == f"1 of {total} nodes"
    assert cell_paths(page) != before
    find.press("Enter")
    page.wait_for_selector("[data-node-panel] h3")
    assert page.locator("[data-node-panel] h3").inner_text() == name
    pods = page.locator("[data-node-panel] tbody tr").count()
    page.goto(f"/pods/?cluster=demo&node={name}")
    assert f"{pods} pod" in page.locator("h1").inner_text()


@pytest.mark.nightly
def test_two_runs_are_looked_at_alike_under_one_player(page_as: PageAs, editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    page = page_as("viewer")
    open_node_map(page, f"/comparisons/{comparison.pk}/?at=0.0108&show=pods")
    captions = page.locator("[data-summary]")
    assert captions.count() == 2
    assert captions.first.inner_text() != captions.last.inner_text()
    page.get_by_role("group", name="Node map").last.focus()
    frames = page.locator("[data-frame=cursor]")
    assert frames.first.evaluate("one => one.style.transform") == frames.last.evaluate("one => one.style.transform")
    readout = page.locator("[data-readout]").inner_text()
    assert "default@1: " in readout
    assert "packed@1: " in readout
    page.get_by_label("Colour by").select_option("cpu")
    page.wait_for_function("() => document.querySelector('[data-summary]').textContent.includes('CPU of')")
    assert captions.last.inner_text().startswith("After 11 ms, CPU of 6 nodes")


@pytest.mark.nightly
def test_the_map_takes_the_theme_and_the_width_that_it_is_given(page_as: PageAs, editor: User) -> None:
    run = seed_runs.run(editor)
    page = page_as("viewer", width=390)
    open_node_map(page, f"/runs/{run.pk}/?at=400")
    text = "() => getComputedStyle(document.querySelector('.nodemap-svg .group')).fill"
    light = page.evaluate(text)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => ({text})() !== before", arg=light)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    narrow = page.locator(".nodemap-svg").first.bounding_box()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(
        "before => document.querySelector('.nodemap-svg').getBoundingClientRect().width > before",
        arg=narrow["width"] if narrow else 0,
    )


NAMES = """node => [...node.querySelectorAll(".name")].map(name => {
    const cell = node.querySelector(`.cell.${[...name.classList].find(kind => kind.startsWith("ink-")).slice(4)}`);
    return [name.textContent, getComputedStyle(cell).fill, getComputedStyle(name).fill];
})"""


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("show", ["cpu", "state"])
def test_names_of_nodes_can_be_read_on_every_colour(page_as: PageAs, editor: User, show: str, theme: Any) -> None:
    run, page = seed_runs.run(editor), page_as("viewer")
    page.emulate_media(color_scheme=theme)
    open_node_map(page, f"/runs/{run.pk}/?show={show}&at=600")
    painted = page.locator("[data-plot]").first.evaluate(NAMES)
    assert len(painted) == 6
    for name, *colours in painted:
        behind, ink = (relative_luminance(colour) for colour in colours)
        assert (max(behind, ink) + 0.05) / (min(behind, ink) + 0.05) >= 4.5, name


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_step_of_the_scale_has_an_ink_that_is_read(page_as: PageAs, demo: None, theme: Any) -> None:
    page = page_as("viewer")
    page.emulate_media(color_scheme=theme)
    open_node_map(page, "/nodes/?cluster=demo")
    steps = page.evaluate("""() => Array.from({length: 10}, (_, step) => {
        const map = document.querySelector(".nodemap-svg");
        const parts = [`m${step}`, `ink-m${step}`].map(kind => {
            const part = document.createElementNS("http://www.w3.org/2000/svg", "path");
            part.setAttribute("class", kind);
            map.append(part);
            return getComputedStyle(part).fill;
        });
        return parts;
    })""")
    lightness = []
    for step, colours in enumerate(steps):
        behind, ink = (relative_luminance(colour) for colour in colours)
        assert (max(behind, ink) + 0.05) / (min(behind, ink) + 0.05) >= 4.5, step
        lightness.append(behind)
    # From little to much the steps go one way: darker in light, lighter in dark.
    assert lightness == sorted(lightness, reverse=theme == "light")


def relative_luminance(colour: str) -> float:
    """Relative luminance of "rgb(1, 2, 3)", as WCAG 2 defines it."""
    rgb = [int(channel) / 255 for channel in re.findall(r"\d+", colour)[:3]]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in rgb]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
