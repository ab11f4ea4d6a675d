"""The header of a proxy, local accounts switched off, and passwords that people forgot."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse

from kschedweb.accounts import services
from kschedweb.accounts.administrators import list_administrators
from kschedweb.accounts.models import AuditEntry, User
from kschedweb.accounts.reach import ClusterPart
from kschedweb.accounts.signin.configuration import ProxyHeader
from kschedweb.accounts.signin.rules import GrantRule, RoleRule, RoleRules
from kschedweb.accounts.tasks import mail_password_links
from kschedweb.clusters.models import Cluster
from tests.support import seed
from tests.support.html import elements

pytestmark = pytest.mark.django_db

PROXY, ELSEWHERE = "10.9.0.7", "10.8.0.7"


@pytest.fixture
def header(settings: LazySettings) -> ProxyHeader:
    rules = RoleRules((RoleRule("admins", "admin"), RoleRule("staff", "viewer")))
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "X-Remote-Groups", (ip_network("10.9.0.0/16"),), rules)
    return settings.REMOTE_HEADER


def get_with_header(
    client: Client, name: str = "erin", groups: str = "staff", peer: str = PROXY, **extra_headers: Any
) -> Any:
    identity_headers = {"X-Remote-User": name, "X-Remote-Groups": groups} if name else {}
    return client.get(reverse("tokens"), headers={**identity_headers, **extra_headers}, REMOTE_ADDR=peer)


def test_the_header_signs_in_from_the_proxys_addresses_alone(header: ProxyHeader) -> None:
    assert get_with_header(Client(), peer=ELSEWHERE).status_code == 302
    assert get_with_header(Client(), peer=ELSEWHERE, **{"X-Forwarded-For": PROXY}).status_code == 302
    assert not User.objects.exists()
    assert get_with_header(Client(), peer=f"::ffff:{PROXY}").status_code == 200
    user = User.objects.get()
    assert (user.username, user.role, user.provider, user.group_names) == (
        "erin",
        "viewer",
        "header",
        frozenset({"staff"}),
    )
    assert AuditEntry.objects.get(verb="login.succeeded").details == {"provider": "header"}


def test_behind_a_proxy_it_is_the_connection_that_counts(header: ProxyHeader, settings: LazySettings) -> None:
    settings.BEHIND_PROXY = True
    assert get_with_header(Client(), peer=ELSEWHERE, **{"X-Forwarded-For": PROXY}).status_code == 302
    assert get_with_header(Client(), **{"X-Forwarded-For": "192.0.2.1"}).status_code == 200


def test_without_the_setting_no_header_counts() -> None:
    assert get_with_header(Client()).status_code == 302
    assert not User.objects.exists()


def test_the_session_needs_the_header_in_every_request(header: ProxyHeader) -> None:
    client = Client()
    assert get_with_header(client).status_code == 200
    assert get_with_header(client, name="").status_code == 302
    assert get_with_header(client).status_code == 200
    assert get_with_header(client, peer=ELSEWHERE).status_code == 302


def test_another_name_is_another_person(header: ProxyHeader) -> None:
    client = Client()
    get_with_header(client)
    assert get_with_header(client, name="ada", groups="admins").status_code == 200
    assert client.session["_auth_user_id"] == str(User.objects.get(username="ada").pk)


def test_groups_of_the_header_hold_for_the_request_that_brings_them(header: ProxyHeader) -> None:
    client = Client()
    get_with_header(client)
    get_with_header(client, groups="staff, admins")
    assert User.objects.get().role == "admin"
    answer = get_with_header(client, groups="visitors")
    assert (answer.status_code, elements(answer, "#refusal")[0]["data-reason"]) == (403, "groups")
    assert get_with_header(client, name="").status_code == 302


def test_the_header_does_not_take_the_last_admin(header: ProxyHeader) -> None:
    client = Client()
    get_with_header(client, groups="admins")
    assert get_with_header(client, groups="staff").status_code == 200
    assert [administrator.username for administrator in list_administrators()] == ["erin"]
    get_with_header(Client(), name="ada", groups="admins")
    assert get_with_header(client, groups="staff").status_code == 200
    assert [administrator.username for administrator in list_administrators()] == ["ada"]


def test_groups_have_grants_by_rules_until_they_go(header: ProxyHeader, admin: User, settings: LazySettings) -> None:
    seed.imported("blue", seed.cluster(2, 6), admin)
    rule = GrantRule("web", "viewer", cluster="blue", namespaces=["default"])
    settings.REMOTE_HEADER = replace(header, rules=replace(header.rules, grants=(rule,)))
    admin_client = Client()
    admin_client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
    assert elements(admin_client.get(reverse("grants")), "[data-rule]")[0]["data-rule"] == "web"
    client = Client()
    assert get_with_header(client, groups="web").status_code == 200
    user = User.objects.get(provider="header")
    blue = Cluster.objects.get()
    assert user.role == "none"
    reach = user.reach("view")
    assert reach is not None
    assert reach.parts == {blue.pk: ClusterPart("blue", frozenset({"default"}))}
    assert get_with_header(client, groups="web, staff").status_code == 200
    assert User.objects.get(pk=user.pk).reach("view") is None
    assert get_with_header(client, groups="staff").status_code == 200
    assert not User.objects.get(pk=user.pk).grants
    assert get_with_header(client, groups="web").status_code == 200
    assert get_with_header(client, groups="visitors").status_code == 403
    assert not User.objects.get(pk=user.pk).grants
    entries = AuditEntry.objects.filter(verb="user.grants-changed").order_by("id")
    assert [(entry.details["before"], entry.details["after"]) for entry in entries] == [
        ([str(rule)], []),
        ([], [str(rule)]),
    ]


def test_the_header_gives_nobody_a_local_account(header: ProxyHeader, admin: User) -> None:
    assert get_with_header(Client(), name="admin").status_code == 200
    assert User.objects.get(provider="header").username == "admin-2"


def test_a_deactivated_person_stays_out(header: ProxyHeader, admin: User) -> None:
    client = Client()
    get_with_header(client)
    services.user_set_active(actor=admin, user=User.objects.get(username="erin"), active=False)
    assert get_with_header(client).status_code == 403


def test_a_token_says_who_asks_whatever_the_header_says(header: ProxyHeader, editor: User) -> None:
    _, key = services.token_create(user=editor, name="ci", scope="view", days=1)
    headers = {"Authorization": f"Bearer {key}", "X-Remote-User": "erin", "X-Remote-Groups": "staff"}
    answer = Client().get("/api/v1/tokens/", headers=headers, REMOTE_ADDR=PROXY)
    assert answer.status_code == 200
    assert not User.objects.filter(provider="header").exists()


@pytest.fixture
def switched_off(settings: LazySettings) -> None:
    settings.LOCAL_ACCOUNTS, settings.BREAK_GLASS = False, "admin"


def log_in(client: Client, name: str, password: str | None = None) -> Any:
    return client.post(reverse("login"), {"username": name, "password": password or f"{name}-password"})


def test_one_administrator_alone_logs_in_where_local_accounts_are_off(
    switched_off: None, admin: User, editor: User
) -> None:
    assert log_in(Client(), "admin").status_code == 302
    right, wrong = log_in(Client(), "editor"), log_in(Client(), "editor", "wrong")
    error_codes = [
        [error.code for error in answer.context["form"].non_field_errors().as_data()] for answer in (right, wrong)
    ]
    assert error_codes[0] == error_codes[1] == ["invalid_login"]


def test_sessions_of_local_accounts_end_when_they_are_switched_off(
    admin: User, editor: User, settings: LazySettings
) -> None:
    log_in(editor_client := Client(), "editor")
    log_in(breaker := Client(), "admin")
    settings.LOCAL_ACCOUNTS, settings.BREAK_GLASS = False, "admin"
    assert editor_client.get(reverse("tokens")).status_code == 302
    assert breaker.get(reverse("tokens")).status_code == 200


def test_tokens_go_on_where_local_accounts_are_off(switched_off: None, editor: User) -> None:
    _, key = services.token_create(user=editor, name="ci", scope="view", days=1)
    assert Client().get("/api/v1/tokens/", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_the_login_page_hides_the_form_where_local_accounts_are_off(switched_off: None, db: None) -> None:
    page = Client().get(reverse("login"))
    assert elements(page, "details form [name=password]")
    assert not elements(page, "details[open]")


@pytest.fixture
def with_mail(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMAIL_URL = "memorymail://"
    monkeypatch.setattr(mail_password_links, "delay", mail_password_links)


def request_mail(email: str) -> Any:
    return Client().post(reverse("password-forgotten"), {"email": email})


def test_a_mailed_link_renews_the_password_once(with_mail: None, editor: User) -> None:
    User.objects.filter(pk=editor.pk).update(email="ed@example.org")
    token, _ = services.token_create(user=editor, name="ci", scope="view", days=1)
    log_in(old := Client(), "editor")
    assert request_mail("Ed@example.org")["Location"] == reverse("password-mailed")
    (message,) = mail.outbox
    link = re.search(r"http://testserver(/login/forgotten/\S+)", str(message.body))
    assert link is not None
    assert message.to == ["ed@example.org"]
    client = Client()
    form = client.get(link[1])["Location"]
    new = "Lovelace-1815"
    assert client.post(form, {"new_password1": new, "new_password2": new})["Location"] == reverse("login")
    assert old.get(reverse("tokens")).status_code == 302
    token.refresh_from_db()
    assert token.current_state == "active"
    assert log_in(Client(), "editor", new).status_code == 302
    assert AuditEntry.objects.filter(verb="user.password-renewed", object_name="editor").count() == 1
    second_visit = Client().get(link[1])
    assert second_visit.status_code == 200
    assert not elements(second_visit, "[name=new_password1]")


def test_nobody_learns_whether_somebody_has_an_address(with_mail: None, editor: User) -> None:
    User.objects.filter(pk=editor.pk).update(email="ed@example.org", is_active=False)
    answers = [request_mail(email) for email in ("ed@example.org", "nobody@example.org")]
    assert {(answer.status_code, answer["Location"]) for answer in answers} == {(302, reverse("password-mailed"))}
    assert not mail.outbox


def test_mails_to_one_address_are_limited(with_mail: None, editor: User) -> None:
    User.objects.filter(pk=editor.pk).update(email="ed@example.org")
    assert [request_mail("ed@example.org").status_code for _ in range(4)] == [302, 302, 302, 429]
    assert len(mail.outbox) == 3


def test_whose_password_opens_nothing_gets_no_mail(with_mail: None, switched_off: None, editor: User) -> None:
    User.objects.filter(pk=editor.pk).update(email="ed@example.org")
    request_mail("ed@example.org")
    assert not mail.outbox


def test_without_mail_the_page_says_whom_to_ask(db: None) -> None:
    assert elements(Client().get(reverse("password-forgotten")), "#ask")
    assert request_mail("ed@example.org").status_code == 409


def test_who_is_deactivated_loses_sessions_and_tokens_at_once(
    admin: User, editor: User, client_as: Callable[[str], Client]
) -> None:
    client = client_as("editor")
    token, _ = services.token_create(user=editor, name="ci", scope="view", days=1)
    services.user_set_active(actor=admin, user=editor, active=False)
    token.refresh_from_db()
    assert (client.get(reverse("tokens")).status_code, token.current_state) == (302, "revoked")
