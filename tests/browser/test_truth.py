"""A page does not say that all is well when it cannot know: in Chromium, on a network that is really cut."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.db.models.functions import Now
from playwright.sync_api import expect

from kschedweb.live.schedulers.models import Candidate
from tests.support import seed_live
from tests.support.browser import PATIENCE, watch
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route
    from pytest_django.live_server_helper import LiveServer

    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.models import LiveScheduler

# On a busy machine a part may be late before anything is cut.
COLOR = "element => element.closest('[data-late]') ? '' : getComputedStyle(element).color"


@pytest.fixture
def live(admin: User) -> LiveScheduler:
    """A live scheduler whose leader has just said something, and will have for an hour."""
    scheduler: LiveScheduler = seed_live.scheduler(admin)
    seed_live.hosted(scheduler)
    Candidate.objects.update(heartbeat=Now() + timedelta(hours=1), ticked_at=Now() + timedelta(hours=1))
    return scheduler


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, frontend: Path, client_as: Any) -> Iterator[Page]:
    """Of somebody who may look; errors of a cut network are what the test is about, so the console is not watched."""
    context = browser.new_context(base_url=live_server.url)
    cookie = client_as("viewer").cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie.value, "url": live_server.url}])
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("address", ["/live/{}/", pytest.param("/live/", marks=pytest.mark.nightly)])
def test_a_page_that_lost_its_server_is_not_green(page: Page, live: LiveScheduler, address: str) -> None:
    page.goto(address.format(live.pk))
    state = page.locator(".badge", has_text="Scheduling").first
    green = ""

    def has_colour() -> bool:
        """A part that is just being renewed is gone and has no colour, and one that is late has another one."""
        nonlocal green
        green = state.evaluate(COLOR)
        return bool(green)

    wait_until(has_colour, "the state has a colour", seconds=PATIENCE / 1000)
    page.context.set_offline(True)
    note = page.locator(".notice", has_text="The server does not answer.")
    expect(note).to_be_visible()
    expect(state).not_to_have_css("color", green)
    expect(page.get_by_text("s ago", exact=False).first).to_be_visible()

    page.context.set_offline(False)
    expect(note).to_have_count(0)
    expect(page.locator(".badge", has_text="Scheduling").first).to_have_css("color", green)


@pytest.mark.nightly
def test_the_age_of_a_heartbeat_grows_on_the_page(page: Page, live: LiveScheduler) -> None:
    Candidate.objects.update(heartbeat=Now())
    page.goto(f"/live/{live.pk}/")
    page.context.set_offline(True)
    age = "td[data-label=Heartbeat] [data-age]"
    before = int(page.locator(age).first.inner_text().split()[0])
    # Asked for anew each time: an answer that was on its way may still replace the table.
    page.wait_for_function(
        "([age, before]) => parseInt(document.querySelector(age)?.textContent) >= before + 2", arg=[age, before]
    )


def test_a_leader_that_fell_silent_turns_the_page_amber(page: Page, live: LiveScheduler) -> None:
    page.goto(f"/live/{live.pk}/")
    expect(page.locator(".badge", has_text="Scheduling").first).to_be_visible()
    Candidate.objects.update(heartbeat=Now() - timedelta(seconds=6))
    expect(page.locator(".badge.amber", has_text="Silent").first).to_be_visible()


def test_a_stream_that_ended_says_so_and_comes_back(page: Page, live: LiveScheduler) -> None:
    page.goto(f"/live/{live.pk}/")
    page.context.set_offline(True)
    note = page.get_by_text("Live updates are interrupted")
    expect(note).to_be_visible()
    page.context.set_offline(False)
    expect(note).to_have_count(0)


def test_what_is_new_is_shown_once_though_the_part_that_told_of_it_renews_itself(
    page: Page, live: LiveScheduler, live_server: LiveServer
) -> None:
    held_routes: list[Route] = []
    problems: list[str] = []
    watch(page, live_server.url, problems)
    page.goto(f"/live/{live.pk}/")
    page.route(f"**/live/{live.pk}/", lambda route: held_routes.append(route))
    seed_live.decision(live, "web-new")
    new = page.get_by_role("link", name="Show 1 new decision")
    new.click()
    page.locator("#live-now").dispatch_event("refresh")
    page.wait_for_timeout(500)  # so long it would renew itself, and take away what was clicked
    held_routes[0].continue_()
    expect(page.get_by_role("region", name="Decisions").get_by_role("row", name="web-new")).to_be_visible()
    expect(new).to_have_count(0)
    assert problems == []
