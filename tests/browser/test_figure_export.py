"""Figures and maps leave the page: as a picture, a drawing, numbers, a link."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from kschedweb.clusters.services import demo_load

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PAGES = {
    "chart": ("/decision/demo/ml/notebook/", "[data-figure] .main-svg"),
    "map": ("/nodes/?cluster=demo", "[data-nodemap][data-drawn]"),
}


def save(page: Page, figure: Locator, entry: str) -> bytes:
    figure.get_by_label("Export or share this figure").click()
    with page.expect_download() as download:
        figure.get_by_role("button", name=entry).click()
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("kind", PAGES)
def test_figures_are_saved(page_as: Callable[..., Page], plain_demo: None, transactional_db: None, kind: str) -> None:
    demo_load()
    page = page_as("viewer")
    address, drawn = PAGES[kind]
    page.goto(address)
    page.wait_for_selector(drawn)
    figure = page.locator("figure:has(.figure-menu)").first
    picture = save(page, figure, "Picture (PNG)")
    drawing = ElementTree.fromstring(save(page, figure, "Drawing (SVG)"))
    numbers = list(csv.reader(io.StringIO(save(page, figure, "Numbers (CSV)").decode())))
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == tuple(
        2 * int(float(drawing.attrib[side])) for side in ("width", "height")
    )
    assert drawing.findall(".//{http://www.w3.org/2000/svg}path")
    assert len(numbers) > 12
    assert {len(row) for row in numbers} == {len(numbers[0])}
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    figure.get_by_label("Export or share this figure").click()
    figure.get_by_role("button", name="Copy link").click()
    expect(page.locator("#announcer")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert page.locator(f"[id='{copied.partition('#')[2]}']").count() == 1
