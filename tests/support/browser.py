"""Real pages in Chromium; a page that logs an error or breaks its content security policy fails the test."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.support.needs import missing
from tests.support.tiers import NIGHTLY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pytest_django.live_server_helper import LiveServer

    from tests.support.site import Site

PATIENCE = 180_000  # milliseconds; only a failing test waits so long, and a page on a very busy machine
# The same engine without windows of its own works a third as much for a page.
BROWSERS = [Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")]
CHROMIUM = next(filter(Path.exists, BROWSERS), BROWSERS[-1])
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
REPORT_VIOLATIONS = """document.addEventListener('securitypolicyviolation', event =>
    console.error('CSP violation', event.violatedDirective, event.blockedURI, event.sourceFile, event.lineNumber))"""


@pytest.fixture(scope="session")
def browser_type_launch_args(migrated_rows: None) -> dict[str, Any]:
    if not CHROMIUM.exists():
        missing("install Debian's chromium-headless-shell")
    expect.set_options(timeout=PATIENCE)
    # Playwright keeps an event loop in this thread, which Django would take for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {"executable_path": str(CHROMIUM), "headless": True, "args": FLAGS}


@pytest.fixture(scope="session")
def frontend() -> Path:
    """The folder of the built frontend."""
    folder = Path(settings.STATICFILES_DIRS[0])
    if not (folder / "app.js").exists():
        missing("build the frontend: make frontend")
    return folder


EXPECTED = ("Failed to load resource", "htmx:sendAbort", "htmx:afterRequest")


def watch(page: Page, origin: str, problems: list[str]) -> None:
    """Append to ``problems`` whatever ``page`` does that no page should."""

    def logged(message: Any) -> None:
        # The browser logs every refused request; whether one is a problem is judged below, by its status. htmx logs
        # those that a newer one takes the place of; what fails it logs as htmx:sendError or htmx:responseError.
        if message.type == "error" and not message.text.startswith(EXPECTED):
            problems.append(f"{page.url}: console: {message.text}")

    def answered(response: Any) -> None:
        if response.status >= 500 or (response.status >= 400 and "/static/" in response.url):
            problems.append(f"{page.url}: {response.status} from {response.url}")

    def check_request(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and f"{parts.scheme}://{parts.netloc}" != origin:
            problems.append(f"{page.url}: a request left for {request.url}")

    page.add_init_script(REPORT_VIOLATIONS)
    page.on("console", logged)
    page.on("pageerror", lambda error: problems.append(f"{page.url}: uncaught: {error}"))
    page.on("response", answered)
    page.on("request", check_request)


@contextlib.contextmanager
def window(browser: Browser, site: Site) -> Iterator[Page]:
    """A page of a site that runs as its own processes, for the person who is logged in there."""
    problems: list[str] = []
    context = browser.new_context(base_url=site.url)
    cookies = site.session.cookies.items()
    context.add_cookies([{"name": name, "value": str(value), "url": site.url} for name, value in cookies])
    page = context.new_page()
    watch(page, site.url, problems)
    yield page
    context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def page_as(
    browser: Browser, live_server: LiveServer, frontend: Path, client_as: Callable[[str], Any]
) -> Iterator[Callable[..., Page]]:
    """``page_as("editor", width=390, dark=True, javascript=False)``: a page whose person has that role ("": nobody)."""
    contexts = []
    problems: list[str] = []

    def make(
        role: str = "editor",
        *,
        width: int = 1440,
        height: int = 900,
        dark: bool = False,
        javascript: bool = True,
        language: str | None = None,
    ) -> Page:
        context = browser.new_context(
            base_url=live_server.url,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=javascript,
            locale=language,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        if role:
            cookie = client_as(role).cookies[settings.SESSION_COOKIE_NAME]
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie.value, "url": live_server.url}])
        page = context.new_page()
        watch(page, live_server.url, problems)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


# What a page still waits for once it is loaded: answers that htmx asked for or is about to, and its node map.
UNSETTLED = """.htmx-request, .htmx-swapping, .htmx-settling, [hx-trigger^="load"]:not(form),
    [data-nodemap]:not([data-drawn])"""


def settled(page: Page) -> None:
    """Wait until ``page`` has what it asks for by itself once it is loaded."""
    page.wait_for_function("waits => !document.querySelector(waits)", arg=UNSETTLED)


NAMES = "label-content-name-mismatch"  # axe-core takes this rule for an experiment, and leaves it out
FURTHER_ROWS = "tbody > tr:nth-of-type(n + 7)"


@pytest.fixture
def axe() -> Callable[..., None]:
    """``axe(page)`` fails on any finding of axe-core, that a label begins otherwise than what is seen among them.

    ``colours=True``: of colours alone; ``themes=True``: of a light page, and then of its colours while it is dark.
    In a commit's tier only the first rows of a table are looked at. ``colours=False``: of all but contrast, which takes
    most of the time.
    """
    from axe_playwright_python.base import AXE_SCRIPT

    def check(page: Page, *, colours: bool | None = None, themes: bool = False) -> None:
        if page.evaluate("typeof axe === 'undefined'"):
            page.evaluate(AXE_SCRIPT)
        # Without these options axe describes everything it looked at, which takes most of its time on a large page.
        options: dict[str, Any] = {"resultTypes": ["violations"], "rules": {NAMES: {"enabled": True}}}
        if colours:
            options["runOnly"] = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
        if colours is False:
            options["rules"]["color-contrast"] = {"enabled": False}
        context = {"exclude": [] if NIGHTLY else [FURTHER_ROWS]}
        violations = page.evaluate("([within, options]) => axe.run(within, options)", [context, options])["violations"]
        findings = [
            f"{item['impact']} {item['id']}: {item['help']}\n    "
            + "\n    ".join(
                f"{' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}" for node in item["nodes"][:5]
            )
            for item in violations
        ]
        assert not findings, f"axe on {page.url}:\n" + "\n".join(findings)
        if themes:
            page.emulate_media(color_scheme="dark")
            check(page, colours=True)
            page.emulate_media(color_scheme="light")

    return check
