"""Sign-in at the real Keycloak in Chromium: role by group, a change of groups, logout on both sides, refused tokens."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo

import pytest
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from kschedweb.accounts.models import AuditEntry, ProviderSession, User
from kschedweb.accounts.sealing import unseal
from kschedweb.accounts.signin import openid
from kschedweb.accounts.signin.configuration import Provider
from kschedweb.accounts.signin.identity_tokens import TokenError, identity_verified
from kschedweb.accounts.signin.rules import GrantRule, RoleRule, RoleRules
from tests.originals.keycloak import CLIENT, SECRET, Keycloak
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

GRANT = GrantRule("engineers", "approver", label="env=prod", namespaces=["web"])
RULES = RoleRules((RoleRule("platform-admins", "admin"), RoleRule("engineers", "editor")), grants=(GRANT,))


@pytest.fixture
def provider(keycloak: Keycloak, live_server: LiveServer, settings: LazySettings) -> Provider:
    keycloak.serve(live_server.url)
    provider = Provider("company", "Company", keycloak.issuer, CLIENT, SECRET, rules=RULES)
    settings.IDENTITY_PROVIDERS = {"company": provider}
    settings.OIDC_RECHECK_SECONDS = 3600
    return provider


@pytest.fixture
def visit(
    browser: Browser, live_server: LiveServer, frontend: object, provider: Provider
) -> Iterator[Callable[[], Page]]:
    """A browser in which nobody is signed in anywhere."""
    contexts = []

    def make() -> Page:
        contexts.append(browser.new_context(base_url=live_server.url))
        return contexts[-1].new_page()

    yield make
    for context in contexts:
        context.close()


def begin_sign_in(page: Page, onwards: str = "/settings/") -> None:
    page.goto(onwards)
    page.get_by_role("link", name="Log in with Company").click()


def sign_in(page: Page, name: str, onwards: str = "/settings/") -> None:
    begin_sign_in(page, onwards)
    page.locator("#username").fill(name)
    page.locator("#password").fill(f"{name}-password")
    page.locator("#kc-login").click()


def time_to_ask(settings: LazySettings) -> None:
    """The time to ask the provider has come for every session there is."""
    for row in Session.objects.all():
        data = row.get_decoded()
        data["provider_ask_at"] = 0
        row.session_data = Session.objects.encode(data)
        row.save()


def test_the_role_follows_from_groups(visit: Callable[[], Page]) -> None:
    erin = visit()
    sign_in(erin, "erin")
    expect(erin.get_by_role("heading", level=1)).to_have_text("Signed in as erin, editor")
    ada = visit()
    sign_in(ada, "ada", "/people/")
    ada.wait_for_url("**/people/")
    expect(ada.get_by_role("row", name="erin")).to_contain_text("by groups of company")
    vic = visit()
    sign_in(vic, "vic")
    expect(vic.locator("#refusal")).to_have_attribute("data-reason", "groups")
    assert sorted(User.objects.values_list("username", "role")) == [("ada", "admin"), ("erin", "editor")]
    assert User.objects.get(username="erin").grants == [GRANT]
    assert set(User.objects.get(username="ada").group_names) == {"platform-admins", "engineers"}


def test_a_change_of_groups_holds_for_the_request_that_asks(
    visit: Callable[[], Page], keycloak: Keycloak, settings: LazySettings
) -> None:
    page = visit()
    sign_in(page, "erin")
    keycloak.groups("erin", "platform-admins")
    try:
        answer = page.goto("/people/")
        assert answer is not None
        assert answer.status == 403
        time_to_ask(settings)
        answer = page.goto("/people/")
        assert answer is not None
        assert answer.status == 200
        keycloak.groups("erin", "visitors")
        time_to_ask(settings)
        page.goto("/people/")
        expect(page.get_by_role("link", name="Log in with Company")).to_be_visible()
    finally:
        keycloak.groups("erin", "engineers")
    changes = AuditEntry.objects.filter(verb="user.role-changed").values_list("details", flat=True)
    assert [change["after"] for change in changes] == ["admin"]
    grant_changes = AuditEntry.objects.filter(verb="user.grants-changed").values_list("details", flat=True)
    assert [(change["before"], change["after"]) for change in grant_changes] == [([str(GRANT)], [])]


def test_a_logout_ends_the_session_at_the_provider_too(visit: Callable[[], Page]) -> None:
    page = visit()
    sign_in(page, "erin")
    page.wait_for_url("**/settings/")
    page.locator("details:has(form[action='/logout/']) summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in with Company")).to_be_visible()
    begin_sign_in(page)
    expect(page.locator("#username")).to_be_visible()  # it asks who it is, so its own session is over
    assert not ProviderSession.objects.exists()


def test_a_session_that_ends_at_the_provider_ends_here_at_once(visit: Callable[[], Page], keycloak: Keycloak) -> None:
    page = visit()
    sign_in(page, "erin")
    page.wait_for_url("**/settings/")
    keycloak.end(ProviderSession.objects.get().sid)
    wait_until(lambda: not ProviderSession.objects.exists(), "the provider says that the session is over")
    page.goto("/settings/")
    expect(page.get_by_role("link", name="Log in with Company")).to_be_visible()


def test_a_disabled_person_is_out_when_the_provider_is_asked(
    visit: Callable[[], Page], keycloak: Keycloak, settings: LazySettings
) -> None:
    page = visit()
    sign_in(page, "erin")
    page.wait_for_url("**/settings/")
    keycloak.ask("PUT", f"users/{keycloak.user('erin')}", {"enabled": False})
    try:
        time_to_ask(settings)
        page.goto("/settings/")
        expect(page.get_by_role("link", name="Log in with Company")).to_be_visible()
    finally:
        keycloak.ask("PUT", f"users/{keycloak.user('erin')}", {"enabled": True})


class LaterDatetime(datetime):
    """A clock on which what the provider signs now has long expired."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(days=1)


