"""Second factors: an app's codes, recovery codes, limits, and roles that need one."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from kschedweb.accounts import services
from kschedweb.accounts.models import AuditEntry, User
from tests.support.html import elements
from tests.support.totp import code

pytestmark = pytest.mark.django_db(transaction=True)


def log_in(client: Client, name: str = "viewer", password: str = "viewer-password") -> Any:
    return client.post(reverse("login"), {"username": name, "password": password})


def confirm_password(client: Client, password: str = "viewer-password") -> Any:
    return client.post(reverse("account_reauthenticate"), {"password": password})


def add_app(client: Client) -> tuple[str, list[str]]:
    """Add an app, as a person does; returns its key, and the recovery codes."""
    assert client.get(reverse("mfa_activate_totp")).status_code == 302  # the password first
    confirm_password(client)
    secret = elements(page := client.get(reverse("mfa_activate_totp")), "#totp-key")[0].text
    assert page.status_code == 200
    codes_page = client.post(reverse("mfa_activate_totp"), {"code": code(secret)}, follow=True)
    return secret, [item.text for item in elements(codes_page, "#recovery-codes code")]


@pytest.fixture
def with_app(viewer: User) -> tuple[Client, str, list[str]]:
    client = Client()
    log_in(client)
    return client, *add_app(client)


def test_a_login_asks_for_the_code_before_the_session_begins(with_app: tuple[Client, str, list[str]]) -> None:
    _, secret, codes = with_app
    assert len(codes) == 10
    assert all(re.fullmatch(r"\d{8}", code) for code in codes)
    client = Client()
    answer = log_in(client)
    assert answer["Location"] == reverse("mfa_authenticate")
    assert client.get(reverse("tokens")).status_code == 302
    response = client.post(reverse("mfa_authenticate"), {"code": code(secret, 1)})
    assert response["Location"] == "/"
    assert client.get(reverse("tokens")).status_code == 200
    kinds = set(AuditEntry.objects.filter(verb="user.factor-added").values_list("details__kind", flat=True))
    assert kinds == {"totp", "recovery_codes"}


def test_the_page_that_was_asked_for_opens_after_the_code(with_app: tuple[Client, str, list[str]]) -> None:
    _, secret, _ = with_app
    client = Client()
    form = {"username": "viewer", "password": "viewer-password", "next": reverse("tokens")}
    client.post(reverse("login"), form)
    assert client.post(reverse("mfa_authenticate"), {"code": code(secret, 1)})["Location"] == reverse("tokens")


def test_a_code_and_a_recovery_code_count_once(with_app: tuple[Client, str, list[str]]) -> None:
    _, secret, codes = with_app
    for right in (code(secret, 1), codes[0]):
        for client, status in ((Client(), 302), (Client(), 200)):
            log_in(client)
            assert client.post(reverse("mfa_authenticate"), {"code": right}).status_code == status


def test_wrong_codes_count_as_wrong_passwords(with_app: tuple[Client, str, list[str]]) -> None:
    _, secret, _ = with_app
    client = Client()
    log_in(client)
    answers = [client.post(reverse("mfa_authenticate"), {"code": "000000"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429]
    assert client.post(reverse("mfa_authenticate"), {"code": code(secret, 1)}).status_code == 429
    assert log_in(Client()).status_code == 429
    assert AuditEntry.objects.filter(verb="login.failed").count() == 5
    assert AuditEntry.objects.filter(verb="login.locked").count() == 1


def test_the_password_alone_opens_nothing_of_the_step_that_follows(with_app: tuple[Client, str, list[str]]) -> None:
    assert Client().get(reverse("mfa_authenticate"))["Location"] == reverse("login")


def test_the_key_of_the_app_is_encrypted(with_app: tuple[Client, str, list[str]]) -> None:
    _, secret, codes = with_app
    for row in Authenticator.objects.all():
        assert secret not in str(row.data)
        assert codes[0] not in str(row.data)


def test_keys_are_rotated_and_the_old_one_is_needed_no_more(
    with_app: tuple[Client, str, list[str]], settings: LazySettings
) -> None:
    _, secret, _ = with_app
    settings.ENCRYPTION_KEYS = ["n" * 40, *settings.ENCRYPTION_KEYS]
    call_command("rotate_keys", stdout=StringIO())
    settings.ENCRYPTION_KEYS = ["n" * 40]
    log_in(client := Client())
    assert client.post(reverse("mfa_authenticate"), {"code": code(secret, 1)}).status_code == 302
    settings.ENCRYPTION_KEYS, settings.SECRET_KEY = ["m" * 40], "another"
    with pytest.raises(CommandError, match="viewer"):
        call_command("rotate_keys", stdout=StringIO())


def test_only_who_knows_the_password_changes_factors(viewer: User) -> None:
    client = Client()
    log_in(client)
    assert confirm_password(client, "wrong").status_code == 200
    assert client.get(reverse("mfa_activate_totp")).status_code == 302
    assert AuditEntry.objects.filter(verb="login.failed").count() == 1


def test_an_app_is_removed_with_its_recovery_codes(with_app: tuple[Client, str, list[str]]) -> None:
    client, _, _ = with_app
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()
    assert log_in(Client())["Location"] == "/"


def test_new_recovery_codes_end_the_old_ones(with_app: tuple[Client, str, list[str]]) -> None:
    client, _, codes = with_app
    codes_page = client.post(reverse("mfa_generate_recovery_codes"), follow=True)
    new = [item.text for item in elements(codes_page, "#recovery-codes code")]
    assert len(new) == 10
    assert not set(new) & set(codes)
    log_in(other_client := Client())
    assert other_client.post(reverse("mfa_authenticate"), {"code": codes[0]}).status_code == 200
    assert other_client.post(reverse("mfa_authenticate"), {"code": new[0]}).status_code == 302


def test_a_role_that_needs_one_leads_to_adding_it(viewer: User, settings: LazySettings) -> None:
    settings.SECOND_FACTOR_ROLES = frozenset({"viewer"})
    client = Client()
    log_in(client)
    assert client.get(reverse("tokens"))["Location"] == reverse("mfa_index")
    assert elements(client.get(reverse("mfa_index")), "#factor-needed")
    rejection = client.get("/api/v1/tokens/")
    assert (rejection.status_code, "second factor" in rejection.json()["detail"]) == (403, True)
    add_app(client)
    assert client.get(reverse("tokens")).status_code == 200
    client.post(reverse("mfa_deactivate_totp"))
    assert client.get(reverse("tokens"))["Location"] == reverse("mfa_index")


def test_tokens_and_other_roles_need_none(viewer: User, editor: User, settings: LazySettings) -> None:
    settings.SECOND_FACTOR_ROLES = frozenset({"viewer"})
    log_in(client := Client(), "editor", "editor-password")
    assert client.get(reverse("tokens")).status_code == 200
    settings.SECOND_FACTOR_ROLES = frozenset({"editor"})
    assert client.get(reverse("tokens")).status_code == 302
    _, key = services.token_create(user=editor, name="ci", scope="view", days=1)
    assert Client().get("/api/v1/tokens/", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_an_admin_takes_lost_factors_away(
    with_app: tuple[Client, str, list[str]], client_as: Callable[[str], Client]
) -> None:
    client, _, _ = with_app
    admin = client_as("admin")
    admin.post(reverse("person-factors-remove", args=["viewer"]))
    assert client.get(reverse("tokens")).status_code == 302
    assert log_in(Client())["Location"] == "/"
    assert AuditEntry.objects.get(verb="user.factors-removed").actor_name == "admin"


def test_who_may_not_manage_people_takes_none_away(
    with_app: tuple[Client, str, list[str]], client_as: Callable[[str], Client]
) -> None:
    assert client_as("editor").post(reverse("person-factors-remove", args=["viewer"])).status_code == 403
    assert Authenticator.objects.exists()
