"""Second factors in Chromium: an app without JavaScript, passkeys with the browser's virtual authenticator."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import CDPSession, Page, expect

from kschedweb.accounts.models import AuditEntry, User
from tests.support.tiers import one_of
from tests.support.totp import code

pytestmark = pytest.mark.django_db(transaction=True)

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def add_virtual_authenticator(page: Page) -> tuple[CDPSession, str]:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    authenticator = session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return session, str(authenticator["authenticatorId"])


def log_in(page: Page) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill("viewer")
    page.get_by_label("Password").fill("viewer-password")
    page.get_by_role("button", name="Log in", exact=True).click()


def log_out(page: Page) -> None:
    page.locator("details:has(form[action='/logout/']) summary").click()
    page.get_by_role("button", name="Log out").click()


def test_a_passkey_confirms_logins(page_as: Callable[..., Page], viewer: User) -> None:
    page = page_as("")
    session, key = add_virtual_authenticator(page)
    log_in(page)
    page.wait_for_url("**/")
    page.goto("/factors/")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Password").fill("viewer-password")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Key of the desk")
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.locator("#recovery-codes code")).to_have_count(10)
    page.get_by_role("link", name="I have saved them").click()
    expect(page.get_by_text("Key of the desk")).to_be_visible()
    log_out(page)
    log_in(page)
    page.wait_for_url("**/login/factor/")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(lambda url: not url.endswith("/factor/"))
    assert Authenticator.objects.get(type="webauthn").last_used_at is not None
    log_out(page)
    # Another device has no key of this person: the browser refuses, and the page says so.
    session.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": key})
    session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    log_in(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("alert")).to_have_text("The browser did not use a passkey. Try again.")
    added_factors = AuditEntry.objects.filter(verb="user.factor-added").values_list("details__kind", flat=True)
    assert sorted(added_factors) == ["recovery_codes", "webauthn"]


@pytest.mark.parametrize("width", one_of(1440, 390))
def test_an_app_is_added_and_asked_for(page_as: Callable[..., Page], viewer: User, width: int) -> None:
    """Without JavaScript, as far as an app and recovery codes go."""
    page = page_as("", width=width, dark=width == 390, javascript=False)

    def take_screenshot(name: str) -> None:
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{folder}/{name}-{width}.png", full_page=True)

    log_in(page)
    page.wait_for_url("**/")
    page.goto("/factors/")
    take_screenshot("factors")
    page.get_by_role("link", name="Add an app").click()
    take_screenshot("password")
    page.get_by_label("Password").fill("viewer-password")
    page.get_by_role("button", name="Continue").click()
    take_screenshot("app")
    secret = page.locator("#totp-key").inner_text()
    page.get_by_label("code").fill(code(secret))
    page.get_by_role("button", name="Add the app").click()
    expect(page.locator("#recovery-codes code")).to_have_count(10)
    take_screenshot("codes")
    page.get_by_role("link", name="I have saved them").click()
    take_screenshot("factors-with")
    page.get_by_role("link", name="Remove the app").click()
    take_screenshot("remove")
    page.context.clear_cookies()
    log_in(page)
    page.wait_for_url("**/login/factor/")
    take_screenshot("factor")
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Continue").click()
    take_screenshot("factor-wrong")
    page.get_by_label("Code").fill(code(secret, 1))
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/")


@pytest.mark.parametrize("dark", one_of(False, True))
def test_nothing_on_the_pages_of_factors_is_serious_for_axe(
    page_as: Callable[..., Page], axe: Callable[[Page], None], viewer: User, dark: bool
) -> None:
    page = page_as("", dark=dark)
    log_in(page)
    page.wait_for_url("**/")
    page.goto("/factors/app/")
    axe(page)
    page.get_by_label("Password").fill("viewer-password")
    page.get_by_role("button", name="Continue").click()
    axe(page)
    secret = page.locator("#totp-key").inner_text()
    page.get_by_label("code").fill(code(secret))
    page.get_by_role("button", name="Add the app").click()
    for address in ("codes/", "codes/new/", "app/remove/", "passkeys/new/", ""):
        page.goto(f"/factors/{address}")
        axe(page)
    page.context.clear_cookies()
    log_in(page)
    page.wait_for_url("**/login/factor/")
    axe(page)
