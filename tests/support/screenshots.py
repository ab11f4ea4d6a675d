"""The pictures of README.md and docs/: `make screenshots` takes them of a site that `make run` has just started.

Beside them docs/pictures.json keeps the rail that they show, and the checksum of each: a test sees when the rail has
changed since, or a picture came from elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import ViewportSize, sync_playwright

from tests.support.apng import animate
from tests.support.browser import CHROMIUM, FLAGS, settled
from tests.support.site import PASSWORD, ROOT, admin_site, made_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS = ROOT / "docs"
MANIFEST = DOCS / "pictures.json"
# Addresses by the names of the files; a picture shows what stands in a window of 1,440 × 1,100 pixels.
PICTURES = {
    "overview": "/?cluster=demo",
    "decision": "/decision/demo/analytics/spark-driver/",
}
# The animation of README.md: what each of its pictures shows, and where; a control that is chosen there first.
ANIMATION = "walk"
WALK = [
    ("1 · The pod", "/pods/?cluster=demo&pending=true", ""),
    ("2 · The reason", "/decision/demo/analytics/spark-driver/", ""),
    ("3 · A change, tried", "/trying/?cluster=demo", "input[name$=strategy][value=MostAllocated]"),
    ("4 · The map", "/nodes/?cluster=demo&show=use-cpu", ""),
]
FIRST = {"KSCHEDWEB_ADMIN_PASSWORD": PASSWORD}
SIZE, WALK_SIZE = ViewportSize(width=1440, height=1100), ViewportSize(width=1280, height=800)
SECONDS = 3
PATIENCE = 120_000  # milliseconds

LABELS = """all => all.map(one => [...one.childNodes].filter(node => node.nodeType === Node.TEXT_NODE)
    .map(node => node.textContent.trim()).join(''))"""
CAPTION = """words => {
    const caption = document.createElement('p')
    caption.textContent = words
    caption.style.cssText = `position: fixed; inset: auto 0 0 auto; margin: 24px; padding: 12px 24px; z-index: 9;
        border-radius: 8px; background: #1f2328; color: #fff; font: bold 24px sans-serif`
    document.body.append(caption)
}"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        made_run(Path(folder), **FIRST) as run,
        sync_playwright() as playwright,
    ):
        site = admin_site(run, FIRST)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        context = browser.new_context(base_url=site.url, viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        cookies = site.session.cookies.items()
        context.add_cookies([{"name": name, "value": str(value), "url": site.url} for name, value in cookies])
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        for name, address in PICTURES.items():
            open_page(page, address)
            page.screenshot(path=DOCS / f"{name}.png")
        page.set_viewport_size(WALK_SIZE)
        (DOCS / f"{ANIMATION}.png").write_bytes(animate([take_still(page, *step) for step in WALK], SECONDS))
        rail = page.locator("#rail .rail-title, #rail li a").evaluate_all(LABELS)
        browser.close()
    MANIFEST.write_text(json.dumps({"rail": rail, "sha256": checksums()}, indent=2) + "\n", encoding="utf-8")


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    settled(page)


def take_still(page: Page, caption: str, address: str, control: str) -> bytes:
    open_page(page, address)
    if control:
        with page.expect_response("**/trying/effect/**"):
            page.locator(control).click()
        settled(page)
    page.evaluate(CAPTION, caption)
    return page.screenshot()


def checksums() -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(DOCS.glob("*.png"))}


if __name__ == "__main__":
    main()
