"""A page never leaves by its own while somebody types: neither for a temporary password nor for an ended session."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from kschedweb.accounts.models import User
from tests.support.tiers import one_of

pytestmark = pytest.mark.django_db(transaction=True)


def time_passes(page: Page, status: int) -> None:
    """The next question of the badge in the rail, by its own timer, and its answer."""
    with page.expect_response(lambda answer: "/approvals/badge/" in answer.url) as badge_response:
        page.clock.run_for(10_500)
    assert badge_response.value.status == status
    page.clock.run_for(500)


def test_a_temporary_password_is_changed_while_parts_are_asked_for(page_as: Callable[..., Page], viewer: User) -> None:
    User.objects.filter(pk=viewer.pk).update(must_change_password=True)
    page = page_as("viewer")
    page.clock.install()
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    page.goto("/jobs/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose your own password")
    page.get_by_label("Old password").fill("viewer-password")
    page.get_by_label("New password", exact=False).first.fill("Lovelace-1815")
    assert len(loads) == 1
    time_passes(page, 403)
    assert len(loads) == 1
    expect(page.get_by_label("Old password")).to_have_value("viewer-password")
    expect(page.locator("#refused")).to_have_count(0)  # this is the page where it is chosen
    page.locator("[name=new_password2]").fill("Lovelace-1815")
    page.get_by_role("button", name="Change password").click()
    page.wait_for_url("**/jobs/")
    expect(page.get_by_text("Password changed. Your other sessions have ended.")).to_be_visible()
    assert page.locator(".notice").count() == 1
    viewer.refresh_from_db()
    assert viewer.check_password("Lovelace-1815")


@pytest.mark.parametrize("width", one_of(1440, 390))
def test_what_is_typed_stays_when_the_session_ends(page_as: Callable[..., Page], width: int) -> None:
    page = page_as("editor", width=width)
    page.clock.install()
    page.goto("/tokens/")
    name = page.locator("[name=name]")
    name.fill("CI of team blue")
    Session.objects.all().delete()
    time_passes(page, 401)
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Your session has ended.")
    assert page.url.endswith("/tokens/")
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/refused-{width}.png")
    expect(name).to_have_value("CI of team blue")
    requested_urls: list[str] = []
    page.on("request", lambda request: requested_urls.append(request.url))
    page.clock.run_for(60_000)
    assert requested_urls == []  # it does not go on asking
    notice.get_by_role("link", name="Log in").click()
    page.get_by_label("Username").fill("editor")
    page.get_by_label("Password").fill("editor-password")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/tokens/")
