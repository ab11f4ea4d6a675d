"""The pictures of README.md and docs/: `make screenshots` takes them of a site that `make run` has just started."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from tests.support.browser import CHROMIUM, FLAGS, settled
from tests.support.site import PASSWORD, ROOT, admin_site, made_run

# Addresses by the names of the files; a picture shows what stands in a window of 1,440 × 1,100 pixels.
PICTURES = {
    "overview": "/?cluster=demo",
    "decision": "/decision/demo/analytics/spark-driver/",
}
FIRST = {"KSCHEDWEB_ADMIN_PASSWORD": PASSWORD}
SIZE = ViewportSize(width=1440, height=1100)


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
        for name, address in PICTURES.items():
            page.goto(address)
            settled(page)
            page.screenshot(path=ROOT / "docs" / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
