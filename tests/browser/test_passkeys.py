"""Passkeys in Chromium with its virtual authenticator: added, asked for at the login, removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import CDPSession, Page, expect

from kschedweb.accounts.models import AuditEntry, User

pytestmark = pytest.mark.django_db(transaction=True)

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def device(page: Page) -> tuple[CDPSession, str]:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return session, str(made["authenticatorId"])


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
    session, key = device(page)
    log_in(page)
    page.wait_for_url("**/")
    page.goto("/factors/")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Password").fill("viewer-password")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Key of the desk")
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.locator("#recovery-codes code")).to_have_count(10)
    page.get_by_role("link", name="I have kept them").click()
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
    added = AuditEntry.objects.filter(verb="user.factor-added").values_list("details__kind", flat=True)
    assert sorted(added) == ["recovery_codes", "webauthn"]