def as_an_admin(token: str) -> str:
    """``token`` with another group, and the signature that it had."""
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "==")) | {"groups": ["platform-admins"]}
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"{head}.{payload}.{signature}"


@pytest.mark.parametrize("problem", ["expired", "signature is wrong"])
def test_a_token_that_is_expired_or_forged_signs_nobody_in(
    visit: Callable[[], Page], monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    if problem == "expired":
        monkeypatch.setattr("jwt.api_jwt.datetime", LaterDatetime)
    else:
        verify = openid.identity_verified
        monkeypatch.setattr(
            openid, "identity_verified", lambda at, token, nonce: verify(at, as_an_admin(token), nonce=nonce)
        )
    page = visit()
    sign_in(page, "erin")
    expect(page.locator("#refusal")).to_have_attribute("data-reason", "token")
    entry = AuditEntry.objects.get(verb="login.refused")
    assert entry.details["what"] == problem
    assert not User.objects.exists()
    page.goto("/settings/")
    expect(page.get_by_role("link", name="Log in with Company")).to_be_visible()


def test_what_it_signed_counts_only_as_it_signed_it(visit: Callable[[], Page], provider: Provider) -> None:
    page = visit()
    sign_in(page, "erin")
    page.wait_for_url("**/settings/")
    token = unseal(ProviderSession.objects.get().id_token) or ""
    nonce = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["nonce"]
    assert identity_verified(provider, token, nonce=nonce)["preferred_username"] == "erin"
    with pytest.raises(TokenError, match="signature is wrong"):
        identity_verified(provider, as_an_admin(token), nonce=nonce)
    with pytest.raises(TokenError, match="answer to another sign-in"):
        identity_verified(provider, token, nonce="another")
    with pytest.raises(TokenError, match="made for another client"):
        identity_verified(dataclasses.replace(provider, client_id="another"), token, nonce=nonce)


def test_a_callback_that_nobody_began_is_refused_on_a_plain_page(visit: Callable[[], Page]) -> None:
    page = visit()
    answer = page.goto("/login/at/company/callback/?code=stolen&state=made-up")
    assert answer is not None
    assert answer.status == 400
    expect(page.locator("#refusal")).to_have_attribute("data-reason", "state")
